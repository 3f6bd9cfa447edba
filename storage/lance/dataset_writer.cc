#include "storage/lance/dataset_writer.h"

#include <algorithm>
#include <utility>

#include "storage/lance/blob_writer.h"
#include "storage/lance/commit.h"
#include "storage/lance/fragment_list.h"
#include "storage/lance/fragment_writer.h"
#include "storage/lance/versions.h"
#include "storage/table/array_layout.h"

namespace rowfs {
namespace {

// A batch that goes on from an array of ours may have grown to large offsets.
bool Fits(const DataType& field, const DataType& array) {
  if (LargeForm(field.id) != LargeForm(array.id)) return false;
  if (field.children.size() != array.children.size() || !IsListLike(field.id)) {
    return SameType(field, array) || IsByteLike(field.id);
  }
  return Fits(*field.children[0].type, *array.children[0].type);
}

// Failing leaves files that nothing refers to.
void RemoveAll(const std::vector<Location>& files) {
  for (const Location& file : files) {
    const Status ignored = file.store->Remove(file.path);
    static_cast<void>(ignored);
  }
}

class Writer final : public LanceDatasetWriter {
 public:
  Writer(const Location& root, LanceSchema schema,
         const LanceWriteOptions& options)
      : root_(root),
        lance_schema_(std::move(schema)),
        schema_(lance_schema_.ToSchema()),
        options_(options) {}

  ~Writer() override { RemoveFiles(); }

  // A new dataset has no version to append to.
  void StartFrom(uint64_t version) { read_version_ = version; }
  // As a manifest has them.
  void StoreFields(google::protobuf::RepeatedPtrField<lance::pb::Field> f) {
    fields_ = std::move(f);
  }

  Status Check() const;

  const Schema& schema() const override { return schema_; }
  Result<std::unique_ptr<LanceBlobWriter>> StartBlob(size_t field,
                                                     bool with_info) override;
  Status Append(const RecordBatch& batch) override;
  Result<uint64_t> Commit() override;
  Result<std::string> Stage() override;

 private:
  Status Fail(Status status) {
    if (!status.ok() && status_.ok()) status_ = status;
    return status;
  }
  Status CheckBatch(const RecordBatch& batch) const;
  Status AppendSome(const RecordBatch& batch);
  Status OpenFragment();
  Status FinishFragment();
  bool IsFull() const;
  Status FinishAll();
  lance::pb::Transaction::Overwrite WholeTable() const;
  Result<uint64_t> TryCommit();
  Result<std::string> TryStage();
  void RemoveFiles();

