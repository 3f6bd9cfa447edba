#include "storage/lance/compact_plan.h"

#include "storage/lance/roaring.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

using Groups = std::vector<std::vector<size_t>>;

// Fragments 0, 1, ... of (physical rows, deleted rows).
Manifest Fragments(std::vector<std::pair<uint64_t, uint64_t>> rows) {
  Manifest manifest;
  for (size_t i = 0; i < rows.size(); ++i) {
    pb::DataFragment* fragment = manifest.message.add_fragments();
    fragment->set_id(i);
    fragment->set_physical_rows(rows[i].first);
    if (rows[i].second == 0) continue;
    fragment->mutable_deletion_file()->set_num_deleted_rows(rows[i].second);
  }
  return manifest;
}

void Index(Manifest* manifest, const std::string& name,
           std::vector<uint32_t> fragments) {
  pb::IndexSection section;
  pb::IndexMetadata* index = section.add_indices();
  index->set_name(name);
  index->set_fragment_bitmap(
      std::string(AsText(RoaringBitmap::FromSorted(fragments).Encode())));
  manifest->index_section = ToBytes(section.SerializeAsString());
}

CompactOptions Small() {
  CompactOptions options;
  options.rows_per_fragment = 100;
  return options;
}

TEST(CompactPlan, JoinsSmallNeighboursUntilTheyAreLargeEnough) {
  const auto plan = PlanCompaction(
      Fragments({{40, 0}, {40, 0}, {40, 0}, {40, 0}, {500, 0}, {30, 0}}),
      Small());

  ASSERT_OK(plan);
  EXPECT_EQ(plan.value().groups, (Groups{{0, 1, 2}}));
  EXPECT_EQ(plan.value().row_count, 120U);
}

TEST(CompactPlan, RewritesAFragmentWithManyDeletionsEvenAlone) {
  const auto plan = PlanCompaction(
      Fragments({{500, 50}, {500, 0}, {500, 51}, {500, 0}, {30, 4}}), Small());

  ASSERT_OK(plan);
  EXPECT_EQ(plan.value().groups, (Groups{{2}, {4}}));
}

TEST(CompactPlan, LeavesIndexedFragmentsAndSaysSo) {
  Manifest manifest = Fragments({{10, 0}, {10, 0}, {10, 0}, {10, 0}});
  Index(&manifest, "i", {1});

  const auto plan = PlanCompaction(manifest, Small());

  ASSERT_OK(plan);
  EXPECT_EQ(plan.value().groups, (Groups{{2, 3}}));
  EXPECT_EQ(plan.value().fragments_kept, 1U);
}

TEST(CompactPlan, RefusesTablesWhoseIndicesFollowCompactions) {
  Manifest manifest = Fragments({{10, 0}, {10, 0}});
  Index(&manifest, "__lance_frag_reuse", {});
  EXPECT_THAT(PlanCompaction(manifest, Small()), HasCode(Code::kUnsupported));

  manifest.index_section = ToBytes("\xff");
  EXPECT_THAT(PlanCompaction(manifest, Small()), HasCode(Code::kCorruption));
}

TEST(CompactPlan, HasNothingToDoForOneFragmentOrNone) {
  EXPECT_TRUE(
      PlanCompaction(Fragments({{10, 0}}), Small()).value().groups.empty());
  EXPECT_TRUE(PlanCompaction(Fragments({}), Small()).value().groups.empty());
}

}  // namespace
}  // namespace rowfs
