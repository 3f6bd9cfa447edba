#include "storage/lance/array_encoding.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "storage/lance/codec.h"

namespace rowfs {
namespace {

Status Corrupt(std::string message) {
  return {Code::kCorruption, std::move(message)};
}

bool IsByteLike(TypeId id) {
  return id == TypeId::kString || id == TypeId::kBinary ||
         id == TypeId::kLargeString || id == TypeId::kLargeBinary;
}

// `count` values of `width` bytes each as strings.
ValueBlock AsStrings(Bytes data, uint64_t count, uint64_t width) {
  ValueBlock block = ValueBlock::Variable();
  block.count = count;
  for (uint64_t i = 1; i <= count; ++i) block.offsets.push_back(i * width);
  block.data = std::move(data);
  return block;
}

// Ranges past any buffer stay past any buffer.
RowRanges Scale(const RowRanges& rows, uint64_t factor) {
  RowRanges scaled = rows;
  for (RowRange& range : scaled) {
    range.begin = CheckedMul(range.begin, factor).value_or(UINT64_MAX);
    range.end = CheckedMul(range.end, factor).value_or(UINT64_MAX);
  }
  return scaled;
}

// The encoding below wrappers that say nothing is null.
const lance::pb::ArrayEncoding& WithoutNulls(
    const lance::pb::ArrayEncoding& encoding) {
  const lance::pb::ArrayEncoding* at = &encoding;
  while (at->has_nullable() && at->nullable().has_no_nulls()) {
    at = &at->nullable().no_nulls().values();
  }
  return *at;
}

}  // namespace

Result<ByteRange> ArrayPage::Find(const Encoding::Buffer& buffer) const {
  const std::vector<ByteRange>* buffers = &page_.buffers;
  if (buffer.type() == Encoding::Buffer::COLUMN) buffers = &column_.buffers;
  if (buffer.type() == Encoding::Buffer::FILE) buffers = &file_.global_buffers;
  if (buffer.index() >= buffers->size()) {
    return Corrupt("buffer " + std::to_string(buffer.index()) + " of " +
                   std::to_string(buffers->size()));
  }
  return (*buffers)[buffer.index()];
}

// The values of `rows`, densely; single bits LSB first.
Result<Bytes> ArrayPage::ReadValues(const Encoding::Buffer& buffer,
                                    uint64_t bits,
                                    const RowRanges& rows) const {
  ROWFS_ASSIGN_OR_RETURN(const ByteRange where, Find(buffer));
  ROWFS_ASSIGN_OR_RETURN([[maybe_unused]] const uint64_t total,
                         DecodedBytes(CountRows(rows), bits, "values"));
  std::vector<ByteRange> wanted;
  for (const RowRange& range : rows) {
    const auto end = CheckedMul(range.end, bits);
    if (!end || (*end + 7) / 8 > where.size()) {
      return Corrupt("values to row " + std::to_string(range.end) +
                     " in a buffer of " + std::to_string(where.size()) +
                     " bytes");
    }
    wanted.push_back(
        {where.begin + range.begin * bits / 8, where.begin + (*end + 7) / 8});
  }
  ROWFS_ASSIGN_OR_RETURN(const std::vector<Bytes> got,
                         object_.ReadMany(wanted, ReadKind::kMetadata));
  Bytes values;
  uint64_t done = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (bits % 8 == 0) {
      AppendBytes(&values, got[i]);
      continue;
    }
    const uint64_t count = rows[i].size() * bits;
    AppendBits(got[i], rows[i].begin * bits % 8, count, &values, done);
    done += count;
  }
  return values;
}

// The values of `rows` of a buffer that is compressed as a whole.
Result<Bytes> ArrayPage::Decompressed(const Encoding::Flat& flat,
                                      const RowRanges& rows) const {
  const std::string& scheme = flat.compression().scheme();
  if (scheme != "zstd" && scheme != "lz4") {
    return Status(Code::kUnsupported,
                  "buffers compressed with \"" + scheme + "\" in format 2.0");
  }
  const uint64_t bits = flat.bits_per_value();
  if (bits == 1) return Corrupt("compressed bits");
  ROWFS_ASSIGN_OR_RETURN(const ByteRange where, Find(flat.buffer()));
  ROWFS_ASSIGN_OR_RETURN(const Bytes bytes,
                         object_.Read(where, ReadKind::kMetadata));
  Bytes all;
  ROWFS_RETURN_IF_ERROR(scheme == "zstd"
                            ? DecompressZstd(bytes, kDecodedBytesMax, &all)
                            : DecompressLz4(bytes, kDecodedBytesMax, &all));
  Bytes values;
  for (const RowRange& range : rows) {
    const auto end = CheckedMul(range.end, bits / 8);
    if (!end || *end > all.size()) {
      return Corrupt("values to row " + std::to_string(range.end) + " in " +
                     std::to_string(all.size()) + " bytes");
    }
    AppendBytes(&values, ByteSpan(all).subspan(range.begin * (bits / 8),
                                               range.size() * (bits / 8)));
  }
  return values;
}

