#include "storage/lance/deletions.h"

#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

namespace pb = lance::pb;

TEST(Deletions, AreNamedByUnsignedNumbers) {
  pb::DeletionFile file;
  file.set_read_version(12);
  file.set_id(18443583949513402303U);

  EXPECT_EQ(DeletionFileName(7, file), "7-12-18443583949513402303.arrow");
  file.set_file_type(pb::DeletionFile::BITMAP);
  EXPECT_EQ(DeletionFileName(7, file), "7-12-18443583949513402303.bin");
}

TEST(Deletions, AreReadAsWritten) {
  auto store = std::make_shared<MemoryStore>();
  const Location root{store, "/d"};
  const std::vector<uint32_t> rows = {0, 3, 4, 99};

  ASSERT_OK_AND_ASSIGN(
      const pb::DeletionFile file,
      WriteDeletions(root, 5, 2, RoaringBitmap::FromSorted(rows)));
  const Location place =
      root.Join("_deletions").Join(DeletionFileName(5, file));
  ASSERT_OK_AND_ASSIGN(const RoaringBitmap read,
                       ReadDeletions(place, file, 100));

  EXPECT_EQ(read.ToVector(), rows);
  EXPECT_EQ(file.num_deleted_rows(), 4U);
}

TEST(Deletions, MustBeAsManyAsTheManifestSaysAndInsideTheFragment) {
  auto store = std::make_shared<MemoryStore>();
  const Location root{store, "/d"};
  const std::vector<uint32_t> rows = {0, 99};
  ASSERT_OK_AND_ASSIGN(
      pb::DeletionFile file,
      WriteDeletions(root, 5, 2, RoaringBitmap::FromSorted(rows)));
  const Location place =
      root.Join("_deletions").Join(DeletionFileName(5, file));

  EXPECT_THAT(ReadDeletions(place, file, 99), HasCode(Code::kCorruption));
  file.set_num_deleted_rows(3);
  EXPECT_THAT(ReadDeletions(place, file, 100), HasCode(Code::kCorruption));
  file.set_num_deleted_rows(0);
  EXPECT_OK(ReadDeletions(place, file, 100));
  EXPECT_THAT(ReadDeletions(root.Join("none"), file, 100),
              HasCode(Code::kNotFound));
}

}  // namespace
}  // namespace rowfs
