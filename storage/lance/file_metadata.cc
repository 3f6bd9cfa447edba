#include "storage/lance/file_metadata.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "storage/lance/file.pb.h"
#include "storage/lance/parse_message.h"

namespace rowfs {
namespace {

constexpr uint64_t kMetadataBytesMax = uint64_t{1} << 30;
constexpr uint64_t kRowsMax = uint64_t{1} << 48;
constexpr std::string_view kBlobKey = "lance-encoding:blob";
// ColumnEncoding is a oneof of values = 1, zones = 2, blob = 3: the first byte
// of the message is the field's tag.
constexpr char kBlobColumnTag = 0x1a;

struct Footer {
  uint64_t columns_begin = 0;  // first column metadata
  uint64_t column_table = 0;   // (position, size) a column
  uint64_t global_table = 0;   // (position, size) a global buffer
  uint32_t global_count = 0;
  uint32_t column_count = 0;
  LanceFileVersion version;
};

Status Corrupt(std::string message) {
  return {Code::kCorruption, std::move(message)};
}

Result<LanceFileVersion> CheckVersion(uint16_t major, uint16_t minor) {
  const std::string name = std::to_string(major) + "." + std::to_string(minor);
  if (major == 0 && minor < 3) {
    return Status(Code::kUnsupported,
                  "a legacy Lance file (format " + name +
                      "); rewrite it with a current Lance release");
  }
  // Format 2.0 says 0.3.
  if (major == 0 && minor == 3) return LanceFileVersion{2, 0};
  if (major != 2 || minor > 3) {
    return Status(Code::kUnsupported,
                  "Lance file format " + name + " is not known");
  }
  return LanceFileVersion{major, minor};
}

Result<Footer> DecodeFooter(ByteSpan bytes, uint64_t file_size) {
  if (AsText(bytes.last(4)) != "LANC") {
    return Corrupt("not a Lance file: it does not end in LANC");
  }
  Footer footer;
  footer.columns_begin = LoadU64(bytes);
  footer.column_table = LoadU64(bytes.subspan(8));
  footer.global_table = LoadU64(bytes.subspan(16));
  footer.global_count = LoadU32(bytes.subspan(24));
  footer.column_count = LoadU32(bytes.subspan(28));
  ROWFS_ASSIGN_OR_RETURN(
      footer.version,
      CheckVersion(LoadU16(bytes.subspan(32)), LoadU16(bytes.subspan(34))));
  const uint64_t end = file_size - kLanceFooterBytes;
  const auto table_fits = [end](uint64_t begin, uint64_t count) {
    return begin <= end && count <= (end - begin) / 16;
  };
  if (footer.columns_begin > footer.column_table ||
      !table_fits(footer.column_table, footer.column_count) ||
      !table_fits(footer.global_table, footer.global_count)) {
    return Corrupt("the footer points outside the file");
  }
  return footer;
}

// The end of the file, grown forwards when something lies before it.
class Tail {
 public:
  explicit Tail(const ObjectReader& reader)
      : reader_(reader), begin_(reader.size()) {}

  // Have [begin, end of file) at hand.
  Status Reach(uint64_t begin) {
    if (begin >= begin_) return {};
    if (begin_ - begin > kMetadataBytesMax) {
      return {
          Code::kResourceExhausted,
          "column metadata of " + std::to_string(begin_ - begin) + " bytes"};
    }
    ROWFS_ASSIGN_OR_RETURN(Bytes more,
                           reader_.Read({begin, begin_}, ReadKind::kMetadata));
    more.insert(more.end(), bytes_.begin(), bytes_.end());
    bytes_ = std::move(more);
    begin_ = begin;
    return {};
  }
  Result<ByteSpan> At(uint64_t offset, uint64_t size,
                      std::string_view what) const {
    if (offset < begin_) {
      return Corrupt(std::string(what) + " is not where the footer says");
    }
    return Slice(bytes_, offset - begin_, size, what);
  }
  uint64_t begin() const { return begin_; }

 private:
  const ObjectReader& reader_;
  uint64_t begin_;
  Bytes bytes_;
};

Result<std::vector<ByteRange>> DecodeTable(const Tail& tail, uint64_t begin,
                                           uint64_t count, uint64_t file_size,
                                           std::string_view what) {
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan table,
                         tail.At(begin, count * 16, what));
  std::vector<ByteRange> ranges;
  ranges.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t offset = LoadU64(table.subspan(i * 16));
    const uint64_t size = LoadU64(table.subspan(i * 16 + 8));
    if (offset > file_size || size > file_size - offset) {
      return Corrupt(std::string(what) + ": entry " + std::to_string(i) +
                     " is outside the file");
    }
    ranges.push_back({offset, offset + size});
  }
  return ranges;
}

