#include "storage/lance/file_writer.h"

#include <algorithm>
#include <utility>

#include "storage/lance/file_footer.h"
#include "storage/lance/page_encoder.h"
#include "storage/lance/stored_form.h"

namespace rowfs {
namespace {

// A page is written when about this much is buffered for its column.
constexpr uint64_t kPageBytes = 8 << 20;
// How much of a batch is looked at in one piece.
constexpr uint64_t kSliceBytes = 1 << 20;
constexpr std::byte kPadding{0x48};

uint64_t ArrayBytes(const Array& array) {
  uint64_t size = 0;
  for (const SharedBytes& buffer :
       {array.validity, array.offsets, array.data}) {
    if (buffer != nullptr) size += buffer->size();
  }
  for (const Array& child : array.children) size += ArrayBytes(child);
  if (array.dictionary != nullptr) size += 16 * array.length;
  return size;
}

// Readers hold values of 32-bit offsets in arrays of as many bits.
Status CheckLengths(const LeafPage& page, const LeafColumn& leaf) {
  constexpr uint64_t kLengthMax = INT32_MAX;
  if (leaf.layout.offset_bits != 32 || page.data.size() <= kLengthMax) {
    return {};
  }
  for (uint64_t i = 0; i < page.slots; ++i) {
    if (page.BytesAt(i).size() <= kLengthMax) continue;
    return {Code::kResourceExhausted,
            leaf.name + ": a value of " +
                std::to_string(page.BytesAt(i).size()) +
                " bytes; only large_string, large_binary and blob columns "
                "hold more than 2 GiB"};
  }
  return {};
}

// Whether the row of a descriptor ends in a blob_info that is there.
bool RowHasInfo(ByteSpan row) {
  constexpr uint64_t kFixedBytes = 21;  // kind, position, size, blob_id
  if (row.size() < kFixedBytes + 4) return false;
  const uint64_t uri_bytes = LoadU32(row.subspan(kFixedBytes));
  return row.size() > kFixedBytes + 4 + uri_bytes + 4;
}

}  // namespace

LanceFileWriter::LanceFileWriter(const LanceSchema& schema,
                                 LanceFileVersion version,
                                 std::unique_ptr<ObjectWriter> writer)
    : schema_(schema), version_(version), writer_(std::move(writer)) {}

Result<std::unique_ptr<LanceFileWriter>> LanceFileWriter::Create(
    const Location& file, const LanceSchema& schema, LanceFileVersion version) {
  if (version != LanceFileVersion{2, 2} && version != LanceFileVersion{2, 3}) {
    return Status(Code::kUnsupported, "writing Lance file version " +
                                          std::to_string(version.major) + "." +
                                          std::to_string(version.minor) +
                                          "; only 2.2 and 2.3 are written");
  }
  std::vector<Column> columns;
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    ROWFS_ASSIGN_OR_RETURN(std::vector<LeafColumn> leaves,
                           FindLeaves(schema.fields[i]));
    for (LeafColumn& leaf : leaves) {
      Column& column = columns.emplace_back();
      column.leaf = std::move(leaf);
      column.field = i;
      // Plain values: "0a 00" is an empty message in field 1.
      *column.metadata.mutable_encoding() = DirectEncoding(
          "/lance.encodings.ColumnEncoding", std::string_view("\n\0", 2));
    }
  }
  ROWFS_ASSIGN_OR_RETURN(std::unique_ptr<ObjectWriter> writer,
                         file.store->Create(file.path, PutMode::kIfAbsent));
  std::unique_ptr<LanceFileWriter> out(
      new LanceFileWriter(schema, version, std::move(writer)));
  out->columns_ = std::move(columns);
  return out;
}

Status LanceFileWriter::Fail(Status status) {
  if (!status.ok() && status_.ok()) status_ = status;
  return status;
}

Status LanceFileWriter::Write(ByteSpan bytes) {
  position_ += bytes.size();
  return writer_->Write(bytes);
}

Status LanceFileWriter::Align() {
  const uint64_t over = position_ % kBufferAlignment;
  if (over == 0) return {};
  return Write(Bytes(kBufferAlignment - over, kPadding));
}

