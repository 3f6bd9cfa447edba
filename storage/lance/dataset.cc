#include "storage/lance/dataset.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "storage/base/hash.h"
#include "storage/base/thread_pool.h"
#include "storage/lance/row_batch.h"
#include "storage/lance/snapshot.h"
#include "storage/table/struct_fields.h"

namespace rowfs {
namespace {

constexpr uint64_t kRowAddressFragmentShift = 32;

// A column as a table shows it: a field of the dataset, without the siblings
// that are not asked for, and the way from it to the values.
struct ShownColumn {
  Field field;
  LanceField stored;
  FieldPath path;  // in `stored`
};

// `field` with nothing but what `children` lead to. Structs that are stored
// whole stay so, and the rest of the way leads through them as they are.
LanceField Narrow(LanceField field, std::span<const size_t> children,
                  std::vector<size_t>* path) {
  if (children.empty()) return field;
  if (field.kind != LanceFieldKind::kPlain) {
    path->insert(path->end(), children.begin(), children.end());
    return field;
  }
  path->push_back(0);
  LanceField child =
      Narrow(std::move(field.children[children[0]]), children.subspan(1), path);
  DataType type = *field.field.type;
  type.children = {child.field};
  field.field.type = MakeType(std::move(type));
  field.children = {std::move(child)};
  return field;
}

// Scans fragment after fragment; a batch never spans two.
class Scanner final : public BatchReader {
 public:
  Scanner(std::shared_ptr<LanceSnapshot> snapshot,
          std::vector<ShownColumn> columns, ByteRange rows, uint64_t batch_rows,
          BlobDetail detail)
      : snapshot_(std::move(snapshot)),
        columns_(std::move(columns)),
        next_(rows.begin),
        end_(rows.end),
        batch_(batch_rows, batch_rows),
        detail_(detail) {
    for (const ShownColumn& column : columns_) {
      schema_.fields.push_back(column.field);
    }
    schema_.metadata = snapshot_->schema().metadata;
  }

  Result<RecordBatch> Next() override {
    RecordBatch batch;
    batch.schema = schema_;
    if (next_ >= end_) return Finish(std::move(batch));
    const size_t index = snapshot_->FindFragment(next_);
    const uint64_t first = snapshot_->first_row(index);
    const uint64_t stop = std::min(end_, snapshot_->first_row(index + 1));
    const Fragment fragment = snapshot_->fragment(index);
    ROWFS_ASSIGN_OR_RETURN(
        batch.columns,
        batch_.Read(columns_.size(), stop - next_,
                    [&](size_t column, uint64_t rows) -> Result<Array> {
                      ROWFS_ASSIGN_OR_RETURN(
                          Array array,
                          fragment.ReadLive(columns_[column].stored,
                                            next_ - first, rows, detail_));
                      return ValuesAt(std::move(array), columns_[column].path);
                    }));
    batch.row_count = batch_.rows();
    next_ += batch.row_count;
    return batch;
  }

 private:
  Result<RecordBatch> Finish(RecordBatch batch) const {
    for (const Field& field : schema_.fields) {
      batch.columns.push_back(NullArray(field.type, 0));
    }
    return batch;
  }

  const std::shared_ptr<LanceSnapshot> snapshot_;
  const std::vector<ShownColumn> columns_;
  Schema schema_;
  uint64_t next_;
  const uint64_t end_;
  RowBatch batch_;
  const BlobDetail detail_;
};

class LanceTable final : public TableSource, public FieldSource {
 public:
  LanceTable(std::shared_ptr<LanceSnapshot> snapshot,
             std::vector<ShownColumn> columns)
      : snapshot_(std::move(snapshot)), columns_(std::move(columns)) {
    for (const ShownColumn& column : columns_) {
      schema_.fields.push_back(column.field);
    }
    schema_.metadata = snapshot_->schema().metadata;
  }

  std::unique_ptr<TableSource> Select(
      std::span<const FieldPath> paths) override;

  std::string_view format() const override { return "lance"; }
  const Schema& schema() const override { return schema_; }
  uint64_t row_count() const override { return snapshot_->row_count(); }
  std::string fingerprint() const override;
  Json Describe() const override;
  Result<RecordBatch> Take(std::span<const uint64_t> rows,
                           std::span<const size_t> columns,
                           BlobDetail detail) override;
  Result<std::unique_ptr<BatchReader>> Scan(std::span<const size_t> columns,
                                            uint64_t begin, uint64_t end,
                                            uint64_t batch_rows,
                                            BlobDetail detail) override;
  Result<uint64_t> RowId(uint64_t row) override;
  Result<BlobSource> OpenBlob(const BlobCell& cell) override {
    return snapshot_->blobs().Open(cell);
  }
  Result<std::vector<TableVersion>> Versions() override;

