#include "storage/object/open_store.h"

#include <filesystem>

#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

class OpenStoreTest : public ::testing::Test {
 protected:
  std::string PathOf(std::string_view uri) {
    const auto location = registry_->Resolve(uri);
    EXPECT_OK(location);
    return location.ok() ? location.value().path : "";
  }
  const std::unique_ptr<StoreRegistry> registry_ = MakeStoreRegistry();
};

TEST_F(OpenStoreTest, PathsBecomeAbsolute) {
  const std::string here = std::filesystem::current_path().string();

  EXPECT_EQ(PathOf("/a/b"), "/a/b");
  EXPECT_EQ(PathOf("/a//b/./"), "/a/b");
  EXPECT_EQ(PathOf("/"), "/");
  EXPECT_EQ(PathOf("x/y"), here + "/x/y");
  EXPECT_EQ(PathOf("."), here);
  EXPECT_EQ(PathOf("/a/../b"), "/a/../b");
}

TEST_F(OpenStoreTest, FileUrlsAreDecoded) {
  EXPECT_EQ(PathOf("file:///a%20b/c"), "/a b/c");
  EXPECT_EQ(PathOf("file://localhost/a"), "/a");
  EXPECT_THAT(registry_->Resolve("file://other/a"),
              HasCode(Code::kInvalidArgument));
  EXPECT_THAT(registry_->Resolve("file:///a%2"),
              HasCode(Code::kInvalidArgument));
}

TEST_F(OpenStoreTest, OtherSchemesAreRefusedByName) {
  const auto unknown = registry_->Resolve("gs://bucket/x");

  EXPECT_THAT(unknown, HasCode(Code::kInvalidArgument));
  EXPECT_THAT(std::string(unknown.status().message()),
              ::testing::HasSubstr("unknown scheme gs://"));
  EXPECT_THAT(registry_->Resolve(""), HasCode(Code::kInvalidArgument));
}

TEST_F(OpenStoreTest, OneStoreServesAllLocalPaths) {
  EXPECT_EQ(registry_->Resolve("/a").value().store,
            registry_->Resolve("file:///b").value().store);
}

}  // namespace
}  // namespace rowfs
