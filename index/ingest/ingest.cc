#include "index/ingest/ingest.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "index/dataset/blob_columns.h"
#include "index/ingest/blob_ingest.h"
#include "index/ingest/ingest_marker.h"
#include "storage/base/clock.h"
#include "storage/object/unfinished_uploads.h"

namespace rowfs {
namespace {

constexpr uint64_t kBatchRows = 256;
constexpr std::string_view kIndexSuffix = "__blob_info";

// One column of the output and where it comes from.
struct OutputColumn {
  Field field;
  bool is_blob = false;
  bool is_index = false;  // COLUMN__blob_info of the column before
};

// Laid out and meant alike; what lists call their items does not matter.
bool SameType(const DataType& a, const DataType& b) {
  if (a.id != b.id || a.width != b.width || a.unit != b.unit ||
      a.zone != b.zone || a.precision != b.precision || a.scale != b.scale ||
      a.children.size() != b.children.size()) {
    return false;
  }
  for (size_t i = 0; i < a.children.size(); ++i) {
    const bool named = a.id == TypeId::kStruct;
    if ((named && a.children[i].name != b.children[i].name) ||
        !SameType(*a.children[i].type, *b.children[i].type)) {
      return false;
    }
  }
  return true;
}

// `array` with the names that `type`, the same by SameType, has.
Array Renamed(Array array, const TypePtr& type) {
  if (!SameType(*array.type, *type)) return array;  // its large form
  array.type = type;
  for (size_t i = 0; i < array.children.size(); ++i) {
    array.children[i] =
        Renamed(std::move(array.children[i]), type->children[i].type);
  }
  return array;
}

// The union of the inputs' columns, by name, in order of first appearance.
Result<std::vector<OutputColumn>> PlanColumns(const IngestJob& job) {
  std::vector<OutputColumn> columns;
  const bool many = job.inputs.size() > 1 || job.stage;
  for (const auto& input : job.inputs) {
    for (const Column& column : input->columns()) {
      if (column.role == ColumnRole::kIndex) continue;
      OutputColumn output;
      output.is_blob = column.role == ColumnRole::kBlob;
      output.field = input->table().schema().fields[column.field];
      if (output.is_blob) {
        output.field.type = MakeType(TypeId::kBlob);
      } else {
        // Blobs in structs, lists and maps become plain bytes.
        output.field.type =
            ReplaceBlobType(output.field.type, TypeId::kLargeBinary);
      }
      if (output.is_blob || many) output.field.nullable = true;
      const auto known = std::find_if(columns.begin(), columns.end(),
                                      [&](const OutputColumn& other) {
                                        return other.field.name == column.name;
                                      });
      if (known == columns.end()) {
        columns.push_back(std::move(output));
      } else if (!SameType(*known->field.type, *output.field.type)) {
        return Status(Code::kInvalidArgument,
                      input->source() + ": column " + column.name + " is " +
                          output.field.type->ToString() + ", but " +
                          known->field.type->ToString() +
                          " in the inputs before");
      }
    }
  }
  if (job.layout == IndexLayout::kDescriptor) return columns;
  std::vector<OutputColumn> with_indexes;
  for (OutputColumn& column : columns) {
    const bool is_blob = column.is_blob;
    OutputColumn index;
    index.is_index = true;
    index.field.name = column.field.name + std::string(kIndexSuffix);
    index.field.type = MakeType(TypeId::kLargeBinary);
    with_indexes.push_back(std::move(column));
    if (is_blob) with_indexes.push_back(std::move(index));
  }
  return with_indexes;
}

Status CheckRules(const IngestJob& job, PluginRegistry& plugins,
                  const std::vector<OutputColumn>& columns) {
  for (const MediaRule& rule : job.media) {
    const bool found = std::any_of(
        columns.begin(), columns.end(), [&](const OutputColumn& column) {
          return column.is_blob && column.field.name == rule.column;
        });
    if (!found) {
      std::string names;
      for (const OutputColumn& column : columns) {
        if (column.is_blob) names += " " + column.field.name;
      }
      return {Code::kInvalidArgument,
              "--media " + rule.column + ": no blob column of that name; " +
                  (names.empty() ? "there are none" : "there are:" + names)};
    }
    if (rule.plugin != "auto" && rule.plugin != "none" &&
        plugins.FindByName(rule.plugin) == nullptr) {
      std::string names;
      for (const std::string& name : plugins.Names()) names += " " + name;
      return {Code::kInvalidArgument,
              "--media " + rule.column + ": no plugin is named \"" +
                  rule.plugin + "\"; there are:" + names};
    }
  }
  return {};
}

// Whether any column may come to carry blob_info: then the file version must be
// 2.3. A table without media stays one that every Lance reads.
bool MayHoldMedia(const IngestJob& job,
                  const std::vector<OutputColumn>& columns) {
  return std::any_of(
      columns.begin(), columns.end(), [&](const OutputColumn& column) {
        const auto rule = std::find_if(
            job.media.begin(), job.media.end(),
            [&](const MediaRule& r) { return r.column == column.field.name; });
        // A folder's column of other files holds no media.
        const bool other =
            column.field.name == "file" && rule == job.media.end();
        return column.is_blob && !other &&
               (rule == job.media.end() || rule->plugin != "none");
      });
}

Result<Bytes> ReadAll(const Dataset& input, const Array& cells, uint64_t i) {
  ROWFS_ASSIGN_OR_RETURN(const auto blob, OpenBlobCell(input, cells, i));
  Bytes bytes(blob->size());
  ROWFS_RETURN_IF_ERROR(blob->ReadAt(0, bytes));
  return bytes;
}

class Ingester {
 public:
  Ingester(const IngestJob& job, PluginRegistry& plugins,
           const IngestObserver& observer)
      : job_(job), plugins_(plugins), observer_(observer) {}

