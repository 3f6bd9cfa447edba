// The host's reader in blocks: PDF libraries ask for some hundred bytes here
// and there, and each call of the host's reader may be a request. Blocks are
// small where little is read, and grow where reading goes on; what is asked for
// in one piece is read in one piece.
//
// One thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_DOCUMENT_BLOCK_READER_H_
#define ROWFS_INDEX_PLUGINS_DOCUMENT_BLOCK_READER_H_

#include <cstdint>
#include <list>
#include <span>

#include "index/abi/rowfs_plugin.h"
#include "index/plugins/common/bytes.h"

namespace rowfs::plugin {

class BlockReader {
 public:
  explicit BlockReader(const rowfs_reader& reader) : reader_(reader) {}

  uint64_t size() const { return reader_.size; }
  // Fills `out`; false when the host's reader failed or the file ends before.
  bool ReadAt(uint64_t offset, std::span<uint8_t> out);
  // Some bytes from `offset` on, valid until the next call; empty at the end
  // of the file or when the host's reader failed.
  ByteSpan Peek(uint64_t offset);
  bool failed() const { return failed_; }

 private:
  struct Piece {
    uint64_t begin;
    Bytes bytes;
    uint64_t end() const { return begin + bytes.size(); }
  };

  // The piece that holds `offset`, read with `wanted` bytes from there if it is
  // not there yet; null when that fails.
  const Piece* PieceAt(uint64_t offset, uint64_t wanted);

  const rowfs_reader reader_;
  std::list<Piece> pieces_;  // latest first
  uint64_t held_bytes_ = 0;
  bool failed_ = false;
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_DOCUMENT_BLOCK_READER_H_
