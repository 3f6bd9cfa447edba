#include "index/catalog/sqlite.h"

#include <sqlite3.h>

#include <utility>

namespace rowfs {
namespace {

constexpr int kBusyMs = 2000;
// A value larger than this is not one of ours.
constexpr int kValueBytesMax = 512 << 20;

Status ErrorOf(sqlite3* db, int rc) {
  const char* text = db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(rc);
  const std::string message = std::string("catalog: ") + text;
  switch (rc & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      return Status(Code::kCorruption, message);
    case SQLITE_FULL:
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      return Status(Code::kResourceExhausted, message);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_IOERR:
      return Status(Code::kUnavailable, message);
    case SQLITE_CONSTRAINT:
      return Status(Code::kAlreadyExists, message);
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return Status(Code::kPermissionDenied, message);
    default:
      return Status(Code::kInternal, message);
  }
}

// A path as a URI: everything that could mean something in one is escaped.
std::string UriOf(const std::string& path) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '%' || c == '?' || c == '#' || byte < 0x21 || byte > 0x7e) {
      uri += '%';
      uri += kDigits[byte >> 4];
      uri += kDigits[byte & 15];
    } else {
      uri += c;
    }
  }
  return uri;
}

// The file may be damaged or planted: it may define no functions or triggers
// that run, and no page is believed without a check.
constexpr char kSettings[] =
    "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON;"
    "PRAGMA mmap_size=0; PRAGMA foreign_keys=ON;"
    // A commit that a power cut takes back costs time, not data.
    "PRAGMA synchronous=NORMAL;";

}  // namespace

Statement::Statement(Statement&& other) noexcept
    : db_(other.db_),
      statement_(std::exchange(other.statement_, nullptr)),
      bind_error_(other.bind_error_) {}

Statement::~Statement() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Statement& Statement::Bind(int parameter, int64_t value) {
  const int rc = sqlite3_bind_int64(statement_, parameter, value);
  if (rc != SQLITE_OK) bind_error_ = rc;
  return *this;
}

Statement& Statement::Bind(int parameter, uint64_t value) {
  return Bind(parameter, static_cast<int64_t>(value));
}

Statement& Statement::Bind(int parameter, ByteSpan value) {
  // A pointer to nothing would bind NULL, which is not empty.
  const void* data =
      value.empty() ? "" : static_cast<const void*>(value.data());
  const int rc = sqlite3_bind_blob64(statement_, parameter, data, value.size(),
                                     SQLITE_STATIC);
  if (rc != SQLITE_OK) bind_error_ = rc;
  return *this;
}

Statement& Statement::Bind(int parameter, std::string_view value) {
  return Bind(parameter, AsBytes(value));
}

Result<bool> Statement::Step() {
  if (bind_error_ != SQLITE_OK) return ErrorOf(db_, bind_error_);
  const int rc = sqlite3_step(statement_);
  if (rc == SQLITE_ROW) return true;
  if (rc == SQLITE_DONE) return false;
  return ErrorOf(db_, rc);
}

Status Statement::Run() { return Step().status(); }

int64_t Statement::Int(int column) const {
  return sqlite3_column_int64(statement_, column);
}

uint64_t Statement::Uint(int column) const {
  return static_cast<uint64_t>(Int(column));
}

ByteSpan Statement::Blob(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  if (data == nullptr || size <= 0) return {};
  return {static_cast<const std::byte*>(data), static_cast<size_t>(size)};
}

Result<std::unique_ptr<Database>> Database::Open(const std::string& path,
                                                 Mode mode) {
  std::string uri = UriOf(path);
  int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;
  if (mode == Mode::kImmutable) {
    uri += "?immutable=1";
    flags |= SQLITE_OPEN_READONLY;
  } else {
    flags |= SQLITE_OPEN_READWRITE;
  }
  sqlite3* db = nullptr;
  const int rc = sqlite3_open_v2(uri.c_str(), &db, flags, nullptr);
  // Made even when opening fails, and then closed like any other.
  std::unique_ptr<Database> database(new Database(db));
  if (rc != SQLITE_OK) return ErrorOf(db, rc).With(path);
  sqlite3_extended_result_codes(db, 1);
  sqlite3_busy_timeout(db, kBusyMs);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, kValueBytesMax);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  ROWFS_RETURN_IF_ERROR(database->Execute(kSettings));
  return database;
}

Database::~Database() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(db_);
}

Status Database::Execute(const char* sql) {
  const int rc = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  return rc == SQLITE_OK ? Status() : ErrorOf(db_, rc);
}

Result<Statement> Database::Prepare(const char* sql) {
  sqlite3_stmt*& statement = statements_[sql];
  if (statement == nullptr) {
    const int rc = sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                      &statement, nullptr);
    if (rc != SQLITE_OK) return ErrorOf(db_, rc);
  }
  return Statement(db_, statement);
}

Result<Transaction> Transaction::Begin(Database& db) {
  // At once a writer: a reader that becomes one later cannot wait for another.
  ROWFS_RETURN_IF_ERROR(db.Execute("BEGIN IMMEDIATE"));
  return Transaction(db);
}

Transaction::Transaction(Transaction&& other) noexcept
    : db_(std::exchange(other.db_, nullptr)) {}

Transaction::~Transaction() {
  // An error may have ended it already; there is nothing else to do about one.
  if (db_ != nullptr) (void)db_->Execute("ROLLBACK");
}

Status Transaction::Commit() {
  ROWFS_RETURN_IF_ERROR(db_->Execute("COMMIT"));
  db_ = nullptr;
  return Status();
}

}  // namespace rowfs
