#include "storage/pack/shard_directory.h"

#include <algorithm>
#include <limits>

#include "storage/base/hash.h"
#include "storage/pack/blob_key.h"

namespace rowfs {
namespace {

constexpr size_t kEndBytes = 22;
constexpr size_t kZip64EndBytes = 56;
constexpr size_t kZip64LocatorBytes = 20;
constexpr size_t kEntryBytes = 46;
constexpr size_t kCommentBytesMax = 1 << 16;
constexpr uint64_t kDirectoryBytesMax = uint64_t{1} << 30;
constexpr uint8_t kVersionMax = 63;
constexpr std::string_view kEndMagic = "PK\5\6";
constexpr std::string_view kZip64EndMagic = "PK\6\6";
constexpr std::string_view kZip64LocatorMagic = "PK\6\7";
constexpr std::string_view kEntryMagic = "PK\1\2";

// Code page 437 from 0x80 on.
constexpr char16_t kCodePage437[] =
    u"ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐"
    u"└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0";
static_assert(std::size(kCodePage437) == 129);

struct End {
  uint64_t position = 0;  // of the classic record
  uint64_t size = 0;      // of the directory
  uint64_t offset = 0;    // of the directory, as it says
  bool zip64 = false;
};

std::string HexByte(uint8_t byte) {
  const std::byte bytes[] = {std::byte{byte}};
  return ToHex(bytes);
}

Status NotAZip() { return {Code::kCorruption, "File is not a zip file"}; }

// The last bytes of the object, and where they begin.
struct Tail {
  Bytes bytes;
  uint64_t begin = 0;

