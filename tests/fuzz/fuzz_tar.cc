// Any bytes as a tar, compressed or not: every member is read whole and from
// its middle, or refused.
#include "storage/pack/tar_pack.h"
#include "tests/fuzz/read_pack.h"
#include "tests/support/memory_store.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto store = std::make_shared<rowfs::MemoryStore>();
  store->Put("x.tar", rowfs::FromU8(data, size));
  const auto pack = rowfs::OpenTar({store, "x.tar"}, {});
  if (pack.ok()) rowfs::ReadPack(*pack.value());
  return 0;
}
