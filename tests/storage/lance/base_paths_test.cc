#include "storage/lance/base_paths.h"

#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

namespace pb = lance::pb;

pb::Manifest WithBases() {
  pb::Manifest manifest;
  const auto add = [&](uint32_t id, const char* path, bool dataset) {
    pb::BasePath* base = manifest.add_base_paths();
    base->set_id(id);
    base->set_path(path);
    base->set_is_dataset_root(dataset);
  };
  add(0, "/old/place.lance", true);
  add(1, "/plain", false);
  add(2, "/old/place.lance/tree/a/b", true);
  add(3, "relative/dir", false);
  return manifest;
}

class BasePathsTest : public ::testing::Test {
 protected:
  std::vector<std::string> Places(std::optional<uint32_t> id,
                                  const std::string& path) {
    std::vector<std::string> out;
    const auto places = bases_.Candidates(id, path);
    if (!places.ok()) return {std::string(places.status().message())};
    for (const Location& place : places.value()) out.push_back(place.path);
    return out;
  }

  std::unique_ptr<StoreRegistry> stores_ = MakeStoreRegistry();
  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  BasePaths bases_{
      {store_, "/ds"}, {store_, "/ds/tree/x"}, WithBases(), stores_.get()};
};

TEST_F(BasePathsTest, KeepsDataUnderDataOnlyInDatasets) {
  EXPECT_EQ(bases_.DataPath({}, "f.lance"), "data/f.lance");
  EXPECT_EQ(bases_.DataPath(0, "f.lance"), "data/f.lance");
  EXPECT_EQ(bases_.DataPath(1, "f.lance"), "f.lance");
  EXPECT_EQ(bases_.DeletionPath(0, "d.bin"), "_deletions/d.bin");
  EXPECT_EQ(bases_.DeletionPath(1, "d.bin"), "d.bin");
}

TEST_F(BasePathsTest, LooksForAMovedDatasetWhereItIsNow) {
  using List = std::vector<std::string>;
  EXPECT_EQ(Places({}, "data/f"), List{"/ds/tree/x/data/f"});
  EXPECT_EQ(Places(0, "data/f"),
            (List{"/old/place.lance/data/f", "/ds/data/f"}));
  EXPECT_EQ(Places(1, "f"), List{"/plain/f"});
  EXPECT_EQ(Places(2, "data/f"), (List{"/old/place.lance/tree/a/b/data/f",
                                       "/ds/tree/a/b/data/f", "/ds/data/f"}));
}

TEST_F(BasePathsTest, RefusesRelativeAndUnregisteredBases) {
  EXPECT_THAT(bases_.Folder(3), HasCode(Code::kCorruption));
  EXPECT_THAT(bases_.Candidates(3, "f"), HasCode(Code::kCorruption));
  EXPECT_THAT(bases_.Folder(9), HasCode(Code::kCorruption));
}

}  // namespace
}  // namespace rowfs