  const Location root_;
  const LanceSchema lance_schema_;
  const Schema schema_;
  const LanceWriteOptions options_;
  std::optional<uint64_t> read_version_;
  google::protobuf::RepeatedPtrField<lance::pb::Field> fields_;
  std::unique_ptr<FragmentWriter> fragment_;
  // Blobs of the current fragment that no row has yet.
  std::shared_ptr<BlobLedger> ledger_ = std::make_shared<BlobLedger>();
  std::vector<lance::pb::DataFragment> fragments_;
  std::vector<Location> finished_;
  bool info_ = false;        // some cell carries blob_info
  bool committing_ = false;  // files may be part of a version
  Status status_;
};

Status Writer::Check() const {
  const LanceFileVersion version = options_.version;
  if (version != LanceFileVersion{2, 2} && version != LanceFileVersion{2, 3}) {
    return {Code::kUnsupported, root_.uri() +
                                    ": only data of file version "
                                    "2.2 and 2.3 is written, not " +
                                    std::to_string(version.major) + "." +
                                    std::to_string(version.minor)};
  }
  if (lance_schema_.fields.empty()) {
    return {Code::kInvalidArgument, root_.uri() + ": a table needs a column"};
  }
  for (const LanceField& field : lance_schema_.fields) {
    if (auto leaves = FindLeaves(field); !leaves.ok()) return leaves.status();
    if (auto limits = FindThresholds(field.field, options_); !limits.ok()) {
      return limits.status();
    }
  }
  return {};
}

Status Writer::OpenFragment() {
  if (fragment_ != nullptr && IsFull() && ledger_->pending == 0 &&
      ledger_->open_fields.empty()) {
    ROWFS_RETURN_IF_ERROR(FinishFragment());
  }
  if (fragment_ != nullptr) return {};
  ROWFS_ASSIGN_OR_RETURN(fragment_, FragmentWriter::Create(root_, lance_schema_,
                                                           options_.version));
  ledger_->pending = 0;
  return {};
}

bool Writer::IsFull() const {
  return fragment_->row_count() >= options_.rows_per_file_max ||
         fragment_->size() >= options_.bytes_per_file_max;
}

Status Writer::FinishFragment() {
  const std::unique_ptr<FragmentWriter> fragment = std::move(fragment_);
  if (fragment->row_count() == 0) {  // nothing refers to its blobs
    RemoveAll(fragment->finished());
    return {};
  }
  ROWFS_ASSIGN_OR_RETURN(lance::pb::DataFragment done, fragment->Finish());
  fragments_.push_back(std::move(done));
  finished_.insert(finished_.end(), fragment->finished().begin(),
                   fragment->finished().end());
  return {};
}

Result<std::unique_ptr<LanceBlobWriter>> Writer::StartBlob(size_t field,
                                                           bool with_info) {
  ROWFS_RETURN_IF_ERROR(status_);
  if (field >= schema_.fields.size() ||
      schema_.fields[field].type->id != TypeId::kBlob) {
    return Status(Code::kInvalidArgument,
                  "no blob column at " + std::to_string(field));
  }
  if (with_info && options_.version < LanceFileVersion{2, 3}) {
    return Status(Code::kInvalidArgument,
                  "blob_info needs data of file version 2.3");
  }
  if (ledger_->open_fields.contains(field)) {
    return Status(Code::kInvalidArgument, "a blob of column \"" +
                                              schema_.fields[field].name +
                                              "\" is being written already");
  }
  ROWFS_RETURN_IF_ERROR(Fail(OpenFragment()));
  ROWFS_ASSIGN_OR_RETURN(const BlobThresholds thresholds,
                         FindThresholds(schema_.fields[field], options_));
  return MakeBlobWriter(fragment_.get(), ledger_, thresholds, field, with_info);
}

Status Writer::CheckBatch(const RecordBatch& batch) const {
  if (batch.columns.size() != schema_.fields.size()) {
    return {Code::kInvalidArgument, "a batch of " +
                                        std::to_string(batch.columns.size()) +
                                        " columns for a table of " +
                                        std::to_string(schema_.fields.size())};
  }
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    const Array& array = batch.columns[i];
    const Field& field = schema_.fields[i];
    const std::string what = "column \"" + field.name + "\"";
    if (array.length != batch.row_count) {
      return {Code::kInvalidArgument,
              what + " has " + std::to_string(array.length) + " rows of " +
                  std::to_string(batch.row_count)};
    }
    if (!Fits(*field.type, *array.type)) {
      return {Code::kInvalidArgument, what + " is " + array.type->ToString() +
                                          ", the table has " +
                                          field.type->ToString()};
    }
    if (!field.nullable && array.null_count > 0) {
      return {Code::kInvalidArgument, what + " must not have nulls"};
    }
    ROWFS_RETURN_IF_ERROR(Validate(array, what));
  }
  return {};
}

Status Writer::Append(const RecordBatch& batch) {
  ROWFS_RETURN_IF_ERROR(status_);
  ROWFS_RETURN_IF_ERROR(CheckBatch(batch));
  // Cells that lie in the current file already keep their rows in it.
  if (ledger_->pending > 0) return Fail(AppendSome(batch));
  for (uint64_t begin = 0; begin < batch.row_count;) {
    ROWFS_RETURN_IF_ERROR(Fail(OpenFragment()));
    const uint64_t room =
        options_.rows_per_file_max -
        std::min(options_.rows_per_file_max - 1, fragment_->row_count());
    const uint64_t rows = std::min(room, batch.row_count - begin);
    if (rows == batch.row_count) return Fail(AppendSome(batch));
    RecordBatch part{.row_count = rows};
    for (const Array& column : batch.columns) {
      part.columns.push_back(SliceArray(column, begin, rows));
    }
    ROWFS_RETURN_IF_ERROR(Fail(AppendSome(part)));
    begin += rows;
  }
  return {};
}

Status Writer::AppendSome(const RecordBatch& batch) {
  if (batch.row_count == 0) return {};
  ROWFS_RETURN_IF_ERROR(OpenFragment());
  std::vector<Array> columns;
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    BlobSink sink{.fragment = fragment_.get(),
                  .ledger = ledger_.get(),
                  .pack = i,
                  .allow_info = options_.version >= LanceFileVersion{2, 3}};
    ROWFS_ASSIGN_OR_RETURN(sink.thresholds,
                           FindThresholds(schema_.fields[i], options_));
    ROWFS_ASSIGN_OR_RETURN(Array stored, StoreBlobs(lance_schema_.fields[i],
                                                    batch.columns[i], &sink));
    columns.push_back(std::move(stored));
    info_ = info_ || sink.saw_info;
  }
  return fragment_->Append(columns);
}

Result<uint64_t> Writer::Commit() {
  ROWFS_RETURN_IF_ERROR(status_);
  auto version = TryCommit();
  status_ = version.ok() ? Status(Code::kInvalidArgument,
                                  root_.uri() + ": committed already")
                         : version.status();
  return version;
}

Result<std::string> Writer::Stage() {
  ROWFS_RETURN_IF_ERROR(status_);
  auto list = TryStage();
  status_ = list.ok() ? Status(Code::kInvalidArgument,
                               root_.uri() + ": staged already")
                      : list.status();
  return list;
}

Status Writer::FinishAll() {
  if (!ledger_->open_fields.empty()) {
    return {Code::kInvalidArgument, "a blob is still being written"};
  }
  return fragment_ != nullptr ? FinishFragment() : Status();
}

