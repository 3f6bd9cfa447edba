#include "storage/pack/pack_writer.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "storage/object/local_store.h"
#include "storage/pack/posix_path.h"
#include "storage/pack/shard_directory.h"

namespace rowfs {
namespace {

namespace path = std::filesystem;

// What a shard file is taken to need: the end record, and for a member its
// local header and directory entry with the name in each, plus both zip64
// fields when its size needs them.
constexpr uint64_t kEndBytes = 22;
constexpr uint64_t kMemberBytes = 30 + 46;
constexpr uint64_t kZip64Bytes = 2 * 20;

uint64_t ProjectedBytes(std::string_view key, uint64_t size) {
  return size + kMemberBytes + 2 * key.size() +
         (size > kZip64Limit ? kZip64Bytes : 0);
}

}  // namespace

std::vector<std::string> ListZipNames(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  path::directory_iterator entry(folder, error);
  for (; !error && entry != path::directory_iterator();
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (name.ends_with(".zip")) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

PackWriter::PackWriter(PackOptions options) : options_(std::move(options)) {}

Result<std::unique_ptr<PackWriter>> PackWriter::Open(PackOptions options) {
  if (options.pack_bytes_max == 0 || options.blob_count_max == 0) {
    return Status(Code::kInvalidArgument,
                  "max_pack_bytes and max_blob_count must be positive");
  }
  auto writer = std::unique_ptr<PackWriter>(new PackWriter(std::move(options)));
  ROWFS_RETURN_IF_ERROR(writer->MakeFolder());
  const size_t zips = ListZipNames(writer->folder_).size();
  if (zips > 0) {
    return Status(Code::kAlreadyExists,
                  writer->options_.folder + " already contains " +
                      std::to_string(zips) +
                      " zip file(s); packs are immutable, write to a fresh "
                      "directory");
  }
  return writer;
}

PackWriter::~PackWriter() {
  if (finished_) return;
  shards_.clear();
  // Only while they are empty: what others put there stays.
  for (auto made = made_folders_.rbegin(); made != made_folders_.rend();
       ++made) {
    ::rmdir(made->c_str());
  }
}

Status PackWriter::MakeFolder() {
  ROWFS_RETURN_IF_ERROR(CheckPath(options_.folder));
  std::error_code error;
  folder_ = path::absolute(options_.folder, error).string();
  while (folder_.size() > 1 && folder_.ends_with('/')) folder_.pop_back();
  for (std::string missing = folder_; !path::exists(missing, error);
       missing = ParentOf(missing)) {
    made_folders_.insert(made_folders_.begin(), missing);
    if (missing == "/") break;
  }
  ROWFS_RETURN_IF_ERROR(MakeDirectories(folder_));
  if (!path::is_directory(folder_, error)) {
    return {Code::kAlreadyExists, options_.folder + ": is not a directory"};
  }
  ref_base_ = options_.ref_base ? NormalizePath(*options_.ref_base)
                                : LastPart(options_.folder);
  return {};
}

std::string PackWriter::ShardName(uint64_t index) const {
  std::string digits = std::to_string(index);
  if (digits.size() < 4) digits.insert(0, 4 - digits.size(), '0');
  return options_.prefix + "-" + digits + ".zip";
}

Status PackWriter::Roll() {
  if (!shards_.empty()) ROWFS_RETURN_IF_ERROR(shards_.back()->Close());
  ROWFS_ASSIGN_OR_RETURN(shards_.emplace_back(),
                         ShardWriter::Create(folder_, ShardName(shard_count_)));
  ++shard_count_;
  shard_bytes_ = kEndBytes;
  shard_blobs_ = 0;
  return {};
}

Status PackWriter::MakeRoom(uint64_t member_bytes,
                            std::optional<std::string_view> group) {
  const bool new_group = group && (!group_ || *group != *group_);
  if (new_group && shard_blobs_ > 0 &&
      static_cast<double>(shard_bytes_) >=
          static_cast<double>(options_.pack_bytes_max) * options_.group_fill) {
    ROWFS_RETURN_IF_ERROR(Roll());
  }
  if (shards_.empty() || shard_blobs_ >= options_.blob_count_max ||
      (shard_blobs_ > 0 &&
       shard_bytes_ + member_bytes > options_.pack_bytes_max)) {
    if (group && !new_group && group_shard_ + 1 == shard_count_) {
      ++groups_split_;
    }
    ROWFS_RETURN_IF_ERROR(Roll());
  }
  if (new_group) {
    group_shard_ = shard_count_ - 1;
    group_ = std::string(*group);
  }
  return {};
}

Result<std::string> PackWriter::Add(std::string_view key, uint64_t size,
                                    const ByteStream& stream,
                                    std::optional<std::string_view> group) {
  ROWFS_RETURN_IF_ERROR(CheckBlobKey(key));
  const KeyHash hash = HashKey(key);
  if (keys_.contains(hash)) {
    return Status(Code::kAlreadyExists,
                  "duplicate blob key: " + QuoteText(key));
  }
  const uint64_t member_bytes = ProjectedBytes(key, size);
  ROWFS_RETURN_IF_ERROR(MakeRoom(member_bytes, group));
  ShardWriter& shard = *shards_.back();
  ROWFS_RETURN_IF_ERROR(shard.Begin(key, size));
  uint64_t written = 0;
  while (true) {
    ROWFS_ASSIGN_OR_RETURN(const ByteSpan bytes, stream());
    if (bytes.empty()) break;
    written += bytes.size();
    if (written > size) break;
    ROWFS_RETURN_IF_ERROR(shard.Write(bytes));
  }
  if (written != size) {
    return Status(Code::kCorruption,
                  "short or oversized stream for " + QuoteText(key) +
                      ": wrote " + std::to_string(written) + " of " +
                      std::to_string(size) + " declared bytes");
  }
  ROWFS_RETURN_IF_ERROR(shard.End());
  keys_.insert(hash);
  shard_bytes_ += member_bytes;
  ++shard_blobs_;
  ++blobs_written_;
  bytes_written_ += size;
  return MakeBlobReference(key,
                           JoinPath(ref_base_, ShardName(shard_count_ - 1)));
}

Result<std::string> PackWriter::Add(std::string_view key, ByteSpan bytes,
                                    std::optional<std::string_view> group) {
  bool given = false;
  return Add(
      key, bytes.size(),
      [&]() -> Result<ByteSpan> {
        return std::exchange(given, true) ? ByteSpan() : bytes;
      },
      group);
}

// The guard that the format asks of writers: what was written reads as STORED.
Status PackWriter::CheckShard(const ShardWriter& shard) const {
  ShardObject object;
  object.location = {std::make_shared<LocalStore>(), shard.temporary_path()};
  ROWFS_ASSIGN_OR_RETURN(object.meta,
                         object.location.store->Stat(object.location.path));
  ROWFS_ASSIGN_OR_RETURN(const ShardDirectory directory,
                         ReadShardDirectory(object));
  const bool stored =
      std::all_of(directory.members.begin(), directory.members.end(),
                  [](const ShardMember& m) { return m.method == kZipStored; });
  if (!stored || directory.members.size() != shard.member_count()) {
    return {Code::kInternal,
            shard.temporary_path() + ": directory does not read back"};
  }
  return {};
}

Status PackWriter::Finish() {
  if (!shards_.empty()) ROWFS_RETURN_IF_ERROR(shards_.back()->Close());
  for (const auto& shard : shards_) ROWFS_RETURN_IF_ERROR(CheckShard(*shard));
  for (size_t i = 0; i < shards_.size(); ++i) {
    const Status status = shards_[i]->Publish();
    if (status.ok()) continue;
    for (size_t done = 0; done < i; ++done) {
      ::unlink((folder_ + "/" + ShardName(done)).c_str());
    }
    return status;
  }
  finished_ = true;
  return SyncDirectory(folder_);
}

}  // namespace rowfs
