#include "storage/pack/member_table.h"

#include <algorithm>
#include <limits>

#include "storage/base/hash.h"

namespace rowfs {
namespace {

// Bits of an entry's first byte; its low two are the coding.
constexpr uint8_t kCodingMask = 3;
constexpr uint8_t kHasRawName = 4;
constexpr uint8_t kHasFault = 8;
constexpr uint8_t kMoved = 16;  // not where the one before lets expect it
constexpr uint8_t kHasSlack = 32;
constexpr uint8_t kHasSize = 64;  // differs from the stored bytes
constexpr uint8_t kHasDetail = 128;

// The bytes a zip's local header has besides the name.
constexpr uint64_t kLocalHeaderBytes = 30;

// Where a member is expected after `last`. Wraps: a guess only.
uint64_t Expect(const Member& last, uint64_t alignment) {
  const uint64_t end = last.offset + last.stored + last.slack;
  if (alignment == 1) {
    return end + kLocalHeaderBytes + last.stored_name().size();
  }
  return (end + alignment - 1) / alignment * alignment + alignment;
}

}  // namespace

MemberTableBuilder::MemberTableBuilder(uint64_t alignment) {
  table_.alignment_ = alignment;
}

void MemberTableBuilder::Add(const Member& member) {
  Bytes& out = table_.data_;
  const bool first = table_.count_ % MemberTable::kBlock == 0;
  if (first) {
    table_.blocks_.push_back(out.size());
    last_ = Member();
  }
  const uint64_t expected = first ? 0 : Expect(last_, table_.alignment_);
  uint8_t head = static_cast<uint8_t>(member.coding);
  if (!member.raw_name.empty()) head |= kHasRawName;
  if (member.fault != MemberFault::kNone) head |= kHasFault;
  if (member.offset != expected) head |= kMoved;
  if (member.slack != 0) head |= kHasSlack;
  if (member.size != member.stored) head |= kHasSize;
  if (member.detail != 0) head |= kHasDetail;
  AppendU8(&out, head);
  const auto same =
      static_cast<size_t>(std::mismatch(member.name.begin(), member.name.end(),
                                        last_.name.begin(), last_.name.end())
                              .first -
                          member.name.begin());
  AppendVarint(&out, same);
  AppendVarint(&out, member.name.size() - same);
  AppendText(&out, std::string_view(member.name).substr(same));
  AppendVarint(&out, member.stored);
  if (head & kHasRawName) {
    AppendVarint(&out, member.raw_name.size());
    AppendText(&out, member.raw_name);
  }
  if (head & kHasFault) AppendU8(&out, static_cast<uint8_t>(member.fault));
  if (head & kMoved) {
    // Differences wrap, so that any two offsets have one.
    AppendZigzag(&out, static_cast<int64_t>(member.offset - expected));
  }
  if (head & kHasSlack) AppendVarint(&out, member.slack);
  if (head & kHasSize) AppendVarint(&out, member.size);
  if (head & kHasDetail) AppendVarint(&out, member.detail);
  if (member.coding != MemberCoding::kStored) AppendU32(&out, member.crc);
  last_ = member;
  ++table_.count_;
}

MemberTable MemberTableBuilder::Finish() {
  table_.data_.shrink_to_fit();
  table_.blocks_.shrink_to_fit();
  return std::move(table_);
}

namespace {

// Reads forward; millions of members go through it, so it is inline and only
// remembers that it failed.
class Input {
 public:
  Input(ByteSpan bytes, size_t at) : bytes_(bytes), at_(at) {}

  bool ok() const { return ok_; }
  size_t at() const { return at_; }
  uint8_t U8() {
    if (at_ >= bytes_.size()) return Fail();
    return std::to_integer<uint8_t>(bytes_[at_++]);
  }
  uint64_t Varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = U8();
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return Fail();
  }
  uint64_t Zigzag() {
    const uint64_t value = Varint();
    return (value >> 1) ^ (~(value & 1) + 1);
  }
  uint32_t U32() {
    uint32_t value = 0;
    for (unsigned shift = 0; shift < 32; shift += 8) {
      value |= static_cast<uint32_t>(U8()) << shift;
    }
    return value;
  }
  std::string_view Text(uint64_t size) {
    if (size > bytes_.size() - at_) {
      Fail();
      return {};
    }
    const std::string_view text = AsText(bytes_.subspan(at_, size));
    at_ += size;
    return text;
  }
  uint8_t Fail() {
    ok_ = false;
    at_ = bytes_.size();
    return 0;
  }

 private:
  const ByteSpan bytes_;
  size_t at_;
  bool ok_ = true;
};

}  // namespace