// Values bit-packed in blocks of 1,024.
Result<ValueBlock> ArrayPage::Unpacked(
    const Encoding::BitpackedNonNegative& packed, const RowRanges& rows) const {
  const uint64_t bits = packed.uncompressed_bits_per_value();
  const uint64_t width = packed.compressed_bits_per_value();
  if ((bits != 8 && bits != 16 && bits != 32 && bits != 64) || width > bits) {
    return Corrupt("bit-packing of " + std::to_string(bits) + " to " +
                   std::to_string(width) + " bits");
  }
  ROWFS_ASSIGN_OR_RETURN(const ByteRange where, Find(packed.buffer()));
  ROWFS_ASSIGN_OR_RETURN([[maybe_unused]] const uint64_t total,
                         DecodedBytes(CountRows(rows), bits, "values"));
  ValueBlock block = ValueBlock::Fixed(bits);
  const uint64_t packed_bytes = PackedBlockBytes(width, bits);
  Bytes unpacked(kPackedBlockValues * bits / 8);
  for (const RowRange& range : rows) {
    const uint64_t first = range.begin / kPackedBlockValues;
    const uint64_t last =
        (range.end + kPackedBlockValues - 1) / kPackedBlockValues;
    const auto end = CheckedMul(last, packed_bytes);
    if (!end || *end > where.size()) return Corrupt("packed values end early");
    ROWFS_ASSIGN_OR_RETURN(
        const Bytes bytes,
        object_.Read({where.begin + first * packed_bytes, where.begin + *end},
                     ReadKind::kMetadata));
    for (uint64_t i = first; i < last; ++i) {
      UnpackBlock(ByteSpan(bytes).subspan((i - first) * packed_bytes), width,
                  bits, unpacked.data());
      const uint64_t base = i * kPackedBlockValues;
      const uint64_t begin = std::max(range.begin, base) - base;
      const uint64_t stop =
          std::min(range.end, base + kPackedBlockValues) - base;
      AppendBytes(&block.data,
                  ByteSpan(unpacked).subspan(begin * bits / 8,
                                             (stop - begin) * bits / 8));
      block.count += stop - begin;
    }
  }
  return block;
}

Result<ValueBlock> ArrayPage::Fixed(const Encoding& encoding,
                                    const RowRanges& rows) const {
  if (encoding.has_bitpacked_non_negative()) {
    return Unpacked(encoding.bitpacked_non_negative(), rows);
  }
  ValueBlock block;
  block.count = CountRows(rows);
  if (encoding.has_flat()) {
    const auto& flat = encoding.flat();
    block.bits = flat.bits_per_value();
    if (block.bits == 0 || block.bits > 1u << 30 ||
        (block.bits != 1 && block.bits % 8 != 0)) {
      return Corrupt("flat values of " + std::to_string(block.bits) + " bits");
    }
    if (flat.has_compression() && flat.compression().scheme() != "none") {
      ROWFS_ASSIGN_OR_RETURN(block.data, Decompressed(flat, rows));
      return block;
    }
    ROWFS_ASSIGN_OR_RETURN(block.data,
                           ReadValues(flat.buffer(), block.bits, rows));
    return block;
  }
  if (encoding.has_bitpacked()) {
    const auto& packed = encoding.bitpacked();
    const uint64_t width = packed.compressed_bits_per_value();
    block.bits = packed.uncompressed_bits_per_value();
    if (block.bits % 8 != 0 || block.bits == 0 || block.bits > 64 ||
        width == 0 || width > block.bits) {
      return Corrupt("bit-packing of " + std::to_string(block.bits) + " to " +
                     std::to_string(width) + " bits");
    }
    ROWFS_ASSIGN_OR_RETURN(const Bytes bits,
                           ReadValues(packed.buffer(), width, rows));
    for (uint64_t i = 0; i < block.count; ++i) {
      uint64_t value = 0;
      for (uint64_t k = 0; k < width; ++k) {
        const uint64_t at = i * width + k;
        const auto byte = static_cast<uint64_t>(bits[at / 8]);
        value |= (byte >> (at % 8) & 1) << k;
      }
      const bool negative = packed.is_signed() && (value >> (width - 1)) != 0;
      if (negative && width < 64) value |= ~uint64_t{0} << width;
      AppendUint(&block.data, value, block.bits / 8);
    }
    return block;
  }
  if (encoding.has_constant()) {
    const std::string& value = encoding.constant().value();
    block.bits = value.size() * 8;
    ROWFS_ASSIGN_OR_RETURN([[maybe_unused]] const uint64_t total,
                           DecodedBytes(block.count, block.bits, "a constant"));
    for (uint64_t i = 0; i < block.count; ++i) {
      AppendText(&block.data, value);
    }
    return block;
  }
  return Status(Code::kUnsupported,
                "array encoding " + std::to_string(encoding.encoding_case()) +
                    " for fixed-width values in format 2.0");
}

