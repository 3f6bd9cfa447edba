// Compressive encodings (2.1 and later): from the bytes of a page back to
// values. An encoding is a tree; it is checked and compiled once a page, then
// run per chunk, cell or block. The three places encodings stand in have
// different framing, hence three kinds of decoders:
//
//   block  one buffer with a whole sequence: levels, dictionaries, positions
//   chunk  the value buffers of one mini-block chunk
//   cell   one value of a full-zip page
//
// Decoders are immutable and thread-safe; they keep no reference to the
// message they were made from. Every Decode appends to a block that NewBlock
// made, fails with kCorruption when bytes and counts disagree, and with
// kResourceExhausted above kDecodedBytesMax.
#ifndef ROWFS_STORAGE_LANCE_ENCODING_H_
#define ROWFS_STORAGE_LANCE_ENCODING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "storage/base/bytes.h"
#include "storage/base/status.h"
#include "storage/lance/encodings.pb.h"
#include "storage/lance/value_block.h"

namespace rowfs {

class BlockDecoder {
 public:
  // kUnsupported for encodings that have no block form, kCorruption for
  // impossible parameters.
  static Result<std::unique_ptr<const BlockDecoder>> Make(
      const lance::pb::CompressiveEncoding& encoding);
  virtual ~BlockDecoder() = default;

  // False when the description says it all: there is no buffer then.
  virtual bool has_payload() const { return true; }
  // Bits a value; 0 for values that are not fixed-width.
  virtual uint64_t bits() const = 0;
  virtual ValueBlock NewBlock() const { return ValueBlock::Fixed(bits()); }
  virtual Status Decode(ByteSpan payload, uint64_t count,
                        ValueBlock* out) const = 0;
  // How many values `payload` holds, where that can be told.
  virtual std::optional<uint64_t> CountOf(ByteSpan payload) const = 0;
};

class ChunkDecoder {
 public:
  static Result<std::unique_ptr<const ChunkDecoder>> Make(
      const lance::pb::CompressiveEncoding& encoding);
  virtual ~ChunkDecoder() = default;

  virtual size_t buffer_count() const = 0;
  virtual ValueBlock NewBlock() const = 0;
  // Requires: buffers.size() == buffer_count().
  virtual Status Decode(std::span<const ByteSpan> buffers, uint64_t count,
                        ValueBlock* out) const = 0;
};

class CellDecoder {
 public:
  // Cells of a fixed number of bits.
  static Result<std::unique_ptr<const CellDecoder>> MakeFixed(
      const lance::pb::CompressiveEncoding& encoding);
  // Cells that come with a length.
  static Result<std::unique_ptr<const CellDecoder>> MakeVariable(
      const lance::pb::CompressiveEncoding& encoding);
  virtual ~CellDecoder() = default;

  // Bytes a cell; absent for variable ones.
  virtual std::optional<uint64_t> cell_bytes() const = 0;
  virtual ValueBlock NewBlock() const = 0;
  virtual Status Decode(ByteSpan cell, ValueBlock* out) const = 0;
};

// Runs of equal values, as RLE has them in blocks and in chunks.
struct RunDecoder {
  std::unique_ptr<const BlockDecoder> values;
  std::unique_ptr<const BlockDecoder> lengths;

  // kCorruption for widths that runs cannot have.
  static Status Check(const BlockDecoder& values, const BlockDecoder& lengths);
  // Append exactly `count` values. `run_count` where neither buffer tells it.
  // The last run may reach past `count`.
  Status Decode(ByteSpan value_bytes, ByteSpan length_bytes,
                std::optional<uint64_t> run_count, uint64_t count,
                ValueBlock* out) const;
};

// Append what `bytes` decompress to. kUnsupported for an unknown scheme.
Status DecompressGeneral(const lance::pb::BufferCompression& compression,
                         ByteSpan bytes, uint64_t size_max, Bytes* out);

// "dictionary", "rle", ...: for messages.
std::string_view EncodingName(const lance::pb::CompressiveEncoding& encoding);

// The layers of fixed-size lists around flat values, which all three kinds
// know: dimensions outer to inner.
struct FixedSizeListShape {
  struct Layer {
    uint64_t dimension = 1;
    bool has_validity = false;
  };
  std::vector<Layer> layers;
  uint64_t item_bits = 0;   // of the innermost values; 0: all null
  uint64_t item_count = 1;  // product of the dimensions

  static Result<FixedSizeListShape> Make(
      const lance::pb::CompressiveEncoding& encoding);
  ValueBlock NewBlock() const;
  // Bytes a cell takes: validity of each layer that has it, then the items.
  uint64_t CellBytes() const;
  // Append `count` values from one buffer per layer with validity (outer
  // first) and one of items.
  Status Append(std::span<const ByteSpan> buffers, uint64_t count,
                ValueBlock* out) const;
  size_t buffer_count() const;
  // Append one value whose validities and items lie one behind the other.
  // Requires: cell.size() == CellBytes().
  Status AppendCell(ByteSpan cell, ValueBlock* out) const;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_ENCODING_H_
