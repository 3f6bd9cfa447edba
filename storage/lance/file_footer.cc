#include "storage/lance/file_footer.h"

#include <utility>

#include "storage/lance/logical_type.h"
#include "storage/lance/manifest.h"

namespace rowfs {
namespace {

constexpr std::string_view kMagic = "LANC";
constexpr uint64_t kFooterBytes = 40;

}  // namespace

Bytes EncodeFooter(uint64_t begin, const lance::pb::FileDescriptor& descriptor,
                   const std::vector<lance::pb::ColumnMetadata>& columns,
                   LanceFileVersion version) {
  Bytes out = SerializeMessage(descriptor);
  const uint64_t descriptor_size = out.size();
  const uint64_t first_column = begin + out.size();
  Bytes table;
  for (const auto& column : columns) {
    const Bytes message = SerializeMessage(column);
    AppendU64(&table, begin + out.size());
    AppendU64(&table, message.size());
    AppendBytes(&out, message);
  }
  const uint64_t column_table = begin + out.size();
  AppendBytes(&out, table);
  const uint64_t global_table = begin + out.size();
  AppendU64(&out, begin);
  AppendU64(&out, descriptor_size);
  AppendU64(&out, first_column);
  AppendU64(&out, column_table);
  AppendU64(&out, global_table);
  AppendU32(&out, 1);
  AppendU32(&out, static_cast<uint32_t>(columns.size()));
  AppendU16(&out, version.major);
  AppendU16(&out, version.minor);
  AppendText(&out, kMagic);
  return out;
}

namespace {

Status Wrong(std::string_view what) {
  return {Code::kInternal,
          "the footer just written is wrong: " + std::string(what)};
}

// The table entry `index` at file offset `table`, as bytes of the footer.
Result<ByteSpan> TableEntry(ByteSpan footer, uint64_t begin, uint64_t table,
                            uint64_t index) {
  ROWFS_ASSIGN_OR_RETURN(
      const ByteSpan entry,
      Slice(footer, table - begin + index * 16, 16, "footer table"));
  return Slice(footer, LoadU64(entry) - begin, LoadU64(entry.subspan(8)),
               "footer message");
}

Status CheckColumn(ByteSpan bytes, uint64_t begin, uint64_t row_count) {
  lance::pb::ColumnMetadata column;
  if (!column.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Wrong("column metadata");
  }
  uint64_t rows = 0;
  for (const auto& page : column.pages()) {
    if (page.priority() != rows || page.length() == 0)
      return Wrong("page rows");
    rows += page.length();
    if (page.buffer_offsets_size() != page.buffer_sizes_size()) {
      return Wrong("buffer count");
    }
    for (int i = 0; i < page.buffer_offsets_size(); ++i) {
      const auto end = CheckedAdd(page.buffer_offsets(i), page.buffer_sizes(i));
      if (!end || *end > begin ||
          page.buffer_offsets(i) % kBufferAlignment != 0) {
        return Wrong("buffer position");
      }
    }
  }
  return rows == row_count ? Status() : Wrong("row count of a column");
}

}  // namespace

Status CheckFooter(ByteSpan footer, uint64_t begin,
                   std::span<const uint64_t> column_rows) {
  if (footer.size() < kFooterBytes || begin % kBufferAlignment != 0) {
    return Wrong("size");
  }
  const ByteSpan end = footer.last(kFooterBytes);
  if (AsText(end.last(4)) != kMagic) return Wrong("magic");
  if (LoadU32(end.subspan(24)) != 1 ||
      LoadU32(end.subspan(28)) != column_rows.size()) {
    return Wrong("counts");
  }
  ROWFS_ASSIGN_OR_RETURN(
      const ByteSpan global,
      TableEntry(footer, begin, LoadU64(end.subspan(16)), 0));
  lance::pb::FileDescriptor descriptor;
  if (!descriptor.ParseFromArray(global.data(),
                                 static_cast<int>(global.size()))) {
    return Wrong("descriptor");
  }
  for (uint64_t i = 0; i < column_rows.size(); ++i) {
    ROWFS_ASSIGN_OR_RETURN(
        const ByteSpan column,
        TableEntry(footer, begin, LoadU64(end.subspan(8)), i));
    ROWFS_RETURN_IF_ERROR(CheckColumn(column, begin, column_rows[i]));
  }
  return {};
}

lance::pb::Encoding DirectEncoding(std::string_view type_url,
                                   std::string_view value) {
  lance::pb::Any any;
  any.set_type_url(std::string(type_url));
  any.set_value(std::string(value));
  lance::pb::Encoding encoding;
  encoding.mutable_direct()->set_encoding(any.SerializeAsString());
  return encoding;
}

namespace {

// A descriptor's fields have no ids of their own.
void AddDescriptorFields(bool with_info, lance::pb::Schema* schema) {
  constexpr std::pair<const char*, const char*> kFields[] = {
      {"kind", "uint8"},     {"position", "uint64"}, {"size", "uint64"},
      {"blob_id", "uint32"}, {"blob_uri", "string"}, {"blob_info", "binary"}};
  for (const auto& [name, logical_type] : kFields) {
    const bool info = std::string_view(name) == "blob_info";
    if (info && !with_info) continue;
    *schema->add_fields() = ToMessage({.id = -1,
                                       .parent_id = -1,
                                       .name = name,
                                       .logical_type = logical_type,
                                       .nullable = info});
  }
}

void AddPhysical(const LanceField& field, int32_t parent_id,
                 const std::map<int32_t, bool>& with_info,
                 lance::pb::Schema* schema) {
  StoredField stored{.id = field.id,
                     .parent_id = parent_id,
                     .name = field.field.name,
                     .logical_type = field.logical_type,
                     .nullable = field.field.nullable,
                     .metadata = field.field.metadata};
  if (field.logical_type == "json") SetJsonExtension(&stored.metadata);
  if (field.kind != LanceFieldKind::kBlobV2) {
    *schema->add_fields() = ToMessage(stored);
    for (const LanceField& child : field.children) {
      AddPhysical(child, field.id, with_info, schema);
    }
    return;
  }
  stored.logical_type = "struct";
  std::erase_if(stored.metadata, [](const auto& entry) {
    return entry.first == kExtensionName;
  });
  stored.metadata.emplace_back("lance-encoding:blob", "true");
  stored.metadata.emplace_back("lance-encoding:packed", "true");
  *schema->add_fields() = ToMessage(stored);
  const auto info = with_info.find(field.id);
  AddDescriptorFields(info != with_info.end() && info->second, schema);
}

}  // namespace

lance::pb::Schema PhysicalSchema(const LanceSchema& schema,
                                 const std::map<int32_t, bool>& with_info) {
  lance::pb::Schema out;
  for (const LanceField& field : schema.fields) {
    AddPhysical(field, -1, with_info, &out);
  }
  for (const auto& [key, value] : schema.metadata) {
    (*out.mutable_metadata())[key] = value;
  }
  return out;
}

}  // namespace rowfs