template <typename Message>
Result<Message> Parse(ByteSpan bytes, std::string_view what) {
  Message message;
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !ParseMessage(bytes, &message)) {
    return Corrupt(std::string(what) + " is not a message");
  }
  return message;
}

Result<lance::pb::Any> DecodeEncoding(const lance::pb::Encoding& encoding,
                                      std::string_view what) {
  if (encoding.has_indirect()) {
    return Status(Code::kUnsupported,
                  std::string(what) + ": encodings that lie elsewhere");
  }
  return Parse<lance::pb::Any>(AsBytes(encoding.direct().encoding()), what);
}

Result<std::vector<ByteRange>> DecodeBuffers(
    const google::protobuf::RepeatedField<uint64_t>& offsets,
    const google::protobuf::RepeatedField<uint64_t>& sizes, uint64_t end) {
  if (offsets.size() != sizes.size()) {
    return Corrupt(std::to_string(offsets.size()) + " buffer offsets, " +
                   std::to_string(sizes.size()) + " sizes");
  }
  std::vector<ByteRange> buffers;
  for (int i = 0; i < offsets.size(); ++i) {
    if (offsets[i] > end || sizes[i] > end - offsets[i]) {
      return Corrupt("buffer " + std::to_string(i) + " at " +
                     std::to_string(offsets[i]) + "+" +
                     std::to_string(sizes[i]) + " is outside the file");
    }
    buffers.push_back({offsets[i], offsets[i] + sizes[i]});
  }
  return buffers;
}

Result<ColumnPages> DecodeColumn(ByteSpan bytes, uint64_t end) {
  ROWFS_ASSIGN_OR_RETURN(
      lance::pb::ColumnMetadata stored,
      Parse<lance::pb::ColumnMetadata>(bytes, "column metadata"));
  ColumnPages column;
  ROWFS_ASSIGN_OR_RETURN(
      const lance::pb::Any encoding,
      DecodeEncoding(stored.encoding(), "the column's encoding"));
  column.blob =
      !encoding.value().empty() && encoding.value()[0] == kBlobColumnTag;
  ROWFS_ASSIGN_OR_RETURN(
      column.buffers,
      DecodeBuffers(stored.buffer_offsets(), stored.buffer_sizes(), end));
  for (int i = 0; i < stored.pages_size(); ++i) {
    auto& from = *stored.mutable_pages(i);
    const std::string what = "page " + std::to_string(i);
    PageMetadata page{.row_count = from.length(),
                      .first_row = column.row_count};
    auto buffers =
        DecodeBuffers(from.buffer_offsets(), from.buffer_sizes(), end);
    if (!buffers.ok()) return buffers.status().With(what);
    page.buffers = std::move(buffers).value();
    ROWFS_ASSIGN_OR_RETURN(lance::pb::Any any,
                           DecodeEncoding(from.encoding(), what));
    page.type_url = std::move(*any.mutable_type_url());
    page.encoding = std::move(*any.mutable_value());
    if (page.row_count > kRowsMax ||
        column.row_count > kRowsMax - page.row_count) {
      return Corrupt(what + " of " + std::to_string(page.row_count) + " rows");
    }
    column.row_count += page.row_count;
    column.pages.push_back(std::move(page));
  }
  return column;
}

std::vector<StoredField> StoredFields(const lance::pb::Schema& schema) {
  std::vector<StoredField> fields;
  bool in_descriptor = false;
  for (const auto& from : schema.fields()) {
    // A blob's five or six descriptor fields follow it without ids.
    if (in_descriptor && from.id() < 0 && from.parent_id() < 0) continue;
    StoredField field{.id = from.id(),
                      .parent_id = from.parent_id(),
                      .name = from.name(),
                      .logical_type = from.logical_type(),
                      .nullable = from.nullable(),
                      .extension_name = from.extension_name()};
    for (const auto& [key, value] : from.metadata()) {
      field.metadata.emplace_back(key, value);
    }
    std::sort(field.metadata.begin(), field.metadata.end());
    in_descriptor = from.logical_type() == "struct" &&
                    from.metadata().contains(std::string(kBlobKey));
    fields.push_back(std::move(field));
  }
  return fields;
}

