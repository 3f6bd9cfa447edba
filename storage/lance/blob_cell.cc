#include "storage/lance/blob_cell.h"

#include <algorithm>
#include <memory>
#include <string_view>

namespace rowfs {
namespace {

using lance::pb::CompressiveEncoding;
using StructEncoding = CompressiveEncoding::VariablePackedStruct;

constexpr uint64_t kLengthBytes = 4;

bool IsFixed(const StructEncoding::Child& child, uint64_t bits) {
  return child.bits_per_value() == bits && child.value().has_flat() &&
         child.value().flat().bits_per_value() == bits &&
         !child.value().flat().has_data();
}

bool IsBytes(const StructEncoding::Child& child) {
  return child.bits_per_length() == 32 && child.value().has_variable() &&
         !child.value().variable().has_values();
}

bool IsInfo(const StructEncoding::Child& child) {
  if (child.bits_per_length() != 32 ||
      !child.value().has_variable_packed_struct()) {
    return false;
  }
  const auto& info = child.value().variable_packed_struct();
  return info.fields_size() == 3 && IsFixed(info.fields(0), 8) &&
         IsBytes(info.fields(1)) && IsBytes(info.fields(2));
}

SharedBytes Share(ByteSpan bytes) {
  return std::make_shared<const Bytes>(bytes.begin(), bytes.end());
}

// Reads a row of which only the beginning may be there.
class RowCursor {
 public:
  RowCursor(ByteSpan row, uint64_t row_size) : row_(row), row_size_(row_size) {}

  uint64_t left() const { return row_size_ - at_; }
  // Bytes of the next `size` that are at hand; all of them once `missing` is 0.
  // kCorruption when the row ends before.
  Result<ByteSpan> Take(uint64_t size) {
    if (size > left()) {
      return Status(Code::kCorruption, "a blob descriptor of " +
                                           std::to_string(row_size_) +
                                           " bytes is cut short");
    }
    const uint64_t begin = std::min<uint64_t>(at_, row_.size());
    const uint64_t end = std::min<uint64_t>(at_ + size, row_.size());
    at_ += size;
    return row_.subspan(begin, end - begin);
  }
  // How many bytes are missing up to here.
  uint64_t missing() const { return at_ > row_.size() ? at_ - row_.size() : 0; }
  Result<uint32_t> Length() {
    ROWFS_ASSIGN_OR_RETURN(const ByteSpan bytes, Take(kLengthBytes));
    return bytes.size() < kLengthBytes ? 0 : LoadU32(bytes);
  }

 private:
  const ByteSpan row_;
  const uint64_t row_size_;
  uint64_t at_ = 0;
};

// blob_info: u8 type, then stream_info and entries, each behind a u32 length.
Status DecodeInfo(RowCursor* cursor, BlobDetail detail, BlobCell* cell) {
  ROWFS_ASSIGN_OR_RETURN(const uint32_t size, cursor->Length());
  if (cursor->missing() > 0) return {};
  if (size != cursor->left()) {
    return {Code::kCorruption, "blob_info of " + std::to_string(size) +
                                   " bytes in " +
                                   std::to_string(cursor->left())};
  }
  if (size == 0) return {};
  if (cell->kind != BlobKind::kPacked && cell->kind != BlobKind::kDedicated) {
    return {Code::kCorruption,
            "blob_info on a blob that is neither packed nor dedicated"};
  }
  BlobInfo info;
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan type, cursor->Take(1));
  ROWFS_ASSIGN_OR_RETURN(const uint32_t stream_size, cursor->Length());
  if (cursor->missing() > 0) return {};
  info.blob_type = static_cast<uint8_t>(type[0]);
  const bool whole = detail == BlobDetail::kFull;
  const uint64_t head =
      whole ? stream_size : std::min<uint64_t>(stream_size, kBlobInfoHeadBytes);
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan stream, cursor->Take(head));
  if (cursor->missing() > 0) return {};
  info.stream_info = Share(stream);
  if (!whole) {
    info.head_only = true;
    cell->info = std::move(info);
    return {};
  }
  ROWFS_ASSIGN_OR_RETURN(const uint32_t entries_size, cursor->Length());
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan entries, cursor->Take(entries_size));
  if (cursor->left() != 0) {
    return {Code::kCorruption, "bytes are left over behind blob_info"};
  }
  info.entries = Share(entries);
  cell->info = std::move(info);
  return {};
}