 private:
  Status CheckRows(std::span<const uint64_t> rows) const;
  Status CheckColumns(std::span<const size_t> columns) const;
  Result<std::vector<Array>> TakeColumns(size_t fragment_index,
                                         std::span<const size_t> columns,
                                         std::span<const uint64_t> rows,
                                         BlobDetail detail);

  const std::shared_ptr<LanceSnapshot> snapshot_;
  const std::vector<ShownColumn> columns_;
  Schema schema_;
  ThreadPool threads_{8, 256};
  // Whose tasks wait for those of `threads_`.
  ThreadPool fragments_{16, 256};
};

std::unique_ptr<TableSource> LanceTable::Select(
    std::span<const FieldPath> paths) {
  std::vector<ShownColumn> columns;
  for (const FieldPath& path : paths) {
    const ShownColumn& whole = columns_[path.column];
    ShownColumn column{.field = FieldAt(schema_, path)};
    std::vector<size_t> way(whole.path.children);
    if (way.empty()) {
      column.stored = Narrow(whole.stored, path.children, &way);
    } else {  // a field of a field: what was read for it already
      column.stored = whole.stored;
      way.insert(way.end(), path.children.begin(), path.children.end());
    }
    column.path.children = std::move(way);
    columns.push_back(std::move(column));
  }
  return std::make_unique<LanceTable>(snapshot_, std::move(columns));
}

Status LanceTable::CheckRows(std::span<const uint64_t> rows) const {
  for (const uint64_t row : rows) {
    if (row < row_count()) continue;
    return Status(Code::kOutOfRange, "no row " + std::to_string(row) +
                                         " in a table of " +
                                         std::to_string(row_count()));
  }
  return {};
}

Status LanceTable::CheckColumns(std::span<const size_t> columns) const {
  for (const size_t column : columns) {
    if (column < schema().fields.size()) continue;
    return Status(Code::kInvalidArgument,
                  "no column " + std::to_string(column));
  }
  return {};
}

// On a remote store the columns are read side by side: they take the round
// trips of one.
Result<std::vector<Array>> LanceTable::TakeColumns(
    size_t fragment_index, std::span<const size_t> columns,
    std::span<const uint64_t> rows, BlobDetail detail) {
  const Fragment fragment = snapshot_->fragment(fragment_index);
  std::vector<Array> arrays(columns.size());
  std::vector<std::function<Status()>> tasks;
  for (size_t i = 0; i < columns.size(); ++i) {
    tasks.emplace_back([&, i]() -> Status {
      const ShownColumn& column = columns_[columns[i]];
      ROWFS_ASSIGN_OR_RETURN(Array array,
                             fragment.Take(column.stored, rows, detail));
      arrays[i] = ValuesAt(std::move(array), column.path);
      return {};
    });
  }
  const bool remote = snapshot_->resolved().root.store->capabilities().remote;
  if (!remote || columns.size() < 2) {
    for (const auto& task : tasks) ROWFS_RETURN_IF_ERROR(task());
    return arrays;
  }
  // Once, before several columns need it.
  const pb::DataFragment& message =
      snapshot_->message().fragments(static_cast<int>(fragment_index));
  for (const pb::DataFile& file : message.files()) {
    // What is wrong with it concerns the columns that it holds.
    (void)snapshot_->OpenFile(file, message.physical_rows());
  }
  ROWFS_RETURN_IF_ERROR(RunAll(threads_, tasks));
  return arrays;
}

Result<RecordBatch> LanceTable::Take(std::span<const uint64_t> rows,
                                     std::span<const size_t> columns,
                                     BlobDetail detail) {
  ROWFS_RETURN_IF_ERROR(CheckRows(rows));
  ROWFS_RETURN_IF_ERROR(CheckColumns(columns));
  // Positions in `rows` by fragment; each fragment is asked once.
  std::map<size_t, std::vector<uint64_t>> groups;
  for (uint64_t i = 0; i < rows.size(); ++i) {
    groups[snapshot_->FindFragment(rows[i])].push_back(i);
  }
  std::vector<uint64_t> place(rows.size());  // of row i in the joined parts
  uint64_t taken = 0;
  std::vector<std::vector<Array>> taken_of(groups.size());
  std::vector<std::function<Status()>> tasks;
  for (const auto& [index, positions] : groups) {
    std::vector<uint64_t> live;
    for (const uint64_t position : positions) {
      live.push_back(rows[position] - snapshot_->first_row(index));
      place[position] = taken++;
    }
    tasks.emplace_back([this, index, live, columns, detail,
                        out = &taken_of[tasks.size()]]() -> Status {
      ROWFS_ASSIGN_OR_RETURN(const std::vector<uint64_t> physical,
                             snapshot_->fragment(index).Physical(live));
      ROWFS_ASSIGN_OR_RETURN(*out,
                             TakeColumns(index, columns, physical, detail));
      return {};
    });
  }
  const bool remote = snapshot_->resolved().root.store->capabilities().remote;
  if (!remote || tasks.size() < 2) {
    for (const auto& task : tasks) ROWFS_RETURN_IF_ERROR(task());
  } else {
    ROWFS_RETURN_IF_ERROR(RunAll(fragments_, tasks));
  }
  std::vector<std::vector<Array>> parts(columns.size());
  for (std::vector<Array>& arrays : taken_of) {
    for (size_t i = 0; i < columns.size(); ++i) {
      parts[i].push_back(std::move(arrays[i]));
    }
  }
  RecordBatch batch;
  batch.schema.metadata = schema().metadata;
  batch.row_count = rows.size();
  for (size_t i = 0; i < columns.size(); ++i) {
    const Field& field = schema().fields[columns[i]];
    batch.schema.fields.push_back(field);
    if (parts[i].empty()) {
      batch.columns.push_back(NullArray(field.type, 0));
    } else if (parts[i].size() == 1) {
      batch.columns.push_back(std::move(parts[i].front()));
    } else {
      ROWFS_ASSIGN_OR_RETURN(const Array joined, ConcatArrays(parts[i]));
      batch.columns.push_back(TakeArray(joined, place));
    }
  }
  return batch;
}

Result<std::unique_ptr<BatchReader>> LanceTable::Scan(
    std::span<const size_t> columns, uint64_t begin, uint64_t end,
    uint64_t batch_rows, BlobDetail detail) {
  ROWFS_RETURN_IF_ERROR(CheckColumns(columns));
  if (begin > end || end > row_count() || batch_rows == 0) {
    return Status(Code::kOutOfRange, "rows " + std::to_string(begin) + " to " +
                                         std::to_string(end) +
                                         " of a table of " +
                                         std::to_string(row_count()));
  }
  std::vector<ShownColumn> shown;
  for (const size_t column : columns) shown.push_back(columns_[column]);
  return std::unique_ptr<BatchReader>(std::make_unique<Scanner>(
      snapshot_, std::move(shown), ByteRange{begin, end},
      std::min(batch_rows, row_count() + 1), detail));
}

Result<uint64_t> LanceTable::RowId(uint64_t row) {
  const std::vector<uint64_t> rows = {row};
  ROWFS_RETURN_IF_ERROR(CheckRows(rows));
  const size_t index = snapshot_->FindFragment(row);
  const Fragment fragment = snapshot_->fragment(index);
  const std::vector<uint64_t> live = {row - snapshot_->first_row(index)};
  ROWFS_ASSIGN_OR_RETURN(const std::vector<uint64_t> physical,
                         fragment.Physical(live));
  const uint64_t flags = snapshot_->message().reader_feature_flags();
  if ((flags & kFlagStableRowIds) != 0) {
    return fragment.StableRowId(physical[0]);
  }
  return snapshot_->message().fragments(static_cast<int>(index)).id()
             << kRowAddressFragmentShift |
         physical[0];
}

std::string LanceTable::fingerprint() const {
  // The manifest names every file by a unique name; the etag tells a dataset
  // that was put in another's place from it.
  const std::string text = snapshot_->resolved().root.uri() + '\n' +
                           snapshot_->manifest().meta.etag + '\n' +
                           snapshot_->manifest().digest;
  return ToHex(Sha256(AsBytes(text)));
}

Json LanceTable::Describe() const {
  const pb::Manifest& manifest = snapshot_->message();
  std::set<std::string> file_versions;
  uint64_t files = 0;
  uint64_t deleted = 0;
  for (const pb::DataFragment& fragment : manifest.fragments()) {
    deleted += fragment.deletion_file().num_deleted_rows();
    for (const pb::DataFile& file : fragment.files()) {
      ++files;
      const bool old = file.file_major_version() == 0;
      file_versions.insert(old ? "2.0"
                               : std::to_string(file.file_major_version()) +
                                     "." +
                                     std::to_string(file.file_minor_version()));
    }
  }
  Json versions = Json::Array();
  for (const std::string& version : file_versions) {
    versions.items.push_back(Json::String(version));
  }
  const uint64_t flags = manifest.reader_feature_flags();
  Json out = Json::Object();
  out.Add("version", Json::Uint(manifest.version()));
  if (!snapshot_->resolved().branch.empty()) {
    out.Add("branch", Json::String(snapshot_->resolved().branch));
  }
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t seconds = manifest.timestamp().seconds();
  if (seconds > 0 && seconds < INT64_MAX / kSecond) {
    out.Add("timestamp_ns",
            Json::Int(seconds * kSecond + manifest.timestamp().nanos()));
  }
  out.Add("data_format", Json::String(manifest.data_format().version()));
  out.Add("file_versions", std::move(versions));
  out.Add("fragments",
          Json::Uint(static_cast<uint64_t>(manifest.fragments_size())));
  out.Add("data_files", Json::Uint(files));
  out.Add("deleted_rows", Json::Uint(deleted));
  out.Add("reader_flags", Json::Uint(flags));
  out.Add("writer_flags", Json::Uint(manifest.writer_feature_flags()));
  out.Add("stable_row_ids", Json::Bool((flags & kFlagStableRowIds) != 0));
  out.Add("blob_info_descriptors",
          Json::Bool((flags & kFlagSixFieldBlobs) != 0));
  out.Add("base_paths",
          Json::Uint(static_cast<uint64_t>(manifest.base_paths_size())));
  return out;
}

Result<std::vector<TableVersion>> LanceTable::Versions() {
  const ResolvedVersion& resolved = snapshot_->resolved();
  std::vector<TableVersion> out;
  if (!resolved.root.store->capabilities().list) return out;
  ROWFS_ASSIGN_OR_RETURN(const auto entries, ListVersions(resolved.root));
  ROWFS_ASSIGN_OR_RETURN(const auto tags,
                         ListTags(snapshot_->bases().main_root()));
  for (const VersionEntry& entry : entries) {
    TableVersion version;
    version.version = entry.name.version;
    version.timestamp_ns = entry.meta.mtime_ns;
    for (const auto& [name, tag] : tags) {
      if (tag.version == version.version && tag.branch == resolved.branch) {
        version.tags.push_back(name);
      }
    }
    out.push_back(std::move(version));
  }
  return out;
}

Result<bool> Detect(const Location& root, const OpenContext& /*context*/) {
  if (root.store->capabilities().list) {
    const auto versions = ListVersions(root);
    // Damaged, it is still a Lance dataset; opening says what is wrong.
    return versions.ok() || versions.status().code() == Code::kCorruption;
  }
  if (root.path.ends_with(".lance") || root.path.ends_with(".lance/")) {
    return true;
  }
  const auto hint =
      ReadWhole(root.Join("_versions/latest_version_hint.json"), 1 << 10);
  if (!hint.ok()) return false;
  const auto json = ParseJson(AsText(hint.value()));
  return json.ok() && json.value().Find("version") != nullptr;
}

Result<std::unique_ptr<TableSource>> OpenTable(const Location& root,
                                               std::string_view version,
                                               const OpenContext& context) {
  ROWFS_ASSIGN_OR_RETURN(auto snapshot,
                         LanceSnapshot::Open(root, version, context));
  std::vector<ShownColumn> columns;
  for (size_t i = 0; i < snapshot->schema().fields.size(); ++i) {
    columns.push_back({.field = snapshot->schema().fields[i],
                       .stored = snapshot->lance_schema().fields[i],
                       .path = {}});
  }
  return std::unique_ptr<TableSource>(
      std::make_unique<LanceTable>(std::move(snapshot), std::move(columns)));
}

}  // namespace

TableFormat LanceFormat() {
  return {.name = "lance", .detect = Detect, .open = OpenTable};
}

}  // namespace rowfs
