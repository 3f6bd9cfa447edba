#include "storage/pack/tar_format.h"

#include <algorithm>
#include <charconv>

namespace rowfs {
namespace {

// Pieces of one sparse file; a map is held in memory.
constexpr size_t kPiecesMax = 1 << 20;

Status Bad(std::string_view message) {
  return {Code::kCorruption, "tar: " + std::string(message)};
}

// Text up to a NUL.
std::string_view Field(ByteSpan block, size_t at, size_t size) {
  const std::string_view text = AsText(block.subspan(at, size));
  return text.substr(0, text.find('\0'));
}

// Octal digits between blanks, or base 256 with the top bit set.
Result<uint64_t> Number(ByteSpan block, size_t at, size_t size) {
  const ByteSpan field = block.subspan(at, size);
  const auto first = std::to_integer<unsigned>(field[0]);
  if (first == 0x80) {
    uint64_t value = 0;
    for (const std::byte b : field.subspan(1)) {
      if (value >> 55 != 0) return Bad("a number is too large");
      value = value << 8 | std::to_integer<uint64_t>(b);
    }
    return value;
  }
  if ((first & 0x80) != 0) return Bad("a negative number");
  std::string_view text = AsText(field);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  text = text.substr(0, text.find_first_of(std::string_view("\0 ", 2)));
  uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '7') return Bad("a number that is not octal");
    value = value * 8 + static_cast<uint64_t>(c - '0');
  }
  return value;
}

bool ChecksumHolds(ByteSpan block) {
  const Result<uint64_t> stated = Number(block, 148, 8);
  if (!stated.ok()) return false;
  uint64_t sum = 0;
  int64_t signed_sum = 0;  // as old implementations added up
  for (size_t i = 0; i < kTarBlock; ++i) {
    const bool own = i >= 148 && i < 156;
    const auto value = own ? ' ' : std::to_integer<unsigned char>(block[i]);
    sum += static_cast<uint64_t>(value);
    signed_sum += static_cast<signed char>(value);
  }
  return stated.value() == sum ||
         (signed_sum >= 0 &&
          stated.value() == static_cast<uint64_t>(signed_sum));
}

Status ReadPieces(ByteSpan block, size_t at, size_t count, SparseMap* pieces) {
  for (size_t i = 0; i < count; ++i) {
    const size_t place = at + 24 * i;
    if (block[place] == std::byte{0}) return {};
    SparsePiece piece;
    ROWFS_ASSIGN_OR_RETURN(piece.offset, Number(block, place, 12));
    ROWFS_ASSIGN_OR_RETURN(piece.size, Number(block, place + 12, 12));
    if (pieces->size() >= kPiecesMax) return Bad("a sparse map is too long");
    pieces->push_back(piece);
  }
  return {};
}

Result<uint64_t> Decimal(std::string_view text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != end) {
    return Bad("a number in a PAX header is none");
  }
  return value;
}

// "offset,size,offset,size": the map of sparse format 0.1.
Status ReadMapText(std::string_view text, SparseMap* map) {
  bool is_size = false;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    ROWFS_ASSIGN_OR_RETURN(const uint64_t value,
                           Decimal(text.substr(0, comma)));
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (is_size) {
      map->back().size = value;
    } else if (map->size() < kPiecesMax) {
      map->push_back({value, 0});
    } else {
      return Bad("a sparse map is too long");
    }
    is_size = !is_size;
  }
  if (is_size) return Bad("a sparse map ends in the middle");
  return {};
}

Status ReadPaxRecord(std::string_view key, std::string_view value,
                     PaxRecords* records) {
  if (key == "path") {
    records->path = std::string(value.substr(0, value.find('\0')));
  } else if (key == "linkpath") {
    records->link = std::string(value.substr(0, value.find('\0')));
  } else if (key == "size") {
    ROWFS_ASSIGN_OR_RETURN(records->size, Decimal(value));
  } else if (key == "GNU.sparse.name") {
    records->sparse_name = std::string(value);
  } else if (key == "GNU.sparse.size" || key == "GNU.sparse.realsize") {
    ROWFS_ASSIGN_OR_RETURN(records->sparse_size, Decimal(value));
    records->sparse = true;
  } else if (key == "GNU.sparse.major") {
    ROWFS_ASSIGN_OR_RETURN(records->sparse_major, Decimal(value));
    records->sparse = true;
  } else if (key == "GNU.sparse.map") {
    records->sparse_map.clear();
    ROWFS_RETURN_IF_ERROR(ReadMapText(value, &records->sparse_map));
    records->sparse = true;
  } else if (key == "GNU.sparse.offset") {
    if (records->sparse_map.size() >= kPiecesMax) {
      return Bad("a sparse map is too long");
    }
    ROWFS_ASSIGN_OR_RETURN(const uint64_t offset, Decimal(value));
    records->sparse_map.push_back({offset, 0});
    records->sparse = true;
  } else if (key == "GNU.sparse.numbytes") {
    if (records->sparse_map.empty()) return Bad("a sparse piece has no place");
    ROWFS_ASSIGN_OR_RETURN(records->sparse_map.back().size, Decimal(value));
  }
  return {};
}

}  // namespace