Status DecodeDescriptor(ByteSpan bytes, FileMetadata* out) {
  ROWFS_ASSIGN_OR_RETURN(
      const lance::pb::FileDescriptor descriptor,
      Parse<lance::pb::FileDescriptor>(bytes, "the file's schema"));
  out->row_count = descriptor.length();
  if (out->row_count > kRowsMax) {
    return Corrupt("a file of " + std::to_string(out->row_count) + " rows");
  }
  Metadata metadata(descriptor.schema().metadata().begin(),
                    descriptor.schema().metadata().end());
  std::sort(metadata.begin(), metadata.end());
  auto schema =
      DecodeSchema(StoredFields(descriptor.schema()), std::move(metadata));
  // A hint: columns of known types can be read whatever stands beside them.
  if (schema.ok()) out->schema = std::move(schema).value();
  return {};
}

}  // namespace

Result<FileMetadata> ReadFileMetadata(const ObjectReader& reader) {
  const uint64_t size = reader.size();
  if (size < kLanceFooterBytes) {
    return Corrupt("not a Lance file: " + std::to_string(size) + " bytes");
  }
  Tail tail(reader);
  ROWFS_RETURN_IF_ERROR(
      tail.Reach(size - std::min<uint64_t>(size, kLanceTailBytes)));
  ROWFS_ASSIGN_OR_RETURN(
      const ByteSpan footer_bytes,
      tail.At(size - kLanceFooterBytes, kLanceFooterBytes, "the footer"));
  ROWFS_ASSIGN_OR_RETURN(const Footer footer, DecodeFooter(footer_bytes, size));
  if (footer.global_count == 0) {
    return Corrupt("the file has no schema buffer");
  }
  // Global buffer 0 lies before the columns. Where its table is in reach, one
  // read gets both; a table too long for that comes first.
  uint64_t begin = std::min(footer.columns_begin, footer.global_table);
  if (footer.global_table >= tail.begin()) {
    ROWFS_ASSIGN_OR_RETURN(
        const ByteSpan entry,
        tail.At(footer.global_table, 16, "the global buffer table"));
    // A schema far away is read for itself, below.
    const uint64_t schema = LoadU64(entry);
    if (begin - std::min(begin, schema) <= kLanceTailBytes * 16) {
      begin = std::min(begin, schema);
    }
  }
  ROWFS_RETURN_IF_ERROR(tail.Reach(begin));

  FileMetadata metadata{.version = footer.version};
  ROWFS_ASSIGN_OR_RETURN(
      metadata.global_buffers,
      DecodeTable(tail, footer.global_table, footer.global_count, size,
                  "the global buffer table"));
  const ByteRange schema = metadata.global_buffers[0];
  if (schema.begin >= tail.begin()) {
    ROWFS_ASSIGN_OR_RETURN(
        const ByteSpan bytes,
        tail.At(schema.begin, schema.size(), "the file's schema"));
    ROWFS_RETURN_IF_ERROR(DecodeDescriptor(bytes, &metadata));
  } else if (schema.size() > kMetadataBytesMax) {
    return Corrupt("a schema of " + std::to_string(schema.size()) + " bytes");
  } else {
    ROWFS_ASSIGN_OR_RETURN(const Bytes bytes,
                           reader.Read(schema, ReadKind::kMetadata));
    ROWFS_RETURN_IF_ERROR(DecodeDescriptor(bytes, &metadata));
  }
  ROWFS_ASSIGN_OR_RETURN(
      const std::vector<ByteRange> table,
      DecodeTable(tail, footer.column_table, footer.column_count, size,
                  "the column table"));
  uint64_t total = 0;
  for (const ByteRange& range : table) total += range.size();
  if (total > size) return Corrupt("column metadata that overlaps itself");
  for (size_t i = 0; i < table.size(); ++i) {
    const std::string what = "column " + std::to_string(i);
    ROWFS_ASSIGN_OR_RETURN(const ByteSpan bytes,
                           tail.At(table[i].begin, table[i].size(), what));
    auto column = DecodeColumn(bytes, size);
    if (!column.ok()) return column.status().With(what);
    metadata.columns.push_back(std::move(column).value());
  }
  return metadata;
}

}  // namespace rowfs