  Result<IngestSummary> Run() {
    ROWFS_ASSIGN_OR_RETURN(columns_, PlanColumns(job_));
    ROWFS_RETURN_IF_ERROR(CheckRules(job_, plugins_, columns_));
    for (const auto& input : job_.inputs) {
      progress_.rows_total += input->row_count();
    }
    const std::string key = job_.append || job_.stage ? "" : IngestKey(job_);
    const Status opened = OpenWriter();
    if (opened.code() == Code::kAlreadyExists && !key.empty() &&
        HasIngestMarker(job_.output, key)) {
      return EndKilledIngest();
    }
    ROWFS_RETURN_IF_ERROR(opened);
    if (!job_.append) {
      ROWFS_RETURN_IF_ERROR(PutIngestMarker(job_.output, key));
    }
    for (const auto& input : job_.inputs) {
      ROWFS_RETURN_IF_ERROR(Copy(*input));
    }
    if (job_.stage) {
      ROWFS_ASSIGN_OR_RETURN(summary_.fragments, writer_->Stage());
      return std::move(summary_);
    }
    ROWFS_ASSIGN_OR_RETURN(summary_.version, writer_->Commit());
    if (!job_.append) {
      ROWFS_RETURN_IF_ERROR(RemoveIngestMarker(job_.output));
      // What it left when it was killed midway; not ours to fail for.
      static_cast<void>(AbortUploads(job_.output, began_ns_, false).ok());
    }
    return std::move(summary_);
  }

 private:
  // It was killed behind its commit.
  Result<IngestSummary> EndKilledIngest() {
    ROWFS_RETURN_IF_ERROR(RemoveIngestMarker(job_.output));
    summary_.version = 1;
    summary_.rows = progress_.rows_total;
    summary_.was_complete = true;
    return std::move(summary_);
  }

