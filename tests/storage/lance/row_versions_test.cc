#include "storage/lance/row_versions.h"

#include "storage/lance/table.pb.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

TEST(RowVersions, AreReadAsWritten) {
  const std::vector<uint64_t> versions = {1, 1, 1, 7, 7, 2};

  EXPECT_EQ(DecodeRowVersions(AsBytes(EncodeRowVersions(versions)), 6).value(),
            versions);
  // Ten rows, all of version 1, as other writers store it.
  const std::string stored("\x0a\x08\x0a\x04\x0a\x02\x10\x0a\x10\x01", 10);
  EXPECT_EQ(EncodeRowVersions(std::vector<uint64_t>(10, 1)), stored);
}

TEST(RowVersions, CountTheRowsOfSpansWithHoles) {
  lance::pb::RowDatasetVersionSequence message;
  auto* run = message.add_runs();
  run->set_version(4);
  auto* holes = run->mutable_span()->mutable_range_with_holes();
  holes->set_start(100);
  holes->set_end(105);
  holes->mutable_holes()->mutable_u16_array()->set_base(101);
  holes->mutable_holes()->mutable_u16_array()->set_offsets(
      std::string("\0\0", 2));

  EXPECT_EQ(DecodeRowVersions(AsBytes(message.SerializeAsString()), 4).value(),
            std::vector<uint64_t>(4, 4));
}

TEST(RowVersions, MustCoverEveryRowOnce) {
  const std::string bytes = EncodeRowVersions({1, 2, 3});

  EXPECT_THAT(DecodeRowVersions(AsBytes(bytes), 2), HasCode(Code::kCorruption));
  EXPECT_THAT(DecodeRowVersions(AsBytes(bytes), 4), HasCode(Code::kCorruption));
  EXPECT_THAT(DecodeRowVersions(AsBytes("\xff"), 4),
              HasCode(Code::kCorruption));
}

}  // namespace
}  // namespace rowfs
