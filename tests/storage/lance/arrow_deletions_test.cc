#include "storage/lance/arrow_deletions.h"

#include "storage/object/local_store.h"
#include "tests/support/shared_folder.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

constexpr uint64_t kNoLimit = uint64_t{1} << 32;

// Every Arrow deletion file of the golden datasets, with the count of its
// name's manifest unknown here: they must decode and hold increasing offsets.
std::vector<Bytes> GoldenFiles(const std::string& folder) {
  std::vector<Bytes> files;
  auto store = std::make_shared<LocalStore>();
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".arrow" ||
        entry.path().parent_path().filename() != "_deletions") {
      continue;
    }
    auto bytes = ReadWhole({store, entry.path().string()}, 1 << 20);
    if (bytes.ok()) files.push_back(std::move(bytes).value());
  }
  return files;
}

TEST(ArrowDeletions, OfEveryGoldenDatasetDecode) {
  ROWFS_SKIP_WITHOUT_SHARED(golden, "data/lance-golden");
  const auto files = GoldenFiles(golden);

  EXPECT_GT(files.size(), 20U);
  for (const Bytes& bytes : files) {
    const auto rows = DecodeArrowDeletions(bytes, kNoLimit, "d");
    EXPECT_OK(rows);
    EXPECT_TRUE(!rows.ok() || !rows.value().empty());
  }
}

TEST(ArrowDeletions, AreAnErrorCutAnywhereAndSurviveFlippedBits) {
  ROWFS_SKIP_WITHOUT_SHARED(golden, "data/lance-golden/hist_refs_22.lance");
  for (const Bytes& bytes : GoldenFiles(golden)) {
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(
          DecodeArrowDeletions(ByteSpan(bytes).first(size), kNoLimit, "d").ok())
          << size;
    }
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      Bytes broken = bytes;
      broken[bit / 8] ^= std::byte{1} << (bit % 8);
      const auto rows = DecodeArrowDeletions(broken, kNoLimit, "d");
      EXPECT_TRUE(rows.ok() || rows.status().code() == Code::kCorruption ||
                  rows.status().code() == Code::kUnsupported ||
                  rows.status().code() == Code::kResourceExhausted);
    }
  }
}

TEST(ArrowDeletions, RefuseARowBeyondTheFragment) {
  ROWFS_SKIP_WITHOUT_SHARED(golden, "data/lance-golden/hist_refs_22.lance");
  const Bytes bytes = GoldenFiles(golden).front();
  const auto rows = DecodeArrowDeletions(bytes, kNoLimit, "d").value();

  EXPECT_OK(DecodeArrowDeletions(bytes, rows.back() + 1, "d"));
  EXPECT_THAT(DecodeArrowDeletions(bytes, rows.back(), "d"),
              HasCode(Code::kCorruption));
}

}  // namespace
}  // namespace rowfs
