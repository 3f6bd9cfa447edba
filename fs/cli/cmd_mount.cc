// rowfs mount, rowfs umount.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>

#include "fs/cli/commands.h"
#include "fs/cli/follower.h"
#include "fs/cli/tree_session.h"
#include "fs/fuse/daemon.h"
#include "fs/fuse/fuse_session.h"
#include "fs/fuse/unmount.h"

namespace rowfs {
namespace {

Result<uint32_t> ParseId(const Args& args, std::string_view flag,
                         uint32_t fallback) {
  ROWFS_ASSIGN_OR_RETURN(const auto value, args.GetUint(flag));
  if (value && *value > UINT32_MAX) {
    return Status(Code::kInvalidArgument, std::string(flag) + " is too large");
  }
  return value ? static_cast<uint32_t>(*value) : fallback;
}

Result<MountOptions> ParseMountOptions(const Args& args) {
  MountOptions options;
  std::error_code error;
  options.mountpoint =
      std::filesystem::absolute(args.operands[1], error).lexically_normal();
  while (options.mountpoint.size() > 1 && options.mountpoint.back() == '/') {
    options.mountpoint.pop_back();
  }
  options.source = SplitVersion(args.operands[0]).first;
  options.allow_other = args.Has("--allow-other");
  ROWFS_ASSIGN_OR_RETURN(options.uid, ParseId(args, "--uid", getuid()));
  ROWFS_ASSIGN_OR_RETURN(options.gid, ParseId(args, "--gid", getgid()));
  if (args.Has("--umask")) {
    const std::string text = args.Get("--umask");
    if (text.empty() || text.size() > 4 ||
        text.find_first_not_of("01234567") != text.npos) {
      return Status(Code::kInvalidArgument,
                    "--umask takes octal digits, not \"" + text + "\"");
    }
    options.umask = static_cast<uint32_t>(std::stoul(text, nullptr, 8));
  }
  options.fuse_options = args.GetAll("-o");
  return options;
}

// Open the source, mount and serve until unmounted. `ready` is called when the
// mount answers.
Status Serve(Env& env, const Args& args, MountOptions options, Logger& log,
             const std::function<void()>& ready) {
  options.log = &log;
  ROWFS_ASSIGN_OR_RETURN(
      const auto session,
      TreeSession::Open(args, &log, &env, TreeSession::Begin::kEarly));
  options.source = session->source();
  if (const std::string why = session->catalog_problem(); !why.empty()) {
    log.Log(LogLevel::kWarn, "catalog", why);
  }
  // Each holds what one reader waits for.
  options.blocking_threads =
      std::clamp<uint64_t>(session->session().memory_bytes() >> 24, 16, 64);
  ROWFS_ASSIGN_OR_RETURN(const auto seconds, args.GetUint("--follow"));
  if (seconds && session->dataset().table().format() != "lance") {
    return {Code::kInvalidArgument,
            options.source + ": --follow needs a dataset with versions"};
  }
  ROWFS_ASSIGN_OR_RETURN(const auto fuse,
                         FuseSession::Mount(session->tree(), options));
  std::optional<Follower> follower;
  const Status status = fuse->Run([&] {
    if (seconds) {
      follower.emplace(session->tree(), session->dataset(), log, *seconds);
    }
    ready();
  });
  // Before the requests that wait for it are waited for.
  session->Stop();
  return status;
}

int ServeInForeground(Env& env, const Args& args, const MountOptions& options) {
  Logger log(LogLevelFromEnvironment(), [&](std::string_view line) {
    env.err << "rowfs: " << line << std::endl;
  });
  const Status status = Serve(env, args, options, log, [&] {
    env.err << "rowfs: mounted at " << options.mountpoint << "; Ctrl-C unmounts"
            << std::endl;
  });
  return status.ok() ? kExitDone : Fail(env, status);
}

int ServeInBackground(Env& env, const Args& args, const MountOptions& options) {
  Daemon::Outcome outcome;
  auto daemon = Daemon::Start(&outcome);
  if (!daemon.ok()) return Fail(env, daemon.status());
  if (daemon.value() == nullptr) {
    if (!outcome.message.empty()) env.err << outcome.message << "\n";
    return outcome.exit_code;
  }
  // The child. Its log stays readable in .rowfs/log.
  Logger log(LogLevelFromEnvironment(), nullptr);
  const Status status =
      Serve(env, args, options, log, [&] { daemon.value()->ReportReady(); });
  if (!status.ok()) {
    std::ostringstream line;
    Env child{env.out, line};
    const int code = Fail(child, status);
    std::string text = line.str();
    text.pop_back();  // the line's end
    daemon.value()->ReportFailure(code, text);
    return code;
  }
  return kExitDone;
}

}  // namespace

int CmdMount(Env& env, const Args& args) {
  const Result<MountOptions> options = ParseMountOptions(args);
  if (!options.ok()) {
    Fail(env, options.status());
    return kExitUsage;
  }
  return args.Has("--foreground")
             ? ServeInForeground(env, args, options.value())
             : ServeInBackground(env, args, options.value());
}

int CmdUmount(Env& env, const Args& args) {
  std::error_code error;
  const std::string path =
      std::filesystem::absolute(args.operands[0], error).lexically_normal();
  if (path.empty()) return Fail(env, {Code::kNotFound, "no mount point"});
  const Status status = Unmount(path);
  return status.ok() ? kExitDone : Fail(env, status);
}

}  // namespace rowfs
