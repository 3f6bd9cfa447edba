// Data files that released versions of pylance wrote, against what pylance
// reads from them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "tests/support/lance_files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

// All values of a dataset, a column after the other.
Result<std::string> RenderDataset(const TestDataset& dataset) {
  std::string text;
  for (const LanceField& field : dataset.schema.fields) {
    for (const TestFragment& fragment : dataset.fragments) {
      for (const TestFile& file : fragment.files) {
        auto array =
            file.reader->Read(field, file.columns, 0, file.reader->row_count(),
                              BlobDetail::kFull);
        if (!array.ok()) return array.status();
        ROWFS_RETURN_IF_ERROR(Validate(array.value(), field.field.name));
        text += RenderColumn(field.field.name, array.value());
      }
    }
  }
  return text;
}

std::vector<std::string> GoldenNames(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".arrow") continue;
    names.insert(entry.path().stem().string());
  }
  return {names.begin(), names.end()};
}

TEST(GoldenFiles, ReadAsPylanceReadsThem) {
  const auto folder = GoldenFolder();
  if (!folder) GTEST_SKIP() << "no golden datasets beside the repository";
  const auto python = FindPython("pyarrow");
  if (!python) GTEST_SKIP() << "no Python with pyarrow";
  const TempDir output;

  const char* only = std::getenv("ROWFS_GOLDEN");
  for (const std::string& name : GoldenNames(*folder)) {
    if (only != nullptr ? name != only : name.starts_with("refuse_")) continue;
    auto dataset = OpenTestDataset(*folder + "/" + name + ".lance");
    if (!dataset.ok()) {
      ADD_FAILURE() << name << ": " << dataset.status().message();
      continue;
    }
    const auto text = RenderDataset(dataset.value());
    if (!text.ok()) {
      ADD_FAILURE() << name << ": " << text.status().message();
      continue;
    }
    std::ofstream(output / (name + ".txt")) << text.value();
  }

  const std::string command = *python + " " + ROWFS_SOURCE_DIR +
                              "/tests/support/lance_oracle.py golden " +
                              *folder + " " + output.path();
  EXPECT_EQ(std::system(command.c_str()), 0);
}

// Rows in any order, with repeats, and ranges give what reading all gives.
TEST(GoldenFiles, TakeAndPartialReadsAgreeWithWholeReads) {
  const auto folder = GoldenFolder();
  if (!folder) GTEST_SKIP() << "no golden datasets beside the repository";

  std::minstd_rand random(7);
  for (const std::string& name : GoldenNames(*folder)) {
    if (name.starts_with("refuse_")) continue;
    ASSERT_OK_AND_ASSIGN(const TestDataset dataset,
                         OpenTestDataset(*folder + "/" + name + ".lance"));
    for (const TestFragment& fragment : dataset.fragments) {
      const TestFile& file = fragment.files[0];
      const uint64_t count = file.reader->row_count();
      std::vector<uint64_t> rows;
      for (int i = 0; i < 40; ++i) rows.push_back(random() % count);
      for (uint64_t i = 0; i < 5 && i < count; ++i) rows.push_back(i);
      rows.push_back(count - 1);
      const uint64_t begin = random() % count;
      const uint64_t end = begin + random() % (count - begin) + 1;
      for (const LanceField& field : dataset.schema.fields) {
        SCOPED_TRACE(name + " " + field.field.name);
        ASSERT_OK_AND_ASSIGN(const Array all,
                             file.reader->Read(field, file.columns, 0, count,
                                               BlobDetail::kFull));
        ASSERT_OK_AND_ASSIGN(
            const Array taken,
            file.reader->Take(field, file.columns, rows, BlobDetail::kFull));
        ASSERT_OK_AND_ASSIGN(const Array part,
                             file.reader->Read(field, file.columns, begin, end,
                                               BlobDetail::kFull));

        EXPECT_TRUE(Validate(taken, "taken").ok());
        ASSERT_EQ(taken.length, rows.size());
        for (size_t i = 0; i < rows.size(); ++i) {
          ASSERT_EQ(RenderValue(taken, i), RenderValue(all, rows[i]))
              << rows[i];
        }
        EXPECT_TRUE(Validate(part, "part").ok());
        ASSERT_EQ(part.length, end - begin);
        for (uint64_t i = 0; i < part.length; ++i) {
          ASSERT_EQ(RenderValue(part, i), RenderValue(all, begin + i));
        }
      }
    }
  }
}

}  // namespace
}  // namespace rowfs
