// The files and folders that one index shows, and what making them takes.
//
// Immutable after Open but for the decode session; one thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_VIEWS_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_VIEWS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "index/plugins/audio/views.h"
#include "index/plugins/common/emit.h"
#include "index/plugins/common/image_encoder.h"
#include "index/plugins/common/status.h"
#include "index/plugins/video/media_index.h"

namespace rowfs::plugin {

struct ViewConfig {
  ImageFormat frames = ImageFormat::kJpg;  // the extension that is listed
  ImageOptions options;
  std::optional<uint64_t> segment_ns;
  std::optional<SampleType> sample;
};

// "frames=png,quality=85,ppm=16". Keys that other plugins know ("segment",
// "dpi") are ignored; ROWFS_E_INVALID for unknown ones and bad values.
Result<ViewConfig> ParseViewConfig(std::string_view text);

// What a path means.
struct ViewItem {
  enum class Kind : uint8_t {
    kDirectory,
    kFrame,  // `number` = frame, `format`
    kSound,  // window
    kGop,    // `number` = GOP
    kClip,   // from, to
    kWhole,
    kInfo,
    kCover,
    kOriginal
  };
  Kind kind = Kind::kDirectory;
  uint32_t number = 0;
  ImageFormat format = ImageFormat::kJpg;
  ExactTime from;
  ExactTime to;
  Window window;  // samples
};

class Views {
 public:
  // `index` must outlive the views.
  Views(const MediaIndex& index, const ViewConfig& config);

  // The entries beside the blob, from the head alone.
  static std::vector<Entry> ListTop(const IndexHead& head);

  // Entries [start, start + limit) of `directory`. ROWFS_E_NOT_FOUND for a
  // folder that does not exist.
  Status List(std::string_view directory, uint64_t start, uint64_t limit,
              const rowfs_entry_sink& out) const;
  Result<Entry> Lookup(std::string_view path) const;
  Status Select(std::string_view view, std::string_view from,
                std::string_view to, const rowfs_entry_sink& out) const;
  // ROWFS_E_NOT_FOUND when there is no such file.
  Result<ViewItem> Resolve(std::string_view path) const;

 private:
  Result<ViewItem> ResolveIn(std::string_view directory,
                             std::string_view name) const;
  Result<ViewItem> ResolveNumber(std::string_view directory,
                                 std::string_view stem,
                                 std::string_view extension) const;
  Result<ViewItem> ResolveClip(std::string_view name) const;
  bool IsSound(std::string_view path) const;
  Result<Entry> EntryOf(const ViewItem& item, std::string name) const;
  Entry FrameEntry(uint32_t frame, ImageFormat format) const;
  std::string FrameName(uint32_t frame, ImageFormat format) const;
  const std::vector<uint32_t>& KeyFrames() const;

  const MediaIndex& index_;
  const ViewConfig config_;
  std::optional<SoundViews> sound_;
  mutable std::vector<uint32_t> key_frames_;  // made at first use
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_VIEWS_H_
