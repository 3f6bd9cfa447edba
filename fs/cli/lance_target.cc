#include "fs/cli/lance_target.h"

#include "index/dataset/dataset.h"

namespace rowfs {
namespace {

Result<LanceTarget> Resolve(Location dataset, std::string spec) {
  ROWFS_ASSIGN_OR_RETURN(ResolvedVersion resolved,
                         ResolveVersion(dataset, spec));
  return LanceTarget{std::move(dataset), std::move(spec), std::move(resolved)};
}

}  // namespace

Result<LanceTarget> FindLanceTarget(Session& session, std::string_view text) {
  ROWFS_ASSIGN_OR_RETURN(const Location whole, session.stores().Resolve(text));
  Status missing;
  if (FindLatest(whole).ok()) return Resolve(whole, "");
  if (const auto [path, spec] = SplitVersion(text); !spec.empty()) {
    ROWFS_ASSIGN_OR_RETURN(const Location location,
                           session.stores().Resolve(path));
    const auto latest = FindLatest(location);
    if (latest.ok()) return Resolve(location, spec);
    missing = latest.status();
  } else {
    missing = FindLatest(whole).status();
  }
  if (missing.code() != Code::kNotFound) return missing;
  return Status(Code::kUnsupported,
                whole.uri() +
                    ": no Lance dataset (no _versions folder); only those "
                    "have versions");
}

Status CheckNewest(const LanceTarget& target, std::string_view verb) {
  ROWFS_ASSIGN_OR_RETURN(const ManifestName latest,
                         FindLatest(target.resolved.root));
  if (target.resolved.name.version == latest.version) return {};
  return {Code::kInvalidArgument,
          target.dataset.uri() + "@" + target.spec + " is version " +
              std::to_string(target.resolved.name.version) +
              ", the newest is " + std::to_string(latest.version) + "; " +
              std::string(verb) + " works on the newest: leave out @" +
              target.spec};
}

int FailOrUsage(Env& env, const Status& status, std::string_view command) {
  const int code = Fail(env, status);
  if (status.code() != Code::kInvalidArgument) return code;
  env.err << "see `rowfs " << command << " --help`\n";
  return kExitUsage;
}

}  // namespace rowfs