Result<std::vector<uint64_t>> ArrayPage::Integers(const Encoding& encoding,
                                                  const RowRanges& rows) const {
  ROWFS_ASSIGN_OR_RETURN(const ValueBlock block,
                         Fixed(WithoutNulls(encoding), rows));
  if (block.bits < 8 || block.bits > 64) {
    return Corrupt("integers of " + std::to_string(block.bits) + " bits");
  }
  return ToIntegers(block);
}

Result<std::vector<ArrayPage::Extent>> ArrayPage::Extents(
    const Encoding& ends, uint64_t null_adjustment,
    const RowRanges& rows) const {
  // The end before the first row is where it begins.
  RowRanges wanted = rows;
  for (RowRange& range : wanted) range.begin -= range.begin > 0 ? 1 : 0;
  ROWFS_ASSIGN_OR_RETURN(const std::vector<uint64_t> values,
                         Integers(ends, wanted));
  const auto plain = [null_adjustment](uint64_t end) {
    return null_adjustment == 0 ? end : end % null_adjustment;
  };
  std::vector<Extent> extents;
  size_t next = 0;
  for (const RowRange& range : rows) {
    uint64_t begin = range.begin > 0 ? plain(values[next++]) : 0;
    for (uint64_t row = range.begin; row < range.end; ++row) {
      const uint64_t value = values[next++];
      const Extent extent{begin, plain(value),
                          null_adjustment != 0 && value >= null_adjustment};
      if (extent.end < extent.begin) {
        return Corrupt("offsets are out of order at row " +
                       std::to_string(row));
      }
      begin = extent.end;
      extents.push_back(extent);
    }
  }
  return extents;
}

Result<Array> ArrayPage::Nullable(const Encoding::Nullable& nullable,
                                  const TypePtr& type,
                                  const RowRanges& rows) const {
  if (nullable.has_no_nulls()) {
    return Decode(nullable.no_nulls().values(), type, rows);
  }
  if (nullable.has_all_nulls()) return NullArray(type, CountRows(rows));
  if (!nullable.has_some_nulls()) return Corrupt("nulls of no kind");
  ROWFS_ASSIGN_OR_RETURN(Array array,
                         Decode(nullable.some_nulls().values(), type, rows));
  ROWFS_ASSIGN_OR_RETURN(
      const ValueBlock bits,
      Fixed(WithoutNulls(nullable.some_nulls().validity()), rows));
  if (bits.bits != 1) return Corrupt("validity that is not bits");
  uint64_t valid = 0;
  for (uint64_t i = 0; i < array.length; ++i) {
    valid += static_cast<unsigned>(bits.data[i / 8]) >> (i % 8) & 1;
  }
  array.null_count = array.length - valid;
  if (array.null_count > 0) {
    array.validity = std::make_shared<const Bytes>(bits.data);
  }
  return array;
}

