// rowfs read-blob.
#include <algorithm>

#include "fs/cli/commands.h"
#include "fs/cli/output_file.h"
#include "fs/cli/session.h"

namespace rowfs {
namespace {

constexpr uint64_t kStepBytes = 4 << 20;

Result<std::shared_ptr<const Blob>> OpenStored(Session& session,
                                               const Args& args, uint64_t row) {
  ROWFS_ASSIGN_OR_RETURN(const auto dataset,
                         session.OpenDataset(args.operands[0]));
  const std::string name = args.Get("--column");
  ROWFS_ASSIGN_OR_RETURN(const size_t column, FindColumn(*dataset, name));
  const std::string cell = name + " of row " + std::to_string(row);
  if (dataset->columns()[column].role != ColumnRole::kBlob) {
    return Status(Code::kInvalidArgument, "column " + name +
                                              " holds no blobs; its values are "
                                              "in row.json");
  }
  const Column& described = dataset->columns()[column];
  ROWFS_ASSIGN_OR_RETURN(
      auto blob, dataset->OpenBlob(row, {column, {}}, BlobDetail::kHead));
  if (!blob) {
    return Status(Code::kNotFound, cell + " is null: it has no bytes");
  }
  // In the column layout the bytes are those of the source, whatever the index
  // says about them.
  if (blob->cell().info && !described.index_field) {
    return Status(Code::kUnsupported,
                  cell +
                      " has blob_info: its stored bytes are no file of "
                      "their own; use `rowfs extract-frame`, or `rowfs cat "
                      "SOURCE rows/...` for the playable file");
  }
  return blob;
}

Status Run(Env& env, const Args& args) {
  ROWFS_ASSIGN_OR_RETURN(const auto row, args.GetUint("--row"));
  ROWFS_ASSIGN_OR_RETURN(const auto offset, args.GetUint("--offset"));
  ROWFS_ASSIGN_OR_RETURN(const auto length, args.GetUint("--length"));
  if (args.Get("--column").empty() || !row) {
    return {Code::kInvalidArgument, "--column C and --row N are needed"};
  }
  ROWFS_ASSIGN_OR_RETURN(const auto session,
                         Session::Make(args, args.Get("--format")));
  ROWFS_ASSIGN_OR_RETURN(const auto blob, OpenStored(*session, args, *row));
  const uint64_t begin = offset.value_or(0);
  if (begin > blob->size() ||
      length.value_or(0) > blob->size() - std::min(begin, blob->size())) {
    return {Code::kOutOfRange, "the blob has " + std::to_string(blob->size()) +
                                   " bytes; the range ends behind them"};
  }
  const uint64_t end = begin + length.value_or(blob->size() - begin);
  const auto copy =
      [&](const std::function<Status(ByteSpan)>& write) -> Status {
    Bytes buffer;
    for (uint64_t at = begin; at < end; at += buffer.size()) {
      buffer.resize(std::min(kStepBytes, end - at));
      ROWFS_RETURN_IF_ERROR(blob->ReadAt(at, buffer));
      ROWFS_RETURN_IF_ERROR(write(buffer));
    }
    return {};
  };
  if (args.Has("--output")) {
    return WriteOutput(session->stores(), args.Get("--output"), copy);
  }
  return copy([&](ByteSpan bytes) -> Status {
    env.out << AsText(bytes);
    if (env.out) return {};
    return {Code::kUnavailable, "standard output cannot be written"};
  });
}

}  // namespace

int CmdReadBlob(Env& env, const Args& args) {
  const Status status = Run(env, args);
  return status.ok() ? kExitDone : Fail(env, status);
}

}  // namespace rowfs
