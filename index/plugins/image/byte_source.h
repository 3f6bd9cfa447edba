// The file that is ingested or indexed, as readers of containers want it: small
// reads anywhere, few of which reach the host.
//
// One thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_IMAGE_BYTE_SOURCE_H_
#define ROWFS_INDEX_PLUGINS_IMAGE_BYTE_SOURCE_H_

#include <cstdint>
#include <span>

#include "index/abi/rowfs_plugin.h"
#include "index/plugins/common/bytes.h"
#include "index/plugins/common/status.h"

namespace rowfs::plugin {

class ByteSource {
 public:
  // `reader` outlives this.
  explicit ByteSource(const rowfs_reader& reader)
      : reader_(&reader), size_(reader.size) {}
  // Over bytes in memory, which outlive this.
  explicit ByteSource(ByteSpan memory)
      : memory_(memory), size_(memory.size()) {}

  uint64_t size() const { return size_; }

  // Exactly out.size() bytes. ROWFS_E_CORRUPT when the file ends before,
  // ROWFS_E_IO when the host cannot read. A small read brings what lies behind
  // it along.
  Status ReadAt(uint64_t offset, std::span<uint8_t> out);
  // The same as bytes of its own. ROWFS_E_LIMIT above `max`.
  Result<Bytes> Read(uint64_t offset, uint64_t size, uint64_t max);

 private:
  Status Ask(uint64_t offset, std::span<uint8_t> out);

  const rowfs_reader* reader_ = nullptr;
  ByteSpan memory_;
  uint64_t size_;
  Bytes window_;
  uint64_t window_at_ = 0;
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_IMAGE_BYTE_SOURCE_H_
