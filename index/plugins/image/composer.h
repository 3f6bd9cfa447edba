// The canvas of an animation: frames drawn one over the other by the rules of
// their format.
//
// One thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_IMAGE_COMPOSER_H_
#define ROWFS_INDEX_PLUGINS_IMAGE_COMPOSER_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "index/plugins/image/image_index.h"

namespace rowfs::plugin {

class Composer {
 public:
  // The bytes of a frame's piece.
  using FrameReader = std::function<Result<ByteSpan>(uint32_t frame)>;

  // The last key frame that is not after `frame`.
  static uint32_t Start(const Animation& animation, uint32_t frame);

  // The canvas when `frame` is shown, RGBA. Goes on from the frame shown last
  // where that is nearer than the key frame. ROWFS_E_CORRUPT.
  Result<Raster> Show(const Animation& animation, uint32_t frame,
                      const FrameReader& read);

 private:
  Status Draw(const Animation& animation, uint32_t frame,
              const FrameReader& read);
  void Dispose(const Animation& animation, uint32_t frame);

  std::optional<uint32_t> shown_;
  Raster canvas_;
  Raster before_;  // what kRestore brings back
};

// The pixels of one frame as RGBA of its rectangle's size; defined beside each
// format.
Result<Raster> DecodeGifFrame(const Animation& animation, uint32_t frame,
                              ByteSpan bytes);
Result<Raster> DecodeApngFrame(const Animation& animation, uint32_t frame,
                               ByteSpan bytes);
Result<Raster> DecodeWebpFrame(const Animation& animation, uint32_t frame,
                               ByteSpan bytes);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_IMAGE_COMPOSER_H_
