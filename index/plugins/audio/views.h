// The files and folders that one sound shows.
//
// Immutable; one thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_AUDIO_VIEWS_H_
#define ROWFS_INDEX_PLUGINS_AUDIO_VIEWS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "index/plugins/audio/sound_index.h"
#include "index/plugins/audio/waveform.h"
#include "index/plugins/audio/window.h"
#include "index/plugins/common/emit.h"
#include "index/plugins/common/exact_time.h"

namespace rowfs::plugin {

// What a path means.
struct SoundItem {
  enum class Kind : uint8_t {
    kDirectory,
    kWindow,
    kWhole,
    kInfo,
    kCover,
    kOriginal,
    kWaveform
  };
  Kind kind = Kind::kDirectory;
  Window window;
  WaveformFormat format = WaveformFormat::kPng;
};

class SoundViews {
 public:
  // `index` must outlive the views. Segments last `segment_ns`. Times count
  // from `late` samples before the first one that is heard.
  SoundViews(const SoundIndex& index, uint64_t segment_ns, uint64_t late = 0);

  // The entries beside the blob, from the head alone.
  static std::vector<Entry> ListTop(const SoundHead& head);

  // Entries [start, start + limit) of `directory`. ROWFS_E_NOT_FOUND for a
  // folder that does not exist.
  Status List(std::string_view directory, uint64_t start, uint64_t limit,
              const rowfs_entry_sink& out) const;
  Result<Entry> Lookup(std::string_view path) const;
  Status Select(std::string_view view, std::string_view from,
                std::string_view to, const rowfs_entry_sink& out) const;
  // ROWFS_E_NOT_FOUND when there is no such file.
  Result<SoundItem> Resolve(std::string_view path) const;

 private:
  Window Segment(uint64_t number) const;
  uint64_t BoundaryOf(uint64_t number) const;
  std::string SegmentName(uint64_t number) const;
  Result<Window> ParseWindow(std::string_view stem) const;
  std::string CanonicalPath(const Window& window) const;
  Entry WindowEntry(std::string name, const Window& window) const;
  // The sample heard at `time`; nullopt before the first one.
  std::optional<uint64_t> SampleAt(const ExactTime& time) const;

  const SoundIndex& index_;
  const uint64_t segment_ns_;
  const uint64_t late_;
  uint64_t segments_ = 0;
};

// The sample nearest to `time`; halfway between two the even one.
uint64_t NearestSample(const ExactTime& time, uint32_t sample_rate);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_AUDIO_VIEWS_H_
