#include "index/plugins/image/tiff_directory.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace rowfs::plugin {
namespace {

constexpr uint64_t kTagsMax = 4096;
constexpr uint64_t kIntegersMax = uint64_t{1} << 24;

uint64_t LoadNumber(const uint8_t* at, size_t size, bool big_endian) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    value = value << 8 | at[big_endian ? i : size - 1 - i];
  }
  return value;
}

bool IsInteger(uint16_t type) {
  return type == 1 || type == 3 || type == 4 || type == 13 || type == 16 ||
         type == 18;
}

}  // namespace

size_t TiffTypeSize(uint16_t type) {
  static constexpr std::array<uint8_t, 19> kSizes = {
      0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8};
  return type < kSizes.size() ? kSizes[type] : 0;
}

uint64_t TiffInteger(const TiffTag& tag, uint64_t index, bool big_endian) {
  const size_t size = TiffTypeSize(tag.type);
  return LoadNumber(tag.value.data() + index * size, size, big_endian);
}

uint64_t TiffDirectory::Number(uint16_t tag, uint64_t missing,
                               uint64_t index) const {
  const auto found = tags.find(tag);
  if (found == tags.end() || !IsInteger(found->second.type) ||
      index >= found->second.count ||
      (index + 1) * TiffTypeSize(found->second.type) >
          found->second.value.size()) {
    return missing;
  }
  return TiffInteger(found->second, index, big_endian);
}

std::optional<double> TiffDirectory::Real(uint16_t tag) const {
  const auto found = tags.find(tag);
  if (found == tags.end() || found->second.count == 0) return std::nullopt;
  const TiffTag& t = found->second;
  const size_t size = TiffTypeSize(t.type);
  if (size == 0 || t.value.size() < size) return std::nullopt;
  const uint64_t bits = LoadNumber(t.value.data(), size, big_endian);
  switch (t.type) {
    case 5: {  // RATIONAL
      const double over =
          static_cast<double>(LoadNumber(t.value.data(), 4, big_endian));
      const double under =
          static_cast<double>(LoadNumber(t.value.data() + 4, 4, big_endian));
      if (under == 0) return std::nullopt;
      return over / under;
    }
    case 6:
      return static_cast<int8_t>(bits);
    case 8:
      return static_cast<int16_t>(bits);
    case 9:
      return static_cast<int32_t>(bits);
    case 11:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case 12:
      return std::bit_cast<double>(bits);
    default:
      return IsInteger(t.type) ? std::optional(static_cast<double>(bits))
                               : std::nullopt;
  }
}

std::string TiffDirectory::Text(uint16_t tag) const {
  const auto found = tags.find(tag);
  if (found == tags.end() || found->second.type != 2) return {};
  std::string text(AsText(found->second.value));
  return text.substr(0, text.find('\0'));
}

Result<TiffHeader> ReadTiffHeader(ByteSource* file) {
  std::array<uint8_t, 16> head{};
  PLUGIN_RETURN_IF_ERROR(file->ReadAt(0, std::span(head).first(8)));
  TiffHeader header;
  header.big_endian = head[0] == 'M';
  const uint64_t magic = LoadNumber(head.data() + 2, 2, header.big_endian);
  const bool order =
      (head[0] == 'I' && head[1] == 'I') || (head[0] == 'M' && head[1] == 'M');
  if (!order || (magic != 42 && magic != 43)) {
    return Corrupt("it does not start as a TIFF file does");
  }
  header.big = magic == 43;
  if (!header.big) {
    header.first = LoadNumber(head.data() + 4, 4, header.big_endian);
    return header;
  }
  PLUGIN_RETURN_IF_ERROR(file->ReadAt(0, head));
  if (LoadNumber(head.data() + 4, 2, header.big_endian) != 8) {
    return Corrupt("a BigTIFF file whose offsets do not have 8 bytes");
  }
  header.first = LoadNumber(head.data() + 8, 8, header.big_endian);
  return header;
}

