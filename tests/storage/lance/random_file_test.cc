// Random tables that pylance writes, in every format version, against what it
// reads from them. $ROWFS_SEEDS="FROM TO" tries others.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/support/lance_files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {(std::istreambuf_iterator<char>(file)), {}};
}

// The first line in which two texts differ, as both have it.
std::string FirstDifference(const std::string& mine,
                            const std::string& wanted) {
  std::istringstream a(mine);
  std::istringstream b(wanted);
  std::string line_a;
  std::string line_b;
  for (int number = 0;; ++number) {
    const bool more_a = static_cast<bool>(std::getline(a, line_a));
    const bool more_b = static_cast<bool>(std::getline(b, line_b));
    if (!more_a && !more_b) return "";
    if (!more_a) line_a = "nothing";
    if (!more_b) line_b = "nothing";
    if (line_a != line_b) {
      return "line " + std::to_string(number) + ": " + line_a.substr(0, 200) +
             " | " + line_b.substr(0, 200);
    }
  }
}

Result<std::string> ReadDataset(const std::string& folder) {
  ROWFS_ASSIGN_OR_RETURN(const TestDataset dataset, OpenTestDataset(folder));
  std::string text;
  for (const LanceField& field : dataset.schema.fields) {
    for (const TestFragment& fragment : dataset.fragments) {
      const TestFile& file = fragment.files[0];
      ROWFS_ASSIGN_OR_RETURN(
          const Array array,
          file.reader->Read(field, file.columns, 0, file.reader->row_count(),
                            BlobDetail::kFull));
      ROWFS_RETURN_IF_ERROR(Validate(array, field.field.name));
      text += RenderColumn(field.field.name, array);
    }
  }
  return text;
}

TEST(RandomFiles, ReadAsPylanceReadsThem) {
  const auto python = FindPython("lance");
  if (!python) GTEST_SKIP() << "no Python with pylance";
  const char* set = std::getenv("ROWFS_SEEDS");
  const std::string seeds = set != nullptr ? set : "0 48";
  const TempDir output;
  const std::string command = *python + " " + ROWFS_SOURCE_DIR +
                              "/tests/support/lance_oracle.py make " +
                              output.path() + " " + seeds + " 2> /dev/null";

  ASSERT_EQ(std::system(command.c_str()), 0);

  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(output.path())) {
    if (entry.path().extension() != ".txt") continue;
    const std::string seed = entry.path().stem().string();
    const auto text = ReadDataset(output / (seed + ".lance"));
    ++count;
    if (!text.ok()) {
      ADD_FAILURE() << "seed " << seed << ": " << text.status().message();
      continue;
    }
    EXPECT_EQ(FirstDifference(text.value(), ReadText(entry.path())), "")
        << "seed " << seed;
  }
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace rowfs