  Status OpenWriter() {
    LanceWriteOptions options;
    if (job_.append) {
      ROWFS_ASSIGN_OR_RETURN(writer_,
                             LanceDatasetWriter::Append(job_.output, options));
    } else {
      const bool descriptors = job_.layout == IndexLayout::kDescriptor;
      if (descriptors && MayHoldMedia(job_, columns_)) options.version = {2, 3};
      for (const OutputColumn& column : columns_) {
        schema_.fields.push_back(column.field);
      }
      auto created = LanceDatasetWriter::Create(job_.output, schema_, options);
      if (created.status().code() == Code::kAlreadyExists) {
        return {Code::kAlreadyExists, std::string(created.status().message()) +
                                          "; `rowfs append` adds rows to it"};
      }
      ROWFS_ASSIGN_OR_RETURN(writer_, std::move(created));
    }
    schema_ = writer_->schema();
    return MatchSchema();
  }

  // The writer's schema decides the order; every column of it must be ours, and
  // ours must be in it.
  Status MatchSchema() {
    std::vector<OutputColumn> ordered;
    for (size_t i = 0; i < schema_.fields.size(); ++i) {
      const Field& field = schema_.fields[i];
      const auto found = std::find_if(columns_.begin(), columns_.end(),
                                      [&](const OutputColumn& column) {
                                        return column.field.name == field.name;
                                      });
      OutputColumn column;
      if (found != columns_.end()) {
        column = *found;
        if (!SameType(*column.field.type, *field.type)) {
          return {Code::kInvalidArgument,
                  "column " + field.name + " is " +
                      column.field.type->ToString() + " in the input and " +
                      field.type->ToString() + " in " + job_.output.uri()};
        }
      }
      column.field = field;
      if (column.is_blob) {
        blobs_.emplace(
            i, BlobIngest(job_, plugins_, *writer_, i, RuleFor(field.name)));
      }
      ordered.push_back(std::move(column));
    }
    for (const OutputColumn& column : columns_) {
      if (!schema_.Find(column.field.name)) {
        return {Code::kInvalidArgument, "column " + column.field.name +
                                            " is not in " + job_.output.uri()};
      }
    }
    columns_ = std::move(ordered);
    return {};
  }

  MediaRule RuleFor(const std::string& name) const {
    for (const MediaRule& rule : job_.media) {
      if (rule.column == name) return rule;
    }
    // A table without media columns stays one that every Lance reads, whatever
    // its other files turn out to be.
    if (job_.layout == IndexLayout::kDescriptor &&
        !MayHoldMedia(job_, columns_)) {
      return {name, "none", ""};
    }
    return {name, "auto", ""};
  }

  Status Copy(Dataset& input) {
    std::vector<size_t> fields(input.table().schema().fields.size());
    std::iota(fields.begin(), fields.end(), size_t{0});
    ROWFS_ASSIGN_OR_RETURN(auto reader,
                           input.table().Scan(fields, 0, input.row_count(),
                                              kBatchRows, BlobDetail::kFull));
    for (;;) {
      ROWFS_ASSIGN_OR_RETURN(const RecordBatch batch, reader->Next());
      if (batch.row_count == 0) return {};
      ROWFS_RETURN_IF_ERROR(CopyBatch(input, batch));
    }
  }