  // Absent when they do not lie inside.
  std::optional<ByteSpan> At(uint64_t position, size_t size) const {
    if (position < begin || position - begin + size > bytes.size()) return {};
    return ByteSpan(bytes).subspan(position - begin, size);
  }
};

Status ApplyZip64(const Tail& tail, End* end) {
  if (end->position < kZip64LocatorBytes) return {};
  const auto locator =
      tail.At(end->position - kZip64LocatorBytes, kZip64LocatorBytes);
  if (!locator || !AsText(*locator).starts_with(kZip64LocatorMagic)) return {};
  if (LoadU32(locator->subspan(4)) != 0 || LoadU32(locator->subspan(16)) > 1) {
    return {Code::kCorruption,
            "zipfiles that span multiple disks are not supported"};
  }
  // zipfile looks right before the locator, whatever it points to.
  if (end->position < kZip64LocatorBytes + kZip64EndBytes) return NotAZip();
  const auto record = tail.At(
      end->position - kZip64LocatorBytes - kZip64EndBytes, kZip64EndBytes);
  if (!record || !AsText(*record).starts_with(kZip64EndMagic)) return {};
  end->size = LoadU64(record->subspan(40));
  end->offset = LoadU64(record->subspan(48));
  end->zip64 = true;
  return {};
}

Result<End> FindEnd(const Tail& tail, uint64_t file_size) {
  if (file_size < kEndBytes) return NotAZip();
  const std::string_view text = AsText(tail.bytes);
  End end;
  size_t at = text.size() - kEndBytes;
  const std::string_view last = text.substr(at);
  if (!last.starts_with(kEndMagic) || last[kEndBytes - 2] != '\0' ||
      last[kEndBytes - 1] != '\0') {
    // A comment follows: the last signature counts, wherever it is.
    const size_t reach = std::min(text.size(), kCommentBytesMax + kEndBytes);
    at = text.rfind(kEndMagic);
    if (at == text.npos || at < text.size() - reach ||
        text.size() - at < kEndBytes) {
      return NotAZip();
    }
  }
  const ByteSpan record = ByteSpan(tail.bytes).subspan(at, kEndBytes);
  end.position = tail.begin + at;
  end.size = LoadU32(record.subspan(12));
  end.offset = LoadU32(record.subspan(16));
  ROWFS_RETURN_IF_ERROR(ApplyZip64(tail, &end));
  return end;
}

// Reads as BytesIO does: what is there, up to `size`.
std::string_view TakeUpTo(std::string_view* rest, size_t size) {
  const std::string_view taken = rest->substr(0, size);
  rest->remove_prefix(taken.size());
  return taken;
}

Status Missing(std::string_view field) {
  return {Code::kCorruption,
          "Corrupt zip64 extra field. " + std::string(field) + " not found."};
}

Status ApplyZip64Field(std::string_view data, ShardMember* member,
                       uint64_t* offset) {
  const auto next = [&data](uint64_t* value) {
    if (data.size() < 8) return false;
    *value = LoadU64(AsBytes(data));
    data.remove_prefix(8);
    return true;
  };
  constexpr uint64_t kNarrow = std::numeric_limits<uint32_t>::max();
  constexpr uint64_t kWide = std::numeric_limits<uint64_t>::max();
  if ((member->size == kNarrow || member->size == kWide) &&
      !next(&member->size)) {
    return Missing("File size");
  }
  if (member->packed_size == kNarrow && !next(&member->packed_size)) {
    return Missing("Compress size");
  }
  if (*offset == kNarrow && !next(offset)) return Missing("Header offset");
  return {};
}

Status ApplyExtra(std::string_view extra, ShardMember* member,
                  uint64_t* offset) {
  while (extra.size() >= 4) {
    const uint16_t id = LoadU16(AsBytes(extra));
    const size_t size = LoadU16(AsBytes(extra.substr(2)));
    if (size + 4 > extra.size()) {
      return {Code::kCorruption, "Corrupt extra field " +
                                     HexByte(static_cast<uint8_t>(id >> 8)) +
                                     HexByte(static_cast<uint8_t>(id)) +
                                     " (size=" + std::to_string(size) + ")"};
    }
    if (id == 1) {
      ROWFS_RETURN_IF_ERROR(
          ApplyZip64Field(extra.substr(4, size), member, offset));
    }
    extra.remove_prefix(size + 4);
  }
  return {};
}

Status CheckVersion(uint8_t version) {
  if (version <= kVersionMax) return {};
  return {Code::kUnsupported, "zip file version " +
                                  std::to_string(version / 10) + "." +
                                  std::to_string(version % 10)};
}

// Where a directory is, and where it says it is: what stands before the archive
// shifts every offset.
struct Shift {
  uint64_t start;
  uint64_t stated;
};

// A forged offset overflows nothing: it ends at the limits of the type.
int64_t ShiftedOffset(uint64_t offset, const Shift& shift) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const auto sum = CheckedAdd(offset, shift.start);
  if (!sum) return kMax;
  if (*sum >= shift.stated) {
    return static_cast<int64_t>(
        std::min(*sum - shift.stated, static_cast<uint64_t>(kMax)));
  }
  const uint64_t below = shift.stated - *sum;
  return below > static_cast<uint64_t>(kMax)
             ? std::numeric_limits<int64_t>::min()
             : -static_cast<int64_t>(below);
}

Result<ShardMember> NextMember(std::string_view* rest, const Shift& shift) {
  const std::string_view text = TakeUpTo(rest, kEntryBytes);
  if (text.size() != kEntryBytes) {
    return Status(Code::kCorruption, "Truncated central directory");
  }
  if (!text.starts_with(kEntryMagic)) {
    return Status(Code::kCorruption, "Bad magic number for central directory");
  }
  const ByteSpan entry = AsBytes(text);
  ShardMember member;
  member.flags = LoadU16(entry.subspan(8));
  member.method = LoadU16(entry.subspan(10));
  member.crc = LoadU32(entry.subspan(16));
  member.packed_size = LoadU32(entry.subspan(20));
  member.size = LoadU32(entry.subspan(24));
  uint64_t offset = LoadU32(entry.subspan(42));
  ROWFS_ASSIGN_OR_RETURN(
      member.name, DecodeMemberName(TakeUpTo(rest, LoadU16(entry.subspan(28))),
                                    member.flags));
  const size_t nul = member.name.find('\0');
  if (nul != member.name.npos) {
    member.uncut_name = member.name;
    member.name.resize(nul);
  }
  const std::string_view extra = TakeUpTo(rest, LoadU16(entry.subspan(30)));
  TakeUpTo(rest, LoadU16(entry.subspan(32)));
  ROWFS_RETURN_IF_ERROR(CheckVersion(std::to_integer<uint8_t>(entry[6])));
  ROWFS_RETURN_IF_ERROR(ApplyExtra(extra, &member, &offset));
  member.header_offset = ShiftedOffset(offset, shift);
  return member;
}

// What Python says of bytes that are not UTF-8.
Status BadUtf8(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(at);
  const size_t more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
  size_t end = at + 1;
  std::string_view why = "invalid start byte";
  if (lead >= 0xc2 && lead <= 0xf4) {
    const auto fits = [&](size_t i) {
      const uint8_t c = byte(i);
      const uint8_t low = i > at + 1     ? 0x80
                          : lead == 0xe0 ? 0xa0
                          : lead == 0xf0 ? 0x90
                                         : 0x80;
      const uint8_t high = i > at + 1     ? 0xbf
                           : lead == 0xed ? 0x9f
                           : lead == 0xf4 ? 0x8f
                                          : 0xbf;
      return c >= low && c <= high;
    };
    while (end < text.size() && end <= at + more && fits(end)) ++end;
    why = end == text.size() ? "unexpected end of data"
                             : "invalid continuation byte";
  }
  std::string message = "'utf-8' codec can't decode byte";
  if (end == at + 1) {
    message += " 0x" + HexByte(lead) + " in position " + std::to_string(at);
  } else {
    message +=
        "s in position " + std::to_string(at) + "-" + std::to_string(end - 1);
  }
  return {Code::kCorruption, message + ": " + std::string(why)};
}

}  // namespace

