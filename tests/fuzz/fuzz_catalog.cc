// Any bytes as a catalog that came with the data: asked for everything, it
// finds something or nothing.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "index/catalog/catalog.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

constexpr uint64_t kAsked = 4;
// What the seeds hold; tests/fuzz/make_seeds.py tells when it makes them.
constexpr char kMedia[] = "10/4";
constexpr char kColumn[] = "0:file_name";

void AskForMedia(Catalog& catalog) {
  for (uint64_t key = 0; key < kAsked; ++key) (void)catalog.FindSize(key);
  (void)catalog.FindMedia(kMedia);
  (void)catalog.FindBytes("part");
}

void AskForRows(Catalog& catalog) {
  const uint64_t values = catalog.CountValues(kColumn).value_or(0);
  for (uint64_t i = 0; i < std::min(values, kAsked); ++i) {
    const auto value = catalog.FindValue(kColumn, i);
    if (value) (void)catalog.FindValueNumber(kColumn, value->name);
    const auto rows = catalog.FindRows(kColumn, i, 0, kAsked);
    if (rows && rows->size() > kAsked) std::abort();
    (void)catalog.FindRows(kColumn, i, UINT64_MAX, kAsked);
  }
  (void)catalog.CountNames(kColumn);
  const auto names = catalog.FindNames(kColumn, 0, kAsked);
  if (!names) return;
  if (names->size() > kAsked) std::abort();
  for (const std::string& name : *names) (void)catalog.FindRow(kColumn, name);
}

}  // namespace
}  // namespace rowfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const rowfs::TempDir folder;
  const std::string path = folder.path() + "/lent.catalog";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) std::abort();
  const bool whole = write(fd, data, size) == static_cast<ssize_t>(size);
  if (close(fd) != 0 || !whole) std::abort();
  const auto catalog = rowfs::Catalog::OpenLent(path, "fuzz");
  if (catalog == nullptr || !catalog->usable()) return 0;
  rowfs::AskForMedia(*catalog);
  rowfs::AskForRows(*catalog);
  return 0;
}
