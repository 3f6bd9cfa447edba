#include "index/plugins/video/mp4_boxes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rowfs::plugin {
namespace {

using ::testing::ElementsAre;

uint64_t BigAt(const Bytes& bytes, size_t at, size_t width) {
  uint64_t value = 0;
  for (size_t i = 0; i < width; ++i) value = value << 8 | bytes.at(at + i);
  return value;
}

// Where the content of the first box `type` starts.
size_t Find(const Bytes& bytes, const std::string& type) {
  const std::string text(bytes.begin(), bytes.end());
  const size_t at = text.find(type);
  EXPECT_NE(at, std::string::npos) << type;
  return at + 4;
}

bool Has(const Bytes& bytes, const std::string& type) {
  return std::string(bytes.begin(), bytes.end()).find(type) !=
         std::string::npos;
}

Mp4Track TwoGops() {
  Mp4Track track;
  track.timescale = 10;
  track.entries = {Bytes{0, 0, 0, 8, 't', 'e', 's', 't'}};
  for (uint32_t i = 0; i < 20; ++i) {
    Mp4Sample sample;
    sample.offset = uint64_t{i} * 100;
    sample.size = 100 + i % 2 - i % 2;
    sample.dts = i;
    sample.pts = i;
    sample.sync = i % 10 == 0;
    track.samples.push_back(sample);
  }
  track.last_duration = 1;
  return track;
}

Mp4Movie Movie(Mp4Track track) {
  Mp4Movie movie;
  movie.tracks.push_back(std::move(track));
  return movie;
}

TEST(Mp4Boxes, BoxesNestAndKnowTheirSizes) {
  Bytes out;
  {
    const Box outer(&out, "moov");
    const Box inner(&out, "free");
    PutBig(&out, 0x0102, 2);
  }

  EXPECT_THAT(out, ElementsAre(0, 0, 0, 18, 'm', 'o', 'o', 'v', 0, 0, 0, 10,
                               'f', 'r', 'e', 'e', 1, 2));
}

TEST(Mp4Boxes, ChunkOffsetsStartBehindTheHead) {
  const Bytes head = EncodeMp4Head(Movie(TwoGops()), 2000);

  const size_t stco = Find(head, "stco") + 4;
  EXPECT_EQ(2u, BigAt(head, stco, 4)) << "one chunk a GOP";
  EXPECT_EQ(head.size(), BigAt(head, stco + 4, 4));
  EXPECT_EQ(head.size() + 1000, BigAt(head, stco + 8, 4));
}

TEST(Mp4Boxes, TheMdatHeaderIsLastAndCountsThePayload) {
  const Bytes head = EncodeMp4Head(Movie(TwoGops()), 2000);

  EXPECT_EQ(1u, BigAt(head, head.size() - 16, 4));
  EXPECT_EQ("mdat", std::string(head.end() - 12, head.end() - 8));
  EXPECT_EQ(2016u, BigAt(head, head.size() - 8, 8));
}

TEST(Mp4Boxes, TakesWideOffsetsOnlyWhenTheFileEndsBehindFourGiB) {
  const uint64_t narrow_size = EncodeMp4Head(Movie(TwoGops()), 2000).size();
  const uint64_t last_narrow = 0xffffffff - narrow_size;

  EXPECT_TRUE(Has(EncodeMp4Head(Movie(TwoGops()), last_narrow), "stco"));
  EXPECT_TRUE(Has(EncodeMp4Head(Movie(TwoGops()), last_narrow + 1), "co64"));
}

TEST(Mp4Boxes, EqualSizesAndStepsTakeOneEntry) {
  const Bytes head = EncodeMp4Head(Movie(TwoGops()), 2000);

  const size_t stsz = Find(head, "stsz") + 4;
  EXPECT_EQ(100u, BigAt(head, stsz, 4));
  EXPECT_EQ(20u, BigAt(head, stsz + 4, 4));
  EXPECT_EQ(1u, BigAt(head, Find(head, "stts") + 4, 4));
  EXPECT_FALSE(Has(head, "ctts"));
}

TEST(Mp4Boxes, NegativeCompositionOffsetsTakeVersionOne) {
  Mp4Track track = TwoGops();
  track.samples[1].pts = 3;
  EXPECT_EQ(0u, BigAt(EncodeMp4Head(Movie(track), 2000),
                      Find(EncodeMp4Head(Movie(track), 2000), "ctts"), 1));
  track.samples[2].pts = 1;

  const Bytes head = EncodeMp4Head(Movie(track), 2000);

  EXPECT_EQ(1u, BigAt(head, Find(head, "ctts"), 1));
}

TEST(Mp4Boxes, LongDurationsTakeVersionOne) {
  Mp4Track track = TwoGops();
  track.timescale = 1000000000;
  for (Mp4Sample& sample : track.samples) {
    sample.dts *= 1000000000;
    sample.pts = sample.dts;
  }
  track.last_duration = 1000000000;

  const Bytes head = EncodeMp4Head(Movie(track), 2000);

  const size_t mdhd = Find(head, "mdhd");
  EXPECT_EQ(1u, BigAt(head, mdhd, 1));
  EXPECT_EQ(20000000000u, BigAt(head, mdhd + 24, 8));
  EXPECT_EQ(0u, BigAt(head, Find(head, "mvhd"), 1)) << "20,000 ms fit";
}

TEST(Mp4Boxes, EditsAreWideOnlyWhenTheyMustBe) {
  Mp4Track track = TwoGops();
  track.edits = {{500, -1}, {1500, 4}};
  Bytes head = EncodeMp4Head(Movie(track), 2000);
  size_t elst = Find(head, "elst");
  EXPECT_EQ(0u, BigAt(head, elst, 1));
  EXPECT_EQ(500u, BigAt(head, elst + 8, 4));
  EXPECT_EQ(0xffffffffu, BigAt(head, elst + 12, 4));
  EXPECT_EQ(2000u, BigAt(head, Find(head, "mvhd") + 16, 4));

  track.edits = {{uint64_t{1} << 32, 4}};
  head = EncodeMp4Head(Movie(track), 2000);

  elst = Find(head, "elst");
  EXPECT_EQ(1u, BigAt(head, elst, 1));
  EXPECT_EQ(uint64_t{1} << 32, BigAt(head, elst + 8, 8));
}

TEST(Mp4Boxes, SyncTableIsLeftOutWhenAllSamplesAreSync) {
  Mp4Track track = TwoGops();
  EXPECT_TRUE(Has(EncodeMp4Head(Movie(track), 2000), "stss"));
  for (Mp4Sample& sample : track.samples) sample.sync = true;

  EXPECT_FALSE(Has(EncodeMp4Head(Movie(track), 2000), "stss"));
}

TEST(Mp4Boxes, OpenGopsAreNamedInAGroupToo) {
  Mp4Track track = TwoGops();
  track.samples[10].open = true;

  const Bytes head = EncodeMp4Head(Movie(track), 2000);

  const size_t sbgp = Find(head, "sbgp") + 8;
  EXPECT_EQ(3u, BigAt(head, sbgp, 4));
  EXPECT_EQ(10u, BigAt(head, sbgp + 4, 4));
  EXPECT_EQ(1u, BigAt(head, sbgp + 16, 4));
}

TEST(Mp4Boxes, PcmCountsMomentsOfSoundNotPackets) {
  Mp4Track track = TwoGops();
  track.kind = Mp4Kind::kAudio;
  track.unit_bytes = 4;

  const Bytes head = EncodeMp4Head(Movie(track), 2000);

  const size_t stsz = Find(head, "stsz") + 4;
  EXPECT_EQ(4u, BigAt(head, stsz, 4));
  EXPECT_EQ(500u, BigAt(head, stsz + 4, 4));
}

TEST(Mp4Boxes, NewParameterSetsStartAChunk) {
  Mp4Track track = TwoGops();
  track.entries.push_back(track.entries[0]);
  for (size_t i = 15; i < 20; ++i) track.samples[i].entry = 1;

  const Bytes head = EncodeMp4Head(Movie(track), 2000);

  const size_t stsc = Find(head, "stsc") + 4;
  EXPECT_EQ(3u, BigAt(head, stsc, 4));
  EXPECT_EQ(2u, BigAt(head, stsc + 4 + 24 + 8, 4));
}

}  // namespace
}  // namespace rowfs::plugin
