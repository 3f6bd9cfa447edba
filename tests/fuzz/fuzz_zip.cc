// Any bytes as a zip, with a local and a remote store: every member is read
// whole and from its middle, or refused.
#include "storage/pack/zip_pack.h"
#include "tests/fuzz/read_pack.h"
#include "tests/support/memory_store.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const bool remote : {false, true}) {
    rowfs::StoreCapabilities capabilities;
    capabilities.remote = remote;
    auto store = std::make_shared<rowfs::MemoryStore>(capabilities);
    store->Put("x.zip", rowfs::FromU8(data, size));
    const auto pack = rowfs::OpenZip({store, "x.zip"}, {});
    if (pack.ok()) rowfs::ReadPack(*pack.value());
  }
  return 0;
}
