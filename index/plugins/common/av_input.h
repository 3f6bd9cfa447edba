// A media file opened through the host's reader: libavformat without files,
// networks or other protocols, restricted to formats and decoders by name.
//
// One thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_COMMON_AV_INPUT_H_
#define ROWFS_INDEX_PLUGINS_COMMON_AV_INPUT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "index/plugins/common/bytes.h"
#include "index/plugins/common/libav.h"
#include "index/plugins/common/status.h"

namespace rowfs::plugin {

// What may be opened; both lists are libavformat's, separated by commas.
struct AvAllowed {
  const char* formats;
  const char* codecs;  // that probing may decode with
};

class AvInput {
 public:
  // `reader.ctx` must stay valid as long as the object lives.
  explicit AvInput(const rowfs_reader& reader) : reader_(reader) {}
  ~AvInput();
  AvInput(const AvInput&) = delete;
  AvInput& operator=(const AvInput&) = delete;

  // Open the container and look at its streams; once. `name` is only used for
  // its extension. ROWFS_E_UNSUPPORTED for a format that is not allowed,
  // ROWFS_E_CORRUPT when it does not parse, ROWFS_E_IO when the reader failed.
  Status OpenFormat(const std::string& name, const AvAllowed& allowed);

  AVFormatContext* format() { return format_; }
  uint64_t size() const { return reader_.size; }

  // The next packet of any stream; false at the end. A damaged tail ends the
  // file early, as it does for every player.
  Result<bool> NextPacket(AVPacket* packet);

  // Read out.size() bytes at `offset`; ROWFS_E_CORRUPT past the end.
  Status ReadAt(uint64_t offset, std::span<uint8_t> out);

  // Where the bytes `data` lie in one piece, at or a little behind `hint`.
  Result<std::optional<uint64_t>> Locate(int64_t hint, ByteSpan data);

 private:
  static int ReadCallback(void* opaque, uint8_t* out, int size);
  static int64_t SeekCallback(void* opaque, int64_t offset, int whence);

  rowfs_reader reader_;
  AVIOContext* io_ = nullptr;
  AVFormatContext* format_ = nullptr;
  uint64_t position_ = 0;
  int32_t read_error_ = ROWFS_OK;  // what the host's reader said last
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_COMMON_AV_INPUT_H_
