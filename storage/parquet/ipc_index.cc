#include "storage/parquet/ipc_index.h"

#include <algorithm>
#include <optional>
#include <string>

namespace rowfs {
namespace {

constexpr std::string_view kMagic = "ARROW1";
constexpr uint32_t kContinuation = 0xFFFFFFFF;
constexpr uint64_t kMetadataBytesMax = 256 << 20;
constexpr uint64_t kWindowBytes = 2048;

Status Bad(std::string_view message) {
  return {Code::kCorruption, "Arrow message: " + std::string(message)};
}

// A table in a flatbuffer: its fields by number.
class Table {
 public:
  // The root table.
  static Result<Table> Root(ByteSpan buffer) {
    ROWFS_ASSIGN_OR_RETURN(const uint64_t at, Load(buffer, 0, 4));
    return At(buffer, at);
  }

  // `size` bytes of field `number` as an integer; `otherwise` when it is not
  // there.
  Result<uint64_t> Int(size_t number, size_t size, uint64_t otherwise) const {
    ROWFS_ASSIGN_OR_RETURN(const auto at, Field(number));
    if (!at) return otherwise;
    return Load(buffer_, *at, size);
  }
  Result<std::optional<Table>> Child(size_t number) const {
    ROWFS_ASSIGN_OR_RETURN(const auto at, Field(number));
    if (!at) return std::optional<Table>();
    ROWFS_ASSIGN_OR_RETURN(const uint64_t offset, Load(buffer_, *at, 4));
    ROWFS_ASSIGN_OR_RETURN(const Table child, At(buffer_, *at + offset));
    return std::optional<Table>(child);
  }
  // The bytes of a vector of structs of `size` bytes; empty when not there.
  Result<ByteSpan> Structs(size_t number, uint64_t size) const {
    ROWFS_ASSIGN_OR_RETURN(const auto at, Field(number));
    if (!at) return ByteSpan();
    ROWFS_ASSIGN_OR_RETURN(const uint64_t offset, Load(buffer_, *at, 4));
    ROWFS_ASSIGN_OR_RETURN(const uint64_t count,
                           Load(buffer_, *at + offset, 4));
    return Slice(buffer_, *at + offset + 4, count * size, "Arrow footer");
  }

 private:
  Table(ByteSpan buffer, uint64_t at, uint64_t vtable, uint64_t vtable_size)
      : buffer_(buffer), at_(at), vtable_(vtable), vtable_size_(vtable_size) {}

  static Result<uint64_t> Load(ByteSpan buffer, uint64_t at, size_t size) {
    if (at > buffer.size() || size > buffer.size() - at) {
      return Bad("an offset leads out of it");
    }
    return LoadUint(buffer.subspan(at, size), size);
  }
  static Result<Table> At(ByteSpan buffer, uint64_t at) {
    ROWFS_ASSIGN_OR_RETURN(const uint64_t back, Load(buffer, at, 4));
    // A signed distance back to the vtable.
    const auto vtable = static_cast<uint64_t>(
        static_cast<int64_t>(at) -
        static_cast<int32_t>(static_cast<uint32_t>(back)));
    ROWFS_ASSIGN_OR_RETURN(const uint64_t size, Load(buffer, vtable, 2));
    return Table(buffer, at, vtable, size);
  }
  Result<std::optional<uint64_t>> Field(size_t number) const {
    const uint64_t slot = 4 + 2 * number;
    if (slot + 2 > vtable_size_) return std::optional<uint64_t>();
    ROWFS_ASSIGN_OR_RETURN(const uint64_t offset,
                           Load(buffer_, vtable_ + slot, 2));
    if (offset == 0) return std::optional<uint64_t>();
    return std::optional<uint64_t>(at_ + offset);
  }

