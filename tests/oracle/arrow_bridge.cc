// rowfs's view of a Lance dataset behind a C interface, for test programs in
// other languages. Every call returns 0, or the Code with its message in
// `error`.

#include <cstring>
#include <numeric>
#include <string>

#include "storage/lance/compact.h"
#include "storage/lance/dataset.h"
#include "storage/lance/dataset_writer.h"
#include "storage/lance/delete_rows.h"
#include "storage/lance/garbage.h"
#include "storage/lance/verify.h"
#include "storage/object/open_store.h"
#include "storage/table/struct_fields.h"
#include "tests/oracle/arrow_export.h"

namespace rowfs {
namespace {

struct Handle {
  std::unique_ptr<StoreRegistry> stores = MakeStoreRegistry();
  ReadStats stats;
  std::unique_ptr<TableSource> table;
  std::string text;  // last JSON given out
};

struct ErrorText {
  char* text;
  size_t size;
};

int Fail(const Status& status, const ErrorText* error) {
  const std::string message(status.message());
  const size_t length = std::min(message.size(), error->size - 1);
  std::memcpy(error->text, message.data(), length);
  error->text[length] = '\0';
  return static_cast<int>(status.code());
}

int Export(Result<RecordBatch> batch, ArrowSchema* schema, ArrowArray* array,
           const ErrorText* error) {
  if (!batch.ok()) return Fail(batch.status(), error);
  for (size_t i = 0; i < batch.value().columns.size(); ++i) {
    const Status status =
        Validate(batch.value().columns[i], batch.value().schema.fields[i].name);
    if (!status.ok()) return Fail(status, error);
  }
  ExportBatch(std::move(batch).value(), schema, array);
  return 0;
}

// The dataset at `uri` for an operation that opens it itself.
struct Target {
  std::unique_ptr<StoreRegistry> stores = MakeStoreRegistry();
  OpenContext context;
  Result<Location> root;