Status Locate(uint64_t position, uint64_t size, uint32_t blob_id,
              std::string uri, const std::string& file_path, BlobCell* cell) {
  if (!CheckedAdd(position, size)) {
    return {Code::kCorruption, "a blob that ends past any object"};
  }
  cell->offset = position;
  cell->size = size;
  switch (cell->kind) {
    case BlobKind::kInline:
      cell->object = file_path;
      break;
    case BlobKind::kPacked:
      cell->object = SidecarPath(file_path, blob_id);
      break;
    case BlobKind::kDedicated:
      cell->object = SidecarPath(file_path, blob_id);
      cell->offset = 0;
      break;
    case BlobKind::kExternal:
      cell->object = std::move(uri);
      if (blob_id != 0) cell->base_id = blob_id;
      if (size == 0) cell->size.reset();
      break;
    case BlobKind::kManaged:
      cell->object = std::move(uri);
      break;
    case BlobKind::kManagedWithBase:
      cell->object = std::move(uri);
      cell->base_id = blob_id;
      break;
    case BlobKind::kCell:
      break;
  }
  return {};
}

}  // namespace

std::string SidecarPath(const std::string& file_path, uint32_t id) {
  std::string_view stem = file_path;
  if (stem.ends_with(".lance")) stem.remove_suffix(6);
  std::string path = std::string(stem) + "/";
  // The id's bits, lowest first: names of successive ids differ early.
  for (int bit = 0; bit < 32; ++bit) path += (id >> bit & 1) != 0 ? '1' : '0';
  return path + ".blob";
}

Result<DescriptorForm> DescriptorForm::Make(
    const CompressiveEncoding& encoding) {
  const auto& row = encoding.variable_packed_struct();
  const int count = row.fields_size();
  const bool known = encoding.has_variable_packed_struct() && count >= 5 &&
                     IsFixed(row.fields(0), 8) && IsFixed(row.fields(1), 64) &&
                     IsFixed(row.fields(2), 64) && IsFixed(row.fields(3), 32) &&
                     IsBytes(row.fields(4));
  if (known && count == 5) return DescriptorForm{false};
  if (known && count == 6 && IsInfo(row.fields(5))) return DescriptorForm{true};
  return Status(Code::kUnsupported,
                "a blob descriptor of " + std::to_string(count) +
                    " fields that is not of the known form");
}

Result<BlobCell> DecodeDescriptor(ByteSpan row, uint64_t row_size,
                                  DescriptorForm form, BlobDetail detail,
                                  const std::string& file_path,
                                  uint64_t* missing) {
  RowCursor cursor(row, row_size);
  *missing = 0;
  BlobCell cell;
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan head,
                         cursor.Take(kDescriptorHeadBytes));
  if (head.size() < kDescriptorHeadBytes) {
    *missing = cursor.missing();
    return cell;
  }
  const auto kind = static_cast<uint8_t>(head[0]);
  if (kind > static_cast<uint8_t>(BlobKind::kManagedWithBase)) {
    return Status(Code::kUnsupported,
                  "blob kind " + std::to_string(kind) + " is not known");
  }
  cell.kind = static_cast<BlobKind>(kind);
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan uri,
                         cursor.Take(LoadU32(head.subspan(21))));
  *missing = cursor.missing();
  if (*missing > 0) return cell;
  ROWFS_RETURN_IF_ERROR(Locate(
      LoadU64(head.subspan(1)), LoadU64(head.subspan(9)),
      LoadU32(head.subspan(17)), std::string(AsText(uri)), file_path, &cell));
  if (!form.has_info) {
    if (cursor.left() == 0) return cell;
    return Status(Code::kCorruption,
                  "bytes are left over behind a blob descriptor");
  }
  if (detail == BlobDetail::kDescriptor) return cell;
  ROWFS_RETURN_IF_ERROR(DecodeInfo(&cursor, detail, &cell));
  *missing = cursor.missing();
  return cell;
}

}  // namespace rowfs