Result<TiffDirectory> ReadDirectory(ByteSource* file, const TiffHeader& header,
                                    uint64_t offset, uint64_t value_max) {
  const size_t count_size = header.big ? 8 : 2;
  const size_t tag_size = header.big ? 20 : 12;
  const size_t word = header.big ? 8 : 4;
  const bool be = header.big_endian;
  std::array<uint8_t, 8> number{};
  PLUGIN_RETURN_IF_ERROR(
      file->ReadAt(offset, std::span(number).first(count_size)));
  const uint64_t count = LoadNumber(number.data(), count_size, be);
  if (count > kTagsMax) {
    return Corrupt("a TIFF directory of " + std::to_string(count) + " tags");
  }
  Bytes raw(static_cast<size_t>(count) * tag_size);
  PLUGIN_RETURN_IF_ERROR(file->ReadAt(offset + count_size, raw));
  TiffDirectory directory;
  directory.big_endian = be;
  directory.offset = offset;
  // A file that ends right behind its last directory is common.
  if (file->ReadAt(offset + count_size + raw.size(),
                   std::span(number).first(word))
          .ok()) {
    directory.next = LoadNumber(number.data(), word, be);
  }
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* at = raw.data() + i * tag_size;
    const auto id = static_cast<uint16_t>(LoadNumber(at, 2, be));
    TiffTag tag;
    tag.type = static_cast<uint16_t>(LoadNumber(at + 2, 2, be));
    tag.count = LoadNumber(at + 4, word, be);
    const uint64_t unit = TiffTypeSize(tag.type);
    uint64_t size = 0;
    if (unit == 0 || __builtin_mul_overflow(tag.count, unit, &size)) continue;
    const uint8_t* value = at + 4 + word;
    if (size <= word) {
      tag.offset = offset + count_size + i * tag_size + 4 + word;
      tag.value.assign(value, value + size);
    } else {
      tag.offset = LoadNumber(value, word, be);
      if (tag.offset > file->size() || size > file->size() - tag.offset) {
        continue;
      }
      if (size <= value_max) {
        PLUGIN_ASSIGN_OR_RETURN(tag.value,
                                file->Read(tag.offset, size, value_max));
      }
    }
    directory.tags.emplace(id, std::move(tag));
  }
  return directory;
}

Result<std::vector<uint64_t>> ReadIntegers(ByteSource* file,
                                           const TiffDirectory& directory,
                                           uint16_t tag, uint64_t count) {
  const auto found = directory.tags.find(tag);
  if (found == directory.tags.end() || !IsInteger(found->second.type) ||
      found->second.count < count || count > kIntegersMax) {
    return Corrupt("tag " + std::to_string(tag) + " does not hold " +
                   std::to_string(count) + " numbers");
  }
  TiffTag all = found->second;
  const size_t unit = TiffTypeSize(all.type);
  if (all.value.size() < count * unit) {
    PLUGIN_ASSIGN_OR_RETURN(
        all.value, file->Read(all.offset, count * unit, kIntegersMax * 8));
  }
  std::vector<uint64_t> numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = TiffInteger(all, i, directory.big_endian);
  }
  return numbers;
}

uint8_t ExifOrientation(ByteSpan exif) {
  if (AsText(exif).starts_with("Exif")) {
    exif = exif.subspan(std::min<size_t>(6, exif.size()));
  }
  ByteSource source(exif);
  const auto header = ReadTiffHeader(&source);
  if (!header.ok()) return 1;
  const auto directory =
      ReadDirectory(&source, header.value(), header.value().first, 64);
  if (!directory.ok()) return 1;
  const uint64_t orientation = directory.value().Number(274, 1);
  return orientation >= 1 && orientation <= 8
             ? static_cast<uint8_t>(orientation)
             : uint8_t{1};
}

}  // namespace rowfs::plugin
