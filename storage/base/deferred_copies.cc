#include "storage/base/deferred_copies.h"

#include <algorithm>
#include <cstring>

namespace rowfs {
namespace {

// Shorter ones are cheaper to copy than to list.
constexpr size_t kBytesMin = 16 << 10;
constexpr size_t kDeferredMax = 64;

}  // namespace

void DeferredCopies::Copy(const SharedSpan& bytes, MutableByteSpan out) {
  DeferredCopies* self = current_;
  const bool inside =
      self != nullptr && out.data() >= self->buffer_.data() &&
      out.data() + out.size() <= self->buffer_.data() + self->buffer_.size();
  const size_t begin =
      inside ? static_cast<size_t>(out.data() - self->buffer_.data()) : 0;
  // Whoever goes back and overwrites is not what this is for.
  const bool next =
      inside && (self->deferred_.empty() ||
                 self->deferred_.back().begin +
                         self->deferred_.back().span.bytes.size() <=
                     begin);
  if (!next || bytes.bytes.size() < kBytesMin ||
      self->deferred_.size() >= kDeferredMax) {
    std::memcpy(out.data(), bytes.bytes.data(), bytes.bytes.size());
    return;
  }
  self->deferred_.push_back({begin, bytes});
}

std::vector<SharedSpan> DeferredCopies::Pieces(size_t size) const {
  std::vector<SharedSpan> pieces;
  size_t at = 0;
  const auto add_own = [&](size_t end) {
    if (at < end) pieces.push_back({nullptr, buffer_.subspan(at, end - at)});
  };
  for (const Deferred& deferred : deferred_) {
    if (deferred.begin >= size) break;
    add_own(deferred.begin);
    const ByteSpan bytes = deferred.span.bytes;
    const size_t used = std::min(bytes.size(), size - deferred.begin);
    pieces.push_back({deferred.span.owner, bytes.first(used)});
    at = deferred.begin + used;
  }
  add_own(size);
  return pieces;
}

}  // namespace rowfs
