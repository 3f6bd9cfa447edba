#include "index/catalog/index_queries.h"

#include <algorithm>

#include "storage/base/hash.h"

namespace rowfs {
namespace {

// Rows of one chunk: a page of a directory listing costs one.
constexpr uint64_t kChunkRows = 1024;

constexpr char kFindValueIndex[] =
    "SELECT id, value_count FROM value_index WHERE column_key=?1";
constexpr char kFindValue[] =
    "SELECT name, row_count, checksum FROM value "
    "WHERE index_id=?1 AND number=?2";
constexpr char kFindValueNumber[] =
    "SELECT number FROM value WHERE index_id=?1 AND name=?2";
constexpr char kFindRows[] =
    "SELECT rows, checksum FROM value_rows "
    "WHERE index_id=?1 AND number=?2 AND chunk=?3";
constexpr char kPutValueIndex[] =
    "INSERT INTO value_index(column_key, value_count) VALUES(?1, 0)";
constexpr char kSetValueCount[] =
    "UPDATE value_index SET value_count=?2 WHERE id=?1";
constexpr char kPutValue[] =
    "INSERT INTO value(index_id, number, name, row_count, checksum) "
    "VALUES(?1, ?2, ?3, ?4, ?5)";
constexpr char kPutRows[] =
    "INSERT INTO value_rows(index_id, number, chunk, rows, checksum) "
    "VALUES(?1, ?2, ?3, ?4, ?5)";
constexpr char kFindNameIndex[] =
    "SELECT id, name_count FROM name_index WHERE column_key=?1";
constexpr char kFindNamedRow[] =
    "SELECT row, checksum FROM row_name WHERE index_id=?1 AND name=?2";
constexpr char kFindNames[] =
    "SELECT row, name, checksum FROM row_name "
    "WHERE index_id=?1 AND row>=?2 ORDER BY row LIMIT ?3";
constexpr char kPutNameIndex[] =
    "INSERT INTO name_index(column_key, name_count) VALUES(?1, 0)";
constexpr char kSetNameCount[] =
    "UPDATE name_index SET name_count=?2 WHERE id=?1";
constexpr char kPutName[] =
    "INSERT INTO row_name(index_id, row, name, checksum) "
    "VALUES(?1, ?2, ?3, ?4)";
constexpr char kMakeStaging[] =
    "CREATE TEMP TABLE staging(name BLOB NOT NULL, row INTEGER NOT NULL)";
constexpr char kDropStaging[] = "DROP TABLE IF EXISTS temp.staging";
constexpr char kAddToStaging[] =
    "INSERT INTO temp.staging(name, row) VALUES(?1, ?2)";
constexpr char kStagedByName[] =
    "SELECT name, row FROM temp.staging ORDER BY name, row";
constexpr char kStagedByRow[] =
    "SELECT name, row FROM temp.staging ORDER BY row";

Status Damaged() {
  return Status(Code::kCorruption, "catalog: a column index is damaged");
}

uint64_t Checksum(std::initializer_list<uint64_t> numbers, ByteSpan bytes) {
  Bytes head;
  for (const uint64_t number : numbers) AppendU64(&head, number);
  return Hash64(bytes, Hash64(head));
}

struct IndexRow {
  uint64_t id = 0;
  uint64_t count = 0;
};

Result<std::optional<IndexRow>> FindIndex(Database& db, const char* sql,
                                          std::string_view column) {
  ROWFS_ASSIGN_OR_RETURN(Statement statement, db.Prepare(sql));
  ROWFS_ASSIGN_OR_RETURN(const bool found, statement.Bind(1, column).Step());
  if (!found) return std::optional<IndexRow>();
  return std::optional<IndexRow>({statement.Uint(0), statement.Uint(1)});
}

// One chunk of the rows of a value, ascending; absent when there is none.
Result<std::optional<std::vector<uint64_t>>> ReadChunk(Database& db,
                                                       uint64_t id,
                                                       uint64_t number,
                                                       uint64_t chunk) {
  ROWFS_ASSIGN_OR_RETURN(Statement statement, db.Prepare(kFindRows));
  ROWFS_ASSIGN_OR_RETURN(
      const bool found,
      statement.Bind(1, id).Bind(2, number).Bind(3, chunk).Step());
  if (!found) return std::optional<std::vector<uint64_t>>();
  const ByteSpan bytes = statement.Blob(0);
  if (statement.Uint(1) != Checksum({id, number, chunk}, bytes)) {
    return Damaged();
  }
  Cursor cursor(bytes, "rows of a value");
  std::vector<uint64_t> rows;
  uint64_t row = 0;
  while (!cursor.AtEnd()) {
    ROWFS_ASSIGN_OR_RETURN(const uint64_t step, cursor.Varint());
    row += step;
    rows.push_back(row);
  }
  return std::optional<std::vector<uint64_t>>(std::move(rows));
}

// Writes values and their rows as they come sorted.
class ValueWriter {
 public:
  ValueWriter(Database* db, uint64_t id) : db_(*db), id_(id) {}

