// rowfs scan.
#include <algorithm>
#include <bit>

#include "fs/cli/column_list.h"
#include "fs/cli/commands.h"
#include "fs/cli/output_file.h"
#include "fs/cli/progress.h"
#include "fs/cli/row_list.h"
#include "fs/cli/tree_session.h"
#include "fs/tree/rows_layout.h"
#include "fs/tree/selection.h"
#include "index/dataset/blob_columns.h"
#include "index/dataset/names.h"
#include "index/dataset/value_text.h"
#include "storage/table/array_bytes.h"
#if ROWFS_WITH_PARQUET
#include "storage/parquet/table_writer.h"
#endif

namespace rowfs {
namespace {

// Rows that are read together: few at first, then as many as keep a batch about
// this large.
constexpr uint64_t kBatchBytes = 8 << 20;
constexpr uint64_t kFirstRows = 4;
constexpr uint64_t kTakeRowsMax = 256;
constexpr uint64_t kScanRowsMax = 16 << 10;
// Runs of rows from here on are scanned, shorter ones taken.
constexpr uint64_t kScanRowsMin = 1024;
// Blob bytes in memory at a time.
constexpr uint64_t kBlobBytesMax = 32 << 20;
constexpr size_t kReadBytes = 1 << 20;

using Write = std::function<Status(ByteSpan)>;

bool HoldsBlobs(const TypePtr& type) {
  return type->id == TypeId::kBlob ||
         ReplaceBlobType(type, TypeId::kString) != type;
}

bool IsBlobRole(ColumnRole role) {
  return role == ColumnRole::kBlob || role == ColumnRole::kTree;
}

// What one scan reads: rows of the chosen columns, with blobs as bytes or
// paths.
class Scanner {
 public:
  Scanner(const Args& args, TreeSession& session, Progress& progress)
      : session_(session),
        dataset_(session.dataset()),
        progress_(progress),
        with_bytes_(args.Has("--blobs")),
        layout_(dataset_.row_count(), TreeOptions::Rows::kAuto) {}

  Status Prepare(const Args& args) {
    ROWFS_ASSIGN_OR_RETURN(columns_, ChooseColumns(dataset_, args));
    if (args.Has("--rows")) {
      ROWFS_ASSIGN_OR_RETURN(selection_,
                             RowsOption(args, dataset_.row_count()));
    } else if (dataset_.row_count() > 0) {
      ROWFS_ASSIGN_OR_RETURN(selection_,
                             Selection::Parse("0-", dataset_.row_count()));
    }
    UniqueNames taken;
    for (const Column& column : dataset_.columns()) {
      const bool shown = column.role != ColumnRole::kIndex;
      row_keys_.push_back(shown ? taken.Take(column.name) : column.name);
    }
    std::vector<FieldPath> paths;
    for (const ChosenColumn& chosen : columns_) {
      paths.push_back(chosen.path);
      const Field field = FieldAt(dataset_.table().schema(), chosen.path);
      keys_.push_back(chosen.whole() ? row_keys_[chosen.column] : field.name);
      fields_.push_back(fields_.size());
      const bool blobs =
          chosen.whole() ? IsBlobRole(dataset_.columns()[chosen.column].role)
                         : HoldsBlobs(field.type);
      holds_blobs_.push_back(blobs);
      has_blobs_ |= blobs;
    }
    table_ = SelectFields(dataset_.table(), paths);
    return {};
  }

  // The columns as they are written.
  Schema OutputSchema() const {
    Schema schema;
    for (size_t c = 0; c < columns_.size(); ++c) {
      const Column& column = dataset_.columns()[columns_[c].column];
      Field field = table_->schema().fields[c];
      const bool blob = field.type->id == TypeId::kBlob;
      const bool top = blob || (columns_[c].whole() && !with_bytes_ &&
                                column.role == ColumnRole::kBlob);
      if (top) {
        field.type =
            MakeType(with_bytes_ ? TypeId::kLargeBinary : TypeId::kString);
        field.nullable = true;
        field.metadata.clear();  // about the stored form
      } else {
        field.type = ReplaceBlobType(
            field.type, with_bytes_ ? TypeId::kLargeBinary : TypeId::kString);
      }
      schema.fields.push_back(std::move(field));
    }
    return schema;
  }

