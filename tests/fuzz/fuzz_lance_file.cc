// Any bytes as a Lance data file: opened, every column read whole, in part and
// at rows, or refused. Arrays that come out hold together.
#include <algorithm>
#include <cstdlib>

#include "storage/object/object_store.h"
#include "tests/support/lance_files.h"
#include "tests/support/memory_store.h"

namespace rowfs {
namespace {

// A reader of hostile files reads batches; a file may claim any number of rows.
constexpr uint64_t kRowsMax = 2000;

void ReadColumns(const LanceFileReader& file) {
  const auto columns = NaturalColumns(file.schema(), file.version());
  const uint64_t count = std::min(file.row_count(), kRowsMax);
  for (const LanceField& field : file.schema().fields) {
    const auto whole = file.Read(field, columns, 0, count, BlobDetail::kFull);
    if (whole.ok() && !Validate(whole.value(), "read").ok()) std::abort();
    if (count == 0) continue;
    const uint64_t rows[] = {count - 1, 0, count / 2};
    const auto taken = file.Take(field, columns, rows, BlobDetail::kHead);
    if (taken.ok() && !Validate(taken.value(), "taken").ok()) std::abort();
  }
}

}  // namespace
}  // namespace rowfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto store = std::make_shared<rowfs::MemoryStore>();
  store->Put("data/x.lance", rowfs::FromU8(data, size));
  const auto object = rowfs::ObjectReader::Open({store, "data/x.lance"}, 0, {});
  if (!object.ok()) return 0;
  const auto file =
      rowfs::LanceFileReader::Open(object.value(), "data/x.lance");
  if (file.ok()) rowfs::ReadColumns(*file.value());
  return 0;
}