Result<Array> ArrayPage::Binary(const Encoding::Binary& binary,
                                const TypePtr& type,
                                const RowRanges& rows) const {
  ROWFS_ASSIGN_OR_RETURN(
      const std::vector<Extent> extents,
      Extents(binary.indices(), binary.null_adjustment(), rows));
  RowRanges bytes;
  for (const Extent& extent : extents) {
    if (extent.null || extent.begin == extent.end) continue;
    if (!bytes.empty() && bytes.back().end == extent.begin) {
      bytes.back().end = extent.end;
    } else if (!bytes.empty() && extent.begin < bytes.back().end) {
      return Corrupt("string bytes overlap");
    } else {
      bytes.push_back({extent.begin, extent.end});
    }
  }
  ROWFS_ASSIGN_OR_RETURN(ValueBlock data,
                         Fixed(WithoutNulls(binary.bytes()), bytes));
  if (data.bits != 8) return Corrupt("strings of values that are not bytes");
  ValueBlock block = ValueBlock::Variable();
  block.data = std::move(data.data);
  block.count = extents.size();
  Bytes validity((extents.size() + 7) / 8);
  uint64_t nulls = 0;
  uint64_t at = 0;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i].null) {
      ++nulls;
    } else {
      at += extents[i].end - extents[i].begin;
      validity[i / 8] |= std::byte{1} << (i % 8);
    }
    block.offsets.push_back(at);
  }
  ROWFS_ASSIGN_OR_RETURN(Array array, ToArray(std::move(block), type));
  array.null_count = nulls;
  if (nulls > 0) {
    array.validity = std::make_shared<const Bytes>(std::move(validity));
  }
  return array;
}

Result<Array> ArrayPage::Dictionary(const Encoding::Dictionary& dictionary,
                                    const TypePtr& type,
                                    const RowRanges& rows) const {
  const uint64_t count = dictionary.num_dictionary_items();
  if (count == 0) return Corrupt("a dictionary without items");
  std::optional<DecodeLimit> whole_page(kDecodedBytesMax);
  ROWFS_ASSIGN_OR_RETURN(const Array items,
                         Decode(dictionary.items(), type, {{0, count}}));
  whole_page.reset();
  ROWFS_ASSIGN_OR_RETURN(std::vector<uint64_t> indices,
                         Integers(dictionary.indices(), rows));
  // Strings that the writer chose to encode so count from 1, and 0 is null;
  // columns of a dictionary type count from 0 and have nulls among the items.
  Bytes validity((indices.size() + 7) / 8);
  uint64_t nulls = 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    const bool null = strings_from_one_ ? indices[i] == 0 : false;
    if (strings_from_one_ && !null) --indices[i];
    if (indices[i] >= items.length) {
      return Corrupt("index " + std::to_string(indices[i]) +
                     " into a dictionary of " + std::to_string(items.length));
    }
    if (null) {
      ++nulls;
    } else {
      validity[i / 8] |= std::byte{1} << (i % 8);
    }
  }
  Array array = TakeArray(items, indices);
  if (nulls > 0) {
    array.null_count = nulls;
    array.validity = std::make_shared<const Bytes>(std::move(validity));
  }
  return array;
}

// Rows of adjacent children of fixed width.
Result<Array> ArrayPage::Packed(const Encoding::PackedStruct& packed,
                                const TypePtr& type,
                                const RowRanges& rows) const {
  if (type->id != TypeId::kStruct ||
      type->children.size() != static_cast<size_t>(packed.inner_size())) {
    return Corrupt("a packed struct that is no " + type->ToString());
  }
  std::vector<uint64_t> widths;
  uint64_t row_bytes = 0;
  for (const Encoding& inner : packed.inner()) {
    const Encoding* at = &WithoutNulls(inner);
    uint64_t items = 1;
    while (at->has_fixed_size_list()) {
      const auto product = CheckedMul(items, at->fixed_size_list().dimension());
      if (!product || *product > 1u << 30) return Corrupt("a huge list");
      items = *product;
      at = &WithoutNulls(at->fixed_size_list().items());
    }
    const uint64_t bits = at->flat().bits_per_value();
    if (!at->has_flat() || bits == 0 || bits % 8 != 0 || bits > 1u << 30) {
      return Status(Code::kUnsupported, "packed children that are not flat");
    }
    widths.push_back(bits / 8 * items);
    row_bytes += widths.back();
  }
  ROWFS_ASSIGN_OR_RETURN(const Bytes data,
                         ReadValues(packed.buffer(), row_bytes * 8, rows));
  Array array{.type = type, .length = CountRows(rows)};
  uint64_t begin = 0;
  for (size_t k = 0; k < widths.size(); ++k) {
    Bytes column(array.length * widths[k]);
    for (uint64_t i = 0; i < array.length; ++i) {
      std::memcpy(column.data() + i * widths[k],
                  data.data() + i * row_bytes + begin, widths[k]);
    }
    begin += widths[k];
    // Lists are their items, one behind the other.
    const TypePtr* item = &type->children[k].type;
    std::vector<TypePtr> lists;
    while ((*item)->id == TypeId::kFixedSizeList) {
      lists.push_back(*item);
      item = &(*item)->children[0].type;
    }
    uint64_t count = array.length;
    for (const TypePtr& list : lists) count *= list->width;
    ValueBlock block =
        ValueBlock::Fixed(count == 0 ? FixedWidth(**item).value_or(0) * 8
                                     : column.size() * 8 / count);
    block.count = count;
    block.data = std::move(column);
    ROWFS_ASSIGN_OR_RETURN(Array child, ToArray(std::move(block), *item));
    for (auto list = lists.rbegin(); list != lists.rend(); ++list) {
      Array outer{.type = *list, .length = child.length / (*list)->width};
      outer.children.push_back(std::move(child));
      child = std::move(outer);
    }
    array.children.push_back(std::move(child));
  }
  return array;
}

