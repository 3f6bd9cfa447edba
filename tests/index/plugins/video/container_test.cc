// Synthesized files against what ffmpeg, ffprobe and mkvmerge make of them and
// of their source.
#include "index/plugins/video/container.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "index/plugins/video/media_index.h"
#include "tests/index/plugins/video/harness.h"
#include "tests/support/shared_folder.h"
#include "tests/support/temp_dir.h"

namespace rowfs::plugin {
namespace {

using video_test::FileEntry;
using video_test::Ingest;
using video_test::Ingested;
using video_test::OpenIndex;
using video_test::ReadFile;
using video_test::RunCommand;
using video_test::RunText;
using video_test::WriteFile;

// What a decoder shows: when, and the digest of the picture.
struct Shown {
  double time = 0;
  std::string md5;
};

constexpr char kFfmpeg[] = "ffmpeg -nostdin -v error -threads 1 -copyts ";

// The frames of the first video stream, `options` in front of the input.
std::vector<Shown> Frames(const std::string& path,
                          const std::string& options = "") {
  std::istringstream lines(RunText(
      kFfmpeg + options + " -i '" + path +
      "' -map 0:v:0 -an -fps_mode passthrough -f framemd5 - </dev/null"));
  std::vector<Shown> frames;
  double tick = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#tb 0:")) {
      const size_t slash = line.find('/');
      tick = std::stod(line.substr(6)) / std::stod(line.substr(slash + 1));
    }
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> cells;
    std::istringstream cell_stream(line);
    for (std::string cell; std::getline(cell_stream, cell, ',');) {
      cells.push_back(cell);
    }
    frames.push_back({std::stod(cells.at(2)) * tick, cells.at(5)});
  }
  return frames;
}

std::vector<std::string> Digests(const std::vector<Shown>& frames) {
  std::vector<std::string> digests;
  for (const Shown& frame : frames) digests.push_back(frame.md5);
  return digests;
}

// All sound as 16-bit samples of one channel.
std::vector<int16_t> Sound(const std::string& path) {
  const video_test::Bytes bytes =
      RunCommand(std::string("ffmpeg -nostdin -v error -i '") + path +
                 "' -map 0:a:0 -ac 1 -f s16le - </dev/null");
  std::vector<int16_t> samples;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    samples.push_back(static_cast<int16_t>(bytes[i] | bytes[i + 1] << 8));
  }
  return samples;
}

std::string SoundDigest(const std::string& path) {
  return RunText(std::string("ffmpeg -nostdin -v error -i '") + path +
                 "' -map 0:a -f md5 - </dev/null");
}

// Start and end of each stream as ffprobe tells them.
std::string StreamTimes(const std::string& path) {
  return RunText(
      "ffprobe -v error -show_entries stream=codec_type,start_time -of csv=p=0 "
      "'" +
      path + "'");
}

// A source made by ffmpeg and ingested.
class Source {
 public:
  Source(const std::string& arguments, const std::string& extension,
         bool keep_container = false)
      : path_(folder_ / ("source." + extension)) {
    const std::string log = RunText("ffmpeg -nostdin -v error -y " + arguments +
                                    " '" + path_ + "' </dev/null 2>&1");
    EXPECT_TRUE(std::filesystem::exists(path_)) << log;
    Open(keep_container);
  }
  explicit Source(const std::string& path) : path_(path) { Open(false); }

  const std::string& path() const { return path_; }
  OpenIndex& index() { return *index_; }
  const std::string& error() const { return error_; }
  std::string Temp(const std::string& name) const { return folder_ / name; }

