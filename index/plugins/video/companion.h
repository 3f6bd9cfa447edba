// A stream that goes along with the main one: sound, subtitles, data, further
// pictures. Its packets wait here until the GOP they belong to is written.
//
// One thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_COMPANION_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_COMPANION_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "index/plugins/common/status.h"
#include "index/plugins/video/converter.h"
#include "index/plugins/video/listener.h"
#include "index/plugins/video/media_index.h"

namespace rowfs::plugin {

class Companion {
 public:
  // `source` must outlive it.
  static Result<std::unique_ptr<Companion>> Open(const AVStream& source,
                                                 bool convert);

  // `source_offset`: where the packet lies in the file, or kUnknown.
  static constexpr uint64_t kUnknown = UINT64_MAX;
  Status Add(const AVPacket& packet, uint64_t source_offset);

  // The same with a packet that lies in pieces from `source_offset` on.
  Status AddScattered(const AVPacket& packet, uint64_t source_offset,
                      const PesStream& pes, const Scatter& scatter);

  // Make an index of the sound of this stream on the way; verify:
  // ROWFS_VERIFY_.
  void Listen(int32_t verify);
  // The sound of the finished stream; nullopt when there is none that can be
  // shown. Places of the packets are left out. Before Finish.
  std::optional<SoundIndex> TakeSound();

  // The stream has reached `time`, or is one that may be silent for long.
  bool ReachedOrSparse(const ExactTime& time) const;
  uint64_t held_bytes() const { return held_bytes_; }

  struct Waiting {
    size_t number;  // of the packet in its stream
    Bytes data;
    uint64_t source_offset;
    bool verbatim;
  };
  // Hand over the packets decoded before `time` (null: all of them) and note
  // that they lie before the next GOP.
  Status Take(const ExactTime* time,
              const std::function<Status(Packet*, const Waiting&)>& write);

  // The finished stream. With `located` false (some packet is not in one piece
  // in a kept container) it comes without packets.
  Stream Finish(bool with_gops);

 private:
  Companion() = default;
  void NoteSkips(const AVPacket& packet);

  Stream stream_;
  const AVStream* source_ = nullptr;
  std::unique_ptr<StreamConverter> converter_;
  std::unique_ptr<Listener> listener_;
  std::deque<Waiting> waiting_;
  std::vector<uint32_t> gop_first_{0};
  uint64_t held_bytes_ = 0;
  bool located_ = true;
  int64_t first_tick_ = INT64_MAX;
  int64_t heard_from_ = INT64_MIN;  // what lies before is dropped
  int64_t end_tick_ = INT64_MIN;
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_COMPANION_H_