Result<Array> ArrayPage::List(const Encoding::FixedSizeList& list,
                              const TypePtr& type,
                              const RowRanges& rows) const {
  if (type->id != TypeId::kFixedSizeList || type->width != list.dimension() ||
      list.has_validity()) {
    return Corrupt("fixed-size lists of " + std::to_string(list.dimension()) +
                   ", not " + type->ToString());
  }
  Array array{.type = type, .length = CountRows(rows)};
  ROWFS_ASSIGN_OR_RETURN(Array items,
                         Decode(list.items(), type->children[0].type,
                                Scale(rows, list.dimension())));
  array.children.push_back(std::move(items));
  return array;
}

Result<Array> ArrayPage::Fsst(const Encoding::Fsst& fsst, const TypePtr& type,
                              const RowRanges& rows) const {
  ROWFS_ASSIGN_OR_RETURN(const SymbolTable symbols,
                         SymbolTable::Decode(AsBytes(fsst.symbol_table())));
  ROWFS_ASSIGN_OR_RETURN(const Array codes, Decode(fsst.binary(), type, rows));
  if (codes.offsets == nullptr) return Corrupt("fsst over no strings");
  ValueBlock block = ValueBlock::Variable();
  block.count = codes.length;
  for (uint64_t i = 0; i < codes.length; ++i) {
    ROWFS_RETURN_IF_ERROR(
        symbols.Expand(codes.BytesAt(i), DecodeLimit::Bytes(), &block.data));
    block.offsets.push_back(block.data.size());
  }
  ROWFS_ASSIGN_OR_RETURN(Array array, ToArray(std::move(block), type));
  array.validity = codes.validity;
  array.null_count = codes.null_count;
  return array;
}

Result<Array> ArrayPage::Decode(const Encoding& encoding, const TypePtr& type,
                                const RowRanges& rows) const {
  if (encoding.has_nullable()) return Nullable(encoding.nullable(), type, rows);
  if (encoding.has_binary()) return Binary(encoding.binary(), type, rows);
  if (encoding.has_dictionary()) {
    return Dictionary(encoding.dictionary(), type, rows);
  }
  if (encoding.has_packed_struct()) {
    return Packed(encoding.packed_struct(), type, rows);
  }
  if (encoding.has_fixed_size_list()) {
    return List(encoding.fixed_size_list(), type, rows);
  }
  if (encoding.has_fsst()) return Fsst(encoding.fsst(), type, rows);
  ValueBlock block;
  if (encoding.has_fixed_size_binary()) {
    const uint64_t width = encoding.fixed_size_binary().byte_width();
    ROWFS_ASSIGN_OR_RETURN(
        block, Fixed(WithoutNulls(encoding.fixed_size_binary().bytes()),
                     Scale(rows, width)));
    if (block.bits != 8) return Corrupt("binaries that are not bytes");
    block.bits = width * 8;
    block.count = CountRows(rows);
  } else {
    ROWFS_ASSIGN_OR_RETURN(block, Fixed(encoding, rows));
  }
  if (IsByteLike(type->id) && block.bits % 8 == 0) {
    return ToArray(
        AsStrings(std::move(block.data), block.count, block.bits / 8), type);
  }
  return ToArray(std::move(block), type);
}

}  // namespace rowfs
