// How a stored picture becomes an upright one: the eight ways to turn and
// mirror by right angles. Other angles of a display matrix are left alone.
//
// Values.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_ORIENTATION_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_ORIENTATION_H_

#include <array>
#include <cstdint>

namespace rowfs::plugin {

struct Orientation {
  bool swap = false;    // x and y are exchanged, then:
  bool flip_x = false;  // columns of the upright picture run backwards
  bool flip_y = false;  // and its rows

  bool identity() const { return !swap && !flip_x && !flip_y; }
  // Clockwise degrees that turn the stored picture upright, mirroring aside.
  int degrees() const;
};

// `matrix` as in MP4 tkhd.
Orientation OrientationOf(const std::array<int32_t, 9>& matrix);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_ORIENTATION_H_
