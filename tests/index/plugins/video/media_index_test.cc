#include "index/plugins/video/media_index.h"

#include <gtest/gtest.h>

#include <random>

namespace rowfs::plugin {
namespace {

// 2 GOPs of 3 frames with one B frame each, and a sound track of 4 packets.
MediaIndex SmallIndex(Layout layout) {
  MediaIndex index;
  index.source_format = "mov";
  index.source_size = 5000;
  index.tags = {{"title", "small"}};
  Stream video;
  video.kind = StreamKind::kVideo;
  video.codec = "h264";
  video.time_base = {1, 25};
  video.width = 320;
  video.height = 180;
  video.extradata = {{1, 2, 3}};
  const int64_t pts[] = {0, 2, 1, 3, 5, 4};
  for (int i = 0; i < 6; ++i) {
    Packet p;
    p.size = static_cast<uint32_t>(100 + i);
    p.dts = i - 1;
    p.pts = pts[i];
    p.duration = 1;
    p.flags = kPacketShown;
    if (i % 3 == 0) p.flags |= kPacketKey;
    if (i % 3 == 2) p.flags |= kPacketNonRef;
    video.packets.push_back(p);
  }
  video.end_tick = 6;
  Stream audio;
  audio.kind = StreamKind::kAudio;
  audio.codec = "aac";
  audio.time_base = {1, 48000};
  audio.sample_rate = 48000;
  audio.channels = 2;
  for (int i = 0; i < 4; ++i) {
    Packet p;
    p.size = 20;
    p.dts = p.pts = 1024 * i;
    p.duration = 1024;
    p.flags = kPacketShown | kPacketKey;
    audio.packets.push_back(p);
  }
  if (layout == Layout::kStored) audio.gop_first = {0, 2, 4};
  index.streams = {video, audio};
  index.gops = {{0, 3, KeyKind::kIdr, 0, 0, 0},
                {3, 3, KeyKind::kOpen, 1, 1, 1}};
  index.shown = {0, 2, 1, 3, 5, 4};
  index.shapes = {{0, 320, 180, 8, false}};
  index.head.layout = layout;
  index.head.frame_count = 6;
  index.head.key_frame_count = 2;
  index.head.gop_count = 2;
  index.head.blob_size = 615 + 80;
  index.head.source_extension = "mp4";
  uint64_t at = 0;
  const auto place = [&](int stream, size_t i) {
    Packet& p = index.streams[static_cast<size_t>(stream)].packets[i];
    p.offset = at;
    at += p.size;
  };
  for (size_t g = 0; g < 2; ++g) {
    for (size_t i = 0; i < 2; ++i) place(1, 2 * g + i);
    for (size_t i = 0; i < 3; ++i) place(0, 3 * g + i);
  }
  return index;
}

TEST(MediaIndex, ComesBackFromItsBytesInBothLayouts) {
  for (Layout layout : {Layout::kStored, Layout::kContainer}) {
    const MediaIndex index = SmallIndex(layout);
    const auto encoded = EncodeIndex(index);
    ASSERT_TRUE(encoded.ok()) << encoded.status().message();

    const auto parsed =
        ParseIndex(encoded.value().stream_info, encoded.value().entries, 695);

    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    const MediaIndex& back = parsed.value();
    EXPECT_EQ(index.shown, back.shown);
    ASSERT_EQ(2u, back.streams.size());
    for (size_t s = 0; s < 2; ++s) {
      const auto& a = index.streams[s].packets;
      const auto& b = back.streams[s].packets;
      ASSERT_EQ(a.size(), b.size());
      for (size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(a[i].offset, b[i].offset) << s << " " << i;
        EXPECT_EQ(a[i].size, b[i].size);
        EXPECT_EQ(a[i].dts, b[i].dts);
        EXPECT_EQ(a[i].pts, b[i].pts);
        EXPECT_EQ(a[i].duration, b[i].duration);
        EXPECT_EQ(a[i].flags, b[i].flags);
      }
    }
    EXPECT_EQ(index.streams[0].extradata, back.streams[0].extradata);
    EXPECT_EQ(KeyKind::kOpen, back.gops[1].kind);
    EXPECT_EQ(1, back.gops[1].decode_back_lead);
    EXPECT_EQ("small", back.tags[0].second);
  }
}

TEST(MediaIndex, TellsTheFramesOfATimeAndOfAWindow) {
  const MediaIndex index = SmallIndex(Layout::kStored);
  const auto at = [&](const char* t) {
    return index.FrameAt(*ExactTime::Parse(t));
  };
  const auto in = [&](const char* from, const char* to) {
    return index.FramesIn(*ExactTime::Parse(from), *ExactTime::Parse(to));
  };

  EXPECT_EQ(0, at("0"));
  EXPECT_EQ(0, at("0.0399999999999999999999"));
  EXPECT_EQ(1, at("0.04"));
  EXPECT_EQ(5, at("0.23"));
  EXPECT_EQ(-1, at("0.24"));
  EXPECT_EQ((std::pair<uint32_t, uint32_t>(1, 3)), in("0.04", "0.12"));
  EXPECT_EQ((std::pair<uint32_t, uint32_t>(1, 4)), in("0.05", "0.121"));
  EXPECT_EQ((std::pair<uint32_t, uint32_t>(0, 0)), in("0.24", "1"));
}

TEST(MediaIndex, RefusesEveryCutAndEveryFlippedBit) {
  const auto encoded = EncodeIndex(SmallIndex(Layout::kContainer));
  ASSERT_TRUE(encoded.ok());
  const Bytes& info = encoded.value().stream_info;
  const Bytes& entries = encoded.value().entries;

  for (size_t n = 0; n < info.size(); ++n) {
    EXPECT_FALSE(ParseIndex(ByteSpan(info).first(n), entries, 695).ok());
  }
  for (size_t n = 0; n < entries.size(); ++n) {
    EXPECT_FALSE(ParseIndex(info, ByteSpan(entries).first(n), 695).ok());
  }
  for (size_t bit = 0; bit < 8 * (info.size() + entries.size()); ++bit) {
    Bytes a = info;
    Bytes b = entries;
    Bytes& bytes = bit < 8 * info.size() ? a : b;
    const size_t at = bit < 8 * info.size() ? bit : bit - 8 * info.size();
    bytes[at / 8] ^= static_cast<uint8_t>(1u << (at % 8));
    EXPECT_FALSE(ParseIndex(a, b, 695).ok()) << "bit " << bit;
  }
  EXPECT_FALSE(ParseIndex(info, entries, 694).ok());
}

// Damage behind right checksums must be found by the parser itself.
TEST(MediaIndex, SurvivesDamageThatCarriesRightChecksums) {
  const auto encoded = EncodeIndex(SmallIndex(Layout::kStored));
  ASSERT_TRUE(encoded.ok());
  std::mt19937 random(1);
  const auto put32 = [](Bytes* b, size_t at, uint32_t v) {
    for (size_t i = 0; i < 4; ++i) {
      (*b)[at + i] = static_cast<uint8_t>(v >> (8 * i));
    }
  };
  for (int round = 0; round < 20000; ++round) {
    Bytes info = encoded.value().stream_info;
    Bytes entries = encoded.value().entries;
    Bytes& victim = round % 2 == 0 ? info : entries;
    for (unsigned n = 0; n < 1 + random() % 3; ++n) {
      victim[random() % victim.size()] = static_cast<uint8_t>(random());
    }
    put32(&info, 109, Crc32(ByteSpan(info).subspan(kHeadSize)));
    put32(&info, 121, Crc32(entries));
    put32(&info, kHeadSize - 4, Crc32(ByteSpan(info).first(kHeadSize - 4)));

    const auto parsed = ParseIndex(info, entries, 695);

    if (!parsed.ok()) continue;
    for (const Stream& s : parsed.value().streams) {
      for (const Packet& p : s.packets) EXPECT_LE(p.offset + p.size, 695u);
    }
  }
}

}  // namespace
}  // namespace rowfs::plugin