  Status Add(ByteSpan name, uint64_t row) {
    if (row_count_ == 0 || AsText(name) != name_) {
      ROWFS_RETURN_IF_ERROR(EndValue());
      name_ = AsText(name);
    }
    if (row_count_ != 0 && row_count_ % kChunkRows == 0) {
      ROWFS_RETURN_IF_ERROR(EndChunk());
    }
    // The first of a chunk is the row itself, so that each stands alone.
    AppendVarint(&chunk_, chunk_.empty() ? row : row - last_row_);
    last_row_ = row;
    ++row_count_;
    return Status();
  }

  // Returns the number of values.
  Result<uint64_t> Finish() {
    ROWFS_RETURN_IF_ERROR(EndValue());
    return number_;
  }

 private:
  Status EndChunk() {
    const uint64_t chunk = (row_count_ - 1) / kChunkRows;
    ROWFS_ASSIGN_OR_RETURN(Statement put, db_.Prepare(kPutRows));
    put.Bind(1, id_).Bind(2, number_).Bind(3, chunk);
    put.Bind(4, ByteSpan(chunk_));
    put.Bind(5, Checksum({id_, number_, chunk}, chunk_));
    ROWFS_RETURN_IF_ERROR(put.Run());
    chunk_.clear();
    return Status();
  }

  Status EndValue() {
    if (row_count_ == 0) return Status();
    ROWFS_RETURN_IF_ERROR(EndChunk());
    ROWFS_ASSIGN_OR_RETURN(Statement put, db_.Prepare(kPutValue));
    put.Bind(1, id_).Bind(2, number_).Bind(3, std::string_view(name_));
    put.Bind(4, row_count_);
    put.Bind(5, Checksum({id_, number_, row_count_}, AsBytes(name_)));
    ROWFS_RETURN_IF_ERROR(put.Run());
    ++number_;
    row_count_ = 0;
    return Status();
  }