  // The file at `view` path, written to a local one; checks that its size is
  // what lookup says.
  std::string Save(const std::string& view) {
    const std::vector<FileEntry> entry = index_->Lookup(view);
    if (entry.size() != 1) return "";
    const video_test::Bytes bytes = index_->Read(view);
    EXPECT_EQ(entry[0].size, bytes.size()) << view;
    EXPECT_NE(0u, entry[0].flags & ROWFS_ENTRY_SIZE_EXACT) << view;
    const size_t slash = view.rfind('/');
    const std::string name =
        slash == std::string::npos ? "whole" + view : view.substr(slash + 1);
    WriteFile(Temp(name), bytes);
    return Temp(name);
  }
  // The path of the playable file's view, ".mp4".
  std::string Whole() {
    for (const FileEntry& entry : index_->List("")) {
      if ((entry.flags & ROWFS_ENTRY_WHOLE) != 0) return entry.name;
    }
    return "";
  }

 private:
  void Open(bool keep_container) {
    const Ingested ingested =
        Ingest(ReadFile(path_), path_, {.keep_container = keep_container});
    error_ = ingested.error;
    if (ingested.code == ROWFS_OK) {
      index_ = std::make_unique<OpenIndex>(ingested, "");
      EXPECT_EQ(ROWFS_OK, index_->code()) << index_->error();
    }
  }

  TempDir folder_;
  std::string path_;
  std::string error_;
  std::unique_ptr<OpenIndex> index_;
};

void ExpectSameFrames(const std::vector<Shown>& want,
                      const std::vector<Shown>& got) {
  ASSERT_EQ(Digests(want), Digests(got));
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(want[i].time, got[i].time, 1e-4) << "frame " << i;
  }
}

constexpr char kPicture[] =
    "-f lavfi -i testsrc2=size=96x64:rate=25:duration=2 ";
constexpr char kTone[] =
    "-f lavfi -i sine=frequency=440:sample_rate=48000:duration=2.1 ";
constexpr char kX264[] = "-pix_fmt yuv420p -c:v libx264 -preset ultrafast ";
constexpr char kOpenGop[] =
    "-pix_fmt yuv420p -c:v libx264 -x264-params "
    "keyint=10:min-keyint=10:bframes=3:b-adapt=0:scenecut=0:open-gop=1 ";

struct Kind {
  const char* name;
  std::string arguments;
  const char* extension;
  const char* whole;
};

class PlayableFile : public ::testing::TestWithParam<Kind> {};

TEST_P(PlayableFile, ShowsAndSoundsLikeItsSource) {
  Source source(GetParam().arguments, GetParam().extension);
  ASSERT_EQ("", source.error());

  EXPECT_EQ(GetParam().whole, source.Whole());
  const std::string whole = source.Save(source.Whole());

  ExpectSameFrames(Frames(source.path()), Frames(whole));
  EXPECT_EQ(SoundDigest(source.path()), SoundDigest(whole));
  const std::string log = RunText("mkvmerge -q -o '" + source.Temp("m.mkv") +
                                  "' '" + whole + "' && echo fine");
  EXPECT_EQ("fine\n", log);
}

const Kind kKinds[] = {
    {"BFramesAndAac",
     std::string(kPicture) + kTone +
         "-pix_fmt yuv420p -c:v libx264 -g 10 -bf 3 -c:a aac",
     "mp4", ".mp4"},
    {"OpenGopsOfATransportStream", std::string(kPicture) + kOpenGop, "ts",
     ".mp4"},
    {"HevcWithOpenGops",
     std::string(kPicture) +
         "-pix_fmt yuv420p -c:v libx265 -preset ultrafast -x265-params "
         "log-level=none:keyint=10:min-keyint=10:open-gop=1:scenecut=0",
     "mkv", ".mp4"},
    {"VariableRate",
     std::string(kPicture) + "-vf select='not(eq(mod(n\\,5)\\,3))' -fps_mode "
                             "passthrough -pix_fmt yuv420p -c:v libx264 -g 10",
     "mp4", ".mp4"},
    {"FineTimeScale",
     std::string(kPicture) + kX264 + "-g 10 -video_track_timescale 1000000000",
     "mp4", ".mp4"},
    {"LateStart",
     std::string(kPicture) + kTone + kX264 + "-c:a aac -output_ts_offset 3",
     "mp4", ".mp4"},
    {"Vp8AndVorbis",
     std::string(kPicture) + kTone +
         "-c:v libvpx -deadline realtime -cpu-used 8 -g 10 -c:a libvorbis",
     "webm", ".webm"},
    {"FfvAndFlac", std::string(kPicture) + kTone + "-c:v ffv1 -g 1 -c:a flac",
     "mkv", ".mkv"},
    {"ProResAndPcm",
     std::string(kPicture) + kTone + "-c:v prores_ks -c:a pcm_s24le", "mov",
     ".mp4"},
    {"MpegInAvi",
     std::string(kPicture) + kTone + "-c:v mpeg4 -g 10 -c:a libmp3lame", "avi",
     ".mp4"},
    {"MotionJpegAndAc3", std::string(kPicture) + kTone + "-c:v mjpeg -c:a ac3",
     "mkv", ".mp4"},
};

