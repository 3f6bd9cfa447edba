// rowfs commit.
#include "fs/cli/commands.h"
#include "fs/cli/session.h"
#include "index/ingest/ingest_marker.h"
#include "storage/base/json.h"
#include "storage/lance/publish.h"

namespace rowfs {
namespace {

constexpr uint64_t kFileBytesMax = uint64_t{1} << 30;

Result<FragmentList> ReadFragments(Session& session, const std::string& name) {
  ROWFS_ASSIGN_OR_RETURN(const Location file, session.stores().Resolve(name));
  ROWFS_ASSIGN_OR_RETURN(const Bytes bytes, ReadWhole(file, kFileBytesMax));
  return DecodeFragmentList(AsText(bytes), name);
}

Status Run(Env& env, const Args& args) {
  ROWFS_ASSIGN_OR_RETURN(const auto session, Session::Make(args, ""));
  ROWFS_ASSIGN_OR_RETURN(const Location dataset,
                         session->stores().Resolve(args.operands[0]));
  std::vector<FragmentList> lists;
  for (size_t i = 1; i < args.operands.size(); ++i) {
    ROWFS_ASSIGN_OR_RETURN(lists.emplace_back(),
                           ReadFragments(*session, args.operands[i]));
  }
  ROWFS_ASSIGN_OR_RETURN(const PublishResult result,
                         PublishFragments(dataset, lists));
  // It says that there is no dataset yet, and who reads the dataset does not
  // look at it: what was committed is so without it.
  static_cast<void>(RemoveIngestMarker(dataset).ok());
  if (args.Has("--json")) {
    env.out << WriteJson(Json::Object()
                             .Add("event", Json::String("summary"))
                             .Add("version", Json::Uint(result.version))
                             .Add("rows", Json::Uint(result.rows))
                             .Add("fragments", Json::Uint(result.fragments))
                             .Add("files", Json::Uint(lists.size())))
            << "\n";
    return {};
  }
  env.out << "wrote version " << result.version << " of " << dataset.uri()
          << ": " << result.rows << " rows in " << result.fragments
          << " fragments of " << lists.size() << " files\n";
  return {};
}

}  // namespace

int CmdCommit(Env& env, const Args& args) {
  const Status status = Run(env, args);
  return status.ok() ? kExitDone : Fail(env, status);
}

}  // namespace rowfs
