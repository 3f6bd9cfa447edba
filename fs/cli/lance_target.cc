#include "fs/cli/lance_target.h"

#include <algorithm>

namespace rowfs {
namespace {

Result<LanceTarget> Resolve(Location dataset, std::string spec) {
  ROWFS_ASSIGN_OR_RETURN(ResolvedVersion resolved,
                         ResolveVersion(dataset, spec));
  return LanceTarget{std::move(dataset), std::move(spec), std::move(resolved)};
}

// Where the path of a URL starts: an '@' before it belongs to the host.
size_t PathBegin(std::string_view text) {
  const size_t scheme = text.find("://");
  if (scheme == text.npos) return 0;
  return std::min(text.find('/', scheme + 3), text.size());
}

}  // namespace

Result<LanceTarget> FindLanceTarget(Session& session, std::string_view text) {
  ROWFS_ASSIGN_OR_RETURN(const Location whole, session.stores().Resolve(text));
  const auto latest = FindLatest(whole);
  if (latest.ok()) return Resolve(whole, "");
  if (latest.status().code() != Code::kNotFound) return latest.status();
  // Branches may have '/' in their names, folders '@'.
  const size_t path = PathBegin(text);
  for (size_t at = text.rfind('@'); at != text.npos && at > path;
       at = text.rfind('@', at - 1)) {
    ROWFS_ASSIGN_OR_RETURN(const Location dataset,
                           session.stores().Resolve(text.substr(0, at)));
    const auto found = FindLatest(dataset);
    if (found.ok()) return Resolve(dataset, std::string(text.substr(at + 1)));
    if (found.status().code() != Code::kNotFound) return found.status();
  }
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
