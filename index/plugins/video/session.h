// Frames out of planned decodes, with what decoders still know from the last
// ones: the next frame of a GOP only feeds new packets, frames that came out on
// the way wait in a bounded cache, and readers at several places of a video
// have a decoder each.
//
// One thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_SESSION_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_SESSION_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "index/plugins/common/status.h"
#include "index/plugins/video/decoder.h"
#include "index/plugins/video/media_index.h"

namespace rowfs::plugin {

class DecodeSession {
 public:
  // `index` must outlive the session.
  explicit DecodeSession(const MediaIndex& index);

  using GetPacket = std::function<Result<ByteSpan>(uint32_t ordinal)>;
  using TakeFrame = std::function<Status(uint32_t ordinal, const AVFrame&)>;

  // Decode from packet `start` and hand over the frames of the packets
  // `targets` (sorted, no doubles), each once, in any order. `get` gives the
  // bytes of any packet in [start, last target]. Those that do not come out are
  // simply not handed over. Stops at the first error of `get` or `take`.
  Status Run(uint32_t start, const std::vector<uint32_t>& targets,
             const GetPacket& get, const TakeFrame& take);

 private:
  struct Cached {
    FramePtr frame;
    size_t bytes;
    std::list<uint32_t>::iterator age;
  };

  // A decoder and where it stands.
  struct Position {
    std::unique_ptr<VideoDecoder> decoder;
    uint32_t start = 0;           // where it started
    uint32_t next = 0;            // the packet it gets next
    uint16_t extradata = 0;       // what it was told last
    bool drained = false;         // it takes nothing more
    uint64_t near = 0;            // packets this near to a target are all fed
    std::set<uint32_t> inside{};  // fed, shown, not given yet
  };

  Status RunUncached(uint32_t start, std::set<uint32_t> wanted,
                     const GetPacket& get, const TakeFrame& take);
  // Bring a decoder to the front of positions_ that can give what is wanted.
  Status Place(uint32_t start, const std::set<uint32_t>& wanted);
  // How near to a target packets are fed whatever they are.
  uint64_t NearOf(uint32_t start);
  // Whether packet `ordinal` has to be fed on the way to the last target.
  bool IsNeeded(uint32_t ordinal, const std::set<uint32_t>& wanted) const;
  Status Feed(uint32_t ordinal, const GetPacket& get);
  Status Collect(std::set<uint32_t>* wanted, const TakeFrame& take);
  // Get frames out that the decoder holds back.
  Status Finish(std::set<uint32_t>* wanted, bool may_pop,
                const TakeFrame& take);
  // Whether the decoder had to make something up in the GOPs from `start` to
  // that of `ordinal`; what it made up depends on the order of everything.
  bool IsDamaged(uint32_t start, uint32_t ordinal) const;
  void Keep(uint32_t ordinal, FramePtr frame);
  bool IsCleanFrom(uint32_t start, uint32_t ordinal) const;
  // Frame numbers of the first and last of some packets.
  std::pair<uint32_t, uint32_t> Span(
      const std::vector<uint32_t>& targets) const;

  const MediaIndex& index_;
  std::vector<uint32_t> frame_of_;  // packet -> frame, if it is shown
  size_t positions_max_ = 1;
  std::list<Position> positions_;  // used last first
  std::deque<uint32_t> starts_;    // of the last decodes, newest first
  bool damaged_ = false;           // this call decodes what is damaged
  uint32_t lowest_ = 0;            // frame of the last call
  bool backwards_ = false;         // this call ends where the last one began

  std::map<uint32_t, Cached> cache_;
  std::list<uint32_t> ages_;  // oldest first
  size_t cache_bytes_ = 0;
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_SESSION_H_