  explicit Target(const char* uri) : root(stores->Resolve(uri)) {
    context.stores = stores.get();
  }
};

// Blob cells of `array` with their bytes in place of where they lie.
Status LoadBlobs(TableSource* table, Array* array) {
  for (uint64_t i = 0; i < array->blobs.size(); ++i) {
    BlobCell& cell = array->blobs[i];
    if (array->IsNull(i) || cell.kind == BlobKind::kExternal) continue;
    ROWFS_ASSIGN_OR_RETURN(const BlobSource source, table->OpenBlob(cell));
    BlobCell loaded;
    loaded.bytes = source.bytes;
    if (source.bytes == nullptr) {
      ROWFS_ASSIGN_OR_RETURN(
          Bytes bytes, source.reader->Read(source.range, ReadKind::kData));
      loaded.bytes = std::make_shared<const Bytes>(std::move(bytes));
    }
    loaded.size = loaded.bytes->size();
    cell = std::move(loaded);
  }
  for (Array& child : array->children) {
    ROWFS_RETURN_IF_ERROR(LoadBlobs(table, &child));
  }
  return {};
}

Status Copy(const char* from, const char* to, uint16_t minor,
            uint64_t batch_rows) {
  const Target source(from);
  const Target target(to);
  ROWFS_RETURN_IF_ERROR(source.root.status());
  ROWFS_RETURN_IF_ERROR(target.root.status());
  ROWFS_ASSIGN_OR_RETURN(
      const auto table,
      LanceFormat().open(source.root.value(), "", source.context));
  LanceWriteOptions options;
  options.version = {2, minor};
  ROWFS_ASSIGN_OR_RETURN(const auto writer,
                         LanceDatasetWriter::Create(target.root.value(),
                                                    table->schema(), options));
  std::vector<size_t> columns(table->schema().fields.size());
  std::iota(columns.begin(), columns.end(), size_t{0});
  ROWFS_ASSIGN_OR_RETURN(const auto reader,
                         table->Scan(columns, 0, table->row_count(), batch_rows,
                                     BlobDetail::kFull));
  while (true) {
    ROWFS_ASSIGN_OR_RETURN(RecordBatch batch, reader->Next());
    if (batch.row_count == 0) break;
    for (Array& column : batch.columns) {
      ROWFS_RETURN_IF_ERROR(LoadBlobs(table.get(), &column));
    }
    ROWFS_RETURN_IF_ERROR(writer->Append(batch));
  }
  return writer->Commit().status();
}

}  // namespace

extern "C" {

// The table at `from` written anew by rowfs, in file version 2.`minor`.
int RowfsCopy(const char* from, const char* to, uint16_t minor,
              uint64_t batch_rows, const ErrorText* error) {
  const Status status = Copy(from, to, minor, batch_rows);
  return status.ok() ? 0 : Fail(status, error);
}

int RowfsDelete(const char* uri, uint64_t version, const uint64_t* rows,
                uint64_t row_count, uint64_t* out, const ErrorText* error) {
  const Target target(uri);
  if (!target.root.ok()) return Fail(target.root.status(), error);
  DeleteOptions options;
  options.version = version;
  const auto result = DeleteRows(target.root.value(), {rows, row_count},
                                 options, target.context);
  if (!result.ok()) return Fail(result.status(), error);
  *out = result.value().version;
  return 0;
}

int RowfsCompact(const char* uri, uint64_t rows_per_fragment, uint64_t* out,
                 const ErrorText* error) {
  const Target target(uri);
  if (!target.root.ok()) return Fail(target.root.status(), error);
  CompactOptions options;
  options.rows_per_fragment = rows_per_fragment;
  const auto result =
      CompactDataset(target.root.value(), options, target.context);
  if (!result.ok()) return Fail(result.status(), error);
  *out = result.value().version;
  return 0;
}

// How many files were removed.
int RowfsCollect(const char* uri, int64_t grace_ms, uint64_t* out,
                 const ErrorText* error) {
  const Target target(uri);
  if (!target.root.ok()) return Fail(target.root.status(), error);
  GarbageOptions options;
  options.grace_ms = grace_ms;
  const auto result = CollectGarbage(target.root.value(), options);
  if (!result.ok()) return Fail(result.status(), error);
  *out = result.value().size();
  return 0;
}

// An error that names the first finding, where there is one.
int RowfsVerify(const char* uri, const ErrorText* error) {
  const Target target(uri);
  if (!target.root.ok()) return Fail(target.root.status(), error);
  const auto result =
      VerifyDataset(target.root.value(), "", {}, target.context);
  if (!result.ok()) return Fail(result.status(), error);
  if (result.value().empty()) return 0;
  const Finding& first = result.value().front();
  return Fail(Status(Code::kCorruption, first.where + ": " + first.what),
              error);
}

// `allow`: prefixes for external blobs, one a line.
int RowfsOpen(const char* uri, const char* version, const char* allow,
              Handle** out, const ErrorText* error) {
  auto handle = std::make_unique<Handle>();
  OpenContext context;
  context.stores = handle->stores.get();
  context.read.stats = &handle->stats;
  std::string_view lines = allow;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    context.allow_external.emplace_back(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  const auto location = handle->stores->Resolve(uri);
  if (!location.ok()) return Fail(location.status(), error);
  auto table = LanceFormat().open(location.value(), version, context);
  if (!table.ok()) return Fail(table.status(), error);
  handle->table = std::move(table).value();
  *out = handle.release();
  return 0;
}

void RowfsClose(Handle* handle) { delete handle; }

// Make the table one of the columns `names`, "s.a" for fields of structs, one a
// line.
int RowfsSelect(Handle* handle, const char* names, const ErrorText* error) {
  std::vector<FieldPath> paths;
  std::string_view lines = names;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    const auto path = FindField(handle->table->schema(), lines.substr(0, end));
    if (!path.ok()) return Fail(path.status(), error);
    paths.push_back(path.value());
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  handle->table = SelectFields(*handle->table, paths);
  return 0;
}

// What was read of data files since the last call.
void RowfsCost(Handle* handle, uint64_t* requests, uint64_t* bytes) {
  *requests = 0;
  *bytes = 0;
  for (auto* counter : {&handle->stats.metadata, &handle->stats.data}) {
    *requests += counter->requests.exchange(0);
    *bytes += counter->bytes.exchange(0);
  }
}

uint64_t RowfsRowCount(Handle* handle) { return handle->table->row_count(); }

uint64_t RowfsColumnCount(Handle* handle) {
  return handle->table->schema().fields.size();
}

int RowfsTake(Handle* handle, const uint64_t* rows, uint64_t row_count,
              const size_t* columns, uint64_t column_count, ArrowSchema* schema,
              ArrowArray* array, const ErrorText* error) {
  return Export(handle->table->Take({rows, row_count}, {columns, column_count},
                                    BlobDetail::kFull),
                schema, array, error);
}

int RowfsScan(Handle* handle, uint64_t begin, uint64_t end, uint64_t batch_rows,
              const size_t* columns, uint64_t column_count, BatchReader** out,
              const ErrorText* error) {
  auto reader = handle->table->Scan({columns, column_count}, begin, end,
                                    batch_rows, BlobDetail::kFull);
  if (!reader.ok()) return Fail(reader.status(), error);
  *out = reader.value().release();
  return 0;
}

int RowfsStream(Handle* handle, uint64_t batch_rows, ArrowArrayStream* out,
                const ErrorText* error) {
  std::vector<size_t> columns(handle->table->schema().fields.size());
  std::iota(columns.begin(), columns.end(), size_t{0});
  auto reader = handle->table->Scan(columns, 0, handle->table->row_count(),
                                    batch_rows, BlobDetail::kFull);
  if (!reader.ok()) return Fail(reader.status(), error);
  ExportStream(std::move(reader).value(), handle->table->schema(), out);
  return 0;
}

int RowfsNext(BatchReader* reader, ArrowSchema* schema, ArrowArray* array,
              const ErrorText* error) {
  return Export(reader->Next(), schema, array, error);
}

void RowfsEndScan(BatchReader* reader) { delete reader; }

int RowfsRowId(Handle* handle, uint64_t row, uint64_t* out,
               const ErrorText* error) {
  const auto id = handle->table->RowId(row);
  if (!id.ok()) return Fail(id.status(), error);
  *out = id.value();
  return 0;
}

// A cell as ExportBatch described it; size and base are -1 where absent. The
// bytes stay valid until the next call on the handle.
int RowfsReadBlob(Handle* handle, uint8_t kind, const char* object,
                  uint64_t offset, int64_t size, int64_t base,
                  const char** bytes, uint64_t* byte_count,
                  const ErrorText* error) {
  BlobCell cell;
  cell.kind = static_cast<BlobKind>(kind);
  cell.object = object;
  cell.offset = offset;
  if (size >= 0) cell.size = static_cast<uint64_t>(size);
  if (base >= 0) cell.base_id = static_cast<uint32_t>(base);
  const auto source = handle->table->OpenBlob(cell);
  if (!source.ok()) return Fail(source.status(), error);
  if (source.value().bytes) {
    handle->text = AsText(*source.value().bytes);
  } else {
    const auto read =
        source.value().reader->Read(source.value().range, ReadKind::kData);
    if (!read.ok()) return Fail(read.status(), error);
    handle->text = AsText(read.value());
  }
  *bytes = handle->text.data();
  *byte_count = handle->text.size();
  return 0;
}

const char* RowfsDescribe(Handle* handle) {
  handle->text = WriteJson(handle->table->Describe());
  return handle->text.c_str();
}

int RowfsVersions(Handle* handle, const char** out, const ErrorText* error) {
  const auto versions = handle->table->Versions();
  if (!versions.ok()) return Fail(versions.status(), error);
  Json list = Json::Array();
  for (const TableVersion& version : versions.value()) {
    Json tags = Json::Array();
    for (const std::string& tag : version.tags) {
      tags.items.push_back(Json::String(tag));
    }
    Json item = Json::Object();
    item.Add("version", Json::Uint(version.version));
    item.Add("tags", std::move(tags));
    list.items.push_back(std::move(item));
  }
  handle->text = WriteJson(list);
  *out = handle->text.c_str();
  return 0;
}

}  // extern "C"

}  // namespace rowfs
