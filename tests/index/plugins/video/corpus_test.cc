// Every kind of video we know, made by ffmpeg, against a sequential decode:
// codecs, containers, GOP structures, timing, damage. Recipes after public
// bug reports of other readers (facts/media.md 1.3).
#include <gtest/gtest.h>

#include "tests/index/plugins/video/compare.h"

namespace rowfs::video_test {
namespace {

struct Kind {
  const char* name;     // file name
  const char* command;  // writes "$OUT", see MakeVideo
  // What is different about it.
  bool container_layout = true;  // packets lie in one piece in the file
  bool times = true;             // ffprobe tells each frame's time
  bool stored = true;
};

// Shell words that the recipes share.
#define SRC "-f lavfi -i testsrc2=size=160x90:rate=25:duration=3 "
#define SMALL "-f lavfi -i testsrc2=size=160x90:rate=25:duration=1 "
#define YUV "-pix_fmt yuv420p -an "
#define B3                                                                 \
  "$FF " SRC YUV                                                           \
  "-c:v libx264 -x264-params keyint=20:min-keyint=20:bframes=3:b-pyramid=" \
  "normal:scenecut=0:open-gop=0 b3.mp4 && "
#define OPEN_GOP                                                           \
  "-c:v libx264 -x264-params keyint=20:min-keyint=20:bframes=3:b-adapt=0:" \
  "scenecut=0:open-gop=1 "
#define X265 "-c:v libx265 -preset ultrafast -x265-params log-level=none:"
#define VPX "-b:v 100k -g 30 -deadline realtime -cpu-used 8 "
#define VPX_ALTREF                                                    \
  "-b:v 100k -g 40 -auto-alt-ref 1 -lag-in-frames 20 -deadline good " \
  "-cpu-used 5 "

const Kind kKinds[] = {
    {"h264_nob.mp4", "$FF " SRC YUV "-c:v libx264 -g 20 -bf 0 $OUT"},
    {"h264_b3.mp4", B3 "cp b3.mp4 $OUT"},
    {"h264_open.mp4", "$FF " SRC YUV OPEN_GOP "$OUT"},
    {"h264_open.mkv", "$FF " SRC YUV OPEN_GOP "$OUT"},
    {"h264_open.ts", "$FF " SRC YUV OPEN_GOP "$OUT"},
    {"h264_intra_refresh.mp4",
     "$FF " SRC YUV
     "-c:v libx264 -x264-params keyint=20:intra-refresh=1:bframes=0 $OUT"},
    {"h264_intra_refresh_b.mkv",
     "$FF " SRC YUV
     "-c:v libx264 -x264-params keyint=20:intra-refresh=1:bframes=2 $OUT"},
    {"h264_mbaff.mp4",
     "$FF -f lavfi -i testsrc2=size=160x96:rate=25:duration=3 " YUV
     "-c:v libx264 -flags +ildct+ilme -x264-params keyint=20:tff=1:bframes=2 "
     "$OUT"},
    {"h264_444_odd.mp4",
     "$FF -f lavfi -i testsrc=size=161x91:rate=25:duration=1 -an -pix_fmt "
     "yuv444p -c:v libx264 -g 10 $OUT"},
    {"h264_10bit.mp4",
     "$FF " SMALL "-an -pix_fmt yuv420p10le -c:v libx264 -g 10 $OUT"},
    {"h264_avc3.mp4", B3 "$FF -i b3.mp4 -c copy -tag:v avc3 $OUT"},
    {"hevc_closed.mp4",
     "$FF " SRC YUV X265
     "keyint=20:min-keyint=20:open-gop=0:scenecut=0 -tag:v hvc1 $OUT"},
    {"hevc_open.mp4",
     "$FF " SRC YUV X265
     "keyint=20:min-keyint=20:open-gop=1:scenecut=0:bframes=3 -tag:v hvc1 "
     "$OUT"},
    {"hevc_open.mkv",
     "$FF " SRC YUV X265
     "keyint=20:min-keyint=20:open-gop=1:scenecut=0:bframes=3 $OUT"},
    {"hevc_open.ts",
     "$FF " SRC YUV X265
     "keyint=20:min-keyint=20:open-gop=1:scenecut=0:bframes=3 $OUT"},
    {"hevc_radl.mp4",
     "$FF " SRC YUV X265
     "keyint=20:min-keyint=20:open-gop=0:radl=2:scenecut=0:bframes=3 $OUT"},
    {"hevc_layers.mp4",
     "$FF " SRC YUV X265 "keyint=20:temporal-layers=1:bframes=3 $OUT"},
    {"hevc_g2.mp4", "$FF " SMALL YUV X265 "keyint=2 $OUT"},
    {"hevc_g3.mp4", "$FF " SMALL YUV X265 "keyint=3 $OUT"},
    {"hevc_fields.mp4", "$FF " SRC YUV X265 "keyint=20:interlace=tff $OUT"},
    {"hevc10_hdr.mp4",
     "$FF " SMALL
     "-an -pix_fmt yuv420p10le -color_primaries bt2020 -color_trc smpte2084 "
     "-colorspace bt2020nc " X265 "keyint=10:hdr10=1 $OUT"},
    {"hevc_cut_at_cra.mkv",
     "$FF " SRC YUV X265
     "keyint=20:min-keyint=20:open-gop=1:scenecut=0:bframes=3 o.mkv && "
     "$FF -ss 1.3 -i o.mkv -c copy $OUT"},
    {"vp8.webm", "$FF " SRC YUV "-c:v libvpx " VPX "$OUT"},
    {"vp8_altref.webm", "$FF " SRC YUV "-c:v libvpx " VPX_ALTREF "$OUT"},
    {"vp9_altref.webm", "$FF " SRC YUV "-c:v libvpx-vp9 " VPX_ALTREF "$OUT"},
    {"vp9_altref.mp4", "$FF " SRC YUV "-c:v libvpx-vp9 " VPX_ALTREF "$OUT"},
    {"vp9_odd.webm",
     "$FF -f lavfi -i testsrc=size=161x91:rate=25:duration=1 " YUV
     "-c:v libvpx-vp9 " VPX "$OUT"},
    {"vp9_alpha.webm",
     "$FF -f lavfi -i "
     "testsrc2=size=160x90:rate=25:duration=1,format=yuva420p -an -c:v "
     "libvpx-vp9 -pix_fmt yuva420p -auto-alt-ref 0 " VPX "$OUT",
     true, true, false},
    {"av1_svt.mp4",
     "$FF " SRC YUV "-c:v libsvtav1 -g 30 -preset 12 -crf 45 $OUT"},
    {"av1_forward.mkv",
     "$FF " SRC YUV
     "-c:v libsvtav1 -g 30 -preset 12 -crf 45 -svtav1-params irefresh-type=1 "
     "$OUT"},
    {"av1_aom.mp4",
     "$FF " SMALL YUV
     "-c:v libaom-av1 -cpu-used 8 -g 10 -lag-in-frames 8 -crf 45 $OUT"},
    {"mpeg2_open.ts",
     "$FF " SRC YUV "-c:v mpeg2video -g 12 -bf 2 -b:v 1M $OUT"},
    {"mpeg2_interlaced.mkv",
     "$FF " SRC YUV
     "-c:v mpeg2video -flags +ildct+ilme -g 12 -bf 2 -b:v 1M $OUT"},
    {"mpeg2.mpg", "$FF " SRC YUV "-c:v mpeg2video -g 12 -bf 2 -b:v 1M $OUT"},
    {"mpeg4_bframes.avi", "$FF " SRC YUV "-c:v mpeg4 -g 20 -bf 2 -b:v 1M $OUT"},
    {"mpeg4_bframes.mp4", "$FF " SRC YUV "-c:v mpeg4 -g 20 -bf 2 -b:v 1M $OUT"},
    {"xvid.avi",
     "$FF " SRC YUV "-c:v libxvid -g 20 -bf 2 -b:v 1M $OUT || "
     "$FF " SRC YUV "-c:v mpeg4 -tag:v XVID -g 20 -bf 1 -b:v 1M $OUT"},
    // Packets of several pictures, and packets that only stand for one.
    {"xvid_packed.avi",
     "$FF -f lavfi -i testsrc2=size=160x96:rate=25:duration=2 " YUV
     "-c:v libxvid -bf 2 -g 20 $OUT"},
    {"h263.avi", "$FF -f lavfi -i testsrc2=size=176x144:rate=25:duration=1 " YUV
                 "-c:v h263 -g 10 $OUT"},
    {"utvideo.avi", "$FF " SMALL "-an -pix_fmt gbrp -c:v utvideo $OUT"},
    {"mjpeg.mov", "$FF " SMALL "-an -c:v mjpeg -q:v 5 $OUT"},
    {"mjpeg.avi", "$FF " SMALL "-an -c:v mjpeg -q:v 5 $OUT"},
    {"prores.mov", "$FF " SMALL "-an -c:v prores_ks -profile:v 2 $OUT"},
    {"prores4444.mov",
     "$FF -f lavfi -i testsrc2=size=160x90:rate=25:duration=1,format="
     "yuva444p10le -an -c:v prores_ks -profile:v 4444 $OUT"},
    {"dnxhr.mov",
     "$FF -f lavfi -i testsrc2=size=256x128:rate=25:duration=0.4 -an -pix_fmt "
     "yuv422p -c:v dnxhd -profile:v dnxhr_lb $OUT"},
    {"ffv1_odd.mkv",
     "$FF -f lavfi -i testsrc=size=161x91:rate=25:duration=1 " YUV
     "-c:v ffv1 $OUT"},
    {"ffv1_gop.mkv",
     "$FF " SMALL "-an -pix_fmt yuv422p10le -c:v ffv1 -level 3 -g 5 $OUT"},
    {"vp8.ogv", "$FF " SMALL YUV "-c:v libvpx " VPX "-f ogg $OUT"},
    {"wmv2.wmv", "$FF " SRC YUV "-c:v wmv2 -g 20 -b:v 1M $OUT", false},
    {"h264.asf", "$FF " SRC YUV "-c:v libx264 -g 20 -bf 2 $OUT", false},
    {"mpeg2.mxf", "$FF " SMALL YUV "-c:v mpeg2video -g 12 -bf 2 $OUT"},
    {"raw.dv", "$FF -f lavfi -i testsrc2=size=720x576:rate=25:duration=0.2 " YUV
               "-c:v dvvideo $OUT"},
    {"raw.obu",
     "$FF " SMALL YUV "-c:v libsvtav1 -g 10 -preset 12 -crf 45 $OUT"},
    {"raw.nut", B3 "$FF -i b3.mp4 -c copy $OUT"},
    {"theora.ogv", "$FF " SMALL YUV "-c:v libtheora -g 8 -b:v 300k $OUT"},
    {"vfr.mp4", "$FF " SRC "-vf \"select='not(eq(mod(n,5),3))'\" " YUV
                "-vsync passthrough -c:v libx264 -g 20 -bf 2 $OUT"},
    {"edit_list.mp4", B3 "$FF -ss 1.3 -i b3.mp4 -c copy $OUT"},
    {"edit_list_open.mp4", "$FF " SRC YUV OPEN_GOP "o.mp4 && "
                           "$FF -ss 1.3 -i o.mp4 -c copy $OUT"},
    {"nonzero_start.mp4", B3 "$FF -i b3.mp4 -c copy -output_ts_offset 5 $OUT"},
    {"negative_ctts.mp4",
     B3 "$FF -i b3.mp4 -c copy -movflags negative_cts_offsets $OUT"},
    {"timescale_1e9.mp4",
     B3 "$FF -i b3.mp4 -c copy -video_track_timescale 1000000000 $OUT"},
    {"fragmented.mp4", B3 "$FF -i b3.mp4 -c copy -movflags "
                          "frag_keyframe+empty_moov+default_base_moof $OUT"},
    {"fragment_each.mp4",
     B3 "$FF -i b3.mp4 -c copy -movflags frag_every_frame+empty_moov $OUT"},
    {"no_cues.mkv", B3 "$FF -i b3.mp4 -c copy -f matroska - > $OUT"},
    {"ts_wrap.ts",
     B3 "$FF -i b3.mp4 -c copy -muxdelay 0 -output_ts_offset 95442 $OUT"},
    {"ts_twice.ts", B3 "$FF -i b3.mp4 -c copy a.ts && cat a.ts a.ts > $OUT",
     true, false},
    {"cover.mp4", B3
     "$FF -f lavfi -i mandelbrot=size=64x64 -frames:v 1 c.jpg && $FF -i c.jpg "
     "-i b3.mp4 -map 0 -map 1 -c copy -disposition:v:0 attached_pic $OUT"},
    {"two_videos.mp4", B3
     "$FF -f lavfi -i testsrc=size=64x64:rate=25:duration=3 " YUV
     "-c:v libx264 s.mp4 && $FF -i b3.mp4 -i s.mp4 -map 0 -map 1 -c copy $OUT"},
    {"timecode.mov", B3 "$FF -i b3.mp4 -c copy -timecode 01:00:00:00 $OUT"},
    {"sound.mp4",
     "$FF " SRC
     "-f lavfi -i sine=frequency=440:sample_rate=48000:duration=3 -c:v libx264 "
     "-g 20 -bf 2 -pix_fmt yuv420p -c:a aac $OUT"},
    {"sound.mkv",
     "$FF " SRC
     "-f lavfi -i sine=frequency=440:sample_rate=48000:duration=3 -c:v libx264 "
     "-g 20 -bf 2 -pix_fmt yuv420p -c:a libopus $OUT"},
    {"sound.ts",
     "$FF " SRC
     "-f lavfi -i sine=frequency=440:sample_rate=48000:duration=3 -c:v libx264 "
     "-g 20 -bf 2 -pix_fmt yuv420p -c:a aac $OUT"},
    {"size_change.ts",
     "$FF " SMALL YUV "-c:v libx264 -g 10 -bf 2 a.ts && "
     "$FF -f lavfi -i testsrc2=size=320x180:rate=25:duration=1 " YUV
     "-c:v libx264 -g 10 -bf 2 -output_ts_offset 1 b.ts && "
     "cat a.ts b.ts > $OUT",
     true, false},
    {"size_change.mkv",
     "$FF " SMALL YUV "-c:v libx264 -g 10 -bf 2 a.ts && "
     "$FF -f lavfi -i testsrc2=size=320x180:rate=25:duration=1 " YUV
     "-c:v libx264 -g 10 -bf 2 -output_ts_offset 1 b.ts && "
     "cat a.ts b.ts > c.ts && $FF -i c.ts -c copy $OUT",
     true, false},
    {"duplicate_pts.mkv",
     B3 "$FF -i b3.mp4 -c copy -bsf:v "
        "\"setts=pts='if(eq(mod(N,10),5),PREV_OUTPTS,PTS)':dts=DTS\" $OUT",
     true, false},
    {"no_pts.avi", B3 "$FF -i b3.mp4 -c copy -bsf:v h264_mp4toannexb $OUT"},
    {"raw.h264", "$FF " SRC YUV OPEN_GOP "$OUT"},
    {"raw.hevc",
     "$FF " SRC YUV X265
     "keyint=20:min-keyint=20:open-gop=1:scenecut=0:bframes=3 $OUT"},
    {"one_damaged_packet.mp4", B3
     "$FF -i b3.mp4 -c copy -bsf:v \"noise=amount='if(eq(n,30),50,-1)'\" $OUT"},
    {"all_damaged.mp4",
     B3 "$FF -i b3.mp4 -c copy -bsf:v noise=amount=500 $OUT"},
    // What it makes up for damage depends on pictures before the key.
    {"damaged_bits.avi",
     "$FF -f lavfi -i testsrc2=size=96x64:rate=12:duration=3 " YUV
     "-c:v mpeg4 -g 8 -bf 2 g.avi && python3 -c \"import random; "
     "r = random.Random(4); b = bytearray(open('g.avi', 'rb').read()); "
     "n = len(b); exec('for i in range(9): b[r.randrange(n // 6, n * 9 // 10)]"
     " ^= 1 << r.randrange(8)'); open('$OUT', 'wb').write(b)\""},
    {"cut_off.mp4", B3 "$FF -i b3.mp4 -c copy -movflags faststart f.mp4 && "
                       "head -c $(( $(stat -c %s f.mp4)*6/10 )) f.mp4 > $OUT"},
    {"cut_off_in_gop.ts",
     B3 "$FF -i b3.mp4 -c copy a.ts && tail -c +$(( 188*9+1 )) a.ts > $OUT"},
    {"no_sync_table.mp4", B3 "sed 's/stss/free/' b3.mp4 > $OUT"},
    {"one_frame.mp4",
     "$FF -f lavfi -i "
     "testsrc2=size=160x90:rate=10:duration=0.1 " YUV "-c:v libx264 $OUT"},
};

class Corpus : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (!MakeVideo(GetParam().name, GetParam().command)) {
      GTEST_SKIP() << "this ffmpeg cannot make " << GetParam().name;
    }
    path_ = CorpusFolder() + "/" + GetParam().name;
    file_ = ReadFile(path_);
    expected_ = SequentialRgb(path_);
  }

