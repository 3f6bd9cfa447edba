// 4:2:0 planes from one kind of YUV to another, in fixed point: the same bits
// on every processor.
//
// Pure functions.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_YUV_MAP_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_YUV_MAP_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace rowfs::plugin {

// Coefficients with 16 fractional bits; chroma counts from 128.
struct YuvMapping {
  int32_t y = 1 << 16;
  int32_t y_cb = 0, y_cr = 0;
  int32_t cb_cb = 1 << 16, cb_cr = 0;
  int32_t cr_cb = 0, cr_cr = 1 << 16;
  int32_t black = 0;  // of luma
};

// Chroma has half the width and height, rounded up.
struct YuvSource {
  uint32_t width = 0;
  uint32_t height = 0;
  std::array<const uint8_t*, 3> data{};
  std::array<ptrdiff_t, 3> stride{};
};

struct YuvTarget {
  std::array<uint8_t*, 3> data{};
  std::array<size_t, 3> stride{};
};

void MapYuv(const YuvSource& from, const YuvMapping& mapping,
            const YuvTarget& to);
// The same without the instructions that not every processor has.
void MapYuvPlainly(const YuvSource& from, const YuvMapping& mapping,
                   const YuvTarget& to);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_YUV_MAP_H_
