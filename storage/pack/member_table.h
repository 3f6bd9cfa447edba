// The members of a shard in memory, in the order of its directory, at about ten
// bytes each: names are coded against their neighbours, offsets against where
// the member before ends. Blocks of 16 can be decoded on their own, so that any
// member costs about a microsecond.
//
// Immutable once built; thread-safe to read.
#ifndef ROWFS_STORAGE_PACK_MEMBER_TABLE_H_
#define ROWFS_STORAGE_PACK_MEMBER_TABLE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"

namespace rowfs {

enum class MemberCoding : uint8_t {
  kStored,
  kDeflated,
  kSparse,  // tar: a map of pieces at `detail` of the shard's sparse maps
  kOther,   // a zip method we cannot decode; `detail` is its number
};

// Why a member cannot be read although it is listed.
enum class MemberFault : uint8_t {
  kNone,
  kEncrypted,
  kOverlap,      // its bytes run into another member or the directory
  kOutOfBounds,  // its bytes lie outside the shard
  kTruncated,    // the shard ends inside its bytes
  kBadSize,      // sizes that cannot both be right
  kOtherDisk,    // a split archive
  kLink,         // a link that leads nowhere inside the shard
};

struct Member {
  std::string name;  // UTF-8 where that could be told
  // zip: the name as stored, when it differs from `name`.
  std::string raw_name;
  uint64_t offset = 0;  // zip: of the local header; tar: of the bytes
  uint64_t stored = 0;  // bytes in the shard
  uint64_t size = 0;    // of the content
  // zip: bytes between the end of the data, were its local header without extra
  // field, and what follows it.
  uint64_t slack = 0;
  uint64_t detail = 0;
  uint32_t crc = 0;  // of the content of members that are not stored
  MemberCoding coding = MemberCoding::kStored;
  MemberFault fault = MemberFault::kNone;

  const std::string& stored_name() const {
    return raw_name.empty() ? name : raw_name;
  }
};

// Told of members as they are found in a shard that is known up to `bytes`; an
// error ends the search.
using TarObserver = std::function<Status(const Member& member, uint64_t bytes)>;

class MemberTable {
 public:
  uint64_t size() const { return count_; }
  // Requires: i < size().
  Member Get(uint64_t i) const;
  // The memory this takes, name index not included.
  uint64_t bytes() const;

  // Reads members in order, each once.
  class Cursor {
   public:
    explicit Cursor(const MemberTable& table) : table_(table) {}
    // False at the end. Valid until the next call.
    bool Next();
    const Member& member() const { return member_; }

   private:
    const MemberTable& table_;
    uint64_t next_ = 0;
    size_t at_ = 0;
    Member member_;
  };

  // All of it as bytes, and back: kCorruption unless every member decodes and
  // all bytes are used.
  void Encode(Bytes* out) const;
  static Result<MemberTable> Decode(ByteSpan bytes, std::string_view what);

 private:
  friend class MemberTableBuilder;
  static constexpr uint64_t kBlock = 16;

  // Decode the member at `at`, given the one before (if not first of a block).
  // False when it does not decode.
  bool Read(size_t* at, bool first, Member* member) const;

  uint64_t count_ = 0;
  uint64_t alignment_ = 1;        // of what lies between members: 512 in a tar
  std::vector<uint64_t> blocks_;  // where each block begins in data_
  Bytes data_;
};

class MemberTableBuilder {
 public:
  // `alignment`: what members are padded to, for a compact coding only.
  explicit MemberTableBuilder(uint64_t alignment);
  void Add(const Member& member);
  MemberTable Finish();
  // What was added so far.
  const MemberTable& table() const { return table_; }

 private:
  MemberTable table_;
  Member last_;
};

// Finds members by name. 8 bytes a member.
class MemberIndex {
 public:
  explicit MemberIndex(const MemberTable& table);
  // Numbers of all members called `name`, ascending.
  std::vector<uint64_t> Find(const MemberTable& table,
                             std::string_view name) const;

 private:
  struct Entry {
    uint32_t hash;
    uint32_t member;
  };
  std::vector<Entry> entries_;  // by hash, then member
};

// "a.jpg is encrypted": why `member` of `shard` cannot be read; kOk when it
// can.
Status FaultOf(const Member& member, std::string_view shard);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_MEMBER_TABLE_H_