INSTANTIATE_TEST_SUITE_P(Kinds, PlayableFile, ::testing::ValuesIn(kKinds),
                         [](const auto& kind) {
                           return std::string(kind.param.name);
                         });

TEST(Container, SeeksGiveTheFramesOfTheSource) {
  Source source(kPicture + std::string(kOpenGop), "mp4");

  const std::string whole = source.Save(".mp4");

  for (const char* at : {"0.4", "0.72", "1.5"}) {
    const std::string seek = std::string("-ss ") + at;
    EXPECT_EQ(Digests(Frames(source.path(), seek)),
              Digests(Frames(whole, seek)))
        << at;
  }
}

TEST(Container, StreamsStartTogetherAsInTheSource) {
  Source source(std::string(kPicture) + "-itsoffset 0.3 " + kTone + kX264 +
                    "-c:a aac -map 0 -map 1",
                "mp4");

  const std::string whole = source.Save(".mp4");

  EXPECT_EQ(StreamTimes(source.path()), StreamTimes(whole));
}

TEST(Container, TurnsAndPixelShapesStay) {
  Source upright(kPicture + std::string(kX264) + "-vf setsar=64/45", "mp4");
  Source turned("-i '" + upright.path() + "' -c copy -metadata:s:v rotate=90",
                "mp4");
  const auto describe = [](const std::string& path) {
    return RunText(
        "ffprobe -v error -show_entries stream=width,height,"
        "sample_aspect_ratio:stream_side_data=rotation -of csv '" +
        path + "'");
  };

  const std::string whole = turned.Save(".mp4");

  EXPECT_THAT(describe(turned.path()), ::testing::HasSubstr("64:45"));
  EXPECT_EQ(describe(turned.path()), describe(whole));
}

TEST(Container, WhatAnEditListTrimsStaysTrimmed) {
  Source full(kPicture + std::string(kTone) + kX264 + "-g 20 -bf 2 -c:a aac",
              "mp4");
  Source cut("-ss 0.5 -i '" + full.path() + "' -c copy", "mp4");

  const std::string whole = cut.Save(".mp4");

  const std::vector<Shown> frames = Frames(cut.path());
  EXPECT_LT(frames.size(), 50u);
  ExpectSameFrames(frames, Frames(whole));
  EXPECT_EQ(SoundDigest(cut.path()), SoundDigest(whole));
}

TEST(Container, NewParameterSetsOnTheWayGetEntriesOfTheirOwn) {
  Source small("-f lavfi -i testsrc2=size=96x64:rate=25:duration=1 " +
                   std::string(kX264) + "-g 10",
               "ts");
  Source large("-f lavfi -i testsrc2=size=160x96:rate=25:duration=1 " +
                   std::string(kX264) + "-g 10 -output_ts_offset 1",
               "ts");
  video_test::Bytes both = ReadFile(small.path());
  const video_test::Bytes second = ReadFile(large.path());
  both.insert(both.end(), second.begin(), second.end());
  WriteFile(small.Temp("both.ts"), both);
  Source source(small.Temp("both.ts"));

  const std::string whole = source.Save(".mp4");

  const std::string options = "-autorotate 0";
  EXPECT_EQ(Digests(Frames(small.Temp("both.ts"), options)),
            Digests(Frames(whole, options)));
}