  // Rows go in one by one, so that progress shows and one large blob at a time
  // is under way; the arrays of a batch are built up beside.
  Status CopyBatch(Dataset& input, const RecordBatch& batch) {
    const auto name_field = input.table().schema().Find("file_name");
    std::map<size_t, ArrayBuilder> builders;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].is_blob || columns_[c].is_index) {
        builders.emplace(c, ArrayBuilder(columns_[c].field.type));
      }
    }
    for (uint64_t row = 0; row < batch.row_count; ++row) {
      std::string name;
      if (name_field && !batch.columns[*name_field].IsNull(row)) {
        const Array& names = batch.columns[*name_field];
        if (names.type->id == TypeId::kString)
          name = AsText(names.BytesAt(row));
      }
      for (size_t c = 0; c < columns_.size(); ++c) {
        if (!columns_[c].is_blob) continue;
        const Status stored = CopyBlob(input, batch, row, c, name, &builders);
        if (!stored.ok()) {
          return stored.With("row " + std::to_string(progress_.rows_done) +
                             (name.empty() ? "" : " (" + name + ")") +
                             " column " + columns_[c].field.name);
        }
      }
      ++progress_.rows_done;
      ++summary_.rows;
      if (observer_.progress) observer_.progress(progress_);
    }
    RecordBatch out;
    out.schema = schema_;
    out.row_count = batch.row_count;
    for (size_t c = 0; c < columns_.size(); ++c) {
      const auto built = builders.find(c);
      const auto field = input.table().schema().Find(columns_[c].field.name);
      if (built != builders.end()) {
        out.columns.push_back(built->second.Finish());
      } else if (field) {
        Result<Array> plain =
            BlobsAsBytes(batch.columns[*field],
                         [&](const Array& cells, uint64_t i) -> Result<Bytes> {
                           return ReadAll(input, cells, i);
                         });
        if (!plain.ok()) {
          return plain.status().With("column " + columns_[c].field.name);
        }
        out.columns.push_back(
            Renamed(std::move(plain).value(), columns_[c].field.type));
      } else {
        out.columns.push_back(
            NullArray(columns_[c].field.type, batch.row_count));
      }
    }
    return writer_->Append(out);
  }

  Status CopyBlob(Dataset& input, const RecordBatch& batch, uint64_t row,
                  size_t c, const std::string& name,
                  std::map<size_t, ArrayBuilder>* builders) {
    ArrayBuilder& cells = builders->at(c);
    const auto index = builders->find(c + 1);
    const bool has_index = index != builders->end() && columns_[c + 1].is_index;
    const auto field = input.table().schema().Find(columns_[c].field.name);
    if (!field || batch.columns[*field].IsNull(row)) {
      cells.AppendNull();
      if (has_index) index->second.AppendNull();
      return {};
    }
    ROWFS_ASSIGN_OR_RETURN(const auto blob,
                           OpenBlobCell(input, batch.columns[*field], row));
    ROWFS_ASSIGN_OR_RETURN(StoredBlob stored, blobs_.at(c).Store(*blob, name));
    ++summary_.blobs;
    summary_.bytes_in += blob->size();
    summary_.bytes_out += stored.bytes_out;
    progress_.bytes_done += blob->size();
    if (stored.info) ++summary_.with_views;
    if (!stored.refusal.empty()) {
      summary_.refused.push_back(
          {progress_.rows_done, columns_[c].field.name, name, stored.refusal});
      if (observer_.refused) observer_.refused(summary_.refused.back());
    }
    cells.AppendBlob(std::move(stored.cell));
    if (has_index && stored.info) {
      index->second.AppendBytes(EncodeBlobInfo(*stored.info));
    } else if (has_index) {
      index->second.AppendNull();
    }
    return {};
  }

  const IngestJob& job_;
  const int64_t began_ns_ = RealClock().NowNs();
  PluginRegistry& plugins_;
  const IngestObserver& observer_;
  std::vector<OutputColumn> columns_;
  Schema schema_;
  std::unique_ptr<LanceDatasetWriter> writer_;
  std::map<size_t, BlobIngest> blobs_;
  IngestProgress progress_;
  IngestSummary summary_;
};

}  // namespace

Result<IngestSummary> WriteDatasetWithBlobInfo(const IngestJob& job,
                                               PluginRegistry& plugins,
                                               const IngestObserver& observer) {
  if (job.inputs.empty()) {
    return Status(Code::kInvalidArgument, "nothing to ingest");
  }
  return Ingester(job, plugins, observer).Run();
}

}  // namespace rowfs
