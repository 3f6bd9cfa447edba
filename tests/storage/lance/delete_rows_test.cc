#include "storage/lance/delete_rows.h"

#include <filesystem>

#include "storage/lance/commit.h"
#include "storage/lance/dataset.h"
#include "storage/lance/snapshot.h"
#include "tests/support/shared_folder.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

// A copy of a golden dataset of 1,000 rows in three fragments.
class DeleteRowsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string golden = SharedPath("data/lance-golden/pages_22.lance");
    if (golden.empty()) GTEST_SKIP() << "no ../shared/data/lance-golden";
    std::filesystem::copy(golden, dir_ / "d",
                          std::filesystem::copy_options::recursive);
    context_.stores = stores_.get();
    root_ = stores_->Resolve(dir_ / "d").value();
    options_.clock = &clock_;
  }

  // Column 0 of all rows, as text.
  std::vector<int64_t> Column(std::string_view version = "") {
    auto table = LanceFormat().open(root_, version, context_);
    EXPECT_OK(table);
    std::vector<int64_t> out;
    const std::vector<size_t> columns = {0};
    const uint64_t rows = table.value()->row_count();
    auto reader =
        table.value()->Scan(columns, 0, rows, 100, BlobDetail::kDescriptor);
    while (reader.ok()) {
      const auto batch = reader.value()->Next();
      EXPECT_OK(batch);
      if (!batch.ok() || batch.value().row_count == 0) break;
      for (uint64_t i = 0; i < batch.value().row_count; ++i) {
        out.push_back(batch.value().columns[0].IntAt(i));
      }
    }
    EXPECT_EQ(out.size(), rows);
    return out;
  }

  Result<DeleteResult> Delete(const std::vector<uint64_t>& rows) {
    return DeleteRows(root_, rows, options_, context_);
  }

  TempDir dir_;
  std::unique_ptr<StoreRegistry> stores_ = MakeStoreRegistry();
  OpenContext context_;
  Location root_;
  DeleteOptions options_;
  RealClock clock_;
};

TEST_F(DeleteRowsTest, LeavesTheOthersInOrder) {
  std::vector<int64_t> expected = Column();
  const std::vector<uint64_t> gone = {999, 0, 5, 5, 500};

  ASSERT_OK_AND_ASSIGN(const DeleteResult result, Delete(gone));

  EXPECT_EQ(result.deleted_count, 4U);
  EXPECT_EQ(result.version, 2U);
  for (const ptrdiff_t row : {999, 500, 5, 0}) {
    expected.erase(expected.begin() + row);
  }
  EXPECT_EQ(Column(), expected);
  EXPECT_EQ(Column("v1").size(), 1000U);
}

TEST_F(DeleteRowsTest, DeletesAgainFromWhatIsLeft) {
  std::vector<int64_t> expected = Column();
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(Delete({1, 3}));
    expected.erase(expected.begin() + 3);
    expected.erase(expected.begin() + 1);
  }

  EXPECT_EQ(Column(), expected);
}

TEST_F(DeleteRowsTest, DropsAFragmentThatHasNoRowLeft) {
  ASSERT_OK_AND_ASSIGN(auto before, LanceSnapshot::Open(root_, "", context_));
  std::vector<uint64_t> rows;
  for (uint64_t i = 0; i < before->first_row(1); ++i) rows.push_back(i);

  ASSERT_OK(Delete(rows));

  ASSERT_OK_AND_ASSIGN(auto after, LanceSnapshot::Open(root_, "", context_));
  EXPECT_EQ(after->message().fragments_size(),
            before->message().fragments_size() - 1);
  EXPECT_EQ(after->row_count(), before->row_count() - rows.size());
  EXPECT_EQ(after->message().reader_feature_flags() & kFlagDeletionFiles, 0U);
}

TEST_F(DeleteRowsTest, MeansTheRowsOfTheVersionTheyWereLookedUpIn) {
  std::vector<int64_t> expected = Column();
  ASSERT_OK(Delete({0, 1}));
  options_.version = 1;

  ASSERT_OK_AND_ASSIGN(const DeleteResult result, Delete({1, 2}));

  EXPECT_EQ(result.deleted_count, 1U);
  expected.erase(expected.begin(), expected.begin() + 3);
  EXPECT_EQ(Column(), expected);
}

TEST_F(DeleteRowsTest, RefusesRowsThatAreNotThere) {
  EXPECT_THAT(Delete({1000}), HasCode(Code::kOutOfRange));
  EXPECT_EQ(Column().size(), 1000U);
  ASSERT_OK_AND_ASSIGN(const DeleteResult result, Delete({}));
  EXPECT_EQ(result.version, 1U);
}

TEST_F(DeleteRowsTest, SaysWhenTheRowsWereMovedMeanwhile) {
  ASSERT_OK_AND_ASSIGN(auto snapshot, LanceSnapshot::Open(root_, "", context_));
  pb::Transaction rewrite;
  rewrite.set_read_version(1);
  auto* group = rewrite.mutable_rewrite()->add_groups();
  *group->add_old_fragments() = snapshot->message().fragments(0);
  pb::DataFragment moved = snapshot->message().fragments(0);
  moved.mutable_files(0)->set_path("elsewhere.lance");
  *group->add_new_fragments() = moved;
  ASSERT_OK(CommitTransaction(root_, rewrite, {}));
  options_.version = 1;

  EXPECT_THAT(Delete({1}), HasCode(Code::kChanged));
}

}  // namespace
}  // namespace rowfs
