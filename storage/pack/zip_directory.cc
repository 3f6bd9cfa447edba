#include "storage/pack/zip_directory.h"

#include <algorithm>
#include <limits>

#include "storage/pack/zip_format.h"

namespace rowfs {
namespace {

// The directory is read in pieces of this size.
constexpr uint64_t kPieceBytes = 4 << 20;
// The longest an entry can be: three 16-bit lengths.
constexpr uint64_t kEntryBytesMax = kZipEntryBytes + 3 * 65535;
// Deflate expands at most by this, plus the last block.
constexpr uint64_t kDeflateRatioMax = 1032;

constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;

// Hands out the directory's bytes, of which the tail has a part already.
class DirectoryBytes {
 public:
  DirectoryBytes(const ObjectReader& reader, ByteSpan tail, ByteRange range)
      : reader_(reader), tail_(tail), range_(range), next_(range.begin) {}

  // At least the longest entry's bytes at the current position, fewer only at
  // the end of the directory.
  Result<ByteSpan> Ahead() {
    if (buffer_.size() - at_ >= kEntryBytesMax || next_ == range_.end) {
      return ByteSpan(buffer_).subspan(at_);
    }
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<int64_t>(at_));
    at_ = 0;
    const uint64_t tail_begin = reader_.size() - tail_.size();
    const uint64_t size = std::min(kPieceBytes, range_.end - next_);
    const size_t old = buffer_.size();
    buffer_.resize(old + size);
    const MutableByteSpan out = MutableByteSpan(buffer_).subspan(old);
    const uint64_t from_store =
        next_ >= tail_begin ? 0 : std::min(size, tail_begin - next_);
    if (from_store > 0) {
      ROWFS_RETURN_IF_ERROR(
          reader_.ReadAt(next_, out.first(from_store), ReadKind::kMetadata));
    }
    const ByteSpan rest = tail_.subspan(
        next_ + from_store - std::min(tail_begin, next_ + from_store),
        size - from_store);
    std::copy(rest.begin(), rest.end(),
              out.begin() + static_cast<int64_t>(from_store));
    next_ += size;
    return ByteSpan(buffer_);
  }
  void Skip(size_t bytes) { at_ += bytes; }

 private:
  const ObjectReader& reader_;
  const ByteSpan tail_;
  const ByteRange range_;
  uint64_t next_;
  Bytes buffer_;
  size_t at_ = 0;
};

void FillMember(const ZipEntry& entry, const ZipDirectory& directory,
                Member* member) {
  member->name = entry.name;
  member->raw_name.clear();
  if (entry.raw_name != entry.name) member->raw_name = entry.raw_name;
  member->offset = entry.offset + directory.prefix();
  member->stored = entry.stored;
  member->size = entry.size;
  member->crc = entry.crc;
  member->slack = 0;
  member->coding = entry.method == kStored     ? MemberCoding::kStored
                   : entry.method == kDeflated ? MemberCoding::kDeflated
                                               : MemberCoding::kOther;
  member->detail =
      member->coding == MemberCoding::kOther ? uint64_t{entry.method} : 0;
  const auto data =
      CheckedAdd(member->offset, kZipLocalHeaderBytes + entry.raw_name.size());
  const auto end =
      data ? CheckedAdd(*data, member->stored) : std::optional<uint64_t>();
  member->fault = MemberFault::kNone;
  if (entry.encrypted()) {
    member->fault = MemberFault::kEncrypted;
  } else if (entry.disk != directory.disk) {
    member->fault = MemberFault::kOtherDisk;
  } else if (!end || *end > directory.begin) {
    member->fault = MemberFault::kOutOfBounds;
  } else if (member->coding == MemberCoding::kStored
                 ? member->size != member->stored
                 : member->size / kDeflateRatioMax > member->stored + 1) {
    // Other methods are not read at all.
    if (member->coding != MemberCoding::kOther) {
      member->fault = MemberFault::kBadSize;
    }
  }
}

uint64_t DataBegin(const Member& member) {
  return member.offset + kZipLocalHeaderBytes + member.stored_name().size();
}

// What is behind `member` begins at `limit`: how much room there is, or that
// it runs into it.
void Settle(uint64_t limit, bool alone, Member* member) {
  // Its end may not even be a number.
  if (member->fault == MemberFault::kOutOfBounds ||
      member->fault == MemberFault::kOtherDisk || member->offset > limit) {
    return;
  }
  const uint64_t begin = DataBegin(*member);
  if (alone && begin <= limit && member->stored <= limit - begin) {
    member->slack = limit - begin - member->stored;
  } else if (member->fault == MemberFault::kNone) {
    member->fault = MemberFault::kOverlap;
  }
}

// Collects members in the order of the directory. Nearly always that is the
// order of their bytes, and a member is settled when the next one comes.
class Collector {
 public:
  explicit Collector(uint64_t directory_begin)
      : directory_begin_(directory_begin), builder_(1) {}

