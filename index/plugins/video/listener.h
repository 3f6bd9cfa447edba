// The sound of a video while it is being ingested: an index of the packets of
// one stream as they are stored, by the means of the audio plugin.
//
// A sound that no decoder takes, or that changes on the way, is left out; the
// pictures do not suffer.
//
// One thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_LISTENER_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_LISTENER_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "index/plugins/audio/sound_track.h"
#include "index/plugins/common/libav.h"
#include "index/plugins/video/media_index.h"

namespace rowfs::plugin {

class Listener {
 public:
  // `source` must outlive it. `verify`: ROWFS_VERIFY_.
  Listener(const AVStream& source, int32_t verify)
      : source_(source), verify_(verify) {}

  // The packet that was just put behind `stream.packets`: as the demuxer gave
  // it, and the bytes that are stored of it.
  void Add(const AVPacket& packet, ByteSpan data, const Stream& stream);

  // Everything but where the packets lie; once.
  std::optional<SoundIndex> Finish();

 private:
  Status Start(const Stream& stream);
  Status AddPacket(const AVPacket& packet, ByteSpan data, const Stream& stream);

  const AVStream& source_;
  const int32_t verify_;
  bool failed_ = false;
  SoundIndex index_;
  std::unique_ptr<SoundTrack> track_;
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_LISTENER_H_
