#include "index/plugins/video/ebml.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "index/plugins/video/mp4_boxes.h"

namespace rowfs::plugin {
namespace {

constexpr size_t kMasterSizeWidth = 8;

size_t UintWidth(uint64_t value) {
  size_t width = 1;
  while (width < 8 && value >> (8 * width) != 0) ++width;
  return width;
}

// Bytes of the id or length at the front of `bytes`; 0 when it is none.
size_t VintWidth(ByteSpan bytes, size_t widest) {
  for (size_t width = 1; width <= widest && width <= bytes.size(); ++width) {
    if ((bytes[0] & (0x100u >> width)) != 0) return width;
  }
  return 0;
}

}  // namespace

size_t EbmlSizeWidth(uint64_t value) {
  size_t width = 1;
  // All ones of a width means "unknown", so the largest value is one less.
  while (width < 8 && value >= (uint64_t{1} << (7 * width)) - 1) ++width;
  return width;
}

void PutEbmlId(Bytes* out, uint32_t id) { PutBig(out, id, UintWidth(id)); }

void PutEbmlSize(Bytes* out, uint64_t value) {
  PutEbmlSize(out, value, EbmlSizeWidth(value));
}

void PutEbmlSize(Bytes* out, uint64_t value, size_t width) {
  assert(value < uint64_t{1} << (7 * width));
  PutBig(out, value | uint64_t{1} << (7 * width), width);
}

void PutEbmlUint(Bytes* out, uint32_t id, uint64_t value) {
  const size_t width = UintWidth(value);
  PutEbmlId(out, id);
  PutEbmlSize(out, width);
  PutBig(out, value, width);
}

void PutEbmlSint(Bytes* out, uint32_t id, int64_t value) {
  size_t width = 1;
  while (width < 8) {
    const int64_t half = int64_t{1} << (8 * width - 1);
    if (value >= -half && value < half) break;
    ++width;
  }
  PutEbmlId(out, id);
  PutEbmlSize(out, width);
  PutBig(out, static_cast<uint64_t>(value), width);
}

void PutEbmlFixed(Bytes* out, uint32_t id, uint64_t value) {
  PutEbmlId(out, id);
  PutEbmlSize(out, 8);
  PutBig(out, value, 8);
}

void PutEbmlFloat(Bytes* out, uint32_t id, double value) {
  uint64_t bits = 0;
  static_assert(sizeof(bits) == sizeof(value));
  std::memcpy(&bits, &value, sizeof(bits));
  PutEbmlFixed(out, id, bits);
}

void PutEbmlText(Bytes* out, uint32_t id, std::string_view text) {
  PutEbmlId(out, id);
  PutEbmlSize(out, text.size());
  PutText(out, text);
}

void PutEbmlBytes(Bytes* out, uint32_t id, std::span<const uint8_t> bytes) {
  PutEbmlId(out, id);
  PutEbmlSize(out, bytes.size());
  PutBytes(out, bytes);
}

std::optional<EbmlElement> FirstEbmlElement(ByteSpan bytes) {
  const size_t id_width = VintWidth(bytes, 4);
  if (id_width == 0) return std::nullopt;
  const size_t size_width = VintWidth(bytes.subspan(id_width), 8);
  const size_t header = id_width + size_width;
  if (size_width == 0) return std::nullopt;
  EbmlElement element;
  for (size_t i = 0; i < id_width; ++i) {
    element.id = element.id << 8 | bytes[i];
  }
  uint64_t size = bytes[id_width] & (0xffu >> size_width);
  for (size_t i = 1; i < size_width; ++i) {
    size = size << 8 | bytes[id_width + i];
  }
  size = std::min<uint64_t>(size, bytes.size() - header);
  element.content = bytes.subspan(header, static_cast<size_t>(size));
  element.whole = bytes.subspan(0, header + static_cast<size_t>(size));
  return element;
}

EbmlMaster::EbmlMaster(Bytes* out, uint32_t id) : out_(out), start_(0) {
  PutEbmlId(out, id);
  PutEbmlSize(out, 0, kMasterSizeWidth);
  start_ = out->size();
}

EbmlMaster::~EbmlMaster() {
  const uint64_t size = out_->size() - start_;
  for (size_t i = 0; i + 1 < kMasterSizeWidth; ++i) {
    (*out_)[start_ - 1 - i] = static_cast<uint8_t>(size >> (8 * i));
  }
}

}  // namespace rowfs::plugin