  std::string path_;
  Bytes file_;
  Bytes expected_;
};

TEST_P(Corpus, StoredFramesAndTimesAreThoseOfASequentialDecode) {
  IngestSpec spec;
  spec.layout = ROWFS_LAYOUT_STORED;
  const Ingested ingested = Ingest(file_, GetParam().name, spec);
  if (!GetParam().stored) {
    EXPECT_EQ(ROWFS_E_UNSUPPORTED, ingested.code);
    return;
  }
  ASSERT_EQ(ROWFS_OK, ingested.code) << ingested.error;
  OpenIndex index(ingested, "frames=ppm");
  ASSERT_EQ(ROWFS_OK, index.code()) << index.error();

  CompareFrames(ingested, expected_);
  if (GetParam().times) CompareTimes(&index, path_);
}

TEST_P(Corpus, FramesInTheContainerAreThoseOfASequentialDecode) {
  IngestSpec spec;
  spec.layout = ROWFS_LAYOUT_CONTAINER;
  const Ingested ingested = Ingest(file_, GetParam().name, spec);
  if (!GetParam().container_layout) {
    EXPECT_EQ(ROWFS_E_UNSUPPORTED, ingested.code);
    return;
  }
  ASSERT_EQ(ROWFS_OK, ingested.code) << ingested.error;
  OpenIndex index(ingested, "frames=ppm");
  ASSERT_EQ(ROWFS_OK, index.code()) << index.error();

  CompareFrames(ingested, expected_);
  if (GetParam().times) CompareTimes(&index, path_);
}

// The playable file shows the same frames to a player as the source.
TEST_P(Corpus, PlayableFileShowsTheFramesOfTheSource) {
  const Ingested ingested = Ingest(file_, GetParam().name, IngestSpec());
  if (!GetParam().stored) return;
  ASSERT_EQ(ROWFS_OK, ingested.code) << ingested.error;
  OpenIndex index(ingested, "");
  ASSERT_EQ(ROWFS_OK, index.code()) << index.error();
  const FileEntry whole = index.List("", 0, 1).at(0);
  const Bytes file = index.Read(whole.name);
  ASSERT_EQ(whole.size, file.size());
  const std::string path =
      ::testing::TempDir() + "whole" + std::to_string(getpid()) + whole.name;
  WriteFile(path, file);

  const Bytes shown = SequentialRgb(path);

  std::filesystem::remove(path);
  ASSERT_EQ(expected_.size(), shown.size());
  EXPECT_TRUE(shown == expected_);
}

std::string NameOf(const ::testing::TestParamInfo<Kind>& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Kinds, Corpus, ::testing::ValuesIn(kKinds), NameOf);

}  // namespace
}  // namespace rowfs::video_test
