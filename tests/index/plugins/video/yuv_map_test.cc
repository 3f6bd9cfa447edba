#include "index/plugins/video/yuv_map.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace rowfs::plugin {
namespace {

constexpr uint32_t kRoom = 96;

class Planes {
 public:
  explicit Planes(uint32_t seed) {
    std::mt19937 random(seed);
    for (auto& plane : bytes_) {
      plane.resize(kRoom * kRoom);
      for (uint8_t& b : plane) {
        // The ends of the range are where clipping goes wrong.
        const auto r = static_cast<uint32_t>(random());
        b = static_cast<uint8_t>(r % 4 == 0 ? (r % 8 == 0 ? 255 : 0) : r >> 8);
      }
    }
  }
  YuvSource Source(uint32_t width, uint32_t height) const {
    return {width,
            height,
            {bytes_[0].data(), bytes_[1].data(), bytes_[2].data()},
            {kRoom, kRoom, kRoom}};
  }
  YuvTarget Target() {
    return {{bytes_[0].data(), bytes_[1].data(), bytes_[2].data()},
            {kRoom, kRoom, kRoom}};
  }
  bool operator==(const Planes&) const = default;

 private:
  std::vector<uint8_t> bytes_[3];
};

// BT.709 and BT.2020 of limited range to BT.601 of full range, the same of full
// range, nothing, and one that 16 bits do not hold.
const YuvMapping kMappings[] = {
    {76309, 7421, 14314, 73799, -8061, -5308, 73232, 16},
    {76309, 8840, 7921, 73411, -4424, -6339, 74301, 16},
    {65536, 6521, 12577, 64844, -7083, -4664, 64345, 0},
    {},
    {76309, 40000, -40000, 74000, 33000, -33000, 74000, 16}};

TEST(YuvMap, TheFastWayGivesTheBitsOfThePlainOne) {
  const Planes from(1);
  const Planes before(2);
  for (const YuvMapping& mapping : kMappings) {
    for (uint32_t width = 1; width <= 67; ++width) {
      for (const uint32_t height : {1u, 2u, 5u}) {
        Planes fast = before;
        Planes plain = before;
        MapYuv(from.Source(width, height), mapping, fast.Target());
        MapYuvPlainly(from.Source(width, height), mapping, plain.Target());
        ASSERT_EQ(plain, fast) << width << "x" << height << " " << mapping.y_cb;
      }
    }
  }
}

TEST(YuvMap, AMappingOfNothingCopies) {
  const Planes from(3);
  Planes to(4);
  MapYuv(from.Source(67, 9), YuvMapping(), to.Target());
  const YuvSource source = from.Source(67, 9);
  const YuvTarget target = to.Target();
  for (uint32_t y = 0; y < 9; ++y) {
    for (uint32_t x = 0; x < 67; ++x) {
      ASSERT_EQ(source.data[0][y * kRoom + x], target.data[0][y * kRoom + x]);
    }
  }
  EXPECT_EQ(source.data[1][4 * kRoom + 33], target.data[1][4 * kRoom + 33]);
}

TEST(YuvMap, LimitedRangeBecomesFull) {
  const YuvMapping limited = {76309, 0, 0, 74606, 0, 0, 74606, 16};
  const uint8_t y[] = {16, 235, 0, 255};
  const uint8_t cb[] = {16, 128};
  const uint8_t cr[] = {240, 128};
  uint8_t out_y[4];
  uint8_t out_cb[2];
  uint8_t out_cr[2];
  MapYuv({4, 1, {y, cb, cr}, {4, 2, 2}}, limited,
         {{out_y, out_cb, out_cr}, {4, 2, 2}});
  EXPECT_EQ(std::vector<int>({0, 255, 0, 255}),
            std::vector<int>(std::begin(out_y), std::end(out_y)));
  EXPECT_EQ(0, out_cb[0]);
  EXPECT_EQ(255, out_cr[0]);
  EXPECT_EQ(128, out_cb[1]);
}

}  // namespace
}  // namespace rowfs::plugin
