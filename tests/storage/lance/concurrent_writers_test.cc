// Several writers at once, and writers that die: no row is lost, no version is
// torn.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "storage/lance/dataset.h"
#include "storage/lance/dataset_writer.h"
#include "storage/object/open_store.h"
#include "tests/storage/lance/table_file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

RecordBatch Ids(int64_t first, int64_t count) {
  RecordBatch batch;
  batch.schema.fields.push_back(
      {.name = "id", .type = MakeType(TypeId::kInt64)});
  batch.row_count = static_cast<uint64_t>(count);
  ArrayBuilder ids(batch.schema.fields[0].type);
  for (int64_t i = 0; i < count; ++i) ids.AppendInt(first + i);
  batch.columns.push_back(ids.Finish());
  return batch;
}

Status AppendOne(const Location& place, int64_t id) {
  ROWFS_ASSIGN_OR_RETURN(auto writer, LanceDatasetWriter::Append(place, {}));
  ROWFS_RETURN_IF_ERROR(writer->Append(Ids(id, 1)));
  return writer->Commit().status();
}

class ConcurrentWritersTest : public testing::Test {
 protected:
  Location Place() { return stores_->Resolve(path_).value(); }

  Status Create(const RecordBatch& batch) {
    ROWFS_ASSIGN_OR_RETURN(
        auto writer, LanceDatasetWriter::Create(Place(), batch.schema, {}));
    ROWFS_RETURN_IF_ERROR(writer->Append(batch));
    return writer->Commit().status();
  }

  uint64_t CountRows() {
    OpenContext context;
    context.stores = stores_.get();
    auto table = LanceFormat().open(Place(), "", context);
    EXPECT_OK(table);
    return table.ok() ? table.value()->row_count() : 0;
  }

  TempDir dir_;
  const std::string path_ = dir_ / "t.lance";
  std::unique_ptr<StoreRegistry> stores_ = MakeStoreRegistry();
};

TEST_F(ConcurrentWritersTest, TwoWritersLoseNoRow) {
  constexpr int64_t kEach = 15;
  ASSERT_OK(Create(Ids(0, 1)));
  {
    ThreadPool pool(1, 8);
    const auto run = [&](int64_t first) {
      for (int64_t i = 0; i < kEach; ++i) {
        ROWFS_RETURN_IF_ERROR(AppendOne(Place(), first + i));
      }
      return Status();
    };
    const std::vector<std::function<Status()>> tasks = {
        [&] { return run(1); }, [&] { return run(1 + kEach); }};
    ASSERT_OK(RunAll(pool, tasks));
  }
  EXPECT_EQ(CountRows(), 1U + 2 * kEach);
  if (!FindPython().empty()) {
    EXPECT_TRUE(RunScript(
        "blobs.py", "ids " + path_ + " " + std::to_string(1 + 2 * kEach)));
  }
}

TEST_F(ConcurrentWritersTest, AWriterAgainstPylanceLosesNoRow) {
  if (FindPython().empty()) GTEST_SKIP() << "no Python with pylance";
  constexpr int64_t kEach = 10;
  ASSERT_OK(Create(Ids(0, 1)));
  {
    ThreadPool pool(1, 8);
    const std::vector<std::function<Status()>> tasks = {
        [&] {
          for (int64_t i = 0; i < kEach; ++i) {
            ROWFS_RETURN_IF_ERROR(AppendOne(Place(), 1 + i));
          }
          return Status();
        },
        [&] {
          const bool ok = RunScript(
              "blobs.py", "append " + path_ + " " + std::to_string(kEach) +
                              " " + std::to_string(1 + kEach));
          return ok ? Status() : Status(Code::kInternal, "pylance failed");
        }};
    ASSERT_OK(RunAll(pool, tasks));
  }
  EXPECT_EQ(CountRows(), 1U + 2 * kEach);
  EXPECT_TRUE(RunScript("blobs.py",
                        "ids " + path_ + " " + std::to_string(1 + 2 * kEach)));
}

TEST_F(ConcurrentWritersTest, OnlyOneOfTwoCreatorsWins) {
  ASSERT_OK_AND_ASSIGN(
      auto late, LanceDatasetWriter::Create(Place(), Ids(0, 1).schema, {}));
  ASSERT_OK(late->Append(Ids(100, 3)));
  ASSERT_OK(Create(Ids(0, 2)));

  EXPECT_THAT(late->Commit(), HasCode(Code::kAlreadyExists));

  EXPECT_EQ(CountRows(), 2U);
  EXPECT_THAT(LanceDatasetWriter::Create(Place(), Ids(0, 1).schema, {}),
              HasCode(Code::kAlreadyExists));
}

TEST_F(ConcurrentWritersTest, AKilledWriterLeavesTheOldVersionOrTheNewOne) {
  ASSERT_OK(Create(Ids(0, 1)));
  uint64_t rows = 1;
  uint64_t survived = 0;
  for (int i = 0; i < 25; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      LanceWriteOptions options{.rows_per_file_max = 300};
      auto writer = LanceDatasetWriter::Append(Place(), options);
      bool ok = writer.ok();
      for (int64_t j = 0; ok && j < 4; ++j) {
        ok = writer.value()->Append(Ids(j, 250)).ok();
      }
      ok = ok && writer.value()->Commit().ok();
      ::_exit(ok ? 0 : 1);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(400 * i));
    ::kill(child, SIGKILL);
    int state = 0;
    ASSERT_EQ(::waitpid(child, &state, 0), child);

    const uint64_t now = CountRows();
    ASSERT_TRUE(now == rows || now == rows + 1000) << now << " after " << rows;
    if (now != rows) ++survived;
    rows = now;
  }
  ASSERT_OK(AppendOne(Place(), 1));
  EXPECT_EQ(CountRows(), rows + 1);
  RecordProperty("survived", static_cast<int>(survived));
}

}  // namespace
}  // namespace rowfs
