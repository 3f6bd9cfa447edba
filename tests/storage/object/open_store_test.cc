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

TEST_F(OpenStoreTest, WebUrlsKeepTheirQueryAndHideTheirPassword) {
  ASSERT_OK_AND_ASSIGN(
      const Location location,
      registry_->Resolve("http://user:canary@Host:80/a%20b?x=1#part"));

  EXPECT_EQ(location.path, "/a b");
  EXPECT_EQ(location.uri(), "http://host/a%20b?x=1");
  EXPECT_EQ(location.Join("c").uri(), "http://host/a%20b/c?x=1");
  EXPECT_EQ(registry_->Resolve("https://h?token=canary").value().path, "/");
  EXPECT_THAT(registry_->Resolve("https://h?token=canary").value().uri(),
              ::testing::Not(::testing::HasSubstr("canary")));
  EXPECT_THAT(registry_->Resolve("http:///x"), HasCode(Code::kInvalidArgument));
}

TEST_F(OpenStoreTest, BucketsAndKeysAreTakenAsTheyAre) {
  ASSERT_OK_AND_ASSIGN(const Location location,
                       registry_->Resolve("s3://bucket/a b/%20#?/"));

  EXPECT_EQ(location.path, "a b/%20#?");
  EXPECT_EQ(location.uri(), "s3://bucket/a b/%20#?");
  EXPECT_EQ(PathOf("s3://bucket"), "");
  EXPECT_EQ(PathOf("s3://bucket//lead"), "/lead");
  EXPECT_THAT(registry_->Resolve("s3://no@bucket/x"),
              HasCode(Code::kInvalidArgument));
  EXPECT_THAT(registry_->Resolve("s3://"), HasCode(Code::kInvalidArgument));
}

TEST_F(OpenStoreTest, HubDatasetsMayNameARevision) {
  EXPECT_EQ(registry_->Resolve("hf://datasets/o/n@v1/x/y").value().uri(),
            "hf://datasets/o/n@v1/x/y");
  EXPECT_EQ(PathOf("hf://datasets/o/n@v1/x/y"), "x/y");
  EXPECT_EQ(PathOf("hf://datasets/o/n"), "");
  EXPECT_EQ(PathOf("hf://datasets/o/n@refs%2Fpr%2F1/x"), "x");
  EXPECT_EQ(PathOf("hf://datasets/o/n@refs/convert/parquet/x"), "x");
  EXPECT_EQ(registry_->Resolve("hf://datasets/n@v1/x").value().uri(),
            "hf://datasets/n@v1/x");
  EXPECT_THAT(registry_->Resolve("hf://models/o/n"),
              HasCode(Code::kInvalidArgument));
}

TEST_F(OpenStoreTest, OneStoreServesAllLocalPaths) {
  EXPECT_EQ(registry_->Resolve("/a").value().store,
            registry_->Resolve("file:///b").value().store);
}

}  // namespace
}  // namespace rowfs