// The frames of all GOP files, one behind the other, and of their stream
// copies.
void ExpectGopsShowEverything(Source* source) {
  std::vector<std::string> digests;
  std::vector<std::string> copied;
  const std::vector<FileEntry> gops = source->index().List(".gops");
  ASSERT_GT(gops.size(), 2u);
  for (const FileEntry& gop : gops) {
    const std::string path = source->Save(".gops/" + gop.name);
    const std::vector<Shown> frames = Frames(path);
    ASSERT_FALSE(frames.empty()) << gop.name;
    EXPECT_NEAR(0, frames[0].time, 1e-4) << gop.name;
    for (const Shown& frame : frames) digests.push_back(frame.md5);
    const std::string copy = source->Temp("copy-" + gop.name);
    RunText("ffmpeg -nostdin -v quiet -y -i '" + path + "' -c copy '" + copy +
            "' </dev/null");
    for (const Shown& frame : Frames(copy)) copied.push_back(frame.md5);
  }
  const std::vector<std::string> want = Digests(Frames(source->path()));
  EXPECT_EQ(want, digests);
  EXPECT_EQ(want, copied);
}

TEST(Container, GopsTogetherShowEveryFrameOnce) {
  Source source(kPicture + std::string(kTone) +
                    "-pix_fmt yuv420p -c:v libx264 -g 12 -bf 2 -c:a aac",
                "mp4");

  ExpectGopsShowEverything(&source);
}

TEST(Container, OpenGopsBringTheGopTheyNeedAlongUnseen) {
  Source source(kPicture + std::string(kOpenGop), "mp4");

  ExpectGopsShowEverything(&source);
}

TEST(Container, GopsOfMatroskaShowEveryFrameOnce) {
  Source source(kPicture + std::string(kTone) +
                    "-c:v libvpx -deadline realtime -cpu-used 8 -g 12 "
                    "-c:a libvorbis",
                "webm");

  ExpectGopsShowEverything(&source);
}

TEST(Container, GopsPlayTheirPartOfTheSound) {
  Source source(kPicture + std::string(kTone) + kX264 +
                    "-g 25 -keyint_min 25 -sc_threshold 0 -c:a pcm_s16le",
                "mov");

  for (const char* name : {".gops/000000.mp4", ".gops/000001.mp4"}) {
    EXPECT_EQ(48000u, Sound(source.Save(name)).size()) << name;
  }
}

// Expect the clip [from, to) to show the frames of the source with these times.
void ExpectClip(Source* source, const std::vector<Shown>& frames, double from,
                double to) {
  std::vector<Shown> want;
  for (const Shown& frame : frames) {
    const double time = frame.time - frames[0].time;
    if (time >= from - 1e-9 && time < to - 1e-9) want.push_back(frame);
  }
  std::ostringstream name;
  name << ".clips/" << from << "-" << to << ".mp4";

  const std::string clip = source->Save(name.str());

  ASSERT_NE("", clip) << name.str() << source->index().last_error();
  const std::vector<Shown> got = Frames(clip);
  ASSERT_EQ(Digests(want), Digests(got)) << name.str();
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(want[i].time - want[0].time, got[i].time, 1e-4) << name.str();
  }
}

TEST(Container, ClipsShowExactlyTheFramesOfTheirWindow) {
  Source source(kPicture + std::string(kTone) + kOpenGop + "-c:a aac", "mp4");
  const std::vector<Shown> frames = Frames(source.path());

  ExpectClip(&source, frames, 0, 0.4);
  ExpectClip(&source, frames, 0.36, 0.44);  // leading pictures on both sides
  ExpectClip(&source, frames, 0.71, 1.33);
  ExpectClip(&source, frames, 1.5, 99);
}

