// rowfs scan.
#include <algorithm>

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
#if ROWFS_WITH_PARQUET
#include "storage/parquet/table_writer.h"
#endif

namespace rowfs {
namespace {

constexpr uint64_t kBatchRows = 256;
// Runs of rows from here on are scanned, shorter ones taken.
constexpr uint64_t kScanRowsMin = 1024;
// Blob bytes in memory at a time.
constexpr uint64_t kBlobBytesMax = 32 << 20;
constexpr size_t kReadBytes = 1 << 20;

using Write = std::function<Status(ByteSpan)>;

bool IsBlobRole(ColumnRole role) {
  return role == ColumnRole::kBlob || role == ColumnRole::kTree;
}

// Names between commas; a name with a comma in it, given alone, wins.
Result<std::vector<size_t>> ChooseColumns(const Dataset& dataset,
                                          const Args& args) {
  std::vector<size_t> chosen;
  for (const std::string& list : args.GetAll("--columns")) {
    std::vector<std::string> names = {list};
    if (!dataset.FindColumn(list)) {
      names.clear();
      for (size_t at = 0; at <= list.size();) {
        const size_t end = std::min(list.find(',', at), list.size());
        names.push_back(list.substr(at, end - at));
        at = end + 1;
      }
    }
    for (const std::string& name : names) {
      ROWFS_ASSIGN_OR_RETURN(const size_t column, FindColumn(dataset, name));
      if (std::find(chosen.begin(), chosen.end(), column) != chosen.end()) {
        return Status(Code::kInvalidArgument,
                      "--columns names \"" + name + "\" twice");
      }
      chosen.push_back(column);
    }
  }
  if (args.Has("--columns")) return chosen;
  for (size_t i = 0; i < dataset.columns().size(); ++i) {
    if (dataset.columns()[i].role != ColumnRole::kIndex) chosen.push_back(i);
  }
  return chosen;
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
    std::vector<std::string> keys;
    for (const Column& column : dataset_.columns()) {
      const bool shown = column.role != ColumnRole::kIndex;
      keys.push_back(shown ? taken.Take(column.name) : column.name);
    }
    for (const size_t c : columns_) {
      keys_.push_back(keys[c]);
      fields_.push_back(dataset_.columns()[c].field);
      has_blobs_ |= IsBlobRole(dataset_.columns()[c].role);
    }
    return {};
  }

  // The columns as they are written.
  Schema OutputSchema() const {
    const Schema& stored = dataset_.table().schema();
    Schema schema;
    for (const size_t c : columns_) {
      const Column& column = dataset_.columns()[c];
      Field field = stored.fields[column.field];
      const bool top = column.role == ColumnRole::kBlob &&
                       (!with_bytes_ || field.type->id == TypeId::kBlob);
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
          const Column& column = dataset_.columns()[columns_[c]];
          const Json* value = from_rows && IsBlobRole(column.role)
                                  ? row.Find(keys_[c])
                                  : nullptr;
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
      for (; i < count && selection_.at(i) == end; ++i) ++end;
      if (end - begin >= kScanRowsMin) {
        ROWFS_RETURN_IF_ERROR(TakeRows(&scattered, each));
        ROWFS_RETURN_IF_ERROR(ScanRun({begin, end}, each));
        continue;
      }
      for (uint64_t row = begin; row < end; ++row) {
        scattered.push_back(row);
        if (scattered.size() == kBatchRows) {
          ROWFS_RETURN_IF_ERROR(TakeRows(&scattered, each));
        }
      }
    }
    return TakeRows(&scattered, each);
  }

  Status TakeRows(std::vector<uint64_t>* rows, const EachBatch& each) {
    if (rows->empty()) return {};
    // Rows may carry their blobs: a few at a time.
    const size_t step = has_blobs_ ? 32 : kBatchRows;
    for (size_t i = 0; i < rows->size(); i += step) {
      const std::vector<uint64_t> part(
          rows->begin() + static_cast<ptrdiff_t>(i),
          rows->begin() +
              static_cast<ptrdiff_t>(std::min(i + step, rows->size())));
      ROWFS_ASSIGN_OR_RETURN(
          const RecordBatch batch,
          dataset_.table().Take(part, fields_, BlobDetail::kHead));
      ROWFS_RETURN_IF_ERROR(InParts(batch, part, each));
    }
    rows->clear();
    return {};
  }

  Status ScanRun(ByteRange run, const EachBatch& each) {
    ROWFS_ASSIGN_OR_RETURN(
        const auto reader,
        dataset_.table().Scan(fields_, run.begin, run.end, kBatchRows,
                              BlobDetail::kHead));
    for (uint64_t row = run.begin; row < run.end;) {
      ROWFS_ASSIGN_OR_RETURN(const RecordBatch batch, reader->Next());
      if (batch.row_count == 0) {
        return {Code::kCorruption,
                dataset_.source() + ": ends before row " + std::to_string(row)};
      }
      std::vector<uint64_t> rows;
      for (uint64_t i = 0; i < batch.row_count; ++i) rows.push_back(row++);
      ROWFS_RETURN_IF_ERROR(InParts(batch, rows, each));
    }
    return {};
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
      done_ += part.row_count;
      progress_.Update(done_, selection_.row_count(), "rows", 0);
    }
    return {};
  }

  Status ReplaceBlobs(RecordBatch* batch, const std::vector<uint64_t>& rows) {
    std::vector<Json> json;
    std::vector<std::string> folders;
    for (size_t c = 0; c < columns_.size(); ++c) {
      const Column& column = dataset_.columns()[columns_[c]];
      if (!IsBlobRole(column.role)) continue;
      Array& array = batch->columns[c];
      if (with_bytes_) {
        Result<Array> bytes = BlobsAsBytes(
            array, [&](const Array& cells, uint64_t index) -> Result<Bytes> {
              const bool top = &cells == &array;
              return ReadBytes(column, keys_[c], cells, index,
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
        const Json* value = row.Find(keys_[c]);
        values.push_back(value == nullptr ? Json() : *value);
      }
      array = BlobsAsPaths(array, values, folders);
    }
    return {};
  }

  Result<Bytes> ReadBytes(const Column& column, const std::string& key,
                          const Array& cells, uint64_t index, uint64_t row,
                          bool top) {
    // Bytes laid out by a plugin are no file: the mount's file is.
    if (cells.blobs[index].info && !column.index_field && top) {
      ROWFS_ASSIGN_OR_RETURN(const Json json, ReadRowJson(row));
      const Json* blob = json.Find(key);
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
  std::vector<size_t> columns_;
  std::vector<std::string> keys_;  // in row.json
  std::vector<size_t> fields_;
  bool has_blobs_ = false;
  Selection selection_;
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
