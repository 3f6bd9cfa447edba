// Comparing all frames of a video with one sequential decode of ffmpeg.
#ifndef ROWFS_TESTS_INDEX_PLUGINS_VIDEO_COMPARE_H_
#define ROWFS_TESTS_INDEX_PLUGINS_VIDEO_COMPARE_H_

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/index/plugins/video/harness.h"

namespace rowfs::video_test {

// Frame times as ffprobe tells them, its guess where the stream has none; NaN
// where it has no guess either.
inline std::vector<double> FrameTimes(const std::string& path) {
  std::vector<double> times;
  std::istringstream lines(
      RunText("ffprobe -v quiet -select_streams V:0 -show_entries "
              "frame=pts_time,best_effort_timestamp_time -of compact=p=0 '" +
              path + "'"));
  std::string line;
  while (std::getline(lines, line)) {
    if (line.find("pts_time=") == std::string::npos) continue;
    size_t at = line.find("pts_time=") + 9;
    if (line[at] == 'N') at = line.find("timestamp_time=") + 15;
    times.push_back(line[at] == 'N' ? std::nan("")
                                    : std::atof(line.c_str() + at));
  }
  return times;
}

// Read every frame in three orders, each with a decoder that knows nothing of
// the others, and compare with `expected`, the RGB of all frames one behind the
// other.
inline void CompareFrames(const Ingested& ingested, const Bytes& expected) {
  OpenIndex index(ingested, "frames=ppm");
  const std::vector<FileEntry> frames = index.List(".frames");
  ASSERT_FALSE(frames.empty()) << index.last_error();
  std::vector<Bytes> pixels;
  size_t at = 0;
  for (const FileEntry& frame : frames) {
    const Bytes file = index.Read(".frames/" + frame.name);
    ASSERT_EQ(frame.size, file.size())
        << frame.name << " " << index.decode_error();
    pixels.push_back(PpmPixels(file));
    ASSERT_LE(at + pixels.back().size(), expected.size()) << frame.name;
    ASSERT_TRUE(std::equal(pixels.back().begin(), pixels.back().end(),
                           expected.begin() + static_cast<long>(at)))
        << frame.name << " is another picture";
    at += pixels.back().size();
  }
  ASSERT_EQ(expected.size(), at) << "frames are missing";
  std::vector<size_t> order(frames.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
  std::vector<size_t> shuffled = order;
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(7));
  for (const auto& sequence : {order, shuffled}) {
    OpenIndex fresh(ingested, "frames=ppm");
    for (size_t k : sequence) {
      ASSERT_EQ(pixels[k], PpmPixels(fresh.Read(".frames/" + frames[k].name)))
          << frames[k].name << " depends on what was read before";
    }
  }
}

// Times of frames against ffprobe's, up to the start of the media.
inline void CompareTimes(OpenIndex* index, const std::string& path) {
  const std::vector<double> times = FrameTimes(path);
  std::vector<FileEntry> frames = index->List(".frames");
  ASSERT_EQ(times.size(), frames.size());
  const double first = std::atof(frames[0].attributes["pts"].c_str());
  for (size_t k = 0; k < times.size(); ++k) {
    if (std::isnan(times[k])) continue;
    EXPECT_NEAR(times[k] - times[0],
                std::atof(frames[k].attributes["pts"].c_str()) - first, 2e-6)
        << frames[k].name;
  }
}

}  // namespace rowfs::video_test
#endif  // ROWFS_TESTS_INDEX_PLUGINS_VIDEO_COMPARE_H_
