// Writes a blob pack: a folder of shards `PREFIX-NNNN.zip` that roll over by
// size and count, under the rules of blobpack 0.2.0 (facts: blobpack 1.3), so
// that the same blobs in the same order give the same bytes.
//
// Better than its model where the outcome is the same: no shard shows before
// all are whole and on disk, and a run that fails leaves nothing behind.
//
// One thread.
#ifndef ROWFS_STORAGE_PACK_PACK_WRITER_H_
#define ROWFS_STORAGE_PACK_PACK_WRITER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "storage/pack/blob_key.h"
#include "storage/pack/shard_writer.h"

namespace rowfs {

struct PackOptions {
  std::string folder;
  // The folder as the dataset root sees it; goes into references. Absent: the
  // folder's last part.
  std::optional<std::string> ref_base;
  std::string prefix = "pack";
  uint64_t pack_bytes_max = uint64_t{4} << 30;
  uint64_t blob_count_max = 65'535;
  // A new group starts a new shard when the current one is this full.
  double group_fill = 0.5;
};

class PackWriter {
 public:
  // Makes the folder. kInvalidArgument for a limit of 0, kAlreadyExists when
  // the folder holds a "*.zip".
  static Result<std::unique_ptr<PackWriter>> Open(PackOptions options);
  // Without Finish: removes the shards, and the folders that Open made.
  ~PackWriter();
  PackWriter(const PackWriter&) = delete;
  PackWriter& operator=(const PackWriter&) = delete;

  // Gives the next bytes of a blob; an empty span is the end. Valid until the
  // next call.
  using ByteStream = std::function<Result<ByteSpan>()>;

  // Store a blob of `size` bytes and return its reference. kInvalidArgument for
  // a key that is none, kAlreadyExists for one that the pack has,
  // kCorruption when the stream is shorter or longer than `size`; only the
  // first two leave the writer usable.
  Result<std::string> Add(std::string_view key, uint64_t size,
                          const ByteStream& stream,
                          std::optional<std::string_view> group = {});
  Result<std::string> Add(std::string_view key, ByteSpan bytes,
                          std::optional<std::string_view> group = {});

  // Read every shard's directory again, and give all of them their names. Last
  // call.
  Status Finish();

  uint64_t blobs_written() const { return blobs_written_; }
  uint64_t bytes_written() const { return bytes_written_; }
  uint64_t shards_written() const { return shard_count_; }
  // Groups that a forced roll tore apart.
  uint64_t groups_split() const { return groups_split_; }

 private:
  explicit PackWriter(PackOptions options);
  Status MakeFolder();
  Status Roll();
  Status MakeRoom(uint64_t member_bytes, std::optional<std::string_view> group);
  std::string ShardName(uint64_t index) const;
  Status CheckShard(const ShardWriter& shard) const;

  const PackOptions options_;
  std::string folder_;                                // absolute
  std::string ref_base_;                              // normalized
  std::vector<std::string> made_folders_;             // by us, outermost first
  std::vector<std::unique_ptr<ShardWriter>> shards_;  // all but the last closed
  bool finished_ = false;
  std::unordered_set<KeyHash, HashOfKeyHash> keys_;
  uint64_t shard_count_ = 0;
  uint64_t shard_bytes_ = 0;  // of the current shard file, as projected
  uint64_t shard_blobs_ = 0;
  std::optional<std::string> group_;
  uint64_t group_shard_ = 0;  // where it began
  uint64_t blobs_written_ = 0;
  uint64_t bytes_written_ = 0;
  uint64_t groups_split_ = 0;
};

// Names of the "*.zip" in a folder, hidden ones too, in order of their bytes;
// none when it cannot be read.
std::vector<std::string> ListZipNames(const std::string& folder);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_PACK_WRITER_H_