std::vector<int32_t> LanceFileWriter::field_ids() const {
  std::vector<int32_t> ids;
  for (const Column& column : columns_) ids.push_back(column.leaf.field_id);
  return ids;
}

Status LanceFileWriter::Append(std::span<const Array> columns) {
  ROWFS_RETURN_IF_ERROR(status_);
  if (columns.size() != schema_.fields.size()) {
    return {Code::kInvalidArgument,
            std::to_string(columns.size()) + " columns for " +
                std::to_string(schema_.fields.size()) + " fields"};
  }
  std::vector<Array> stored;
  for (size_t i = 0; i < columns.size(); ++i) {
    auto form = StoredForm(schema_.fields[i], columns[i]);
    if (!form.ok()) return Fail(form.status());
    stored.push_back(std::move(form).value());
  }
  for (Column& column : columns_) {
    ROWFS_RETURN_IF_ERROR(Fail(AppendColumn(stored[column.field], &column)));
  }
  if (!columns.empty()) row_count_ += columns[0].length;
  return {};
}

Status LanceFileWriter::AppendColumn(const Array& array, Column* column) {
  if (array.length == 0) return {};
  const uint64_t row_bytes = ArrayBytes(array) / array.length + 1;
  const uint64_t step = std::clamp<uint64_t>(kSliceBytes / row_bytes, 1, 65536);
  if (step >= array.length) return AppendRows(array, column);
  for (uint64_t begin = 0; begin < array.length; begin += step) {
    const uint64_t rows = std::min(step, array.length - begin);
    ROWFS_RETURN_IF_ERROR(AppendRows(SliceArray(array, begin, rows), column));
  }
  return {};
}

Status LanceFileWriter::AppendRows(const Array& array, Column* column) {
  LeafPage& page = column->page;
  const uint64_t before = page.slots;
  Shred(array, column->leaf, &page);
  if (column->leaf.layout.blob) {
    for (uint64_t i = before; i < page.slots && !page.blob_info; ++i) {
      page.blob_info = RowHasInfo(page.BytesAt(i));
    }
    column->blob_info = column->blob_info || page.blob_info;
  }
  if (page.byte_size() >= kPageBytes) return FlushPage(column);
  return {};
}

Status LanceFileWriter::FlushPage(Column* column) {
  if (column->page.rows == 0) return {};
  const LeafPage page = std::exchange(column->page, {});
  ROWFS_RETURN_IF_ERROR(CheckLengths(page, column->leaf));
  const bool planar = version_ >= LanceFileVersion{2, 3};
  ROWFS_ASSIGN_OR_RETURN(const std::vector<EncodedPage> pages,
                         EncodePages(page, column->leaf, planar));
  for (const EncodedPage& encoded : pages) {
    auto* out = column->metadata.add_pages();
    for (const Bytes& buffer : encoded.buffers) {
      ROWFS_RETURN_IF_ERROR(Align());
      out->add_buffer_offsets(position_);
      out->add_buffer_sizes(buffer.size());
      ROWFS_RETURN_IF_ERROR(Write(buffer));
    }
    out->set_length(encoded.rows);
    out->set_priority(column->rows_written);
    *out->mutable_encoding() =
        DirectEncoding(encoded.layout_type, encoded.layout);
    column->rows_written += encoded.rows;
  }
  return {};
}

Result<uint64_t> LanceFileWriter::WriteBlob(ByteSpan bytes) {
  ROWFS_RETURN_IF_ERROR(status_);
  ROWFS_RETURN_IF_ERROR(Fail(Align()));
  const uint64_t offset = position_;
  ROWFS_RETURN_IF_ERROR(Fail(Write(bytes)));
  return offset;
}