Result<Bytes> ShardObject::ReadUpTo(uint64_t offset, uint64_t size) const {
  if (offset >= meta.size) return Bytes();
  Bytes bytes(std::min(size, meta.size - offset));
  if (bytes.empty()) return bytes;
  ROWFS_RETURN_IF_ERROR(
      location.store->ReadAt({location.path, meta.etag}, offset, bytes));
  return bytes;
}

Result<ShardDirectory> ReadShardDirectory(const ShardObject& shard) {
  const uint64_t file_size = shard.meta.size;
  Tail tail;
  tail.begin =
      file_size -
      std::min<uint64_t>(file_size, kCommentBytesMax + kEndBytes +
                                        kZip64EndBytes + kZip64LocatorBytes);
  ROWFS_ASSIGN_OR_RETURN(tail.bytes, shard.ReadUpTo(tail.begin, file_size));
  ROWFS_ASSIGN_OR_RETURN(const End end, FindEnd(tail, file_size));
  const uint64_t before =
      end.position - (end.zip64 ? kZip64EndBytes + kZip64LocatorBytes : 0);
  if (end.size > before) {
    return Status(Code::kCorruption, "Bad offset for central directory");
  }
  if (end.size > kDirectoryBytesMax) {
    return Status(Code::kResourceExhausted,
                  "central directory is larger than 1 GiB");
  }
  ShardDirectory directory;
  directory.start = before - end.size;
  const Shift shift = {directory.start, end.offset};
  Bytes bytes;
  ByteSpan span;
  if (directory.start >= tail.begin) {
    span = ByteSpan(tail.bytes).subspan(directory.start - tail.begin, end.size);
  } else {
    ROWFS_ASSIGN_OR_RETURN(bytes, shard.ReadUpTo(directory.start, end.size));
    span = bytes;
  }
  std::string_view rest = AsText(span);
  // Counts by the records' stated lengths, as zipfile does: a last record that
  // claims more than there is ends the directory all the same.
  while (!rest.empty()) {
    ROWFS_ASSIGN_OR_RETURN(directory.members.emplace_back(),
                           NextMember(&rest, shift));
  }
  return directory;
}

std::string EncodeMemberName(std::string_view name, uint16_t flags) {
  if ((flags & kZipUtf8) != 0) return std::string(name);
  std::string out;
  for (size_t at = 0; at < name.size();) {
    const int32_t c = NextCodePoint(name, &at);
    if (c >= 0 && c < 0x80) {
      out += static_cast<char>(c);
      continue;
    }
    const auto* end = kCodePage437 + 128;
    const auto* found = std::find(kCodePage437, end, static_cast<char16_t>(c));
    if (c < 0 || c > 0xffff || found == end) return std::string(name);
    out += static_cast<char>(0x80 + (found - kCodePage437));
  }
  return out;
}

Result<std::string> DecodeMemberName(std::string_view bytes, uint16_t flags) {
  if ((flags & kZipUtf8) == 0) {
    std::string out;
    for (const char c : bytes) {
      const auto byte = static_cast<uint8_t>(c);
      AppendCodePoint(&out, byte < 0x80 ? byte : kCodePage437[byte - 0x80]);
    }
    return out;
  }
  for (size_t at = 0; at < bytes.size();) {
    const size_t begin = at;
    if (NextCodePoint(bytes, &at) < 0) return BadUtf8(bytes, begin);
  }
  return std::string(bytes);
}

}  // namespace rowfs
