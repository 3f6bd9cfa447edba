// What every ObjectStore promises, as tests: memory, local, HTTP, S3 and each
// wrapper run the same ones. To add a store, instantiate the suite with a
// StoreUnderTest.
//
// One thread.
#ifndef ROWFS_TESTS_CONFORMANCE_OBJECT_STORE_SUITE_H_
#define ROWFS_TESTS_CONFORMANCE_OBJECT_STORE_SUITE_H_

#include <functional>
#include <memory>
#include <string>

#include "storage/object/object_store.h"
#include "tests/support/status_matchers.h"

namespace rowfs {

struct StoreUnderTest {
  std::shared_ptr<ObjectStore> store;
  std::string root;  // an empty directory of the store
  // Set the bytes of an object behind the store's back.
  std::function<void(const std::string& path, std::string_view text)> put;
  std::shared_ptr<void> keep_alive;  // server, folder, ...
  // Objects never change (a commit): there is nothing to notice.
  bool pinned = false;
};

struct StoreFactory {
  std::string name;  // of the test instance
  // A null store means: not possible here, skip.
  std::function<StoreUnderTest()> make;
};

class ObjectStoreSuite : public ::testing::TestWithParam<StoreFactory> {
 protected:
  void SetUp() override {
    under_test_ = GetParam().make();
    if (under_test_.store == nullptr) GTEST_SKIP() << "no server to test with";
  }
  bool pinned() const { return under_test_.pinned; }
  ObjectStore& store() { return *under_test_.store; }
  std::string Path(const std::string& name) const {
    return under_test_.root + "/" + name;
  }
  void Put(const std::string& name, std::string_view text) {
    under_test_.put(Path(name), text);
  }
  Result<std::string> Read(const ObjectRef& object, uint64_t offset,
                           size_t size);

 private:
  StoreUnderTest under_test_;
};

}  // namespace rowfs
#endif  // ROWFS_TESTS_CONFORMANCE_OBJECT_STORE_SUITE_H_
