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
}

TEST(DetectFileType, CallsTheRestBin) {
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
