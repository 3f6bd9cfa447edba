// A media file opened through the host's reader: libavformat without files,
// networks or other protocols, restricted to the formats we know.
//
// One thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_SOURCE_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_SOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "index/plugins/common/av_input.h"
#include "index/plugins/common/bytes.h"
#include "index/plugins/common/status.h"
#include "index/plugins/video/media_index.h"

namespace rowfs::plugin {

class SourceFile : public AvInput {
 public:
  // AvInput::OpenFormat with the containers and codecs of this plugin.
  static Result<std::unique_ptr<SourceFile>> Open(const rowfs_reader& reader,
                                                  const std::string& name);

  // How the packets of `stream` lie in the file: kNone for one piece.
  PesStream PesOf(const AVStream& stream);
  // The pieces of `data` in the stream `pes`, from the multiplex packet at
  // `hint` on and at least `skip` bytes of payload later. nullopt when they are
  // not there.
  Result<std::optional<Scatter>> LocatePieces(const PesStream& pes,
                                              int64_t hint, uint32_t skip,
                                              ByteSpan data);

 private:
  explicit SourceFile(const rowfs_reader& reader) : AvInput(reader) {}
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_SOURCE_H_
