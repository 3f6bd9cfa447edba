#include "storage/lance/verify.h"

#include <filesystem>
#include <fstream>

#include "tests/support/shared_folder.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

namespace fs = std::filesystem;

class VerifyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (SharedPath("data/lance-golden").empty()) {
      GTEST_SKIP() << "no ../shared/data/lance-golden";
    }
    context_.stores = stores_.get();
  }
  void Copy(const std::string& name) {
    fs::copy(SharedPath("data/lance-golden/" + name + ".lance"), dir_ / "d",
             fs::copy_options::recursive);
  }
  // The first file with this ending that is at least `size` bytes long.
  fs::path Find(const std::string& ending, uint64_t size = 1) {
    for (const auto& entry : fs::recursive_directory_iterator(dir_ / "d")) {
      if (entry.is_regular_file() && entry.file_size() >= size &&
          entry.path().extension() == ending) {
        return entry.path();
      }
    }
    ADD_FAILURE() << "no " << ending;
    return {};
  }
  std::vector<Finding> Verify() {
    const auto found = VerifyDataset(stores_->Resolve(dir_ / "d").value(), "",
                                     options_, context_);
    EXPECT_OK(found);
    return found.ok() ? found.value() : std::vector<Finding>();
  }

  TempDir dir_;
  std::unique_ptr<StoreRegistry> stores_ = MakeStoreRegistry();
  OpenContext context_;
  VerifyOptions options_;
};

TEST_F(VerifyTest, FindsNothingInAWholeDataset) {
  Copy("blob2_22");
  uint64_t last = 0;
  uint64_t rows = 0;
  options_.progress = [&](uint64_t done, uint64_t total) {
    last = done;
    rows = total;
  };

  for (const Finding& finding : Verify()) {
    ADD_FAILURE() << finding.where << ": " << finding.what;
  }
  EXPECT_EQ(last, 80U);
  EXPECT_EQ(rows, 80U);
}

TEST_F(VerifyTest, FindsAShortSidecar) {
  Copy("blob2_22");
  const fs::path sidecar = Find(".blob", 10);
  fs::resize_file(sidecar, fs::file_size(sidecar) - 1);

  const auto findings = Verify();
  ASSERT_FALSE(findings.empty());
  // Sidecars have random names: it may be that of either blob column.
  const std::string& where = findings[0].where;
  EXPECT_TRUE(where.find("column \"blob\", row ") != where.npos ||
              where.find("column \"thumb\", row ") != where.npos)
      << where;
}

TEST_F(VerifyTest, FindsAMissingDataFileAndGoesOn) {
  Copy("pages_22");
  fs::remove(Find(".lance", 1000));

  EXPECT_EQ(Verify().size(), 1U);
}

TEST_F(VerifyTest, FindsADeletionFileThatIsGone) {
  Copy("hist_delete_22");
  fs::remove_all(dir_ / "d/_deletions");

  EXPECT_FALSE(Verify().empty());
}

TEST_F(VerifyTest, FindsATagWithoutItsVersion) {
  Copy("hist_refs_22");
  std::ofstream(dir_ / "d/_refs/tags/gone.json") << "{\"version\":99}";

  const auto findings = Verify();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].where, "tag gone");
}

TEST_F(VerifyTest, StopsAtTheLimit) {
  Copy("pages_22");
  fs::remove_all(dir_ / "d/data");
  options_.findings_max = 2;

  EXPECT_EQ(Verify().size(), 2U);
}

}  // namespace
}  // namespace rowfs
