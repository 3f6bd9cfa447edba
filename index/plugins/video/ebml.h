// EBML elements in memory (RFC 8794), as Matroska files are made of: an id, a
// length, and a number, a text, bytes or further elements.
//
// Values; not thread-safe to mutate concurrently.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_EBML_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_EBML_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "index/plugins/common/bytes.h"

namespace rowfs::plugin {

// Bytes that the length `value` takes; 8 at most. Requires: value < 2^56 - 1.
size_t EbmlSizeWidth(uint64_t value);

// Append an element id, given with its marker bit (0x1A45DFA3).
void PutEbmlId(Bytes* out, uint32_t id);
// Append a length in the fewest bytes, or in exactly `width` bytes.
void PutEbmlSize(Bytes* out, uint64_t value);
void PutEbmlSize(Bytes* out, uint64_t value, size_t width);

// Append whole elements. Numbers take the fewest bytes; PutEbmlFixed always
// takes 8, for values that are known only when the length is.
void PutEbmlUint(Bytes* out, uint32_t id, uint64_t value);
void PutEbmlSint(Bytes* out, uint32_t id, int64_t value);
void PutEbmlFixed(Bytes* out, uint32_t id, uint64_t value);
void PutEbmlFloat(Bytes* out, uint32_t id, double value);
void PutEbmlText(Bytes* out, uint32_t id, std::string_view text);
void PutEbmlBytes(Bytes* out, uint32_t id, std::span<const uint8_t> bytes);

// An element read out of bytes; views into them.
struct EbmlElement {
  uint32_t id = 0;
  ByteSpan content;
  ByteSpan whole;
};

// The element at the front of `bytes`; one that says it is longer ends with
// them, as what a muxer could not finish does. Absent when there is none.
std::optional<EbmlElement> FirstEbmlElement(ByteSpan bytes);

// An element of elements: the constructor appends id and room for an 8-byte
// length, the destructor fills it in. They nest as scopes do.
class EbmlMaster {
 public:
  EbmlMaster(Bytes* out, uint32_t id);
  ~EbmlMaster();
  EbmlMaster(const EbmlMaster&) = delete;
  EbmlMaster& operator=(const EbmlMaster&) = delete;

 private:
  Bytes* out_;
  size_t start_;  // of the content
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_EBML_H_