  Status WriteJsonLines(const Write& write) {
    return ForEachBatch([&](RecordBatch& batch,
                            const std::vector<uint64_t>& rows) -> Status {
      std::string text;
      const bool from_rows = has_blobs_ && !with_bytes_;
      if (!from_rows) ROWFS_RETURN_IF_ERROR(ReplaceBlobs(&batch, rows));
      for (size_t i = 0; i < rows.size(); ++i) {
        Json row;
        if (from_rows) {
          ROWFS_ASSIGN_OR_RETURN(row, ReadRowJson(rows[i]));
        }
        text += '{';
        for (size_t c = 0; c < columns_.size(); ++c) {
          if (c > 0) text += ", ";
          text += JsonQuote(keys_[c]) + ": ";
          const Json* value =
              from_rows && holds_blobs_[c] ? FindValue(row, c) : nullptr;
          text += WriteJson(
              value != nullptr ? *value : ValueJson(batch.columns[c], i, {}));
        }
        text += "}\n";
      }
      return write(AsBytes(text));
    });
  }

  using Consume = std::function<Status(const RecordBatch&)>;
  Status WriteBatches(const Schema& schema, const Consume& consume) {
    return ForEachBatch(
        [&](RecordBatch& batch, const std::vector<uint64_t>& rows) -> Status {
          ROWFS_RETURN_IF_ERROR(ReplaceBlobs(&batch, rows));
          batch.schema = schema;
          return consume(batch);
        });
  }

 private:
  using EachBatch =
      std::function<Status(RecordBatch&, const std::vector<uint64_t>&)>;

  Status ForEachBatch(const EachBatch& each) {
    const uint64_t count = selection_.row_count();
    std::vector<uint64_t> scattered;
    for (uint64_t i = 0; i < count;) {
      const uint64_t begin = selection_.at(i);
      uint64_t end = begin;
      while (i < count && selection_.at(i) == end) {
        const uint64_t run = selection_.RunAt(i);
        end += run;
        i += run;
      }
      if (end - begin >= kScanRowsMin) {
        ROWFS_RETURN_IF_ERROR(TakeRows(&scattered, each));
        ROWFS_RETURN_IF_ERROR(ScanRun({begin, end}, each));
        continue;
      }
      for (uint64_t row = begin; row < end; ++row) {
        scattered.push_back(row);
        if (scattered.size() == kTakeRowsMax) {
          ROWFS_RETURN_IF_ERROR(TakeRows(&scattered, each));
        }
      }
    }
    return TakeRows(&scattered, each);
  }

  Status TakeRows(std::vector<uint64_t>* rows, const EachBatch& each) {
    if (rows->empty()) return {};
    // Rows may carry their blobs: a few at a time.
    const size_t most = has_blobs_ ? 32 : kTakeRowsMax;
    for (size_t i = 0; i < rows->size();) {
      const size_t end =
          std::min(rows->size(), i + std::min<size_t>(most, batch_rows_));
      const std::vector<uint64_t> part(
          rows->begin() + static_cast<ptrdiff_t>(i),
          rows->begin() + static_cast<ptrdiff_t>(end));
      const Result<RecordBatch> batch =
          table_->Take(part, fields_, BlobDetail::kHead);
      if (TakesTooMuch(batch.status())) continue;
      ROWFS_RETURN_IF_ERROR(batch.status());
      ROWFS_RETURN_IF_ERROR(InParts(batch.value(), part, each));
      batch_rows_ = WantedRows(batch.value());
      i = end;
    }
    rows->clear();
    return {};
  }

  Status ScanRun(ByteRange run, const EachBatch& each) {
    std::unique_ptr<BatchReader> reader;
    for (uint64_t row = run.begin; row < run.end;) {
      if (reader == nullptr) {
        ROWFS_ASSIGN_OR_RETURN(reader,
                               table_->Scan(fields_, row, run.end, batch_rows_,
                                            BlobDetail::kHead));
      }
      const Result<RecordBatch> read = reader->Next();
      if (TakesTooMuch(read.status())) {
        reader.reset();
        continue;
      }
      ROWFS_RETURN_IF_ERROR(read.status());
      const RecordBatch& batch = read.value();
      if (batch.row_count == 0) {
        return {Code::kCorruption,
                dataset_.source() + ": ends before row " + std::to_string(row)};
      }
      std::vector<uint64_t> rows;
      for (uint64_t i = 0; i < batch.row_count; ++i) rows.push_back(row++);
      ROWFS_RETURN_IF_ERROR(InParts(batch, rows, each));
      // Larger batches cost less a row, but only as long as they stay small.
      const uint64_t wanted = WantedRows(batch);
      if (wanted >= 2 * batch_rows_ || 2 * wanted <= batch_rows_) {
        batch_rows_ = wanted;
        reader.reset();
      }
    }
    return {};
  }

  // Rows that are suddenly much larger than those before: fewer at a time.
  bool TakesTooMuch(const Status& status) {
    if (status.code() != Code::kResourceExhausted || batch_rows_ == 1) {
      return false;
    }
    batch_rows_ = std::max<uint64_t>(1, batch_rows_ / 16);
    return true;
  }

