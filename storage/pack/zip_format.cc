#include "storage/pack/zip_format.h"

#include <algorithm>
#include <array>
#include <optional>

#include "storage/base/hash.h"

namespace rowfs {
namespace {

constexpr uint32_t kEntrySignature = 0x02014b50;
constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kEnd64Signature = 0x06064b50;
constexpr uint32_t kLocatorSignature = 0x07064b50;

constexpr uint64_t kEndBytes = 22;
constexpr uint64_t kLocatorBytes = 20;
constexpr uint64_t kEnd64Bytes = 56;

constexpr uint16_t kZip64Extra = 0x0001;
constexpr uint16_t kUnicodePathExtra = 0x7075;
constexpr uint16_t kUtf8Flag = 0x0800;

constexpr uint16_t kNone16 = 0xffff;
constexpr uint32_t kNone32 = 0xffffffff;

// Unicode of the bytes 0x80 to 0xFF in code page 437.
constexpr std::array<uint16_t, 128> kCodePage437 = {
    0x00C7, 0x00FC, 0x00E9, 0x00E2, 0x00E4, 0x00E0, 0x00E5, 0x00E7, 0x00EA,
    0x00EB, 0x00E8, 0x00EF, 0x00EE, 0x00EC, 0x00C4, 0x00C5, 0x00C9, 0x00E6,
    0x00C6, 0x00F4, 0x00F6, 0x00F2, 0x00FB, 0x00F9, 0x00FF, 0x00D6, 0x00DC,
    0x00A2, 0x00A3, 0x00A5, 0x20A7, 0x0192, 0x00E1, 0x00ED, 0x00F3, 0x00FA,
    0x00F1, 0x00D1, 0x00AA, 0x00BA, 0x00BF, 0x2310, 0x00AC, 0x00BD, 0x00BC,
    0x00A1, 0x00AB, 0x00BB, 0x2591, 0x2592, 0x2593, 0x2502, 0x2524, 0x2561,
    0x2562, 0x2556, 0x2555, 0x2563, 0x2551, 0x2557, 0x255D, 0x255C, 0x255B,
    0x2510, 0x2514, 0x2534, 0x252C, 0x251C, 0x2500, 0x253C, 0x255E, 0x255F,
    0x255A, 0x2554, 0x2569, 0x2566, 0x2560, 0x2550, 0x256C, 0x2567, 0x2568,
    0x2564, 0x2565, 0x2559, 0x2558, 0x2552, 0x2553, 0x256B, 0x256A, 0x2518,
    0x250C, 0x2588, 0x2584, 0x258C, 0x2590, 0x2580, 0x03B1, 0x00DF, 0x0393,
    0x03C0, 0x03A3, 0x03C3, 0x00B5, 0x03C4, 0x03A6, 0x0398, 0x03A9, 0x03B4,
    0x221E, 0x03C6, 0x03B5, 0x2229, 0x2261, 0x00B1, 0x2265, 0x2264, 0x2320,
    0x2321, 0x00F7, 0x2248, 0x00B0, 0x2219, 0x00B7, 0x221A, 0x207F, 0x00B2,
    0x25A0, 0x00A0};

void AppendUtf8(std::string* out, uint32_t c) {
  if (c < 0x80) {
    *out += static_cast<char>(c);
  } else if (c < 0x800) {
    *out += static_cast<char>(0xC0 | (c >> 6));
    *out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    *out += static_cast<char>(0xE0 | (c >> 12));
    *out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    *out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

// Bytes of the UTF-8 character at the start of `text`; 0 when it is none.
size_t Utf8Bytes(std::string_view text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned c = byte(0);
  if (c < 0x80) return 1;
  if (c >= 0xC2 && c < 0xE0) return follows(1) ? 2 : 0;
  if (c >= 0xE0 && c < 0xF0) {
    const bool overlong = c == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = c == 0xED && byte(1) >= 0xA0;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (c >= 0xF0 && c < 0xF5) {
    const bool overlong = c == 0xF0 && byte(1) < 0x90;
    const bool beyond = c == 0xF4 && byte(1) >= 0x90;
    return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4
                                                                          : 0;
  }
  return 0;
}

bool IsAscii(std::string_view text) {
  unsigned char all = 0;
  for (const char c : text) all |= static_cast<unsigned char>(c);
  return all < 0x80;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t size = Utf8Bytes(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

uint32_t SignatureAt(ByteSpan bytes, uint64_t at) {
  if (at > bytes.size() || bytes.size() - at < 4) return 0;
  return LoadU32(bytes.subspan(at));
}

// The zip64 end record in front of the end record at `end`, both positions in
// `tail`, which begins at `base` of the file.
std::optional<uint64_t> FindEnd64(ByteSpan tail, uint64_t base, uint64_t end) {
  if (end < kLocatorBytes) return {};
  const uint64_t locator = end - kLocatorBytes;
  if (SignatureAt(tail, locator) != kLocatorSignature) return {};
  if (locator >= kEnd64Bytes &&
      SignatureAt(tail, locator - kEnd64Bytes) == kEnd64Signature) {
    return locator - kEnd64Bytes;
  }
  // Further away when it carries data of its own.
  const uint64_t stated = LoadU64(tail.subspan(locator + 8));
  if (stated < base || stated - base > locator ||
      locator - (stated - base) < kEnd64Bytes ||
      SignatureAt(tail, stated - base) != kEnd64Signature) {
    return {};
  }
  return stated - base;
}

struct Candidate {
  ZipDirectory directory;
  int score = 0;
};

// What the end record at `at` of `tail` says; absent when it cannot be right.
std::optional<Candidate> ReadEnd(ByteSpan tail, uint64_t base, uint64_t at) {
  const ByteSpan end = tail.subspan(at);
  Candidate found;
  ZipDirectory& directory = found.directory;
  directory.disk = LoadU16(end.subspan(4));
  directory.entries = LoadU16(end.subspan(10));
  uint64_t bytes = LoadU32(end.subspan(12));
  directory.stated_begin = LoadU32(end.subspan(16));
  const uint64_t comment = LoadU16(end.subspan(20));
  const bool exact = comment == end.size() - kEndBytes;
  directory.end = base + at;
  if (const auto end64 = FindEnd64(tail, base, at)) {
    const ByteSpan record = tail.subspan(*end64);
    directory.end = base + *end64;
    if (directory.disk == kNone16) directory.disk = LoadU32(record.subspan(16));
    if (directory.entries == kNone16) {
      directory.entries = LoadU64(record.subspan(32));
    }
    if (bytes == kNone32) bytes = LoadU64(record.subspan(40));
    if (directory.stated_begin == kNone32) {
      directory.stated_begin = LoadU64(record.subspan(48));
    }
  }
  if (bytes > directory.end) return {};
  directory.begin = directory.end - bytes;
  const auto begins_at = [&](uint64_t place) {
    return place < base ||
           (place < directory.end && IsZipEntry(tail.subspan(place - base)));
  };
  const bool empty = bytes == 0;
  const bool good = !empty && (begins_at(directory.begin) ||
                               begins_at(directory.stated_begin));
  if (!empty && !good) return {};
  found.score = (exact ? 4 : 0) + (good ? 2 : 0) +
                (directory.begin == directory.stated_begin ? 1 : 0);
  return found;
}

// The values that did not fit an entry, in this order, and only those.
Status ReadZip64Extra(ByteSpan field, ZipEntry* entry) {
  Cursor in(field, "zip64 field");
  for (uint64_t* value : {&entry->size, &entry->stored, &entry->offset}) {
    if (*value != kNone32) continue;
    // One that is missing: the entry means the 32-bit value itself.
    if (in.remaining() < 8) return {};
    ROWFS_ASSIGN_OR_RETURN(*value, in.U64());
  }
  if (entry->disk == kNone16 && in.remaining() >= 4) {
    ROWFS_ASSIGN_OR_RETURN(entry->disk, in.U32());
  }
  return {};
}

// Calls `use(id, field)` for every whole field of an extra area.
template <typename Use>
void ForEachExtra(ByteSpan extra, const Use& use) {
  while (extra.size() >= 4) {
    const uint16_t id = LoadU16(extra);
    const size_t size = LoadU16(extra.subspan(2));
    if (size > extra.size() - 4) return;
    use(id, extra.subspan(4, size));
    extra = extra.subspan(4 + size);
  }
}

}  // namespace

bool IsZipEntry(ByteSpan bytes) {
  return SignatureAt(bytes, 0) == kEntrySignature;
}

Result<ZipDirectory> FindZipDirectory(ByteSpan tail, uint64_t size,
                                      std::string_view what) {
  std::optional<Candidate> best;
  const uint64_t base = size - tail.size();
  for (uint64_t end = tail.size(); end >= kEndBytes; --end) {
    const uint64_t at = end - kEndBytes;
    if (SignatureAt(tail, at) != kEndSignature) continue;
    const auto found = ReadEnd(tail, base, at);
    if (found && (!best || found->score > best->score)) best = found;
  }
  if (!best) {
    return Status(Code::kCorruption,
                  std::string(what) +
                      ": no end of a zip directory; not a zip, or cut off");
  }
  return best->directory;
}

std::string ZipName(std::string_view raw, uint16_t flags, ByteSpan extra) {
  std::string unicode;
  ForEachExtra(extra, [&](uint16_t id, ByteSpan field) {
    if (id != kUnicodePathExtra || field.size() < 5 ||
        field[0] != std::byte{1} ||
        LoadU32(field.subspan(1)) != Crc32(AsBytes(raw))) {
      return;
    }
    const std::string_view name = AsText(field.subspan(5));
    if (IsUtf8(name)) unicode = name;
  });
  if (!unicode.empty() && (flags & kUtf8Flag) == 0) return unicode;
  if (IsUtf8(raw)) return std::string(raw);
  std::string name;
  for (const char ch : raw) {
    const auto c = static_cast<unsigned char>(ch);
    AppendUtf8(&name, c < 0x80 ? c : kCodePage437[c - 0x80]);
  }
  return name;
}

Status ReadZipEntry(Cursor* in, ZipEntry* entry) {
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan head, in->Take(kZipEntryBytes));
  if (!IsZipEntry(head)) return in->Error("no entry of a zip directory");
  entry->made_by = LoadU16(head.subspan(4));
  entry->flags = LoadU16(head.subspan(8));
  entry->method = LoadU16(head.subspan(10));
  entry->crc = LoadU32(head.subspan(16));
  entry->stored = LoadU32(head.subspan(20));
  entry->size = LoadU32(head.subspan(24));
  const uint16_t name_bytes = LoadU16(head.subspan(28));
  const uint16_t extra_bytes = LoadU16(head.subspan(30));
  const uint16_t comment_bytes = LoadU16(head.subspan(32));
  entry->disk = LoadU16(head.subspan(34));
  entry->attributes = LoadU32(head.subspan(38));
  entry->offset = LoadU32(head.subspan(42));
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan name, in->Take(name_bytes));
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan extra, in->Take(extra_bytes));
  // A comment that runs past the end harms nobody.
  ROWFS_RETURN_IF_ERROR(
      in->Skip(std::min<uint64_t>(comment_bytes, in->remaining())));
  entry->raw_name = AsText(name);
  entry->extra_bytes = extra_bytes;
  if (extra.empty() && IsAscii(entry->raw_name)) {
    entry->name = entry->raw_name;
    return {};
  }
  entry->name = ZipName(entry->raw_name, entry->flags, extra);
  Status status;
  ForEachExtra(extra, [&](uint16_t id, ByteSpan field) {
    if (id == kZip64Extra && status.ok()) status = ReadZip64Extra(field, entry);
  });
  return status;
}

Result<ZipLocalHeader> ReadZipLocalHeader(ByteSpan bytes,
                                          std::string_view what) {
  const Status too_short(Code::kOutOfRange, "the local header is longer");
  if (bytes.size() < kZipLocalHeaderBytes) return too_short;
  if (LoadU32(bytes) != kLocalSignature) {
    return Status(Code::kCorruption,
                  std::string(what) +
                      ": no local header where the directory "
                      "says there is one");
  }
  ZipLocalHeader header;
  header.flags = LoadU16(bytes.subspan(6));
  header.method = LoadU16(bytes.subspan(8));
  const uint16_t name_bytes = LoadU16(bytes.subspan(26));
  header.extra_bytes = LoadU16(bytes.subspan(28));
  if (bytes.size() < kZipLocalHeaderBytes + name_bytes) return too_short;
  header.raw_name = AsText(bytes.subspan(kZipLocalHeaderBytes, name_bytes));
  return header;
}

}  // namespace rowfs
