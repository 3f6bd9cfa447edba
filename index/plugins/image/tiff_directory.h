// Directories of TIFF and BigTIFF files, as raw tags. Also reads EXIF, which is
// a small TIFF.
//
// Values; functions without state.
#ifndef ROWFS_INDEX_PLUGINS_IMAGE_TIFF_DIRECTORY_H_
#define ROWFS_INDEX_PLUGINS_IMAGE_TIFF_DIRECTORY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "index/plugins/image/byte_source.h"

namespace rowfs::plugin {

struct TiffHeader {
  bool big_endian = false;
  bool big = false;  // BigTIFF
  uint64_t first = 0;
};

struct TiffTag {
  uint16_t type = 0;
  uint64_t count = 0;
  // As in the file, in its byte order. Empty when it is larger than what
  // ReadDirectory was asked to keep; then it lies at `offset`.
  Bytes value;
  uint64_t offset = 0;
};

struct TiffDirectory {
  bool big_endian = false;
  uint64_t offset = 0;
  uint64_t next = 0;
  std::map<uint16_t, TiffTag> tags;

  bool Has(uint16_t tag) const { return tags.contains(tag); }
  // Number `index` of an integer tag; `missing` when it is absent, has fewer or
  // is none.
  uint64_t Number(uint16_t tag, uint64_t missing, uint64_t index = 0) const;
  // The first number of a tag of any numeric type.
  std::optional<double> Real(uint16_t tag) const;
  std::string Text(uint16_t tag) const;
};

// Bytes of one value of a TIFF type; 0 for an unknown type.
size_t TiffTypeSize(uint16_t type);
uint64_t TiffInteger(const TiffTag& tag, uint64_t index, bool big_endian);

// ROWFS_E_CORRUPT when the file is none.
Result<TiffHeader> ReadTiffHeader(ByteSource* file);

// The directory at `offset`. Values of more than `value_max` bytes are left in
// the file. A tag whose value lies past the end of the file is left out.
// ROWFS_E_CORRUPT when the directory itself is not in the file.
Result<TiffDirectory> ReadDirectory(ByteSource* file, const TiffHeader& header,
                                    uint64_t offset, uint64_t value_max);

// All numbers of an integer tag, read from the file where they are not kept.
// ROWFS_E_CORRUPT when there are fewer than `count`; further ones are dropped.
Result<std::vector<uint64_t>> ReadIntegers(ByteSource* file,
                                           const TiffDirectory& directory,
                                           uint16_t tag, uint64_t count);

// EXIF orientation of the EXIF block (with or without "Exif\0\0"); 1 when it
// says nothing sound.
uint8_t ExifOrientation(ByteSpan exif);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_IMAGE_TIFF_DIRECTORY_H_