  void Add(const Member& member) {
    if (any_) {
      ascending_ = ascending_ && member.offset > last_.offset;
      if (ascending_) Settle(Limit(member.offset), true, &last_);
      builder_.Add(last_);
    }
    any_ = true;
    last_ = member;
  }

  MemberTable Finish() {
    if (any_) {
      if (ascending_) Settle(directory_begin_, true, &last_);
      builder_.Add(last_);
    }
    MemberTable members = builder_.Finish();
    return ascending_ ? std::move(members) : SettleAll(members);
  }

 private:
  uint64_t Limit(uint64_t next) const {
    return std::min(next, directory_begin_);
  }

  MemberTable SettleAll(const MemberTable& members) const {
    std::vector<uint64_t> offsets;
    offsets.reserve(members.size());
    for (MemberTable::Cursor cursor(members); cursor.Next();) {
      offsets.push_back(cursor.member().offset);
    }
    std::sort(offsets.begin(), offsets.end());
    MemberTableBuilder builder(1);
    for (MemberTable::Cursor cursor(members); cursor.Next();) {
      Member member = cursor.member();
      const auto [here, next] =
          std::equal_range(offsets.begin(), offsets.end(), member.offset);
      if (member.fault == MemberFault::kOverlap) {
        member.fault = MemberFault::kNone;  // told before the order broke
      }
      Settle(next == offsets.end() ? directory_begin_ : Limit(*next),
             next - here == 1, &member);
      builder.Add(member);
    }
    return builder.Finish();
  }

  const uint64_t directory_begin_;
  MemberTableBuilder builder_;
  Member last_;
  bool any_ = false;
  bool ascending_ = true;
};

// Where the directory really begins: bytes may precede the archive, and then
// offsets count from there, or do not.
Status FindBegin(const ObjectReader& reader, ByteSpan tail,
                 ZipDirectory* directory) {
  const uint64_t tail_begin = reader.size() - tail.size();
  const auto begins_at = [&](uint64_t place) -> Result<bool> {
    if (place > directory->end || directory->end - place < kZipEntryBytes) {
      return false;
    }
    if (place >= tail_begin)
      return IsZipEntry(tail.subspan(place - tail_begin));
    Bytes first(4);
    ROWFS_RETURN_IF_ERROR(reader.ReadAt(place, first, ReadKind::kMetadata));
    return IsZipEntry(first);
  };
  if (directory->begin == directory->stated_begin) return {};
  ROWFS_ASSIGN_OR_RETURN(const bool good, begins_at(directory->begin));
  if (good || directory->begin == directory->end ||
      directory->stated_begin > directory->end) {
    return {};
  }
  // With this one prefix() is 0.
  directory->begin = directory->stated_begin;
  return {};
}

}  // namespace

Result<ZipContents> ReadZipDirectory(const ObjectReader& reader,
                                     ByteSpan tail) {
  const std::string uri = reader.uri();
  ROWFS_ASSIGN_OR_RETURN(ZipDirectory directory,
                         FindZipDirectory(tail, reader.size(), uri));
  ROWFS_RETURN_IF_ERROR(FindBegin(reader, tail, &directory));
  ZipContents contents;
  contents.directory_begin = directory.begin;
  DirectoryBytes bytes(reader, tail, {directory.begin, directory.end});
  Collector collector(directory.begin);
  uint64_t entries = 0;
  ZipEntry entry;
  Member member;
  for (;;) {
    ROWFS_ASSIGN_OR_RETURN(const ByteSpan ahead, bytes.Ahead());
    if (ahead.empty()) break;
    Cursor in(ahead, uri);
    const Status status = ReadZipEntry(&in, &entry);
    if (!status.ok()) {
      // What may stand between the last entry and the end: a signature.
      if (entries == 0) return status;
      if (entries < directory.entries) {
        contents.damage = "the zip directory is damaged behind entry " +
                          std::to_string(entries);
      }
      break;
    }
    bytes.Skip(in.position());
    if (++entries > std::numeric_limits<uint32_t>::max()) {
      return Status(Code::kResourceExhausted, uri + ": too many members");
    }
    if (entry.is_directory()) continue;
    FillMember(entry, directory, &member);
    collector.Add(member);
  }
  contents.members = collector.Finish();
  return contents;
}

}  // namespace rowfs
