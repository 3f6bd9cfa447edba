#include "index/convert/convert_tar.h"

#include <filesystem>

#include "storage/pack/blob_key.h"
#include "storage/pack/posix_path.h"
#include "storage/pack/tar_stream.h"

namespace rowfs {
namespace {

// What to do about it belongs to the two errors that name a member.
Status Explain(const Status& status, const std::string& key,
               const std::string& tar_name) {
  if (status.code() == Code::kAlreadyExists) {
    return {status.code(),
            "duplicate key " + QuoteText(key) + " (from " + tar_name +
                "); WebDataset only guarantees per-shard uniqueness -- rerun "
                "with --shard-prefix"};
  }
  if (status.code() == Code::kInvalidArgument) {
    return status.With(tar_name + ": unusable member name");
  }
  return status.With(tar_name);
}

}  // namespace

Status AddTarMembers(const std::string& path, const std::string& prefix,
                     PackWriter& pack, const ConvertProgress& progress,
                     bool* ended_early) {
  const std::string tar_name = LastPart(path);
  std::error_code ignored;
  const uint64_t total = std::filesystem::file_size(path, ignored);
  ROWFS_ASSIGN_OR_RETURN(auto input, OpenInputStream(path));
  TarStream tar(std::move(input));
  while (true) {
    auto entry = tar.Next();
    if (!entry.ok()) return entry.status().With(tar_name);
    if (!entry.value()) break;
    if (!entry.value()->IsRegular()) continue;
    std::string key = entry.value()->name;
    while (key.starts_with("./")) key.erase(0, 2);
    key = prefix + key;
    const auto added = pack.Add(key, static_cast<uint64_t>(entry.value()->size),
                                [&tar]() { return tar.ReadData(); });
    if (!added.ok()) return Explain(added.status(), key, tar_name);
    if (progress) progress(tar.file_position(), total);
  }
  *ended_early = tar.ended_early();
  return {};
}

}  // namespace rowfs
