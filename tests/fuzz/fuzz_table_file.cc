// Any bytes as a Parquet or Arrow file: opened, rows taken and scanned, or
// refused. Arrays that come out hold together.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "storage/parquet/table_folder.h"
#include "tests/support/memory_store.h"

namespace rowfs {
namespace {

// A file may claim any number of rows.
constexpr uint64_t kRowsMax = 2000;

void Check(const Result<RecordBatch>& batch, uint64_t rows) {
  if (!batch.ok()) return;
  for (const Array& column : batch.value().columns) {
    if (column.length != rows || !Validate(column, "read").ok()) std::abort();
  }
}

void ReadTable(TableSource& table) {
  std::vector<size_t> columns(
      std::min<size_t>(table.schema().fields.size(), 64));
  std::iota(columns.begin(), columns.end(), size_t{0});
  const uint64_t count = table.row_count();
  if (count == 0 || columns.empty()) return;
  const uint64_t rows[] = {count - 1, 0, count / 2};
  Check(table.Take(rows, columns, BlobDetail::kFull), 3);
  const auto reader =
      table.Scan(columns, 0, std::min(count, kRowsMax), 100, BlobDetail::kFull);
  if (!reader.ok()) return;
  for (;;) {
    const auto batch = reader.value()->Next();
    if (!batch.ok() || batch.value().row_count == 0) return;
    Check(batch, batch.value().row_count);
  }
}

}  // namespace
}  // namespace rowfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const rowfs::ByteSpan bytes = rowfs::FromU8(data, size);
  const bool parquet = rowfs::AsText(bytes).starts_with("PAR1");
  const std::string path = parquet ? "t.parquet" : "t.arrow";
  auto store = std::make_shared<rowfs::MemoryStore>();
  store->Put(path, bytes);
  const rowfs::TableFormat format =
      parquet ? rowfs::ParquetFormat() : rowfs::ArrowFormat();
  const auto table = format.open({store, path}, "", {});
  if (table.ok()) rowfs::ReadTable(*table.value());
  return 0;
}
