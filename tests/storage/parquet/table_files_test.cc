#include "storage/parquet/table_files.h"

#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

class TableFilesTest : public ::testing::Test {
 protected:
  std::vector<std::string> List(FileKind kind) {
    const auto files = ListTableFiles({store_, "d"}, kind);
    EXPECT_OK(files);
    std::vector<std::string> paths;
    if (!files.ok()) return paths;
    for (const TableFile& file : files.value()) paths.push_back(file.path);
    return paths;
  }

  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
};

TEST_F(TableFilesTest, LeavesOutWhatOthersPutBeside) {
  for (const char* path : {"d/b.parquet", "d/a.parquet", "d/_metadata.parquet",
                           "d/.x.parquet", "d/metadata.parquet", "d/c.txt"}) {
    store_->Put(path, "x");
  }

  EXPECT_EQ(List(FileKind::kParquet),
            (std::vector<std::string>{"a.parquet", "b.parquet"}));
}

TEST_F(TableFilesTest, TakesDataBeforeOtherFolders) {
  for (const char* path : {"d/meta/x.parquet", "d/data/chunk-000/a.parquet"}) {
    store_->Put(path, "x");
  }

  EXPECT_EQ(List(FileKind::kParquet),
            (std::vector<std::string>{"data/chunk-000/a.parquet"}));
}

TEST_F(TableFilesTest, OrdersWhatWasSavedAsItSays) {
  store_->Put("d/cache-1.arrow", "x");
  store_->Put("d/data-0.arrow", "x");
  store_->Put("d/data-1.arrow", "x");
  store_->Put("d/state.json",
              R"({"_data_files": [{"filename": "data-1.arrow"},
                                  {"filename": "data-0.arrow"}]})");

  EXPECT_EQ(List(FileKind::kArrow),
            (std::vector<std::string>{"data-1.arrow", "data-0.arrow"}));
}

TEST_F(TableFilesTest, NamesTheSplitsOfADictionaryOfThem) {
  for (const char* split : {"train", "test"}) {
    store_->Put("d/" + std::string(split) + "/data-0.arrow", "x");
    store_->Put("d/" + std::string(split) + "/state.json",
                R"({"_data_files": [{"filename": "data-0.arrow"}]})");
  }
  store_->Put("d/dataset_dict.json", R"({"splits": ["train", "test"]})");

  ASSERT_OK_AND_ASSIGN(const auto files,
                       ListTableFiles({store_, "d"}, FileKind::kArrow));

  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].path, "train/data-0.arrow");
  ASSERT_EQ(files[1].values.size(), 1U);
  EXPECT_EQ(files[1].values[0].second, "test");
}

TEST_F(TableFilesTest, DecodesPartitions) {
  store_->Put("d/a=x%2Fy/b=__HIVE_DEFAULT_PARTITION__/f.parquet", "x");

  ASSERT_OK_AND_ASSIGN(const auto files,
                       ListTableFiles({store_, "d"}, FileKind::kParquet));

  ASSERT_EQ(files[0].values.size(), 2U);
  EXPECT_EQ(files[0].values[0].second, "x/y");
  EXPECT_FALSE(files[0].values[1].second);
}

TEST_F(TableFilesTest, DetectsNoTableInAFolderOfMedia) {
  store_->Put("d/metadata.parquet", "x");
  store_->Put("d/a.mp4", "x");

  ASSERT_OK_AND_ASSIGN(const auto kind, DetectFolder({store_, "d"}));

  EXPECT_FALSE(kind);
}

}  // namespace
}  // namespace rowfs