// Thirds of a second have no end as decimals: info.json rounds them up.
TEST(Container, ClipsBeginWithTheFrameWhoseToldTimeIsAskedFor) {
  Source source("-f lavfi -i testsrc2=size=160x90:rate=30:duration=1 " +
                    std::string(kX264),
                "mp4");
  const std::vector<Shown> frames = Frames(source.path());

  const std::string clip = source.Save(".clips/0.033333334-0.1.mp4");

  const std::vector<Shown> want = {frames.at(1), frames.at(2)};
  EXPECT_EQ(Digests(want), Digests(Frames(clip)));
}

TEST(Container, ClipsOfVp8AreMp4BecauseMatroskaCannotHideFrames) {
  Source source(kPicture + std::string(kTone) +
                    "-c:v libvpx -deadline realtime -cpu-used 8 -g 20 "
                    "-c:a libvorbis",
                "webm");

  ExpectClip(&source, Frames(source.path()), 0.52, 1.2);
}

TEST(Container, ClipsOutsideTheMediaDoNotExist) {
  Source source(kPicture + std::string(kX264), "mp4");

  for (const char* name :
       {".clips/2-3.mp4", ".clips/1-1.mp4", ".clips/1-0.5.mp4",
        ".clips/-1-1.mp4", ".clips/0-1.mkv", ".clips/a-b.mp4",
        ".gops/000099.mp4", ".gops/0.mp4"}) {
    EXPECT_TRUE(source.index().Lookup(name).empty()) << name;
    EXPECT_EQ(ROWFS_E_NOT_FOUND, source.index().last()) << name;
  }
}

// Where the sound rises above a quarter of full scale, at least 0.1 s apart.
std::vector<double> Clicks(const std::vector<int16_t>& samples, double rate) {
  std::vector<double> clicks;
  for (size_t i = 0; i < samples.size(); ++i) {
    const double time = static_cast<double>(i) / rate;
    if (std::abs(samples[i]) > 8000 &&
        (clicks.empty() || time - clicks.back() > 0.1)) {
      clicks.push_back(time);
    }
  }
  return clicks;
}

TEST(Container, SoundAndPictureOfAClipStayTogether) {
  ROWFS_SKIP_WITHOUT_SHARED(path, "cases/V7/src/v.mp4");
  Source source(path);
  const std::vector<Shown> frames = Frames(path);
  const double rate = std::stod(RunText(
      "ffprobe -v error -select_streams a -show_entries stream=sample_rate "
      "-of csv=p=0 '" +
      path + "'"));

  ExpectClip(&source, frames, 1.3, 2.1);
  ExpectClip(&source, frames, 3.5, 9);

  const std::vector<double> clicks =
      Clicks(Sound(source.Save(".clips/1.3-2.1.mp4")), rate);
  ASSERT_GE(clicks.size(), 3u);
  EXPECT_NEAR(0.20, clicks[0], 0.012);
  EXPECT_NEAR(0.45, clicks[1], 0.012);
  EXPECT_NEAR(0.70, clicks[2], 0.012);
}

TEST(Container, TheOriginalComesBackByteForByte) {
  const std::string media = std::string(kPicture) + kTone;
  const Kind kinds[] = {
      {"", media + kX264 + "-c:a aac", "mp4", ""},
      {"", media + kX264 + "-c:a aac", "mkv", ""},
      {"", media + kX264 + "-c:a aac", "ts", ""},
  };
  for (const Kind& kind : kinds) {
    Source source(kind.arguments, kind.extension, true);

    const std::string original =
        source.Save(std::string(".original.") + kind.extension);

    EXPECT_TRUE(ReadFile(source.path()) == ReadFile(original))
        << kind.extension;
    ExpectSameFrames(Frames(source.path()), Frames(source.Save(".mp4")));
  }
}

TEST(Container, EverySampleVideoIsPlayableAgain) {
  ROWFS_SKIP_WITHOUT_SHARED(folder, "data/media");
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string path = file.path().string();
    if (!path.ends_with(".mp4") && !path.ends_with(".mkv")) continue;
    Source source(path);
    if (!source.error().empty()) continue;  // without a picture, or damaged
    ExpectSameFrames(Frames(path), Frames(source.Save(source.Whole())));
  }
}

}  // namespace
}  // namespace rowfs::plugin
