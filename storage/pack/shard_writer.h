// Writes one shard: a zip file of STORED members whose bytes depend on the
// members alone (facts: blobpack 1.5), as CPython's zipfile lays them out. The
// file grows under a temporary name and is moved to its own once it is whole
// and on disk.
//
// A local file, not an ObjectWriter: a member's CRC stands before its bytes and
// is known after them.
//
// One thread.
#ifndef ROWFS_STORAGE_PACK_SHARD_WRITER_H_
#define ROWFS_STORAGE_PACK_SHARD_WRITER_H_

#include <memory>
#include <string>
#include <string_view>

#include "storage/base/bytes.h"
#include "storage/object/posix_file.h"

namespace rowfs {

// Sizes and offsets above this are written as zip64, as zipfile does: half of
// what the classic fields could hold.
inline constexpr uint64_t kZip64Limit = (uint64_t{1} << 31) - 1;

class ShardWriter {
 public:
  // The shard `folder`/`name`; the folder is there.
  static Result<std::unique_ptr<ShardWriter>> Create(const std::string& folder,
                                                     const std::string& name);
  // Removes what was not published.
  ~ShardWriter();
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;

  // Sticky: after the first failure every call returns it.
  //
  // A member is Begin, any number of Writes that add up to `size`, End
  // (kCorruption when they do not). Requires: CheckBlobKey(key).
  Status Begin(std::string_view key, uint64_t size);
  Status Write(ByteSpan bytes);
  Status End();
  // Write the directory and make the file durable, still under its temporary
  // name.
  Status Close();
  // Give the closed shard its name. kAlreadyExists when something has it.
  Status Publish();

  const std::string& temporary_path() const { return temporary_; }
  uint64_t member_count() const { return member_count_; }

 private:
  ShardWriter(std::string path, std::string temporary, PosixFile file);
  Status Flush();
  Status PatchHeader();
  void AppendEntry();
  void AppendEnd();

  const std::string path_;
  std::string temporary_;  // empty: published
  PosixFile file_;
  Status status_;
  Bytes buffer_;               // bytes from `flushed_` on
  uint64_t flushed_ = 0;       // bytes in the file
  Bytes directory_;            // entries so far
  uint64_t member_count_ = 0;  // ended members
  // The member being written.
  std::string key_;
  uint64_t header_offset_ = 0;
  uint64_t size_ = 0;
  uint64_t written_ = 0;
  uint32_t crc_ = 0;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_SHARD_WRITER_H_