lance::pb::Transaction::Overwrite Writer::WholeTable() const {
  lance::pb::Transaction::Overwrite table;
  table.mutable_fragments()->Assign(fragments_.begin(), fragments_.end());
  *table.mutable_schema() = fields_;
  for (const auto& [key, value] : schema_.metadata) {
    (*table.mutable_schema_metadata())[key] = value;
  }
  return table;
}

Result<std::string> Writer::TryStage() {
  ROWFS_RETURN_IF_ERROR(FinishAll());
  FragmentList list{.table = WholeTable(),
                    .data_format = std::to_string(options_.version.major) +
                                   "." + std::to_string(options_.version.minor),
                    .blob_info = info_,
                    .read_version = read_version_.value_or(0)};
  const size_t below = root_.Join("data").path.size() - 4;
  for (const Location& file : finished_) {
    ROWFS_ASSIGN_OR_RETURN(const ObjectMeta meta, file.store->Stat(file.path));
    list.files.push_back({file.path.substr(below), meta.size});
  }
  committing_ = true;
  return EncodeFragmentList(list);
}

Result<uint64_t> Writer::TryCommit() {
  ROWFS_RETURN_IF_ERROR(FinishAll());
  lance::pb::Transaction transaction;
  CommitOptions options;
  options.data_format = std::to_string(options_.version.major) + "." +
                        std::to_string(options_.version.minor);
  if (info_) options.add_flags = kFlagSixFieldBlobs;
  if (read_version_) {
    if (fragments_.empty()) return *read_version_;
    transaction.set_read_version(*read_version_);
    transaction.mutable_append()->mutable_fragments()->Assign(
        fragments_.begin(), fragments_.end());
  } else {
    *transaction.mutable_overwrite() = WholeTable();
  }
  for (const auto& [key, value] : options_.properties) {
    (*transaction.mutable_properties())[key] = value;
  }
  committing_ = true;
  ROWFS_ASSIGN_OR_RETURN(
      const CommitResult result,
      CommitTransaction(root_, std::move(transaction), options));
  return result.version;
}

// Without a commit nobody can refer to them.
void Writer::RemoveFiles() {
  if (committing_) return;
  if (fragment_ != nullptr) {
    finished_.insert(finished_.end(), fragment_->finished().begin(),
                     fragment_->finished().end());
    fragment_.reset();
  }
  RemoveAll(finished_);
}

Result<LanceFileVersion> ParseVersion(const lance::pb::Manifest& manifest) {
  const std::string& text = manifest.data_format().version();
  if (text == "2.2") return LanceFileVersion{2, 2};
  if (text == "2.3") return LanceFileVersion{2, 3};
  return Status(Code::kUnsupported,
                "its data files are of version " +
                    (text.empty() ? "0.1" : text) +
                    "; rows are appended to 2.2 and 2.3 only");
}

}  // namespace

Result<std::unique_ptr<LanceDatasetWriter>> LanceDatasetWriter::Create(
    const Location& root, const Schema& schema,
    const LanceWriteOptions& options) {
  const auto latest = FindLatest(root);
  if (latest.ok()) {
    return Status(Code::kAlreadyExists,
                  root.uri() + ": there is a Lance dataset already");
  }
  if (latest.status().code() != Code::kNotFound) return latest.status();
  ROWFS_ASSIGN_OR_RETURN(const std::vector<StoredField> fields,
                         EncodeSchema(schema, 0));
  ROWFS_ASSIGN_OR_RETURN(LanceSchema lance_schema,
                         DecodeSchema(fields, schema.metadata));
  auto writer =
      std::make_unique<Writer>(root, std::move(lance_schema), options);
  ROWFS_RETURN_IF_ERROR(writer->Check());
  google::protobuf::RepeatedPtrField<lance::pb::Field> messages;
  for (const StoredField& field : fields) *messages.Add() = ToMessage(field);
  writer->StoreFields(std::move(messages));
  return std::unique_ptr<LanceDatasetWriter>(std::move(writer));
}

Result<std::unique_ptr<LanceDatasetWriter>> LanceDatasetWriter::Append(
    const Location& root, const LanceWriteOptions& options) {
  ROWFS_ASSIGN_OR_RETURN(const ManifestName latest, FindLatest(root));
  ROWFS_ASSIGN_OR_RETURN(
      const Manifest manifest,
      ReadManifest(root.Join("_versions"), latest, ManifestParts::kMessage));
  ROWFS_RETURN_IF_ERROR(CheckReadable(manifest.message).With(root.uri()));
  ROWFS_RETURN_IF_ERROR(CheckWritable(manifest.message).With(root.uri()));
  LanceWriteOptions own = options;
  const auto version = ParseVersion(manifest.message);
  if (!version.ok()) return version.status().With(root.uri());
  own.version = version.value();
  ROWFS_ASSIGN_OR_RETURN(LanceSchema schema, ManifestSchema(manifest.message));
  auto writer = std::make_unique<Writer>(root, std::move(schema), own);
  writer->StartFrom(manifest.message.version());
  writer->StoreFields(manifest.message.fields());
  ROWFS_RETURN_IF_ERROR(writer->Check());
  return std::unique_ptr<LanceDatasetWriter>(std::move(writer));
}

}  // namespace rowfs
