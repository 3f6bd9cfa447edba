#include "index/plugins/video/orientation.h"

#include <algorithm>
#include <cstdlib>

namespace rowfs::plugin {

int Orientation::degrees() const {
  if (swap) return flip_x ? 90 : 270;
  return flip_x && flip_y ? 180 : 0;
}

Orientation OrientationOf(const std::array<int32_t, 9>& matrix) {
  // Upright x = a*x + c*y, upright y = b*x + d*y.
  const int64_t a = matrix[0];
  const int64_t b = matrix[1];
  const int64_t c = matrix[3];
  const int64_t d = matrix[4];
  // Within a degree or so of a right angle.
  const auto much_less = [](int64_t x, int64_t y, int64_t of_x, int64_t of_y) {
    return std::max(std::abs(x), std::abs(y)) * 64 <=
           std::min(std::abs(of_x), std::abs(of_y));
  };
  Orientation o;
  if (a != 0 && d != 0 && much_less(b, c, a, d)) {
    o.flip_x = a < 0;
    o.flip_y = d < 0;
  } else if (b != 0 && c != 0 && much_less(a, d, b, c)) {
    o.swap = true;
    o.flip_x = c < 0;
    o.flip_y = b < 0;
  }
  return o;
}

}  // namespace rowfs::plugin