  static uint64_t WantedRows(const RecordBatch& batch) {
    uint64_t bytes = 1;
    for (const Array& column : batch.columns) bytes += RowBytes(column);
    const uint64_t rows = kBatchBytes / (bytes / batch.row_count + 1);
    return std::bit_floor(std::clamp<uint64_t>(rows, 1, kScanRowsMax));
  }

  // Blob bytes of row `i`, as far as the batch says.
  static uint64_t BlobBytesOf(const RecordBatch& batch, uint64_t i) {
    uint64_t bytes = 0;
    for (const Array& column : batch.columns) {
      if (column.type->id == TypeId::kBlob && !column.IsNull(i)) {
        bytes += column.blobs[i].size.value_or(kBlobBytesMax);
      } else if (column.type->id != TypeId::kBlob &&
                 ReplaceBlobType(column.type, TypeId::kString) != column.type) {
        bytes += kBlobBytesMax / 16;
      }
    }
    return bytes;
  }

  // Hand a batch on in parts whose blobs fit in memory.
  Status InParts(const RecordBatch& batch, const std::vector<uint64_t>& rows,
                 const EachBatch& each) {
    for (uint64_t begin = 0; begin < rows.size();) {
      uint64_t end = begin;
      for (uint64_t bytes = 0; end < rows.size();) {
        bytes += with_bytes_ ? BlobBytesOf(batch, end) : 0;
        if (end > begin && bytes > kBlobBytesMax) break;
        ++end;
      }
      if (begin == 0 && end == rows.size()) {
        RecordBatch whole = batch;
        ROWFS_RETURN_IF_ERROR(each(whole, rows));
        Advance(end);
        return {};
      }
      RecordBatch part;
      part.row_count = end - begin;
      for (const Array& column : batch.columns) {
        part.columns.push_back(SliceArray(column, begin, part.row_count));
      }
      const std::vector<uint64_t> part_rows(
          rows.begin() + static_cast<ptrdiff_t>(begin),
          rows.begin() + static_cast<ptrdiff_t>(end));
      ROWFS_RETURN_IF_ERROR(each(part, part_rows));
      begin = end;
      Advance(part.row_count);
    }
    return {};
  }

  void Advance(uint64_t rows) {
    done_ += rows;
    progress_.Update(done_, selection_.row_count(), "rows", 0);
  }

  // The value of chosen column `c` in a row as row.json has it.
  const Json* FindValue(const Json& row, size_t c) const {
    const FieldPath& path = columns_[c].path;
    if (columns_[c].whole()) return row.Find(keys_[c]);
    const Json* value = row.Find(row_keys_[columns_[c].column]);
    const Field* field = &dataset_.table().schema().fields[path.column];
    for (size_t i = 0; value != nullptr && i < path.children.size(); ++i) {
      field = &field->type->children[path.children[i]];
      value = value->Find(field->name);
    }
    return value;
  }

  Status ReplaceBlobs(RecordBatch* batch, const std::vector<uint64_t>& rows) {
    std::vector<Json> json;
    std::vector<std::string> folders;
    for (size_t c = 0; c < columns_.size(); ++c) {
      const Column& column = dataset_.columns()[columns_[c].column];
      if (!holds_blobs_[c]) continue;
      Array& array = batch->columns[c];
      if (with_bytes_) {
        Result<Array> bytes = BlobsAsBytes(
            array, [&](const Array& cells, uint64_t index) -> Result<Bytes> {
              const bool top = &cells == &array;
              return ReadBytes(column, c, cells, index,
                               top ? rows[index] : rows[0], top);
            });
        if (!bytes.ok()) return bytes.status().With("column " + column.name);
        array = std::move(bytes).value();
        continue;
      }
      if (json.empty()) {
        for (const uint64_t row : rows) {
          ROWFS_ASSIGN_OR_RETURN(json.emplace_back(), ReadRowJson(row));
          folders.push_back(FolderOf(row));
        }
      }
      std::vector<Json> values;
      for (const Json& row : json) {
        const Json* value = FindValue(row, c);
        values.push_back(value == nullptr ? Json() : *value);
      }
      array = BlobsAsPaths(array, values, folders);
    }
    return {};
  }

  Result<Bytes> ReadBytes(const Column& column, size_t c, const Array& cells,
                          uint64_t index, uint64_t row, bool top) {
    // Bytes laid out by a plugin are no file: the mount's file is.
    if (cells.blobs[index].info && !column.index_field && top) {
      ROWFS_ASSIGN_OR_RETURN(const Json json, ReadRowJson(row));
      const Json* blob = FindValue(json, c);
      const Json* path = blob == nullptr ? nullptr : blob->Find("path");
      if (path != nullptr) return ReadFile(FolderOf(row) + "/" + path->text);
    }
    Result<std::shared_ptr<const Blob>> blob =
        OpenBlobCell(dataset_, cells, index);
    if (!blob.ok()) {
      return blob.status().With("row " + std::to_string(row));
    }
    Bytes bytes(blob.value()->size());
    ROWFS_RETURN_IF_ERROR(blob.value()->ReadAt(0, bytes));
    return bytes;
  }

