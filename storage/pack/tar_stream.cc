#include "storage/pack/tar_stream.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace rowfs {
namespace {

constexpr int64_t kBlock = 512;
constexpr int kDepthMax = 100;  // of headers that describe headers
// Of PAX records and long names, and of sparse segments: what is larger is no
// honest archive.
constexpr int64_t kPayloadBytesMax = 64 << 20;
constexpr size_t kSegmentsMax = 4 << 20;
constexpr size_t kChunkBytes = 1 << 20;
constexpr std::string_view kLongTypes = "LK";
constexpr std::string_view kPaxTypes = "xgX";
constexpr std::string_view kGnuTypes = "LKS";
constexpr std::string_view kKnownTypes(
    "0\0"
    "1234567LKS",
    12);

Status Bad(std::string message) {
  return {Code::kCorruption, std::move(message)};
}

// Sizes that no file has end in a read that finds nothing.
int64_t Blocks(int64_t size) {
  size = std::min(size, std::numeric_limits<int64_t>::max() / 4);
  return (size + kBlock - 1) / kBlock * kBlock;
}

std::string_view UpToNul(std::string_view field) {
  return field.substr(0, field.find('\0'));
}

std::string_view Strip(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r\x1c\x1d\x1e\x1f";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// A whole number as Python's int() takes it, sign and all.
std::optional<int64_t> ParseInt(std::string_view text, int base) {
  text = Strip(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || text.starts_with('-') || error != std::errc() ||
      end != text.data() + text.size()) {
    return {};
  }
  return negative ? -value : value;
}

// A number field: octal text, or base 256 behind a first byte of 0x80 or 0xff.
std::optional<int64_t> FieldNumber(std::string_view field) {
  const auto lead = static_cast<uint8_t>(field[0]);
  if (lead != 0x80 && lead != 0xff) {
    const std::string_view text = Strip(UpToNul(field));
    return text.empty() ? 0 : ParseInt(text, 8);
  }
  const uint8_t fill = lead == 0xff ? 0xff : 0;
  const size_t wide = field.size() > 8 ? field.size() - 8 : 1;
  for (size_t i = 1; i < wide; ++i) {
    if (static_cast<uint8_t>(field[i]) != fill) return {};
  }
  uint64_t value = fill == 0 ? 0 : ~uint64_t{0};
  for (const char c : field.substr(wide)) {
    value = value << 8 | static_cast<uint8_t>(c);
  }
  const auto number = static_cast<int64_t>(value);
  if ((number < 0) != (fill != 0)) return {};
  return number;
}

bool ChecksumFits(std::string_view block) {
  const auto stated = FieldNumber(block.substr(148, 8));
  if (!stated) return false;
  int64_t plain = 256;
  int64_t with_signs = 256;
  for (size_t i = 0; i < block.size(); ++i) {
    if (i >= 148 && i < 156) continue;
    plain += static_cast<uint8_t>(block[i]);
    with_signs += static_cast<int8_t>(block[i]);
  }
  return *stated == plain || *stated == with_signs;
}

// Pairs of number fields; absent when one is none.
bool SparsePairs(std::string_view fields, bool skip_empty,
                 std::vector<std::pair<int64_t, int64_t>>* pairs) {
  for (; !fields.empty(); fields.remove_prefix(24)) {
    const auto offset = FieldNumber(fields.substr(0, 12));
    const auto size = FieldNumber(fields.substr(12, 12));
    if (!offset || !size) return false;
    if (!skip_empty || (*offset != 0 && *size != 0)) {
      pairs->emplace_back(*offset, *size);
    }
  }
  return true;
}

const std::string* FindPax(
    const std::vector<std::pair<std::string, std::string>>& pax,
    std::string_view key) {
  for (const auto& [name, value] : pax) {
    if (name == key) return &value;
  }
  return nullptr;
}

// "LENGTH KEY=VALUE\n" records; false when a length is 0.
bool ParsePax(std::string_view text,
              std::vector<std::pair<std::string, std::string>>* pax) {
  for (size_t at = 0; at < text.size();) {
    const size_t space = text.find_first_not_of("0123456789", at);
    if (space == at || space == text.npos || text[space] != ' ') break;
    const size_t equals = text.find('=', space + 1);
    if (equals == text.npos || equals == space + 1) break;
    const auto length = ParseInt(text.substr(at, space - at), 10);
    if (!length) break;
    if (*length == 0) return false;
    const size_t end = std::min(
        text.size(),
        at + static_cast<size_t>(std::min<int64_t>(*length, kPayloadBytesMax)) -
            1);
    std::string key(text.substr(space + 1, equals - space - 1));
    std::string value(end > equals ? text.substr(equals + 1, end - equals - 1)
                                   : "");
    const auto old = std::find_if(pax->begin(), pax->end(), [&](const auto& p) {
      return p.first == key;
    });
    if (old != pax->end()) {
      old->second = std::move(value);
    } else {
      pax->emplace_back(std::move(key), std::move(value));
    }
    at = end + 1;
  }
  return true;
}

// Every number behind "N KEY=" in the records of `text`.
std::vector<int64_t> RepeatedNumbers(std::string_view text,
                                     std::string_view key) {
  std::vector<int64_t> numbers;
  const std::string wanted = " " + std::string(key) + "=";
  for (size_t at = text.find(wanted); at != text.npos;
       at = text.find(wanted, at + 1)) {
    const size_t begin = at + wanted.size();
    const size_t end = text.find('\n', begin);
    if (end == text.npos || numbers.size() >= kSegmentsMax) break;
    const auto number = ParseInt(text.substr(begin, end - begin), 10);
    if (number) numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

TarStream::TarStream(std::unique_ptr<InputStream> input)
    : input_(std::move(input)) {}

Result<Bytes> TarStream::Read(uint64_t size) {
  Bytes bytes(size);
  ROWFS_ASSIGN_OR_RETURN(const size_t count, input_->Read(bytes));
  bytes.resize(count);
  position_ += static_cast<int64_t>(count);
  return bytes;
}

Result<Bytes> TarStream::ReadPayload(int64_t size) {
  if (size < 0 || size > kPayloadBytesMax) return Bad("invalid header");
  return Read(static_cast<uint64_t>(Blocks(size)));
}

Status TarStream::SkipTo(int64_t position) {
  if (position < position_) return Bad("seeking backwards is not allowed");
  chunk_.resize(kChunkBytes);
  while (position_ < position) {
    const auto size = static_cast<size_t>(
        std::min<int64_t>(position - position_, kChunkBytes));
    ROWFS_ASSIGN_OR_RETURN(const size_t count,
                           input_->Read(MutableByteSpan(chunk_).first(size)));
    position_ += static_cast<int64_t>(count);
    if (count < size) break;  // the read that follows finds nothing
  }
  return {};
}

Result<std::optional<TarEntry>> TarStream::Next() {
  segments_.clear();
  data_size_ = 0;
  data_done_ = 0;
  if (next_header_ != position_) {
    ROWFS_RETURN_IF_ERROR(SkipTo(next_header_ - 1));
    ROWFS_ASSIGN_OR_RETURN(const Bytes last, Read(1));
    if (last.empty()) return Bad("unexpected end of data");
  }
  Header kind = Header::kNone;
  Member member;
  ROWFS_RETURN_IF_ERROR(ReadHeader(0, &kind, &member));
  if (kind != Header::kEntry) {
    if (kind == Header::kZeros) return std::optional<TarEntry>();
    if (next_header_ == 0) {
      return Bad(kind == Header::kNone  ? "empty file"
                 : kind == Header::kCut ? "truncated header"
                                        : "invalid header");
    }
    ended_early_ = true;
    return std::optional<TarEntry>();
  }
  if (member.entry.IsRegular()) ROWFS_RETURN_IF_ERROR(MapSegments(member));
  return std::optional<TarEntry>(member.entry);
}

Status TarStream::ReadHeader(int depth, Header* kind, Member* member) {
  if (depth > kDepthMax) return Bad("too many headers for one member");
  ROWFS_ASSIGN_OR_RETURN(const Bytes block, Read(kBlock));
  *kind = DecodeHeader(block, member);
  if (*kind != Header::kEntry) return {};
  const char type = member->entry.type;
  if (kLongTypes.find(type) != kLongTypes.npos) {
    return FinishLongName(depth, member);
  }
  if (kPaxTypes.find(type) != kPaxTypes.npos) {
    return FinishPax(depth, kind, member);
  }
  if (type == 'S') return FinishSparse(kind, member);
  return FinishPlain(member);
}

TarStream::Header TarStream::DecodeHeader(const Bytes& block,
                                          Member* member) const {
  if (block.empty()) return Header::kNone;
  if (block.size() != kBlock) return Header::kCut;
  const std::string_view text = AsText(block);
  if (text.find_first_not_of('\0') == text.npos) return Header::kZeros;
  if (!ChecksumFits(text)) return Header::kDamaged;
  // mode, uid, gid, mtime, device numbers: unused, but they must be numbers.
  constexpr std::pair<size_t, size_t> kNumbers[] = {
      {100, 8}, {108, 8}, {116, 8}, {136, 12}, {329, 8}, {337, 8}};
  for (const auto& [offset, width] : kNumbers) {
    if (!FieldNumber(text.substr(offset, width))) return Header::kDamaged;
  }
  const auto size = FieldNumber(text.substr(124, 12));
  if (!size) return Header::kDamaged;
  *member = Member();
  TarEntry& entry = member->entry;
  entry.size = *size;
  entry.name = UpToNul(text.substr(0, 100));
  entry.type = text[156];
  if (entry.type == '\0' && entry.name.ends_with('/')) entry.type = '5';
  if (entry.type == 'S') {
    member->sparse.emplace();
    const auto real = FieldNumber(text.substr(483, 12));
    if (!SparsePairs(text.substr(386, 96), false, &*member->sparse) || !real) {
      return Header::kDamaged;
    }
    member->sparse_continues = text[482] != '\0';
    member->sparse_size = *real;
  }
  const std::string_view prefix = UpToNul(text.substr(345, 155));
  if (!prefix.empty() && kGnuTypes.find(entry.type) == kGnuTypes.npos) {
    entry.name = std::string(prefix) + "/" + entry.name;
  }
  return Header::kEntry;
}

Status TarStream::FinishPlain(Member* member) {
  member->data_position = position_;
  next_header_ = position_;
  if (member->entry.IsRegular() ||
      kKnownTypes.find(member->entry.type) == kKnownTypes.npos) {
    next_header_ += Blocks(member->entry.size);
  }
  return ApplyPax(global_, member);
}

// The header that long names and PAX records belong to.
Status TarStream::ReadSubsequent(int depth, Member* member) {
  Header kind = Header::kNone;
  ROWFS_RETURN_IF_ERROR(ReadHeader(depth + 1, &kind, member));
  if (kind == Header::kEntry) return {};
  return Bad(kind == Header::kCut     ? "truncated header"
             : kind == Header::kNone  ? "empty header"
             : kind == Header::kZeros ? "end of file header"
                                      : "invalid header");
}

Status TarStream::FinishLongName(int depth, Member* member) {
  const bool is_name = member->entry.type == 'L';
  ROWFS_ASSIGN_OR_RETURN(const Bytes text, ReadPayload(member->entry.size));
  ROWFS_RETURN_IF_ERROR(ReadSubsequent(depth, member));
  if (is_name) member->entry.name = UpToNul(AsText(text));
  return {};
}

Status TarStream::FinishSparse(Header* kind, Member* member) {
  while (member->sparse_continues) {
    ROWFS_ASSIGN_OR_RETURN(const Bytes block, Read(kBlock));
    if (block.size() != kBlock || member->sparse->size() > kSegmentsMax ||
        !SparsePairs(AsText(block).substr(0, 504), true, &*member->sparse)) {
      *kind = Header::kDamaged;
      return {};
    }
    member->sparse_continues = AsText(block)[504] != '\0';
  }
  member->data_position = position_;
  next_header_ = position_ + Blocks(member->entry.size);
  member->entry.size = member->sparse_size;
  return {};
}

Status TarStream::FinishPax(int depth, Header* kind, Member* member) {
  const bool global = member->entry.type == 'g';
  ROWFS_ASSIGN_OR_RETURN(const Bytes block, ReadPayload(member->entry.size));
  PaxHeaders own;
  if (!global) own = global_;
  PaxHeaders& pax = global ? global_ : own;
  if (!ParsePax(AsText(block), &pax)) {
    *kind = Header::kDamaged;
    return {};
  }
  ROWFS_RETURN_IF_ERROR(ReadSubsequent(depth, member));
  ROWFS_RETURN_IF_ERROR(ApplySparsePax(pax, block, member));
  if (global) return {};
  ROWFS_RETURN_IF_ERROR(ApplyPax(pax, member));
  if (FindPax(pax, "size") != nullptr) {
    next_header_ = member->data_position;
    if (member->entry.IsRegular() ||
        kKnownTypes.find(member->entry.type) == kKnownTypes.npos) {
      next_header_ += Blocks(member->entry.size);
    }
  }
  return {};
}

Status TarStream::ApplySparsePax(const PaxHeaders& pax, const Bytes& block,
                                 Member* member) {
  const auto is = [&](std::string_view key, std::string_view value) {
    const std::string* found = FindPax(pax, key);
    return found != nullptr && *found == value;
  };
  Pairs pairs;
  if (const std::string* map = FindPax(pax, "GNU.sparse.map")) {
    std::vector<int64_t> numbers;
    for (size_t begin = 0; begin <= map->size();) {
      const size_t end = std::min(map->find(',', begin), map->size());
      const auto number =
          ParseInt(std::string_view(*map).substr(begin, end - begin), 10);
      if (!number) return Bad("invalid sparse map");
      numbers.push_back(*number);
      begin = end + 1;
    }
    for (size_t i = 0; i + 1 < numbers.size(); i += 2) {
      pairs.emplace_back(numbers[i], numbers[i + 1]);
    }
  } else if (FindPax(pax, "GNU.sparse.size") != nullptr) {
    const auto offsets = RepeatedNumbers(AsText(block), "GNU.sparse.offset");
    const auto sizes = RepeatedNumbers(AsText(block), "GNU.sparse.numbytes");
    for (size_t i = 0; i < std::min(offsets.size(), sizes.size()); ++i) {
      pairs.emplace_back(offsets[i], sizes[i]);
    }
  } else if (is("GNU.sparse.major", "1") && is("GNU.sparse.minor", "0")) {
    return ReadSparseMap(member);
  } else {
    return {};
  }
  member->sparse = std::move(pairs);
  return {};
}

// Version 1.0: the map stands in front of the data, a number a line.
Status TarStream::ReadSparseMap(Member* member) {
  std::string text;
  const auto next_number = [&]() -> Result<int64_t> {
    while (text.find('\n') == text.npos) {
      ROWFS_ASSIGN_OR_RETURN(const Bytes block, Read(kBlock));
      if (block.empty()) return Bad("invalid sparse map");
      text += AsText(block);
    }
    const size_t end = text.find('\n');
    const auto number = ParseInt(std::string_view(text).substr(0, end), 10);
    text.erase(0, end + 1);
    if (!number) return Bad("invalid sparse map");
    return *number;
  };
  ROWFS_ASSIGN_OR_RETURN(const int64_t count, next_number());
  if (count > static_cast<int64_t>(kSegmentsMax)) {
    return Bad("invalid sparse map");
  }
  Pairs pairs;
  for (int64_t i = 0; i < count; ++i) {
    ROWFS_ASSIGN_OR_RETURN(const int64_t offset, next_number());
    ROWFS_ASSIGN_OR_RETURN(const int64_t size, next_number());
    pairs.emplace_back(offset, size);
  }
  member->data_position = position_;
  member->sparse = std::move(pairs);
  return {};
}

Status TarStream::ApplyPax(const PaxHeaders& pax, Member* member) const {
  TarEntry& entry = member->entry;
  for (const auto& [key, value] : pax) {
    if (key == "GNU.sparse.name") {
      entry.name = value;
    } else if (key == "GNU.sparse.size" || key == "GNU.sparse.realsize") {
      const auto size = ParseInt(value, 10);
      if (!size) return Bad("invalid size in an extended header");
      entry.size = *size;
    } else if (key == "size") {
      entry.size = ParseInt(value, 10).value_or(0);
    } else if (key == "path") {
      const size_t end = value.find_last_not_of('/');
      entry.name = end == value.npos ? "" : value.substr(0, end + 1);
    }
  }
  return {};
}

Status TarStream::MapSegments(const Member& member) {
  if (member.entry.size < 0) return Bad("invalid size");
  data_size_ = member.entry.size;
  segment_ = 0;
  int64_t last = 0;
  int64_t position = member.data_position;
  const Pairs whole = {{0, data_size_}};
  for (const auto& [begin, size] : member.sparse ? *member.sparse : whole) {
    constexpr int64_t kMax = std::numeric_limits<int64_t>::max() / 4;
    if (begin < 0 || size < 0 || begin > kMax || size > kMax ||
        position > kMax) {
      return Bad("invalid sparse map");
    }
    if (begin > last) segments_.push_back({last, begin, {}});
    segments_.push_back({begin, begin + size, position});
    position += size;
    last = begin + size;
  }
  if (last < data_size_) segments_.push_back({last, data_size_, {}});
  return {};
}

Result<ByteSpan> TarStream::ReadData() {
  if (data_done_ >= data_size_) return ByteSpan();
  // Segments overlap in a damaged map alone; then the next that fits counts.
  const auto fits = [this](const Segment& segment) {
    return segment.begin <= data_done_ && data_done_ < segment.end;
  };
  for (size_t tried = 0; !fits(segments_[segment_]); ++tried) {
    if (tried > segments_.size()) return Bad("invalid sparse map");
    segment_ = (segment_ + 1) % segments_.size();
  }
  const Segment& segment = segments_[segment_];
  const auto size = static_cast<size_t>(std::min<int64_t>(
      {segment.end - data_done_, data_size_ - data_done_, kChunkBytes}));
  chunk_.resize(kChunkBytes);
  if (segment.position) {
    ROWFS_RETURN_IF_ERROR(
        SkipTo(*segment.position + data_done_ - segment.begin));
    ROWFS_ASSIGN_OR_RETURN(const size_t count,
                           input_->Read(MutableByteSpan(chunk_).first(size)));
    position_ += static_cast<int64_t>(count);
    if (count < size) return Bad("unexpected end of data");
  } else {
    std::fill_n(chunk_.begin(), size, std::byte{0});
  }
  data_done_ += static_cast<int64_t>(size);
  return ByteSpan(chunk_).first(size);
}

}  // namespace rowfs
