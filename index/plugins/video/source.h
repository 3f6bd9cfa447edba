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

#include "index/plugins/common/bytes.h"
#include "index/plugins/common/status.h"
#include "index/plugins/video/libav.h"
#include "index/plugins/video/media_index.h"

namespace rowfs::plugin {

class SourceFile {
 public:
  // Open the container and look at its streams. `name` is only used for its
  // extension. `reader.ctx` must stay valid as long as the file is open.
  // ROWFS_E_UNSUPPORTED for a format that is not ours, ROWFS_E_CORRUPT when it
  // does not parse, ROWFS_E_IO when the reader failed.
  static Result<std::unique_ptr<SourceFile>> Open(const rowfs_reader& reader,
                                                  const std::string& name);
  ~SourceFile();
  SourceFile(const SourceFile&) = delete;
  SourceFile& operator=(const SourceFile&) = delete;

  AVFormatContext* format() { return format_; }
  uint64_t size() const { return reader_.size; }

  // The next packet of any stream; false at the end. A damaged tail ends the
  // file early, as it does for every player.
  Result<bool> NextPacket(AVPacket* packet);

  // Read out.size() bytes at `offset`; ROWFS_E_CORRUPT past the end.
  Status ReadAt(uint64_t offset, std::span<uint8_t> out);

  // How the packets of `stream` lie in the file: kNone for one piece.
  PesStream PesOf(const AVStream& stream);
  // The pieces of `data` in the stream `pes`, from the multiplex packet at
  // `hint` on and at least `skip` bytes of payload later. nullopt when they are
  // not there.
  Result<std::optional<Scatter>> LocatePieces(const PesStream& pes,
                                              int64_t hint, uint32_t skip,
                                              ByteSpan data);

  // Where the bytes `data` lie in one piece, at or a little behind `hint`.
  Result<std::optional<uint64_t>> Locate(int64_t hint, ByteSpan data);

 private:
  explicit SourceFile(const rowfs_reader& reader) : reader_(reader) {}
  Status OpenFormat(const std::string& name);
  static int ReadCallback(void* opaque, uint8_t* out, int size);
  static int64_t SeekCallback(void* opaque, int64_t offset, int whence);

  rowfs_reader reader_;
  AVIOContext* io_ = nullptr;
  AVFormatContext* format_ = nullptr;
  uint64_t position_ = 0;
  int32_t read_error_ = ROWFS_OK;  // what the host's reader said last
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_SOURCE_H_