Status LanceFileWriter::WriteFooter() {
  for (Column& column : columns_) ROWFS_RETURN_IF_ERROR(FlushPage(&column));
  ROWFS_RETURN_IF_ERROR(Align());
  std::map<int32_t, bool> with_info;
  std::vector<lance::pb::ColumnMetadata> metadata;
  std::vector<uint64_t> column_rows;
  for (const Column& column : columns_) {
    with_info[column.leaf.field_id] = column.blob_info;
    metadata.push_back(column.metadata);
    column_rows.push_back(row_count_ * column.leaf.entries_per_row);
  }
  lance::pb::FileDescriptor descriptor;
  *descriptor.mutable_schema() = PhysicalSchema(schema_, with_info);
  descriptor.set_length(row_count_);
  const uint64_t begin = position_;
  const Bytes footer = EncodeFooter(begin, descriptor, metadata, version_);
  ROWFS_RETURN_IF_ERROR(CheckFooter(footer, begin, column_rows));
  ROWFS_RETURN_IF_ERROR(Write(footer));
  return writer_->Finish();
}

Status LanceFileWriter::Finish() {
  ROWFS_RETURN_IF_ERROR(status_);
  const Status status = Fail(WriteFooter());
  if (status.ok()) status_ = {Code::kInvalidArgument, "the file is finished"};
  return status;
}

namespace {

// Sidecar paths end in ID.blob, the id's 32 bits in reverse order.
Result<uint32_t> SidecarId(std::string_view path) {
  constexpr std::string_view kEnding = ".blob";
  constexpr size_t kDigits = 32;
  const Status bad(Code::kInvalidArgument,
                   "not a sidecar of this dataset: " + std::string(path));
  if (!path.ends_with(kEnding)) return bad;
  path.remove_suffix(kEnding.size());
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return bad;
  path.remove_prefix(slash + 1);
  if (path.size() != kDigits) return bad;
  uint32_t id = 0;
  for (size_t i = 0; i < kDigits; ++i) {
    if (path[i] != '0' && path[i] != '1') return bad;
    if (path[i] == '1') id |= uint32_t{1} << i;
  }
  return id;
}

Status AppendBlobRow(const BlobCell& cell, Bytes* out) {
  uint32_t blob_id = 0;
  std::string_view uri;
  switch (cell.kind) {
    case BlobKind::kInline:
      break;
    case BlobKind::kPacked:
    case BlobKind::kDedicated: {
      ROWFS_ASSIGN_OR_RETURN(blob_id, SidecarId(cell.object));
      break;
    }
    case BlobKind::kExternal:
      if (cell.base_id == 0U) {
        return {Code::kUnsupported,
                "base path 0 cannot be named by an external blob"};
      }
      blob_id = cell.base_id.value_or(0);
      uri = cell.object;
      break;
    case BlobKind::kManaged:
    case BlobKind::kManagedWithBase:
      blob_id = cell.base_id.value_or(0);
      uri = cell.object;
      break;
    case BlobKind::kCell:
      return {Code::kInternal, "a blob cell was not stored"};
  }
  if (cell.info && cell.kind != BlobKind::kPacked &&
      cell.kind != BlobKind::kDedicated) {
    return {Code::kInvalidArgument,
            "blob_info needs a packed or dedicated blob"};
  }
  AppendU8(out, static_cast<uint8_t>(cell.kind));
  AppendU64(out, cell.offset);
  AppendU64(out, cell.size.value_or(0));
  AppendU32(out, blob_id);
  AppendU32(out, static_cast<uint32_t>(uri.size()));
  AppendText(out, uri);
  const Bytes info = cell.info ? EncodeBlobInfo(*cell.info) : Bytes();
  if (info.size() > UINT32_MAX) {
    return {Code::kResourceExhausted, "blob_info of 4 GiB and more"};
  }
  AppendU32(out, static_cast<uint32_t>(info.size()));
  AppendBytes(out, info);
  return {};
}

}  // namespace

Result<Array> EncodeBlobRows(const Array& blobs, std::string_view what) {
  ArrayBuilder rows(MakeType(TypeId::kLargeBinary));
  Bytes row;
  for (uint64_t i = 0; i < blobs.length; ++i) {
    if (blobs.IsNull(i)) {
      rows.AppendNull();
      continue;
    }
    row.clear();
    if (Status status = AppendBlobRow(blobs.blobs[i], &row); !status.ok()) {
      return status.With(what);
    }
    rows.AppendBytes(row);
  }
  return rows.Finish();
}

}  // namespace rowfs
