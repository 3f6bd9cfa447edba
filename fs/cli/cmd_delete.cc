// rowfs delete.
#include "fs/cli/commands.h"
#include "fs/cli/lance_target.h"
#include "fs/tree/selection.h"
#include "storage/lance/dataset.h"
#include "storage/lance/delete_rows.h"

namespace rowfs {
namespace {

constexpr uint64_t kListBytesMax = uint64_t{1} << 30;

Status AddRows(std::string_view text, const std::string& where,
               uint64_t row_count, std::vector<uint64_t>* rows) {
  auto selection = Selection::Parse(text, row_count);
  if (!selection.ok()) return selection.status().With(where);
  for (uint64_t i = 0; i < selection.value().row_count(); ++i) {
    rows->push_back(selection.value().at(i));
  }
  return {};
}

Result<std::vector<uint64_t>> ReadRows(Session& session, std::string_view where,
                                       uint64_t row_count) {
  std::vector<uint64_t> rows;
  if (!where.starts_with('@')) {
    ROWFS_RETURN_IF_ERROR(AddRows(where, "--where", row_count, &rows));
    return rows;
  }
  const std::string file(where.substr(1));
  ROWFS_ASSIGN_OR_RETURN(const Location location,
                         session.stores().Resolve(file));
  ROWFS_ASSIGN_OR_RETURN(const Bytes bytes, ReadWhole(location, kListBytesMax));
  std::string_view rest = AsText(bytes);
  for (uint64_t number = 1; !rest.empty(); ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    if (line.empty()) continue;
    ROWFS_RETURN_IF_ERROR(AddRows(
        line,
        "--where " + std::string(where) + " line " + std::to_string(number),
        row_count, &rows));
  }
  return rows;
}

Status Run(Env& env, const Args& args) {
  if (args.Get("--where").empty()) {
    return {Code::kInvalidArgument,
            "--where ROWS or --where @FILE is missing: which rows?"};
  }
  ROWFS_ASSIGN_OR_RETURN(const auto session, Session::Make(args, ""));
  ROWFS_ASSIGN_OR_RETURN(const LanceTarget target,
                         FindLanceTarget(*session, args.operands[0]));
  const OpenContext context = session->MakeOpenContext();
  ROWFS_ASSIGN_OR_RETURN(
      const auto table,
      LanceFormat().open(target.dataset, target.spec, context));
  ROWFS_ASSIGN_OR_RETURN(
      const auto rows,
      ReadRows(*session, args.Get("--where"), table->row_count()));
  DeleteOptions options;
  options.version = target.resolved.name.version;
  ROWFS_ASSIGN_OR_RETURN(
      const DeleteResult result,
      DeleteRows(target.resolved.root, rows, options, context));
  if (args.Has("--json")) {
    env.out << WriteJson(Json::Object()
                             .Add("version", Json::Uint(result.version))
                             .Add("deleted", Json::Uint(result.deleted_count)))
            << "\n";
    return {};
  }
  env.out << "deleted " << result.deleted_count << " rows: version "
          << result.version << " of " << target.resolved.root.uri()
          << " is without them\n";
  return {};
}

}  // namespace

int CmdDelete(Env& env, const Args& args) {
  const Status status = Run(env, args);
  return status.ok() ? kExitDone : FailOrUsage(env, status, "delete");
}

}  // namespace rowfs
