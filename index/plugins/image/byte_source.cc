#include "index/plugins/image/byte_source.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace rowfs::plugin {
namespace {

// Of the first bytes all of the head is wanted; elsewhere a directory.
constexpr uint64_t kHeadWindow = 64 << 10;
constexpr uint64_t kWindow = 16 << 10;

}  // namespace

Status ByteSource::Ask(uint64_t offset, std::span<uint8_t> out) {
  const int32_t code =
      reader_->read_at(reader_->ctx, offset, out.data(), out.size());
  if (code != ROWFS_OK) return Status(code, "reading the file failed");
  return {};
}

Status ByteSource::ReadAt(uint64_t offset, std::span<uint8_t> out) {
  if (offset > size_ || out.size() > size_ - offset) {
    return Corrupt("the file ends before byte " +
                   std::to_string(offset + out.size()));
  }
  if (out.empty()) return {};
  if (reader_ == nullptr) {
    std::memcpy(out.data(), memory_.data() + offset, out.size());
    return {};
  }
  if (out.size() > kWindow) return Ask(offset, out);
  const bool inside = offset >= window_at_ &&
                      offset - window_at_ <= window_.size() &&
                      out.size() <= window_.size() - (offset - window_at_);
  if (!inside) {
    const uint64_t wanted = offset < kHeadWindow ? kHeadWindow : kWindow;
    Bytes window(
        static_cast<size_t>(std::min<uint64_t>(wanted, size_ - offset)));
    PLUGIN_RETURN_IF_ERROR(Ask(offset, window));
    window_ = std::move(window);
    window_at_ = offset;
  }
  std::memcpy(out.data(), window_.data() + (offset - window_at_), out.size());
  return {};
}

Result<Bytes> ByteSource::Read(uint64_t offset, uint64_t size, uint64_t max) {
  if (size > max) {
    return Limit("a part of " + std::to_string(size) + " bytes is too large");
  }
  if (offset > size_ || size > size_ - offset) {
    return Corrupt("the file ends before byte " + std::to_string(offset) + "+" +
                   std::to_string(size));
  }
  Bytes out(static_cast<size_t>(size));
  PLUGIN_RETURN_IF_ERROR(ReadAt(offset, out));
  return out;
}

}  // namespace rowfs::plugin
