// SQLite in our terms: a connection, statements that reset themselves,
// transactions that roll back. The only code that includes sqlite3.h; it knows
// no schema.
//
// A Database and what comes from it are for one thread at a time.
#ifndef ROWFS_INDEX_CATALOG_SQLITE_H_
#define ROWFS_INDEX_CATALOG_SQLITE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "storage/base/bytes.h"
#include "storage/base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace rowfs {

// A prepared statement for a scope: reset, and its bindings cleared, at the
// end. Errors of binding come out of Step.
class Statement {
 public:
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;

  // Parameters count from 1. Bytes must live until the statement ends.
  Statement& Bind(int parameter, int64_t value);
  Statement& Bind(int parameter, uint64_t value);  // as the same 64 bits
  Statement& Bind(int parameter, ByteSpan value);
  Statement& Bind(int parameter, std::string_view value);  // as bytes

  // Go to the next row; false when there is none. Codes as Database gives them.
  Result<bool> Step();
  // Step through a statement without rows.
  Status Run();

  // Columns count from 0. Views are valid until the next Step.
  int64_t Int(int column) const;
  uint64_t Uint(int column) const;
  ByteSpan Blob(int column) const;

 private:
  friend class Database;
  Statement(sqlite3* db, sqlite3_stmt* statement)
      : db_(db), statement_(statement) {}

  sqlite3* db_;
  sqlite3_stmt* statement_;  // the Database's
  int bind_error_ = 0;
};

class Database {
 public:
  enum class Mode {
    kReadWrite,  // the file exists; waits up to two seconds for other writers
    kImmutable   // nobody writes; works where no file can be created
  };

  // Connect to the file at `path`. Errors, of all calls: kCorruption (not a
  // database, or a damaged one), kResourceExhausted (disk or memory full),
  // kUnavailable (locked for too long, I/O), kPermissionDenied, kAlreadyExists
  // (a key that has to be unique), kInternal. No part of `path` may be a link.
  static Result<std::unique_ptr<Database>> Open(const std::string& path,
                                                Mode mode);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Run statements that have neither parameters nor results.
  Status Execute(const char* sql);
  // Prepare `sql`, a constant: its address is the key under which the
  // statement is kept. Requires: no other Statement of the same is alive.
  Result<Statement> Prepare(const char* sql);

 private:
  explicit Database(sqlite3* db) : db_(db) {}

  sqlite3* const db_;
  std::map<const char*, sqlite3_stmt*> statements_;
};

// A write transaction; rolled back unless Commit was OK.
class Transaction {
 public:
  // Waits for other writers as the Database does.
  static Result<Transaction> Begin(Database& db);
  ~Transaction();
  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  Status Commit();

 private:
  explicit Transaction(Database& db) : db_(&db) {}

  Database* db_;  // null after Commit
};

}  // namespace rowfs
#endif  // ROWFS_INDEX_CATALOG_SQLITE_H_
