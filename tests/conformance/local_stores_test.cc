// The stores that need no server.
#include <filesystem>
#include <fstream>

#include "storage/object/local_store.h"
#include "tests/conformance/object_store_suite.h"
#include "tests/support/fault_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

StoreUnderTest MakeMemory() {
  auto store = std::make_shared<MemoryStore>();
  return {store, "/root",
          [store](const std::string& path, std::string_view text) {
            store->Put(path, text);
          },
          nullptr};
}

StoreUnderTest MakeLocal() {
  auto folder = std::make_shared<TempDir>();
  return {std::make_shared<LocalStore>(), folder->path(),
          [](const std::string& path, std::string_view text) {
            const std::filesystem::path file(path);
            std::filesystem::create_directories(file.parent_path());
            std::ofstream(file, std::ios::binary) << text;
          },
          folder};
}

StoreUnderTest MakeFault() {
  StoreUnderTest memory = MakeMemory();
  memory.store = std::make_shared<FaultStore>(memory.store);
  return memory;
}

INSTANTIATE_TEST_SUITE_P(Stores, ObjectStoreSuite,
                         ::testing::Values(StoreFactory{"Memory", MakeMemory},
                                           StoreFactory{"Local", MakeLocal},
                                           StoreFactory{"Fault", MakeFault}),
                         [](const auto& instance) {
                           return instance.param.name;
                         });

}  // namespace
}  // namespace rowfs