  Database& db_;
  const uint64_t id_;
  uint64_t number_ = 0;
  std::string name_;
  uint64_t row_count_ = 0;
  uint64_t last_row_ = 0;
  Bytes chunk_;
};

// The id of a new index; absent when it is there already.
Result<std::optional<uint64_t>> AddIndex(Database& db, const char* find,
                                         const char* put,
                                         std::string_view column) {
  ROWFS_ASSIGN_OR_RETURN(auto there, FindIndex(db, find, column));
  if (there) return std::optional<uint64_t>();
  {
    ROWFS_ASSIGN_OR_RETURN(Statement statement, db.Prepare(put));
    ROWFS_RETURN_IF_ERROR(statement.Bind(1, column).Run());
  }
  ROWFS_ASSIGN_OR_RETURN(there, FindIndex(db, find, column));
  if (!there) return Damaged();
  return std::optional<uint64_t>(there->id);
}

Status SetCount(Database& db, const char* sql, uint64_t id, uint64_t count) {
  ROWFS_ASSIGN_OR_RETURN(Statement statement, db.Prepare(sql));
  return statement.Bind(1, id).Bind(2, count).Run();
}

}  // namespace

Result<std::optional<uint64_t>> ReadValueCount(Database& db,
                                               std::string_view column) {
  ROWFS_ASSIGN_OR_RETURN(const auto index,
                         FindIndex(db, kFindValueIndex, column));
  if (!index) return std::optional<uint64_t>();
  return std::optional<uint64_t>(index->count);
}

Result<std::optional<IndexedValue>> ReadValue(Database& db,
                                              std::string_view column,
                                              uint64_t number) {
  ROWFS_ASSIGN_OR_RETURN(const auto index,
                         FindIndex(db, kFindValueIndex, column));
  if (!index) return std::optional<IndexedValue>();
  ROWFS_ASSIGN_OR_RETURN(Statement statement, db.Prepare(kFindValue));
  ROWFS_ASSIGN_OR_RETURN(const bool found,
                         statement.Bind(1, index->id).Bind(2, number).Step());
  if (!found) return std::optional<IndexedValue>();
  IndexedValue value = {std::string(AsText(statement.Blob(0))),
                        statement.Uint(1)};
  if (statement.Uint(2) !=
      Checksum({index->id, number, value.row_count}, AsBytes(value.name))) {
    return Damaged();
  }
  return std::optional<IndexedValue>(std::move(value));
}

Result<std::optional<uint64_t>> ReadValueNumber(Database& db,
                                                std::string_view column,
                                                std::string_view name) {
  std::optional<uint64_t> number;
  ROWFS_ASSIGN_OR_RETURN(const auto index,
                         FindIndex(db, kFindValueIndex, column));
  if (!index) return number;
  {
    ROWFS_ASSIGN_OR_RETURN(Statement statement, db.Prepare(kFindValueNumber));
    ROWFS_ASSIGN_OR_RETURN(const bool found,
                           statement.Bind(1, index->id).Bind(2, name).Step());
    if (!found) return number;
    number = statement.Uint(0);
  }
  // By way of the value, whose checksum covers name and number.
  ROWFS_ASSIGN_OR_RETURN(const auto value, ReadValue(db, column, *number));
  if (!value || value->name != name) return Damaged();
  return number;
}

Result<std::optional<std::vector<uint64_t>>> ReadRows(Database& db,
                                                      std::string_view column,
                                                      uint64_t number,
                                                      uint64_t start,
                                                      uint64_t limit) {
  std::optional<std::vector<uint64_t>> rows;
  ROWFS_ASSIGN_OR_RETURN(const auto index,
                         FindIndex(db, kFindValueIndex, column));
  if (!index) return rows;
  ROWFS_ASSIGN_OR_RETURN(const auto value, ReadValue(db, column, number));
  if (!value) return rows;
  rows.emplace();
  const uint64_t left = value->row_count - std::min(start, value->row_count);
  const uint64_t wanted = std::min(limit, left);
  for (uint64_t chunk = start / kChunkRows; rows->size() < wanted; ++chunk) {
    ROWFS_ASSIGN_OR_RETURN(const auto part,
                           ReadChunk(db, index->id, number, chunk));
    const uint64_t skip = rows->empty() ? start % kChunkRows : 0;
    // The value says how many there are: none may be missing.
    if (!part || part->size() <= skip) return Damaged();
    for (uint64_t i = skip; i < part->size() && rows->size() < wanted; ++i) {
      rows->push_back((*part)[i]);
    }
  }
  return rows;
}

Result<std::optional<uint64_t>> ReadNameCount(Database& db,
                                              std::string_view column) {
  ROWFS_ASSIGN_OR_RETURN(const auto index,
                         FindIndex(db, kFindNameIndex, column));
  if (!index) return std::optional<uint64_t>();
  return std::optional<uint64_t>(index->count);
}

Result<std::optional<uint64_t>> ReadNamedRow(Database& db,
                                             std::string_view column,
                                             std::string_view name) {
  ROWFS_ASSIGN_OR_RETURN(const auto index,
                         FindIndex(db, kFindNameIndex, column));
  if (!index) return std::optional<uint64_t>();
  ROWFS_ASSIGN_OR_RETURN(Statement statement, db.Prepare(kFindNamedRow));
  ROWFS_ASSIGN_OR_RETURN(const bool found,
                         statement.Bind(1, index->id).Bind(2, name).Step());
  if (!found) return std::optional<uint64_t>();
  const uint64_t row = statement.Uint(0);
  if (statement.Uint(1) != Checksum({index->id, row}, AsBytes(name))) {
    return Damaged();
  }
  return std::optional<uint64_t>(row);
}

Result<std::optional<std::vector<std::string>>> ReadNames(
    Database& db, std::string_view column, uint64_t start, uint64_t limit) {
  std::optional<std::vector<std::string>> names;
  ROWFS_ASSIGN_OR_RETURN(const auto index,
                         FindIndex(db, kFindNameIndex, column));
  if (!index) return names;
  names.emplace();
  ROWFS_ASSIGN_OR_RETURN(Statement statement, db.Prepare(kFindNames));
  statement.Bind(1, index->id).Bind(2, start);
  statement.Bind(3, std::min<uint64_t>(limit, INT64_MAX));
  while (true) {
    ROWFS_ASSIGN_OR_RETURN(const bool found, statement.Step());
    if (!found) return names;
    const uint64_t row = statement.Uint(0);
    const ByteSpan name = statement.Blob(1);
    if (row != start + names->size() ||
        statement.Uint(2) != Checksum({index->id, row}, name)) {
      return Damaged();
    }
    names->emplace_back(AsText(name));
  }
}

Status MakeStaging(Database& db) {
  ROWFS_RETURN_IF_ERROR(db.Execute(kDropStaging));
  return db.Execute(kMakeStaging);
}

Status AddToStaging(Database& db, uint64_t row, std::string_view name) {
  ROWFS_ASSIGN_OR_RETURN(Statement statement, db.Prepare(kAddToStaging));
  return statement.Bind(1, name).Bind(2, row).Run();
}

Status DropStaging(Database& db) { return db.Execute(kDropStaging); }

Status WriteValueIndex(Database& db, std::string_view column) {
  ROWFS_ASSIGN_OR_RETURN(const auto id,
                         AddIndex(db, kFindValueIndex, kPutValueIndex, column));
  if (!id) return Status();
  ValueWriter writer(&db, *id);
  ROWFS_ASSIGN_OR_RETURN(Statement staged, db.Prepare(kStagedByName));
  while (true) {
    ROWFS_ASSIGN_OR_RETURN(const bool found, staged.Step());
    if (!found) break;
    ROWFS_RETURN_IF_ERROR(writer.Add(staged.Blob(0), staged.Uint(1)));
  }
  ROWFS_ASSIGN_OR_RETURN(const uint64_t count, writer.Finish());
  return SetCount(db, kSetValueCount, *id, count);
}

Status WriteNameIndex(Database& db, std::string_view column) {
  ROWFS_ASSIGN_OR_RETURN(const auto id,
                         AddIndex(db, kFindNameIndex, kPutNameIndex, column));
  if (!id) return Status();
  uint64_t count = 0;
  ROWFS_ASSIGN_OR_RETURN(Statement staged, db.Prepare(kStagedByRow));
  while (true) {
    ROWFS_ASSIGN_OR_RETURN(const bool found, staged.Step());
    if (!found) break;
    const ByteSpan name = staged.Blob(0);
    const uint64_t row = staged.Uint(1);
    ROWFS_ASSIGN_OR_RETURN(Statement put, db.Prepare(kPutName));
    put.Bind(1, *id).Bind(2, row).Bind(3, name);
    put.Bind(4, Checksum({*id, row}, name));
    ROWFS_RETURN_IF_ERROR(put.Run());
    ++count;
  }
  return SetCount(db, kSetNameCount, *id, count);
}

}  // namespace rowfs
