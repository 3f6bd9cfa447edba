#include "fs/cli/catalog_values.h"

#include <algorithm>

#include "fs/tree/rows_layout.h"
#include "index/catalog/index_writer.h"
#include "index/dataset/names.h"

namespace rowfs {
namespace {

Status Lost() {
  return {Code::kUnavailable,
          "the catalog's index of this column cannot be read any more; mount "
          "again to have it made anew"};
}

}  // namespace

std::string ColumnKey(const Dataset& dataset, size_t column) {
  return std::to_string(column) + ":" + dataset.columns()[column].name;
}

Status BuildValueIndex(const Dataset& dataset, size_t column, Catalog* catalog,
                       const RowsDone& done) {
  constexpr uint64_t kReportRows = 8192;
  ROWFS_ASSIGN_OR_RETURN(
      ValueIndexWriter writer,
      ValueIndexWriter::Start(catalog, ColumnKey(dataset, column)));
  Status status;
  ROWFS_RETURN_IF_ERROR(
      VisitValues(dataset, column, [&](uint64_t row, const std::string* value) {
        if (value != nullptr && status.ok()) {
          status = writer.Add(row, EscapeName(*value));
        }
        if (done && row % kReportRows == 0) done(row);
      }));
  ROWFS_RETURN_IF_ERROR(status);
  return writer.Finish();
}

Status BuildNameIndex(const Dataset& dataset, size_t column, Catalog* catalog) {
  ROWFS_ASSIGN_OR_RETURN(
      NameIndexWriter writer,
      NameIndexWriter::Start(catalog, ColumnKey(dataset, column)));
  ROWFS_ASSIGN_OR_RETURN(const auto names,
                         RowNames::Read(dataset, column,
                                        RowsLayout(dataset.row_count(),
                                                   TreeOptions::Rows::kAuto)));
  for (uint64_t row = 0; row < dataset.row_count(); ++row) {
    ROWFS_RETURN_IF_ERROR(writer.Add(row, names->at(row)));
  }
  return writer.Finish();
}

CatalogValues::CatalogValues(std::shared_ptr<const Dataset> dataset,
                             const Catalogs& catalogs)
    : dataset_(std::move(dataset)), catalogs_(catalogs), scanned_(dataset_) {
  for (size_t i = 0; i < dataset_->columns().size(); ++i) {
    sources_.push_back(std::make_unique<Lazy<Source>>());
  }
}

Catalog* CatalogValues::FindIndexed(size_t column) const {
  const std::string key = ColumnKey(*dataset_, column);
  for (Catalog* catalog : {catalogs_.own.get(), catalogs_.lent.get()}) {
    if (catalog != nullptr && catalog->CountValues(key)) return catalog;
  }
  return nullptr;
}

Result<Catalog*> CatalogValues::FindSource(size_t column) {
  ROWFS_ASSIGN_OR_RETURN(
      const auto source,
      sources_[column]->Get(
          Wait::kYes, [&]() -> Result<std::shared_ptr<const Source>> {
            Catalog* indexed = FindIndexed(column);
            if (indexed == nullptr && dataset_->row_count() > kScannedRowsMax) {
              const Status built = BuildValueIndex(
                  *dataset_, column, catalogs_.own.get(), nullptr);
              // What the table says is no fault of the catalog.
              if (built.code() == Code::kCorruption) return built;
              indexed = FindIndexed(column);
            }
            return std::make_shared<const Source>(Source{indexed});
          }));
  return source->catalog;
}

Result<uint64_t> CatalogValues::ValueCount(size_t column) {
  ROWFS_ASSIGN_OR_RETURN(Catalog * catalog, FindSource(column));
  if (catalog == nullptr) return scanned_.ValueCount(column);
  const auto count = catalog->CountValues(ColumnKey(*dataset_, column));
  if (!count) return Lost();
  return *count;
}

Result<ValueIndex::Value> CatalogValues::GetValue(size_t column,
                                                  uint64_t number) {
  ROWFS_ASSIGN_OR_RETURN(Catalog * catalog, FindSource(column));
  if (catalog == nullptr) return scanned_.GetValue(column, number);
  auto value = catalog->FindValue(ColumnKey(*dataset_, column), number);
  if (!value) return Status(Code::kNotFound, "no such value");
  return Value{std::move(value->name), value->row_count};
}

Result<std::optional<uint64_t>> CatalogValues::FindValue(
    size_t column, std::string_view name) {
  ROWFS_ASSIGN_OR_RETURN(Catalog * catalog, FindSource(column));
  if (catalog == nullptr) return scanned_.FindValue(column, name);
  return catalog->FindValueNumber(ColumnKey(*dataset_, column), name);
}

Result<std::vector<uint64_t>> CatalogValues::ListRows(size_t column,
                                                      uint64_t number,
                                                      uint64_t start,
                                                      uint64_t limit) {
  ROWFS_ASSIGN_OR_RETURN(Catalog * catalog, FindSource(column));
  if (catalog == nullptr) {
    return scanned_.ListRows(column, number, start, limit);
  }
  auto rows =
      catalog->FindRows(ColumnKey(*dataset_, column), number, start, limit);
  if (!rows) return Lost();
  return *std::move(rows);
}

std::unique_ptr<CatalogNames> CatalogNames::Find(const Dataset& dataset,
                                                 const std::string& column,
                                                 const Catalogs& catalogs) {
  const auto number = dataset.FindColumn(column);
  if (!number) return nullptr;
  const std::string key = ColumnKey(dataset, *number);
  for (Catalog* catalog : {catalogs.own.get(), catalogs.lent.get()}) {
    if (catalog != nullptr && catalog->CountNames(key) == dataset.row_count()) {
      return std::unique_ptr<CatalogNames>(new CatalogNames(catalog, key));
    }
  }
  return nullptr;
}

Result<std::string> CatalogNames::NameOf(uint64_t row) {
  const uint64_t first = row / kPartRows * kPartRows;
  {
    const MutexLock lock(mu_);
    if (first_ == first && row - first < part_.size()) {
      return part_[row - first];
    }
  }
  auto part = catalog_->FindNames(key_, first, kPartRows);
  if (!part || row - first >= part->size()) return Lost();
  const MutexLock lock(mu_);
  first_ = first;
  part_ = *std::move(part);
  return part_[row - first];
}

Result<std::optional<uint64_t>> CatalogNames::FindName(std::string_view name) {
  return catalog_->FindRow(key_, name);
}

}  // namespace rowfs
