#include "storage/lance/versions.h"

#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

class VersionsTest : public ::testing::Test {
 protected:
  void PutVersion(const std::string& root, uint64_t version,
                  ManifestNaming naming = ManifestNaming::kInverted) {
    Manifest manifest;
    manifest.message.set_version(version);
    store_->Put(root + "/_versions/" + FormatManifestName(version, naming),
                EncodeManifest(manifest));
  }

  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  Location root_{store_, "/d"};
};

TEST_F(VersionsTest, TheLatestIsTheHighestInEitherNaming) {
  for (const uint64_t version : {1u, 9u, 10u}) PutVersion("/d", version);
  for (const uint64_t version : {1u, 9u, 10u}) {
    PutVersion("/old", version, ManifestNaming::kDecimal);
  }
  store_->Put("/d/_versions/d9223372036854775810.manifest", "detached");
  store_->Put("/d/_versions/latest_version_hint.json", "{\"version\":99}");

  EXPECT_EQ(FindLatest(root_).value().version, 10U);
  EXPECT_EQ(FindLatest({store_, "/old"}).value().version, 10U);
}

TEST_F(VersionsTest, MixedNamingsAreRefused) {
  PutVersion("/d", 1);
  PutVersion("/d", 2, ManifestNaming::kDecimal);

  EXPECT_THAT(FindLatest(root_), HasCode(Code::kCorruption));
}

TEST_F(VersionsTest, NoDatasetIsNotFound) {
  EXPECT_THAT(FindLatest(root_), HasCode(Code::kNotFound));
  store_->Put("/d/_versions/readme", "x");
  EXPECT_THAT(FindLatest(root_), HasCode(Code::kNotFound));
}

TEST_F(VersionsTest, WithoutListingTheHintLeadsToTheLatest) {
  auto plain = std::make_shared<MemoryStore>(
      StoreCapabilities{.list = false, .write = true, .remote = true});
  const Location root{plain, "/d"};
  for (const uint64_t version : {3u, 4u, 5u}) {
    Manifest manifest;
    manifest.message.set_version(version);
    plain->Put("/d/_versions/" +
                   FormatManifestName(version, ManifestNaming::kInverted),
               EncodeManifest(manifest));
  }
  EXPECT_THAT(FindLatest(root), HasCode(Code::kNotFound));

  plain->Put("/d/_versions/latest_version_hint.json", "{\"version\":4}");
  EXPECT_EQ(FindLatest(root).value().version, 5U);
  plain->Put("/d/_versions/latest_version_hint.json", "garbage");
  EXPECT_THAT(FindLatest(root), HasCode(Code::kNotFound));
}

TEST_F(VersionsTest, ResolvesVersionsTagsAndBranches) {
  for (const uint64_t version : {1u, 2u, 3u}) PutVersion("/d", version);
  for (const uint64_t version : {2u, 7u})
    PutVersion("/d/tree/exp/one", version);
  store_->Put("/d/_refs/branches/exp%2Fone.json", "{\"parentVersion\":2}");
  store_->Put("/d/_refs/tags/v-two.0.json",
              "{\"branch\":null,\"version\":2,\"manifestSize\":647}");
  store_->Put("/d/_refs/tags/there.json",
              "{\"branch\":\"exp/one\",\"version\":7}");
  const auto resolve = [&](std::string_view spec) {
    const auto resolved = ResolveVersion(root_, spec);
    if (!resolved.ok()) return std::string(resolved.status().message());
    return resolved.value().root.path + " " + resolved.value().branch + " " +
           std::to_string(resolved.value().name.version);
  };

  EXPECT_EQ(resolve(""), "/d  3");
  EXPECT_EQ(resolve("latest"), "/d  3");
  EXPECT_EQ(resolve("v2"), "/d  2");
  EXPECT_EQ(resolve("1"), "/d  1");
  EXPECT_EQ(resolve("v-two.0"), "/d  2");
  EXPECT_EQ(resolve("there"), "/d/tree/exp/one exp/one 7");
  EXPECT_EQ(resolve("exp/one"), "/d/tree/exp/one exp/one 7");
  EXPECT_EQ(resolve("exp/one:2"), "/d/tree/exp/one exp/one 2");
  EXPECT_THAT(ResolveVersion(root_, "v9"), HasCode(Code::kNotFound));
  EXPECT_THAT(ResolveVersion(root_, "../x"), HasCode(Code::kNotFound));
  EXPECT_NE(resolve("nope").find("tags: there, v-two.0; branches: exp/one"),
            std::string::npos);
}

TEST_F(VersionsTest, ATagMayNotLeadOutOfTheDataset) {
  PutVersion("/d", 1);
  store_->Put("/d/_refs/tags/evil.json",
              "{\"branch\":\"../../other\",\"version\":1}");
  store_->Put("/d/_refs/tags/broken.json", "{");

  EXPECT_THAT(ResolveVersion(root_, "evil"), HasCode(Code::kCorruption));
  EXPECT_THAT(ResolveVersion(root_, "broken"), HasCode(Code::kCorruption));
  EXPECT_TRUE(ListTags(root_).value().empty());
}

TEST_F(VersionsTest, TagsAreSetMovedAndRemoved) {
  for (const uint64_t version : {1u, 2u}) PutVersion("/d", version);

  ASSERT_OK(PutTag(root_, "t", {"", 1}, false));
  EXPECT_EQ(ResolveVersion(root_, "t").value().name.version, 1U);
  EXPECT_THAT(PutTag(root_, "t", {"", 2}, false),
              HasCode(Code::kAlreadyExists));
  ASSERT_OK(PutTag(root_, "t", {"", 2}, true));
  EXPECT_EQ(ListTags(root_).value().at("t").version, 2U);
  EXPECT_THAT(PutTag(root_, "u", {"", 9}, false), HasCode(Code::kNotFound));
  EXPECT_THAT(PutTag(root_, "a/b", {"", 1}, false),
              HasCode(Code::kInvalidArgument));
  ASSERT_OK(RemoveTag(root_, "t"));
  EXPECT_THAT(RemoveTag(root_, "t"), HasCode(Code::kNotFound));
}

}  // namespace
}  // namespace rowfs
