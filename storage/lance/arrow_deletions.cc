#include "storage/lance/arrow_deletions.h"

#include <zstd.h>

#include <algorithm>

#include "storage/lance/flatbuffer.h"

namespace rowfs {
namespace {

constexpr std::string_view kMagic = "ARROW1";
constexpr uint64_t kOffsetsMax = 16 << 20;
constexpr uint64_t kTypeInt = 2;            // Type union
constexpr uint64_t kHeaderRecordBatch = 3;  // MessageHeader union
constexpr uint64_t kBlockBytes = 24;
constexpr uint64_t kNodeBytes = 16;
constexpr uint64_t kBufferBytes = 16;

Status Corrupt(std::string_view message) {
  return Status(Code::kCorruption, std::string(message));
}

Result<FlatTable> Need(Result<std::optional<FlatTable>> table,
                       std::string_view what) {
  if (!table.ok()) return table.status();
  if (!table.value()) return Corrupt("no " + std::string(what));
  return *table.value();
}

// Fields of Footer: 1 schema, 3 recordBatches. Of Schema: 1 fields. Of Field: 2
// type_type, 3 type. Of Int: 0 bitWidth. (Arrow's Schema.fbs and File.fbs.)
Status CheckSchema(const FlatTable& footer) {
  ROWFS_ASSIGN_OR_RETURN(const FlatTable schema,
                         Need(footer.Table(1), "schema"));
  ROWFS_ASSIGN_OR_RETURN(const auto fields, schema.Elements(1, 4));
  const Status other(Code::kUnsupported,
                     "not one column of 32-bit row offsets");
  if (fields.count != 1) return other;
  ROWFS_ASSIGN_OR_RETURN(const FlatTable field, schema.TableAt(fields, 0));
  ROWFS_ASSIGN_OR_RETURN(const uint64_t type, field.Integer(2, 1, 0));
  if (type != kTypeInt) return other;
  ROWFS_ASSIGN_OR_RETURN(const FlatTable integer,
                         Need(field.Table(3), "integer type"));
  ROWFS_ASSIGN_OR_RETURN(const uint64_t width, integer.Integer(0, 4, 0));
  return width == 32 ? Status() : other;
}

// Values of `size` bytes from a body buffer of a compressed batch: its
// uncompressed length (or -1: stored as it is), then a ZSTD frame.
Result<Bytes> Inflate(ByteSpan buffer, uint64_t size) {
  if (buffer.size() < 8) return Corrupt("cut off compressed buffer");
  const uint64_t raw = LoadU64(buffer);
  const ByteSpan body = buffer.subspan(8);
  if (raw == UINT64_MAX) {
    ROWFS_ASSIGN_OR_RETURN(const ByteSpan values,
                           Slice(body, 0, size, "values"));
    return Bytes(values.begin(), values.end());
  }
  // Writers may pad values; more than that is no column of row offsets.
  if (raw < size || raw > size + 64) return Corrupt("buffer of another size");
  Bytes out(raw);
  const size_t got =
      ZSTD_decompress(out.data(), out.size(), body.data(), body.size());
  if (ZSTD_isError(got) != 0U || got != raw) {
    return Corrupt("damaged ZSTD frame");
  }
  return out;
}

// Fields of RecordBatch: 0 length, 1 nodes, 2 buffers, 3 compression. Of
// BodyCompression: 0 codec, 1 = ZSTD.
Status DecodeBatch(const FlatTable& batch, ByteSpan body,
                   std::vector<uint32_t>* out) {
  ROWFS_ASSIGN_OR_RETURN(const uint64_t length, batch.Integer(0, 8, 0));
  if (length > kOffsetsMax - out->size()) {
    return Status(Code::kResourceExhausted, "more than 16 million offsets");
  }
  ROWFS_ASSIGN_OR_RETURN(const auto nodes, batch.Elements(1, kNodeBytes));
  ROWFS_ASSIGN_OR_RETURN(const auto buffers, batch.Elements(2, kBufferBytes));
  if (nodes.count != 1 || buffers.count != 2 ||
      LoadU64(nodes.bytes) != length || LoadU64(nodes.bytes.subspan(8)) != 0) {
    return Corrupt("batch is not one column without nulls");
  }
  if (length == 0) return {};
  const ByteSpan entry = buffers.bytes.subspan(kBufferBytes);
  ROWFS_ASSIGN_OR_RETURN(
      ByteSpan values,
      Slice(body, LoadU64(entry), LoadU64(entry.subspan(8)), "batch body"));
  Bytes inflated;
  ROWFS_ASSIGN_OR_RETURN(const auto compression, batch.Table(3));
  if (compression) {
    ROWFS_ASSIGN_OR_RETURN(const uint64_t codec, compression->Integer(0, 1, 0));
    if (codec != 1) {
      return Status(Code::kUnsupported, "compression other than ZSTD");
    }
    ROWFS_ASSIGN_OR_RETURN(inflated, Inflate(values, length * 4));
    values = inflated;
  }
  ROWFS_ASSIGN_OR_RETURN(values, Slice(values, 0, length * 4, "values"));
  for (uint64_t i = 0; i < length; ++i) {
    out->push_back(LoadU32(values.subspan(i * 4)));
  }
  return {};
}

// A block of the file: continuation word, metadata length, Message (1
// header_type, 2 header, 3 bodyLength), then the body.
Status DecodeBlock(ByteSpan file, ByteSpan block, std::vector<uint32_t>* out) {
  const uint64_t offset = LoadU64(block);
  const uint64_t metadata_size = LoadU32(block.subspan(8));
  const uint64_t body_size = LoadU64(block.subspan(16));
  ROWFS_ASSIGN_OR_RETURN(ByteSpan metadata,
                         Slice(file, offset, metadata_size, "batch"));
  ROWFS_ASSIGN_OR_RETURN(
      const ByteSpan body,
      Slice(file, offset + metadata_size, body_size, "batch body"));
  // Before format 0.15 the continuation word was missing.
  const bool continued =
      metadata.size() >= 4 && LoadU32(metadata) == UINT32_MAX;
  ROWFS_ASSIGN_OR_RETURN(
      metadata, Slice(metadata, continued ? 8 : 4,
                      metadata.size() -
                          std::min<size_t>(metadata.size(), continued ? 8 : 4),
                      "batch"));
  ROWFS_ASSIGN_OR_RETURN(const FlatTable message, FlatTable::Root(metadata));
  ROWFS_ASSIGN_OR_RETURN(const uint64_t type, message.Integer(1, 1, 0));
  if (type != kHeaderRecordBatch) return Corrupt("message is no batch");
  ROWFS_ASSIGN_OR_RETURN(const FlatTable batch,
                         Need(message.Table(2), "batch"));
  return DecodeBatch(batch, body, out);
}

Result<std::vector<uint32_t>> Decode(ByteSpan file) {
  const size_t tail = 4 + kMagic.size();
  if (file.size() < 2 * tail || AsText(file.last(kMagic.size())) != kMagic ||
      AsText(file.first(kMagic.size())) != kMagic) {
    return Corrupt("no Arrow file");
  }
  const uint64_t footer_size = LoadU32(file.last(tail));
  if (footer_size > file.size() - tail) return Corrupt("footer too long");
  ROWFS_ASSIGN_OR_RETURN(const FlatTable footer,
                         FlatTable::Root(file.subspan(
                             file.size() - tail - footer_size, footer_size)));
  ROWFS_RETURN_IF_ERROR(CheckSchema(footer));
  ROWFS_ASSIGN_OR_RETURN(const auto blocks, footer.Elements(3, kBlockBytes));
  std::vector<uint32_t> out;
  for (uint64_t i = 0; i < blocks.count; ++i) {
    ROWFS_RETURN_IF_ERROR(DecodeBlock(
        file, blocks.bytes.subspan(i * kBlockBytes, kBlockBytes), &out));
  }
  return out;
}

}  // namespace

Result<std::vector<uint32_t>> DecodeArrowDeletions(ByteSpan bytes,
                                                   uint64_t limit,
                                                   std::string_view what) {
  auto decoded = Decode(bytes);
  if (!decoded.ok()) return decoded.status().With(what);
  std::vector<uint32_t> out = std::move(decoded).value();
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  if (!out.empty() && out.back() >= limit) {
    return Corrupt("deletes row " + std::to_string(out.back()) + " of " +
                   std::to_string(limit))
        .With(what);
  }
  return out;
}

}  // namespace rowfs
