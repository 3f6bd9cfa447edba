#include "index/plugins/video/ebml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rowfs::plugin {
namespace {

using ::testing::ElementsAre;

TEST(Ebml, LengthsTakeTheFewestBytesAndNeverMeanUnknown) {
  EXPECT_EQ(1u, EbmlSizeWidth(0));
  EXPECT_EQ(1u, EbmlSizeWidth(126));
  EXPECT_EQ(2u, EbmlSizeWidth(127));
  EXPECT_EQ(2u, EbmlSizeWidth(16382));
  EXPECT_EQ(3u, EbmlSizeWidth(16383));
  EXPECT_EQ(8u, EbmlSizeWidth((uint64_t{1} << 56) - 2));
}

TEST(Ebml, WritesNumbersInTheFewestBytes) {
  Bytes out;
  PutEbmlUint(&out, 0xD7, 1);
  PutEbmlUint(&out, 0x2AD7B1, 1000000);
  PutEbmlSint(&out, 0x75A2, -129);

  EXPECT_THAT(out, ElementsAre(0xD7, 0x81, 1, 0x2A, 0xD7, 0xB1, 0x83, 0x0F,
                               0x42, 0x40, 0x75, 0xA2, 0x82, 0xFF, 0x7F));
}

TEST(Ebml, MastersKnowTheLengthOfWhatIsInside) {
  Bytes out;
  {
    const EbmlMaster cluster(&out, 0x1F43B675);
    PutEbmlText(&out, 0x86, "V_VP8");
  }

  EXPECT_THAT(out, ElementsAre(0x1F, 0x43, 0xB6, 0x75, 1, 0, 0, 0, 0, 0, 0, 7,
                               0x86, 0x85, 'V', '_', 'V', 'P', '8'));
}

}  // namespace
}  // namespace rowfs::plugin
