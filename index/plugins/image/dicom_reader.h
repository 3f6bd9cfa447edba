// The elements of a DICOM file that say how its pixels lie (PS3.3 C.7.6.3), up
// to the pixel data.
//
// One thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_IMAGE_DICOM_READER_H_
#define ROWFS_INDEX_PLUGINS_IMAGE_DICOM_READER_H_

#include <array>
#include <string>

#include "index/plugins/image/byte_source.h"

namespace rowfs::plugin {

// The length of what says itself where it ends.
inline constexpr uint32_t kDicomUndefined = 0xffffffff;

// PS3.3 C.7.6.3.1.5 and 6.
struct DicomPalette {
  uint32_t count = 0;  // of entries
  uint32_t first = 0;  // the value that shows entry 0, as all below it
  uint32_t bits = 0;   // of an entry, 8 or 16
  std::array<Bytes, 3> entries;
};

struct DicomPixels {
  std::string syntax;
  std::string photometric;
  uint32_t samples = 1, rows = 0, columns = 0, allocated = 8, stored = 8;
  uint32_t frames = 1;
  bool planar = false;
  bool is_signed = false;
  bool big_endian = false;
  DicomPalette palette;
  std::string display;  // window and rescaling, for people
  bool has_palette() const { return photometric == "PALETTE COLOR"; }
};

// Walks the elements of the file up to its pixel data.
class DicomReader {
 public:
  explicit DicomReader(ByteSource* file) : file_(file) {}

  // ROWFS_E_CORRUPT where the file ends before its pixel data.
  Status Run();
  const DicomPixels& pixels() const { return pixels_; }
  bool encapsulated() const { return length_ == kDicomUndefined; }
  uint64_t data_at() const { return at_; }
  uint64_t data_size() const { return length_; }
  const Bytes& offsets64() const { return offsets64_; }

 private:
  struct Element {
    uint32_t tag = 0;
    uint32_t length = 0;
  };
  Result<Element> ReadElement();
  Status Take(const Element& element);
  void TakePalette(uint32_t tag, const Bytes& value);
  void TakeDisplay(const char* name, ByteSpan value);
  uint32_t Number(ByteSpan value, size_t which) const;
  Status SkipSequence();
  Result<uint64_t> Little(uint64_t at, size_t size);

  ByteSource* file_;
  DicomPixels pixels_;
  bool explicit_ = true;
  bool big_endian_ = false;
  uint64_t at_ = 132;
  uint32_t length_ = 0;
  uint64_t elements_ = 0;
  Bytes offsets64_;
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_IMAGE_DICOM_READER_H_
