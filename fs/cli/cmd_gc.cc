// rowfs gc.
#include <charconv>

#include "fs/cli/commands.h"
#include "fs/cli/lance_target.h"
#include "fs/cli/progress.h"
#include "storage/lance/garbage.h"

namespace rowfs {
namespace {

// "7d", "12h", "30m", "90s", "90" (seconds).
Result<int64_t> ParseGrace(const std::string& text) {
  uint32_t count = 0;  // wide enough for centuries, and no product overflows
  const char* end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, count);
  const std::string_view rest(unit, static_cast<size_t>(end - unit));
  int64_t seconds = 0;
  if (rest.empty() || rest == "s") seconds = 1;
  if (rest == "m") seconds = 60;
  if (rest == "h") seconds = 3600;
  if (rest == "d") seconds = 24 * 3600;
  if (error != std::errc() || seconds == 0) {
    return Status(
        Code::kInvalidArgument,
        "--grace takes a time like 7d, 12h, 30m or 90s, not \"" + text + "\"");
  }
  return int64_t{count} * seconds * 1000;
}

Status Run(Env& env, const Args& args) {
  GarbageOptions options;
  options.dry_run = args.Has("--dry-run");
  if (args.Has("--grace")) {
    ROWFS_ASSIGN_OR_RETURN(options.grace_ms, ParseGrace(args.Get("--grace")));
  }
  ROWFS_ASSIGN_OR_RETURN(const auto session, Session::Make(args, ""));
  ROWFS_ASSIGN_OR_RETURN(const LanceTarget target,
                         FindLanceTarget(*session, args.operands[0]));
  ROWFS_ASSIGN_OR_RETURN(const auto garbage,
                         CollectGarbage(target.dataset, options));
  uint64_t bytes = 0;
  Json removed = Json::Array();
  for (const Garbage& file : garbage) {
    bytes += file.size;
    removed.items.push_back(std::move(Json::Object()
                                          .Add("path", Json::String(file.path))
                                          .Add("size", Json::Uint(file.size))));
  }
  if (args.Has("--json")) {
    env.out << WriteJson(Json::Object()
                             .Add("dry_run", Json::Bool(options.dry_run))
                             .Add("files", Json::Uint(garbage.size()))
                             .Add("bytes", Json::Uint(bytes))
                             .Add("removed", std::move(removed)))
            << "\n";
    return {};
  }
  for (const Garbage& file : garbage) env.out << file.path << "\n";
  env.out << (options.dry_run ? "would remove " : "removed ") << garbage.size()
          << " files, " << HumanBytes(bytes) << "\n";
  return {};
}

}  // namespace

int CmdGc(Env& env, const Args& args) {
  const Status status = Run(env, args);
  return status.ok() ? kExitDone : FailOrUsage(env, status, "gc");
}

}  // namespace rowfs
