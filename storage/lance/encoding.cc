#include "storage/lance/encoding.h"

#include <string>

#include "storage/lance/codec.h"

namespace rowfs {

using lance::pb::CompressiveEncoding;

Status DecompressGeneral(const lance::pb::BufferCompression& compression,
                         ByteSpan bytes, uint64_t size_max, Bytes* out) {
  if (compression.scheme() == lance::pb::SCHEME_LZ4) {
    return DecompressLz4(bytes, size_max, out);
  }
  if (compression.scheme() == lance::pb::SCHEME_ZSTD) {
    return DecompressZstd(bytes, size_max, out);
  }
  return {Code::kUnsupported, "compression scheme " +
                                  std::to_string(compression.scheme()) +
                                  " is not known"};
}

std::string_view EncodingName(const CompressiveEncoding& encoding) {
  switch (encoding.compression_case()) {
    case CompressiveEncoding::kFlat:
      return "flat";
    case CompressiveEncoding::kVariable:
      return "variable";
    case CompressiveEncoding::kConstant:
      return "constant";
    case CompressiveEncoding::kOutOfLineBitpacking:
      return "out-of-line bitpacking";
    case CompressiveEncoding::kInlineBitpacking:
      return "inline bitpacking";
    case CompressiveEncoding::kFsst:
      return "fsst";
    case CompressiveEncoding::kDictionary:
      return "dictionary";
    case CompressiveEncoding::kRle:
      return "rle";
    case CompressiveEncoding::kByteStreamSplit:
      return "byte stream split";
    case CompressiveEncoding::kGeneral:
      return "general";
    case CompressiveEncoding::kFixedSizeList:
      return "fixed-size list";
    case CompressiveEncoding::kPackedStruct:
      return "packed struct";
    case CompressiveEncoding::kVariablePackedStruct:
      return "variable packed struct";
    case CompressiveEncoding::kRange:
      return "range";
    case CompressiveEncoding::kDelta:
      return "delta";
    case CompressiveEncoding::COMPRESSION_NOT_SET:
      break;
  }
  return "an unknown encoding";
}

Result<FixedSizeListShape> FixedSizeListShape::Make(
    const CompressiveEncoding& encoding) {
  FixedSizeListShape shape;
  const CompressiveEncoding* at = &encoding;
  while (at->has_fixed_size_list()) {
    const auto& list = at->fixed_size_list();
    const auto product = CheckedMul(shape.item_count, list.items_per_value());
    if (!product || *product == 0 || *product > kDecodedBytesMax * 8) {
      return Status(Code::kCorruption, "fixed-size lists of impossible size");
    }
    shape.item_count = *product;
    shape.layers.push_back({list.items_per_value(), list.has_validity()});
    at = &list.values();
  }
  if (at->has_constant() && !at->constant().has_value()) return shape;
  if (!at->has_flat() || at->flat().has_data()) {
    return Status(Code::kUnsupported,
                  std::string(EncodingName(*at)) + " inside a fixed-size list");
  }
  shape.item_bits = at->flat().bits_per_value();
  const bool whole = shape.item_bits == 1 || shape.item_bits % 8 == 0;
  if (shape.item_bits == 0 || !whole || shape.item_bits > 1u << 30 ||
      !CheckedMul(shape.item_bits, shape.item_count)) {
    return Status(Code::kCorruption, "flat values of " +
                                         std::to_string(shape.item_bits) +
                                         " bits in a fixed-size list");
  }
  return shape;
}

ValueBlock FixedSizeListShape::NewBlock() const {
  ValueBlock block = ValueBlock::Fixed(item_bits);
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    ValueBlock list{.shape = ValueBlock::Shape::kList,
                    .dimension = layer->dimension,
                    .has_item_validity = layer->has_validity};
    list.children.push_back(std::move(block));
    block = std::move(list);
  }
  return block;
}

uint64_t FixedSizeListShape::CellBytes() const {
  uint64_t bytes = (item_count * item_bits + 7) / 8;
  uint64_t items = 1;
  for (const Layer& layer : layers) {
    items *= layer.dimension;
    if (layer.has_validity) bytes += (items + 7) / 8;
  }
  return bytes;
}

size_t FixedSizeListShape::buffer_count() const {
  size_t count = 1;
  for (const Layer& layer : layers) count += layer.has_validity ? 1 : 0;
  return count;
}

Status FixedSizeListShape::Append(std::span<const ByteSpan> buffers,
                                  uint64_t count, ValueBlock* out) const {
  const auto all = CheckedMul(count, item_count);
  if (!all) return {Code::kCorruption, "too many fixed-size list items"};
  ROWFS_ASSIGN_OR_RETURN([[maybe_unused]] const uint64_t total,
                         DecodedBytes(*all, item_bits + 1, "fixed-size lists"));
  size_t next = 0;
  uint64_t items = count;
  ValueBlock* at = out;
  for (const Layer& layer : layers) {
    const uint64_t before = at->count * layer.dimension;
    items *= layer.dimension;
    if (layer.has_validity) {
      const ByteSpan bits = buffers[next++];
      if (bits.size() < (items + 7) / 8) {
        return {Code::kCorruption,
                "validity of fixed-size list items is short"};
      }
      AppendBits(bits, 0, items, &at->item_validity, before);
    }
    at->count += layer.dimension == 0 ? 0 : items / layer.dimension;
    at = &at->children[0];
  }
  const ByteSpan values = buffers[next];
  if (values.size() < (items * item_bits + 7) / 8) {
    return {Code::kCorruption, std::to_string(values.size()) + " bytes for " +
                                   std::to_string(items) + " items of " +
                                   std::to_string(item_bits) +
                                   " bits in fixed-size lists"};
  }
  if (item_bits == 1) {
    AppendBits(values, 0, items, &at->data, at->count);
  } else {
    AppendBytes(&at->data, values.first(items * item_bits / 8));
  }
  at->count += items;
  return {};
}

Status FixedSizeListShape::AppendCell(ByteSpan cell, ValueBlock* out) const {
  std::vector<ByteSpan> buffers;
  uint64_t items = 1;
  for (const Layer& layer : layers) {
    items *= layer.dimension;
    if (!layer.has_validity) continue;
    // The spare bits of the last byte mean nothing.
    buffers.push_back(cell.first((items + 7) / 8));
    cell = cell.subspan((items + 7) / 8);
  }
  buffers.push_back(cell);
  return Append(buffers, 1, out);
}

}  // namespace rowfs
