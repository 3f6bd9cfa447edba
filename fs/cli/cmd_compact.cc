// rowfs compact.
#include "fs/cli/commands.h"
#include "fs/cli/lance_target.h"
#include "fs/cli/progress.h"
#include "storage/lance/compact.h"

namespace rowfs {
namespace {

Status ParseOptions(const Args& args, CompactOptions* options) {
  ROWFS_ASSIGN_OR_RETURN(const auto rows, args.GetUint("--rows-per-fragment"));
  if (rows == uint64_t{0}) {
    return {Code::kInvalidArgument, "--rows-per-fragment must not be 0"};
  }
  options->rows_per_fragment = rows.value_or(options->rows_per_fragment);
  ROWFS_ASSIGN_OR_RETURN(const auto percent, args.GetUint("--deleted-percent"));
  if (percent.value_or(0) > 100) {
    return {Code::kInvalidArgument, "--deleted-percent takes 0 to 100"};
  }
  if (percent) {
    options->deleted_share_max = static_cast<double>(*percent) / 100;
  }
  return {};
}

void Print(Env& env, const LanceTarget& target, const CompactResult& result,
           bool json) {
  if (json) {
    env.out
        << WriteJson(
               Json::Object()
                   .Add("version", Json::Uint(result.version))
                   .Add("fragments_before", Json::Uint(result.fragments_before))
                   .Add("fragments_after", Json::Uint(result.fragments_after))
                   .Add("fragments_kept", Json::Uint(result.fragments_kept))
                   .Add("rows", Json::Uint(result.row_count)))
        << "\n";
    return;
  }
  const std::string uri = target.resolved.root.uri();
  if (result.row_count == 0 &&
      result.fragments_before == result.fragments_after) {
    env.out << "nothing to do: version " << result.version << " of " << uri
            << " has " << result.fragments_after << " fragments\n";
  } else {
    env.out << "wrote version " << result.version << " of " << uri << ": "
            << result.fragments_before << " fragments are "
            << result.fragments_after << ", " << result.row_count
            << " rows copied; `rowfs gc` removes what no version needs\n";
  }
  if (result.fragments_kept > 0) {
    env.out << result.fragments_kept
            << " fragments stay as they are: an index covers them, or their "
               "row ids are stored apart\n";
  }
}

Status Run(Env& env, const Args& args) {
  CompactOptions options;
  ROWFS_RETURN_IF_ERROR(ParseOptions(args, &options));
  ROWFS_ASSIGN_OR_RETURN(const auto session, Session::Make(args, ""));
  ROWFS_ASSIGN_OR_RETURN(const LanceTarget target,
                         FindLanceTarget(*session, args.operands[0]));
  ROWFS_RETURN_IF_ERROR(CheckNewest(target, "compact"));
  auto progress = std::make_unique<Progress>(env, "compact");
  options.progress = [&](uint64_t done, uint64_t total) {
    progress->Update(done, total, "rows", 0);
  };
  ROWFS_ASSIGN_OR_RETURN(const CompactResult result,
                         CompactDataset(target.resolved.root, options,
                                        session->MakeOpenContext()));
  progress.reset();
  Print(env, target, result, args.Has("--json"));
  return {};
}

}  // namespace

int CmdCompact(Env& env, const Args& args) {
  const Status status = Run(env, args);
  return status.ok() ? kExitDone : FailOrUsage(env, status, "compact");
}

}  // namespace rowfs