  std::string FolderOf(uint64_t row) const {
    const std::string shard =
        layout_.sharded()
            ? layout_.ShardName(row / RowsLayout::kShardRows) + "/"
            : "";
    return "rows/" + shard + layout_.NumberName(row);
  }

  Result<Json> ReadRowJson(uint64_t row) {
    ROWFS_ASSIGN_OR_RETURN(const Bytes text,
                           ReadFile(FolderOf(row) + "/row.json"));
    return ParseJson(AsText(text));
  }

  Result<Bytes> ReadFile(const std::string& path) {
    Tree& tree = session_.tree();
    ROWFS_ASSIGN_OR_RETURN(const Entry entry, tree.Resolve(path));
    Result<OpenedFile> file = tree.Open(entry.node, Wait::kYes);
    Bytes bytes;
    Status status = file.status();
    while (status.ok()) {
      const size_t at = bytes.size();
      bytes.resize(at + kReadBytes);
      const Result<size_t> read =
          tree.Read(entry.node, file.value().handle, at,
                    MutableByteSpan(bytes).subspan(at), Wait::kYes);
      status = read.status();
      bytes.resize(at + (read.ok() ? read.value() : 0));
      if (bytes.size() == at) break;
    }
    if (file.ok()) tree.Release(file.value().handle);
    tree.Forget(entry.node, 1);
    if (!status.ok()) return status.With(path);
    return bytes;
  }

  TreeSession& session_;
  const Dataset& dataset_;
  Progress& progress_;
  const bool with_bytes_;
  const RowsLayout layout_;
  std::vector<ChosenColumn> columns_;
  std::unique_ptr<TableSource> table_;  // with the chosen columns alone
  std::vector<size_t> fields_;          // all of them
  std::vector<std::string> keys_;       // as they are written
  std::vector<std::string> row_keys_;   // of all columns, in row.json
  std::vector<bool> holds_blobs_;
  bool has_blobs_ = false;
  Selection selection_;
  uint64_t batch_rows_ = kFirstRows;
  uint64_t done_ = 0;
};

enum class Output { kJsonLines, kArrow, kParquet };

Result<Output> OutputOf(const std::string& path) {
  if (path.ends_with(".jsonl")) return Output::kJsonLines;
  if (path.ends_with(".arrow") || path.ends_with(".feather")) {
    return Output::kArrow;
  }
  if (path.ends_with(".parquet")) return Output::kParquet;
  return Status(Code::kInvalidArgument,
                "--output FILE.arrow, FILE.parquet or FILE.jsonl is needed");
}

Status WriteTable(Scanner& scanner, Output output, const Write& write) {
#if ROWFS_WITH_PARQUET
  const Schema schema = scanner.OutputSchema();
  ROWFS_ASSIGN_OR_RETURN(auto writer, output == Output::kArrow
                                          ? MakeArrowWriter(schema, write)
                                          : MakeParquetWriter(schema, write));
  ROWFS_RETURN_IF_ERROR(scanner.WriteBatches(
      schema, [&](const RecordBatch& batch) { return writer->Write(batch); }));
  return writer->Finish();
#else
  (void)scanner;
  (void)output;
  (void)write;
  return {Code::kUnsupported, "this build has no Arrow and writes .jsonl only"};
#endif
}

Status Run(Env& env, const Args& args, Output output) {
  Logger log(LogLevelFromEnvironment(), [&](std::string_view line) {
    env.err << "rowfs: " << line << "\n";
  });
  // To a tree, --rows means something else.
  ROWFS_ASSIGN_OR_RETURN(const auto session,
                         TreeSession::Open(args.Without("--rows"), &log));
  Progress progress(env, "scan");
  Scanner scanner(args, *session, progress);
  ROWFS_RETURN_IF_ERROR(scanner.Prepare(args));
  return WriteOutput(session->session().stores(), args.Get("--output"),
                     [&](const Write& write) {
                       return output == Output::kJsonLines
                                  ? scanner.WriteJsonLines(write)
                                  : WriteTable(scanner, output, write);
                     });
}

}  // namespace

int CmdScan(Env& env, const Args& args) {
  const Result<Output> output = OutputOf(args.Get("--output"));
  if (!output.ok()) {
    Fail(env, output.status());
    return kExitUsage;
  }
  const Status status = Run(env, args, output.value());
  return status.ok() ? kExitDone : Fail(env, status);
}

}  // namespace rowfs
