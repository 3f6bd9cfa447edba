#include "index/catalog/migrations.h"

#include <array>

namespace rowfs {
namespace {

// "rwfs": tells our files from other programs'.
constexpr int64_t kApplicationId = 0x72776673;
constexpr char kSetApplicationId[] = "PRAGMA application_id=1920427635";
static_assert(kApplicationId == 1920427635);

// Version n is reached by step n-1; steps are never changed once released.
// Every table of things that a reader believes has a `checksum`: SQLite notices
// a damaged tree of pages, not a damaged value.
constexpr char kVersion1[] = R"sql(
CREATE TABLE snapshot(fingerprint BLOB NOT NULL);
CREATE TABLE rendered_size(
  key INTEGER PRIMARY KEY, size INTEGER NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE media(
  key BLOB PRIMARY KEY, code INTEGER NOT NULL, message BLOB NOT NULL,
  plugin BLOB NOT NULL, plugin_version BLOB NOT NULL,
  blob_type INTEGER NOT NULL, stream_info BLOB NOT NULL,
  entries BLOB NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE part(
  name BLOB NOT NULL, number INTEGER NOT NULL, bytes BLOB NOT NULL,
  checksum INTEGER NOT NULL, PRIMARY KEY(name, number));
CREATE TABLE value_index(
  id INTEGER PRIMARY KEY, column_key BLOB NOT NULL UNIQUE,
  value_count INTEGER NOT NULL);
CREATE TABLE value(
  index_id INTEGER NOT NULL, number INTEGER NOT NULL, name BLOB NOT NULL,
  row_count INTEGER NOT NULL, checksum INTEGER NOT NULL,
  PRIMARY KEY(index_id, number)) WITHOUT ROWID;
CREATE UNIQUE INDEX value_by_name ON value(index_id, name);
CREATE TABLE value_rows(
  index_id INTEGER NOT NULL, number INTEGER NOT NULL, chunk INTEGER NOT NULL,
  rows BLOB NOT NULL, checksum INTEGER NOT NULL,
  PRIMARY KEY(index_id, number, chunk)) WITHOUT ROWID;
CREATE TABLE name_index(
  id INTEGER PRIMARY KEY, column_key BLOB NOT NULL UNIQUE,
  name_count INTEGER NOT NULL);
CREATE TABLE row_name(
  index_id INTEGER NOT NULL, row INTEGER NOT NULL, name BLOB NOT NULL,
  checksum INTEGER NOT NULL, PRIMARY KEY(index_id, row)) WITHOUT ROWID;
CREATE UNIQUE INDEX row_by_name ON row_name(index_id, name);
PRAGMA user_version=1;
)sql";

constexpr std::array kSteps = {kVersion1};
constexpr int64_t kSchemaVersion = kSteps.size();

constexpr char kGetVersion[] = "PRAGMA user_version";
constexpr char kGetApplicationId[] = "PRAGMA application_id";
constexpr char kSetWal[] = "PRAGMA journal_mode=WAL";
constexpr char kInsertFingerprint[] =
    "INSERT INTO snapshot(fingerprint) VALUES(?1)";
constexpr char kGetFingerprint[] = "SELECT fingerprint FROM snapshot";

Result<int64_t> GetNumber(Database& db, const char* sql) {
  ROWFS_ASSIGN_OR_RETURN(Statement statement, db.Prepare(sql));
  ROWFS_ASSIGN_OR_RETURN(const bool found, statement.Step());
  if (!found) return Status(Code::kCorruption, "catalog has no header");
  return statement.Int(0);
}

Status CheckVersion(int64_t version) {
  if (version <= kSchemaVersion) return Status();
  return Status(Code::kUnsupported, "catalog has schema " +
                                        std::to_string(version) +
                                        ", this program knows up to " +
                                        std::to_string(kSchemaVersion));
}

Status CheckOwner(Database& db, std::string_view fingerprint) {
  ROWFS_ASSIGN_OR_RETURN(const int64_t id, GetNumber(db, kGetApplicationId));
  if (id != kApplicationId) {
    return Status(Code::kCorruption, "the file is no catalog");
  }
  auto statement = db.Prepare(kGetFingerprint);
  // Without the table it is not what its version says.
  if (statement.status().code() == Code::kInternal) {
    return Status(Code::kCorruption, "catalog lacks a table");
  }
  ROWFS_RETURN_IF_ERROR(statement.status());
  ROWFS_ASSIGN_OR_RETURN(const bool found, statement.value().Step());
  if (!found || AsText(statement.value().Blob(0)) != fingerprint) {
    return Status(Code::kCorruption, "catalog is of another snapshot");
  }
  return Status();
}

Status Upgrade(Database& db, std::string_view fingerprint) {
  ROWFS_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(db));
  // Again, now that no other process can be doing the same.
  ROWFS_ASSIGN_OR_RETURN(int64_t version, GetNumber(db, kGetVersion));
  const bool is_new = version == 0;
  for (; version < kSchemaVersion; ++version) {
    ROWFS_RETURN_IF_ERROR(db.Execute(kSteps[static_cast<size_t>(version)]));
  }
  if (is_new) {
    ROWFS_RETURN_IF_ERROR(db.Execute(kSetApplicationId));
    ROWFS_ASSIGN_OR_RETURN(Statement insert, db.Prepare(kInsertFingerprint));
    ROWFS_RETURN_IF_ERROR(insert.Bind(1, fingerprint).Run());
  }
  return transaction.Commit();
}

}  // namespace

Status MigrateCatalog(Database& db, std::string_view fingerprint) {
  ROWFS_ASSIGN_OR_RETURN(const int64_t version, GetNumber(db, kGetVersion));
  ROWFS_RETURN_IF_ERROR(CheckVersion(version));
  ROWFS_RETURN_IF_ERROR(db.Execute(kSetWal));
  if (version < kSchemaVersion) {
    const Status status = Upgrade(db, fingerprint);
    // Tables that are there already although the version is 0.
    if (status.code() == Code::kInternal) {
      return Status(Code::kCorruption, std::string(status.message()));
    }
    ROWFS_RETURN_IF_ERROR(status);
  }
  return CheckOwner(db, fingerprint);
}

Status CheckCatalog(Database& db, std::string_view fingerprint) {
  ROWFS_ASSIGN_OR_RETURN(const int64_t version, GetNumber(db, kGetVersion));
  ROWFS_RETURN_IF_ERROR(CheckVersion(version));
  if (version < kSchemaVersion) {
    return Status(Code::kUnsupported, "catalog is old and cannot be written");
  }
  return CheckOwner(db, fingerprint);
}

}  // namespace rowfs
