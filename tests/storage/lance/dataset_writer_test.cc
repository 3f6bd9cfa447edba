#include "storage/lance/dataset_writer.h"

#include <cstdlib>
#include <string>

#include "storage/object/open_store.h"
#include "tests/storage/lance/table_file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

class LanceDatasetWriterTest : public testing::Test {
 protected:
  void SetUp() override {
    if (FindPython().empty()) {
      GTEST_SKIP() << "no Python with pylance; set ROWFS_PYTHON";
    }
  }

  Location Place(const std::string& path) {
    return stores_->Resolve(path).value();
  }

  // SEED.table as SEED.lance, in batches of `batch_rows`.
  void Write(uint64_t seed, const LanceWriteOptions& options,
             uint64_t batch_rows) {
    const std::string base = dir_ / std::to_string(seed);
    ASSERT_OK_AND_ASSIGN(const RecordBatch all, ReadTableFile(base + ".table"));
    ASSERT_OK_AND_ASSIGN(auto writer,
                         LanceDatasetWriter::Create(Place(base + ".lance"),
                                                    all.schema, options));
    for (uint64_t at = 0; at < all.row_count; at += batch_rows) {
      RecordBatch part{.schema = all.schema,
                       .row_count = std::min(batch_rows, all.row_count - at)};
      for (const Array& column : all.columns) {
        part.columns.push_back(SliceArray(column, at, part.row_count));
      }
      ASSERT_OK(writer->Append(part));
    }
    ASSERT_OK_AND_ASSIGN(const uint64_t version, writer->Commit());
    EXPECT_EQ(version, 1U);
  }

  // Tables of seeds [first, last], written, read by pylance.
  void RoundTrip(uint64_t first, uint64_t last, LanceFileVersion version,
                 const std::string& flags) {
    const std::string seeds = dir_.path() + " --seeds " +
                              std::to_string(first) + "-" +
                              std::to_string(last) + " " + flags;
    ASSERT_TRUE(RunScript("tables.py", "make " + seeds));
    for (uint64_t seed = first; seed <= last; ++seed) {
      LanceWriteOptions options{.version = version};
      if (seed % 3 == 1 && std::getenv("ROWFS_PRINT_SIZES") == nullptr)
        options.rows_per_file_max = 700;
      SCOPED_TRACE("seed " + std::to_string(seed));
      Write(seed, options, seed % 2 == 0 ? 1000 : 1u << 20);
      if (HasFatalFailure()) return;
    }
    EXPECT_TRUE(RunScript("tables.py", "check " + seeds));
    if (std::getenv("ROWFS_PRINT_SIZES") != nullptr) {
      RunScript("tables.py", "sizes " + seeds + " --version 2." +
                                 std::to_string(version.minor));
    }
  }

  TempDir dir_;
  std::unique_ptr<StoreRegistry> stores_ = MakeStoreRegistry();
};

uint64_t SeedCount() {
  const char* text = std::getenv("ROWFS_SEEDS");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 12;
}

TEST_F(LanceDatasetWriterTest, PylanceReadsAndChangesRandomTablesOf22) {
  RoundTrip(0, SeedCount() - 1, {2, 2}, "");
}

TEST_F(LanceDatasetWriterTest, PylanceReadsRandomTablesOf23) {
  RoundTrip(1000, 1000 + SeedCount() - 1, {2, 3}, "--no-changes");
}

}  // namespace
}  // namespace rowfs