bool IsZeroBlock(ByteSpan block) {
  return std::all_of(block.begin(), block.end(),
                     [](std::byte b) { return b == std::byte{0}; });
}

Result<TarHeader> ReadTarHeader(ByteSpan block) {
  if (!ChecksumHolds(block)) return Bad("a header has a wrong checksum");
  TarHeader header;
  header.type = AsText(block)[156] == '\0' ? '0' : AsText(block)[156];
  header.name = Field(block, 0, 100);
  header.link = Field(block, 157, 100);
  ROWFS_ASSIGN_OR_RETURN(header.size, Number(block, 124, 12));
  if (header.size > uint64_t{1} << 62) return Bad("a member is too large");
  const std::string_view magic = AsText(block.subspan(257, 8));
  if (magic.substr(0, 6) == std::string_view("ustar\0", 6)) {
    const std::string_view prefix = Field(block, 345, 155);
    if (!prefix.empty()) header.name = std::string(prefix) + "/" + header.name;
  }
  if (header.type == 'S') {
    ROWFS_RETURN_IF_ERROR(ReadPieces(block, 386, 4, &header.pieces));
    header.more_pieces = block[482] != std::byte{0};
    ROWFS_ASSIGN_OR_RETURN(header.real_size, Number(block, 483, 12));
  }
  return header;
}

Result<bool> ReadSparseExtension(ByteSpan block, SparseMap* pieces) {
  ROWFS_RETURN_IF_ERROR(ReadPieces(block, 0, 21, pieces));
  return block[504] != std::byte{0};
}

Status ReadPax(ByteSpan bytes, PaxRecords* records) {
  std::string_view text = AsText(bytes);
  while (!text.empty() && text[0] != '\0') {
    // "LENGTH KEY=VALUE\n", the length counting all of it.
    const size_t blank = text.substr(0, 20).find(' ');
    if (blank == text.npos) return Bad("a PAX record has no length");
    ROWFS_ASSIGN_OR_RETURN(const uint64_t length,
                           Decimal(text.substr(0, blank)));
    if (length > text.size() || length < blank + 3 ||
        text[length - 1] != '\n') {
      return Bad("a PAX record has a wrong length");
    }
    const std::string_view record = text.substr(blank + 1, length - blank - 2);
    const size_t equals = record.find('=');
    if (equals == record.npos) return Bad("a PAX record has no value");
    ROWFS_RETURN_IF_ERROR(ReadPaxRecord(record.substr(0, equals),
                                        record.substr(equals + 1), records));
    text.remove_prefix(length);
  }
  return {};
}

Result<std::optional<SparseMap>> ReadSparseMap(ByteSpan bytes, uint64_t* used) {
  std::string_view text = AsText(bytes);
  const auto next = [&]() -> Result<std::optional<uint64_t>> {
    const size_t end = text.find('\n');
    if (end == text.npos) {
      if (text.size() > 20) return Bad("a sparse map does not parse");
      return std::optional<uint64_t>();
    }
    ROWFS_ASSIGN_OR_RETURN(const uint64_t value, Decimal(text.substr(0, end)));
    text.remove_prefix(end + 1);
    return std::optional(value);
  };
  ROWFS_ASSIGN_OR_RETURN(const auto count, next());
  if (!count) return std::optional<SparseMap>();
  if (*count > kPiecesMax) return Bad("a sparse map is too long");
  SparseMap map;
  for (uint64_t i = 0; i < *count; ++i) {
    ROWFS_ASSIGN_OR_RETURN(const auto offset, next());
    if (!offset) return std::optional<SparseMap>();
    ROWFS_ASSIGN_OR_RETURN(const auto size, next());
    if (!size) return std::optional<SparseMap>();
    map.push_back({*offset, *size});
  }
  const uint64_t plain = bytes.size() - text.size();
  *used = (plain + kTarBlock - 1) / kTarBlock * kTarBlock;
  return std::optional(std::move(map));
}

Status CheckSparseMap(const SparseMap& map, uint64_t size, uint64_t stored) {
  uint64_t end = 0;
  uint64_t sum = 0;
  for (const SparsePiece& piece : map) {
    const auto piece_end = CheckedAdd(piece.offset, piece.size);
    if (piece.offset < end || !piece_end || *piece_end > size) {
      return Bad("a sparse map has pieces out of order");
    }
    end = *piece_end;
    sum += piece.size;  // no more than `size` so far
  }
  if (sum > stored) return Bad("a sparse map is longer than its data");
  return {};
}

}  // namespace rowfs