bool MemberTable::Read(size_t* at, bool first, Member* member) const {
  const uint64_t expected = first ? 0 : Expect(*member, alignment_);
  Input in(data_, *at);
  const uint8_t head = in.U8();
  const uint64_t same = in.Varint();
  const uint64_t rest = in.Varint();
  if (same > (first ? 0 : member->name.size())) return false;
  member->name.resize(same);
  member->name += in.Text(rest);
  member->stored = in.Varint();
  member->raw_name.clear();
  if ((head & kHasRawName) != 0) member->raw_name = in.Text(in.Varint());
  const uint8_t fault = (head & kHasFault) != 0 ? in.U8() : 0;
  if (fault > static_cast<uint8_t>(MemberFault::kLink)) return false;
  member->fault = static_cast<MemberFault>(fault);
  member->offset = expected + ((head & kMoved) != 0 ? in.Zigzag() : 0);
  member->slack = (head & kHasSlack) != 0 ? in.Varint() : 0;
  member->size = (head & kHasSize) != 0 ? in.Varint() : member->stored;
  member->detail = (head & kHasDetail) != 0 ? in.Varint() : 0;
  member->coding = static_cast<MemberCoding>(head & kCodingMask);
  member->crc = member->coding == MemberCoding::kStored ? 0 : in.U32();
  *at = in.at();
  return in.ok();
}

Member MemberTable::Get(uint64_t i) const {
  Member member;
  size_t at = blocks_[i / kBlock];
  for (uint64_t k = 0; k <= i % kBlock; ++k) {
    // A table that was built or checked has no errors.
    if (!Read(&at, k == 0, &member)) return {};
  }
  return member;
}

bool MemberTable::Cursor::Next() {
  if (next_ >= table_.count_) return false;
  return table_.Read(&at_, next_++ % kBlock == 0, &member_);
}

uint64_t MemberTable::bytes() const {
  return data_.capacity() + blocks_.capacity() * sizeof(uint64_t);
}

void MemberTable::Encode(Bytes* out) const {
  AppendVarint(out, count_);
  AppendVarint(out, alignment_);
  AppendVarint(out, data_.size());
  AppendBytes(out, data_);
}

Result<MemberTable> MemberTable::Decode(ByteSpan bytes, std::string_view what) {
  rowfs::Cursor in(bytes, what);
  MemberTable table;
  ROWFS_ASSIGN_OR_RETURN(table.count_, in.Varint());
  ROWFS_ASSIGN_OR_RETURN(table.alignment_, in.Varint());
  ROWFS_ASSIGN_OR_RETURN(const uint64_t size, in.Varint());
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan data, in.Take(size));
  const bool good = (table.alignment_ == 1 || table.alignment_ == 512) &&
                    in.AtEnd() &&
                    table.count_ <= std::numeric_limits<uint32_t>::max();
  if (!good) return in.Error("not a table of members");
  table.data_.assign(data.begin(), data.end());
  size_t at = 0;
  Member member;
  for (uint64_t i = 0; i < table.count_; ++i) {
    if (i % kBlock == 0) table.blocks_.push_back(at);
    if (!table.Read(&at, i % kBlock == 0, &member)) {
      return in.Error("a member that does not decode");
    }
  }
  if (at != table.data_.size()) return in.Error("bytes behind the last member");
  table.blocks_.shrink_to_fit();
  return table;
}

MemberIndex::MemberIndex(const MemberTable& table) {
  entries_.reserve(table.size());
  MemberTable::Cursor cursor(table);
  while (cursor.Next()) {
    entries_.push_back(
        {static_cast<uint32_t>(Hash64(AsBytes(cursor.member().name))),
         static_cast<uint32_t>(entries_.size())});
  }
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) {
              return a.hash != b.hash ? a.hash < b.hash : a.member < b.member;
            });
}

std::vector<uint64_t> MemberIndex::Find(const MemberTable& table,
                                        std::string_view name) const {
  const auto hash = static_cast<uint32_t>(Hash64(AsBytes(name)));
  std::vector<uint64_t> found;
  for (auto it = std::lower_bound(
           entries_.begin(), entries_.end(), hash,
           [](const Entry&e, uint32_t wanted) { return e.hash < wanted; });
       it != entries_.end() && it->hash == hash; ++it) {
    if (table.Get(it->member).name == name) found.push_back(it->member);
  }
  return found;
}

Status FaultOf(const Member& member, std::string_view shard) {
  if (member.fault == MemberFault::kNone &&
      member.coding != MemberCoding::kOther) {
    return {};
  }
  const std::string what = std::string(shard) + ": member " + member.name + " ";
  switch (member.fault) {
    case MemberFault::kNone:
      break;
    case MemberFault::kEncrypted:
      return {Code::kUnsupported, what + "is encrypted"};
    case MemberFault::kOverlap:
      return {Code::kCorruption, what + "overlaps another one"};
    case MemberFault::kOutOfBounds:
      return {Code::kCorruption, what + "lies outside the file"};
    case MemberFault::kTruncated:
      return {Code::kCorruption, what + "is cut off: the file ends inside it"};
    case MemberFault::kBadSize:
      return {Code::kCorruption, what + "has sizes that cannot be right"};
    case MemberFault::kOtherDisk:
      return {Code::kUnsupported,
              what + "lies on another disk of a split archive"};
    case MemberFault::kLink:
      return {Code::kUnsupported,
              what + "is a link to something that is not in the file"};
  }
  return {Code::kUnsupported,
          what + "is compressed with method " + std::to_string(member.detail) +
              "; only stored and deflated members can be read"};
}

}  // namespace rowfs
