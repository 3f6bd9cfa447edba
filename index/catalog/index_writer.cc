#include "index/catalog/index_writer.h"

#include <utility>

#include "index/catalog/index_queries.h"

namespace rowfs {

Result<RowStaging> RowStaging::Start(Catalog* catalog) {
  auto db = catalog->TakeForWriting();
  if (db == nullptr) {
    return Status(Code::kUnavailable, "the catalog keeps nothing");
  }
  RowStaging staging(catalog, std::move(db));
  ROWFS_RETURN_IF_ERROR(MakeStaging(*staging.db_));
  // One transaction for all rows; it touches the temporary table alone and so
  // locks nothing that others use.
  ROWFS_RETURN_IF_ERROR(staging.db_->Execute("BEGIN"));
  return staging;
}

RowStaging::~RowStaging() {
  if (db_ == nullptr) return;
  // Fails when Finish has ended it; then there is nothing to end.
  (void)db_->Execute("ROLLBACK");
  if (DropStaging(*db_).ok()) catalog_->GiveBack(std::move(db_));
}

Status RowStaging::Add(uint64_t row, std::string_view name) {
  if (failed_.ok()) failed_ = AddToStaging(*db_, row, name);
  return failed_;
}

Status RowStaging::Finish(const std::function<Status(Database&)>& write) {
  ROWFS_RETURN_IF_ERROR(failed_);
  const auto finish = [&]() -> Status {
    ROWFS_RETURN_IF_ERROR(db_->Execute("COMMIT"));
    ROWFS_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(*db_));
    ROWFS_RETURN_IF_ERROR(write(*db_));
    return transaction.Commit();
  };
  failed_ = finish();
  catalog_->Note(failed_);
  return failed_;
}

Result<ValueIndexWriter> ValueIndexWriter::Start(Catalog* catalog,
                                                 std::string_view column) {
  ROWFS_ASSIGN_OR_RETURN(RowStaging staging, RowStaging::Start(catalog));
  return ValueIndexWriter(std::move(staging), column);
}

Status ValueIndexWriter::Finish() {
  return staging_.Finish(
      [this](Database& db) { return WriteValueIndex(db, column_); });
}

Result<NameIndexWriter> NameIndexWriter::Start(Catalog* catalog,
                                               std::string_view column) {
  ROWFS_ASSIGN_OR_RETURN(RowStaging staging, RowStaging::Start(catalog));
  return NameIndexWriter(std::move(staging), column);
}

Status NameIndexWriter::Finish() {
  return staging_.Finish(
      [this](Database& db) { return WriteNameIndex(db, column_); });
}

}  // namespace rowfs
