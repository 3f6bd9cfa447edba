#include "storage/lance/fragment_writer.h"

#include <charconv>
#include <utility>

#include "storage/lance/commit.h"

namespace rowfs {
namespace {

Status ReadThreshold(const Field& field, std::string_view name,
                     uint64_t* value) {
  const std::string key = "lance-encoding:blob-" + std::string(name);
  const auto text = field.FindMetadata(key);
  if (!text) return {};
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, *value);
  if (error != std::errc() || stop != end || text->empty()) {
    return {Code::kInvalidArgument, "field \"" + field.name + "\": " + key +
                                        " is \"" + *text +
                                        "\", not a number of bytes"};
  }
  return {};
}

}  // namespace

Result<BlobThresholds> FindThresholds(const Field& field,
                                      const LanceWriteOptions& options) {
  return FindThresholds(
      field, BlobThresholds{options.inline_bytes_max, options.packed_bytes_max,
                            options.pack_file_bytes_max});
}

Result<BlobThresholds> FindThresholds(const Field& field,
                                      const BlobThresholds& defaults) {
  BlobThresholds out = defaults;
  ROWFS_RETURN_IF_ERROR(
      ReadThreshold(field, "inline-size-threshold", &out.inline_bytes_max));
  ROWFS_RETURN_IF_ERROR(
      ReadThreshold(field, "dedicated-size-threshold", &out.packed_bytes_max));
  ROWFS_RETURN_IF_ERROR(ReadThreshold(field, "pack-file-size-threshold",
                                      &out.pack_file_bytes_max));
  return out;
}

FragmentWriter::FragmentWriter(const Location& root, LanceFileVersion version)
    : root_(root), version_(version), stem_(MakeDataFileStem()) {}

Result<std::unique_ptr<FragmentWriter>> FragmentWriter::Create(
    const Location& root, const LanceSchema& schema, LanceFileVersion version) {
  std::unique_ptr<FragmentWriter> out(new FragmentWriter(root, version));
  ROWFS_ASSIGN_OR_RETURN(
      out->file_,
      LanceFileWriter::Create(root.Join("data").Join(out->stem_ + ".lance"),
                              schema, version));
  return out;
}

Status FragmentWriter::Append(std::span<const Array> columns) {
  return file_->Append(columns);
}

std::string FragmentWriter::NextSidecar() {
  std::string name;
  for (uint32_t bit = 0; bit < 32; ++bit) {
    name += (next_sidecar_ >> bit & 1) != 0 ? '1' : '0';
  }
  ++next_sidecar_;
  return "data/" + stem_ + "/" + name + ".blob";
}

Result<BlobCell> FragmentWriter::Store(ByteSpan bytes,
                                       const BlobThresholds& thresholds,
                                       size_t pack, bool sidecar_only) {
  if (bytes.size() > thresholds.packed_bytes_max) {
    ROWFS_ASSIGN_OR_RETURN(Dedicated dedicated, StartDedicated());
    ROWFS_RETURN_IF_ERROR(dedicated.writer->Write(bytes));
    return FinishDedicated(std::move(dedicated), bytes.size());
  }
  if (sidecar_only || bytes.size() > thresholds.inline_bytes_max) {
    return StorePacked(bytes, thresholds, pack);
  }
  BlobCell cell{.kind = BlobKind::kInline,
                .object = "data/" + stem_ + ".lance",
                .size = bytes.size()};
  if (!bytes.empty()) {
    ROWFS_ASSIGN_OR_RETURN(cell.offset, file_->WriteBlob(bytes));
  }
  return cell;
}

Result<BlobCell> FragmentWriter::StorePacked(ByteSpan bytes,
                                             const BlobThresholds& thresholds,
                                             size_t pack_number) {
  Pack& pack = packs_[pack_number];
  const bool full = pack.size > 0 &&
                    (pack.size >= thresholds.pack_file_bytes_max ||
                     bytes.size() > thresholds.pack_file_bytes_max - pack.size);
  if (pack.writer != nullptr && full) {
    ROWFS_RETURN_IF_ERROR(FinishPack(&pack));
  }
  if (pack.writer == nullptr) {
    const std::string path = NextSidecar();
    ROWFS_ASSIGN_OR_RETURN(
        pack.writer,
        root_.store->Create(root_.Join(path).path, PutMode::kIfAbsent));
    pack.path = path;
    pack.size = 0;
  }
  ROWFS_RETURN_IF_ERROR(pack.writer->Write(bytes));
  BlobCell cell{.kind = BlobKind::kPacked,
                .object = pack.path,
                .offset = pack.size,
                .size = bytes.size()};
  pack.size += bytes.size();
  sidecar_bytes_ += bytes.size();
  return cell;
}

Status FragmentWriter::FinishPack(Pack* pack) {
  const std::unique_ptr<ObjectWriter> writer = std::move(pack->writer);
  ROWFS_RETURN_IF_ERROR(writer->Finish());
  finished_.push_back(root_.Join(pack->path));
  return {};
}

Result<FragmentWriter::Dedicated> FragmentWriter::StartDedicated() {
  Dedicated out;
  out.cell = {.kind = BlobKind::kDedicated, .object = NextSidecar()};
  const Location file = root_.Join(out.cell.object);
  ROWFS_ASSIGN_OR_RETURN(out.writer,
                         file.store->Create(file.path, PutMode::kIfAbsent));
  return out;
}

Result<BlobCell> FragmentWriter::FinishDedicated(Dedicated dedicated,
                                                 uint64_t size) {
  ROWFS_RETURN_IF_ERROR(dedicated.writer->Finish());
  finished_.push_back(root_.Join(dedicated.cell.object));
  sidecar_bytes_ += size;
  dedicated.cell.size = size;
  return std::move(dedicated.cell);
}

Result<lance::pb::DataFragment> FragmentWriter::Finish() {
  for (auto& [number, pack] : packs_) {
    if (pack.writer != nullptr) ROWFS_RETURN_IF_ERROR(FinishPack(&pack));
  }
  ROWFS_RETURN_IF_ERROR(file_->Finish());
  finished_.push_back(root_.Join("data").Join(stem_ + ".lance"));
  lance::pb::DataFragment fragment;
  fragment.set_physical_rows(file_->row_count());
  auto* data_file = fragment.add_files();
  data_file->set_path(stem_ + ".lance");
  int32_t index = 0;
  for (const int32_t id : file_->field_ids()) {
    data_file->add_fields(id);
    data_file->add_column_indices(index++);
  }
  data_file->set_file_major_version(version_.major);
  data_file->set_file_minor_version(version_.minor);
  data_file->set_file_size_bytes(file_->size());
  return fragment;
}

}  // namespace rowfs