  ByteSpan buffer_;
  uint64_t at_;
  uint64_t vtable_;
  uint64_t vtable_size_;
};

std::vector<IpcBlock> BlocksOf(ByteSpan bytes) {
  std::vector<IpcBlock> blocks;
  for (; bytes.size() >= 24; bytes = bytes.subspan(24)) {
    blocks.push_back({LoadU64(bytes), LoadU32(bytes.subspan(8)),
                      LoadU64(bytes.subspan(16))});
  }
  return blocks;
}

// Where the flatbuffer of a message begins, whose first bytes are `prefix`, and
// how long it is. Before Arrow 0.15 there was no continuation marker.
Result<ByteRange> MetadataOf(ByteSpan prefix, uint64_t begin) {
  if (prefix.size() < 8) return Bad("cut off");
  const bool marked = LoadU32(prefix) == kContinuation;
  const uint64_t size = LoadU32(marked ? prefix.subspan(4) : prefix);
  if (size > kMetadataBytesMax) return Bad("impossible metadata size");
  const uint64_t at = begin + (marked ? 8 : 4);
  return ByteRange{at, at + size};
}

Result<IpcMessage> Describe(const ObjectReader& reader, uint64_t begin,
                            ByteRange metadata, const IpcHead& head) {
  IpcMessage message;
  message.begin = begin;
  message.metadata = metadata;
  message.row_count = head.row_count;
  message.compressed = head.compressed;
  if (metadata.end > reader.size() ||
      head.body_size > reader.size() - metadata.end) {
    return Bad("the file is cut off inside it");
  }
  message.body = {metadata.end, metadata.end + head.body_size};
  return message;
}

// The message at `begin`; absent at the end of a stream.
Result<std::optional<std::pair<IpcHead, IpcMessage>>> ReadMessageAt(
    const ObjectReader& reader, uint64_t begin) {
  using Found = std::optional<std::pair<IpcHead, IpcMessage>>;
  const uint64_t left = reader.size() - std::min(begin, reader.size());
  if (left == 0) return Found();  // a stream may simply stop
  ROWFS_ASSIGN_OR_RETURN(
      Bytes bytes, reader.Read({begin, begin + std::min(left, kWindowBytes)},
                               ReadKind::kMetadata));
  ROWFS_ASSIGN_OR_RETURN(const ByteRange metadata, MetadataOf(bytes, begin));
  if (metadata.empty()) return Found();
  if (metadata.end > reader.size()) return Bad("the file is cut off inside it");
  if (metadata.end - begin > bytes.size()) {
    ROWFS_ASSIGN_OR_RETURN(
        bytes, reader.Read({begin, metadata.end}, ReadKind::kMetadata));
  }
  ROWFS_ASSIGN_OR_RETURN(const IpcHead head,
                         ParseIpcHead(ByteSpan(bytes).subspan(
                             metadata.begin - begin, metadata.size())));
  ROWFS_ASSIGN_OR_RETURN(const IpcMessage message,
                         Describe(reader, begin, metadata, head));
  return Found(std::pair(head, message));
}

Result<IpcMessage> ReadSchemaAt(const ObjectReader& reader, uint64_t begin) {
  ROWFS_ASSIGN_OR_RETURN(const auto first, ReadMessageAt(reader, begin));
  if (!first || first->first.kind != IpcHead::Kind::kSchema) {
    return Bad("it does not start with a schema");
  }
  return first->second;
}

Result<IpcIndex> ReadStream(const ObjectReader& reader) {
  IpcIndex index;
  index.is_stream = true;
  ROWFS_ASSIGN_OR_RETURN(index.schema, ReadSchemaAt(reader, 0));
  uint64_t at = index.schema.body.end;
  for (;;) {
    ROWFS_ASSIGN_OR_RETURN(const auto next, ReadMessageAt(reader, at));
    if (!next) return index;
    at = next->second.body.end;
    if (next->first.kind == IpcHead::Kind::kBatch) {
      index.batches.push_back(next->second);
    } else if (next->first.kind == IpcHead::Kind::kDictionary) {
      index.dictionaries.push_back(next->second);
    }
  }
}

Result<std::vector<IpcMessage>> ReadBlocks(const ObjectReader& reader,
                                           std::span<const IpcBlock> blocks) {
  std::vector<ByteRange> ranges;
  for (const IpcBlock& block : blocks) {
    if (block.offset > reader.size() || block.metadata_size < 8 ||
        block.metadata_size > reader.size() - block.offset) {
      return Bad("the footer names a block that is not there");
    }
    ranges.push_back({block.offset, block.offset + block.metadata_size});
  }
  ROWFS_ASSIGN_OR_RETURN(const std::vector<Bytes> heads,
                         reader.ReadMany(ranges, ReadKind::kMetadata));
  std::vector<IpcMessage> messages;
  for (size_t i = 0; i < blocks.size(); ++i) {
    ROWFS_ASSIGN_OR_RETURN(const ByteRange metadata,
                           MetadataOf(heads[i], blocks[i].offset));
    if (!ranges[i].Contains(metadata)) {
      return Bad("the footer and a block disagree");
    }
    ROWFS_ASSIGN_OR_RETURN(
        IpcHead head, ParseIpcHead(ByteSpan(heads[i]).subspan(
                          metadata.begin - blocks[i].offset, metadata.size())));
    // The body begins where the block says, after padding.
    ROWFS_ASSIGN_OR_RETURN(messages.emplace_back(),
                           Describe(reader, blocks[i].offset,
                                    {metadata.begin, ranges[i].end}, head));
  }
  return messages;
}

Result<IpcIndex> ReadFile(const ObjectReader& reader) {
  Bytes end(10);
  ROWFS_RETURN_IF_ERROR(
      reader.ReadAt(reader.size() - end.size(), end, ReadKind::kMetadata));
  if (AsText(end).substr(4) != kMagic) {
    return Bad("the file is cut off: no ARROW1 at its end");
  }
  const uint64_t size = LoadU32(end);
  if (size > reader.size() - 10) return Bad("impossible footer size");
  ROWFS_ASSIGN_OR_RETURN(
      const Bytes bytes,
      reader.Read({reader.size() - 10 - size, reader.size() - 10},
                  ReadKind::kMetadata));
  ROWFS_ASSIGN_OR_RETURN(const IpcFooter footer, ParseIpcFooter(bytes));
  IpcIndex index;
  ROWFS_ASSIGN_OR_RETURN(index.schema, ReadSchemaAt(reader, 8));
  ROWFS_ASSIGN_OR_RETURN(index.dictionaries,
                         ReadBlocks(reader, footer.dictionaries));
  ROWFS_ASSIGN_OR_RETURN(index.batches, ReadBlocks(reader, footer.batches));
  return index;
}

}  // namespace

Result<IpcHead> ParseIpcHead(ByteSpan metadata) {
  ROWFS_ASSIGN_OR_RETURN(const Table message, Table::Root(metadata));
  ROWFS_ASSIGN_OR_RETURN(const uint64_t kind, message.Int(1, 1, 0));
  if (kind < 1 || kind > 3) return Bad("of an unknown kind");
  IpcHead head;
  head.kind = static_cast<IpcHead::Kind>(kind);
  ROWFS_ASSIGN_OR_RETURN(head.body_size, message.Int(3, 8, 0));
  if (head.kind != IpcHead::Kind::kBatch) return head;
  ROWFS_ASSIGN_OR_RETURN(const auto batch, message.Child(2));
  if (!batch) return Bad("a record batch without a head");
  ROWFS_ASSIGN_OR_RETURN(head.row_count, batch->Int(0, 8, 0));
  if (head.row_count > INT64_MAX) return Bad("a negative number of rows");
  ROWFS_ASSIGN_OR_RETURN(const auto compression, batch->Child(3));
  head.compressed = compression.has_value();
  return head;
}

Result<IpcFooter> ParseIpcFooter(ByteSpan footer) {
  ROWFS_ASSIGN_OR_RETURN(const Table table, Table::Root(footer));
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan dictionaries, table.Structs(2, 24));
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan batches, table.Structs(3, 24));
  return IpcFooter{BlocksOf(dictionaries), BlocksOf(batches)};
}

Result<IpcIndex> ReadIpcIndex(const ObjectReader& reader) {
  if (reader.size() < 8) return Bad("too short");
  Bytes head(8);
  ROWFS_RETURN_IF_ERROR(reader.ReadAt(0, head, ReadKind::kMetadata));
  const std::string_view text = AsText(head);
  if (text.starts_with("FEA1")) {
    return Status(Code::kUnsupported,
                  "Feather version 1; write it again as version 2");
  }
  if (text.starts_with(kMagic)) {
    if (reader.size() < 18) return Bad("too short");
    return ReadFile(reader);
  }
  if (LoadU32(head) != kContinuation && LoadU32(head) > kMetadataBytesMax) {
    return Bad("this is no Arrow file or stream");
  }
  return ReadStream(reader);
}

}  // namespace rowfs
