#include <gtest/gtest.h>

#include "index/dataset/blob.h"

namespace rowfs {
namespace {

using std::string_view_literals::operator""sv;

std::string_view Extension(std::string_view head) {
  return DetectFileType(AsBytes(head)).extension;
}

TEST(DetectFileType, KnowsContainersByTheirFirstBytes) {
  EXPECT_EQ(Extension("\0\0\0\x20"
                      "ftypisom\0\0\0\0"sv),
            "mp4");
  EXPECT_EQ(Extension("\0\0\0\x14"
                      "ftypqt  \0\0\0\0"sv),
            "mov");
  EXPECT_EQ(Extension("\x1A\x45\xDF\xA3\x9F\x42\x82\x84webm"sv), "webm");
  EXPECT_EQ(Extension("RIFF\0\0\0\0WAVEfmt "sv), "wav");
  EXPECT_EQ(Extension("RIFF\0\0\0\0AVI LIST"sv), "avi");
  EXPECT_EQ(Extension("OggS\0\2\0\0\0\0\0\0\0\0OpusHead"sv), "opus");
  EXPECT_EQ(Extension("\x89PNG\r\n\x1A\n\0\0\0\0"sv), "png");
  EXPECT_EQ(Extension("%PDF-1.7"), "pdf");
  EXPECT_EQ(Extension("junk before the header\n%PDF-1.7"), "pdf");
  EXPECT_EQ(Extension("\0\0\0\x1C"
                      "ftypmif1\0\0\0\0mif1avif"sv),
            "avif");
}

TEST(DetectFileType, KnowsStreamsOfVideoByTheirFirstBytes) {
  EXPECT_EQ(Extension("\0\0\0\1\x67\x64\0\x0A"sv), "h264");
  EXPECT_EQ(Extension("\0\0\1\x09\x10\0\0\1"sv), "h264");
  EXPECT_EQ(Extension("\0\0\0\1\x40\1\x0C\1"sv), "h265");
  EXPECT_EQ(Extension("\0\0\1\xBA\x44\0\4\0"sv), "mpg");
  EXPECT_EQ(Extension("\x12\0\x0A\x0A\0\0\0\3"sv), "obu");
  EXPECT_EQ(Extension("\x1F\7\0\xBF\xF8\x78\x78\x78"sv), "dv");
  EXPECT_EQ(Extension("\x30\x26\xB2\x75\x8E\x66\xCF\x11"sv), "asf");
  EXPECT_EQ(Extension("\x06\x0E\x2B\x34\x02\x05\1\1"sv), "mxf");
  EXPECT_EQ(Extension("OggS\0\2\0\0\0\0\0\0\0\0OVP80\1\1"sv), "ogv");
}

TEST(DetectFileType, CallsTheRestBin) {
  EXPECT_EQ(Extension("\0\0\0\1"sv), "bin");
  EXPECT_EQ(Extension("\0\0\0\1\x65\x88\0\0"sv), "bin");
  EXPECT_EQ(Extension(""), "bin");
  EXPECT_EQ(Extension("hello"), "bin");
  EXPECT_EQ(Extension("BMnot a bitmap at all"), "bin");
}

TEST(DetectFileType, SeesTransportStreamsByTheirRhythm) {
  std::string stream(400, 'x');
  stream[0] = stream[188] = stream[376] = 'G';

  EXPECT_EQ(Extension(stream), "ts");
}

TEST(FileTypeOf, TakesMediaTypesWithParameters) {
  EXPECT_EQ(FileTypeOf("text/plain; charset=utf-8")->extension, "txt");
  EXPECT_EQ(FileTypeOf("image/jpeg")->extension, "jpg");
  EXPECT_FALSE(FileTypeOf("application/x-nothing").has_value());
}

}  // namespace
}  // namespace rowfs
