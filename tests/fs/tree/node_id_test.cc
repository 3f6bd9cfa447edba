#include "fs/tree/node_id.h"

#include <gtest/gtest.h>

#include <set>

namespace rowfs {
namespace {

TEST(NodeId, TheRootIsOneAndZeroIsNothing) {
  EXPECT_EQ(EncodeNode(Node{}), 1u);
  EXPECT_EQ(DecodeNode(1), Node{});
  EXPECT_FALSE(DecodeNode(0).has_value());
  EXPECT_FALSE(DecodeNode(2).has_value());
}

TEST(NodeId, EveryNodeComesBackAndNoTwoAreEqual) {
  std::set<uint64_t> ids;
  for (int kind = 1; kind <= static_cast<int>(NodeKind::kTag); ++kind) {
    for (const uint32_t slot : {0u, 1u, kSlotsMax - 1}) {
      for (const uint64_t row : {uint64_t{0}, uint64_t{41}, kNodeRowsMax - 1}) {
        for (const uint32_t item : {0u, 7u, kNodeItemsMax - 1}) {
          const Node node{static_cast<NodeKind>(kind), slot, row, item};
          if (node.kind == NodeKind::kRoot && slot == 0 && row + item > 0) {
            continue;  // there is one root a snapshot
          }
          const uint64_t id = EncodeNode(node);
          EXPECT_EQ(DecodeNode(id), node);
          EXPECT_TRUE(ids.insert(id).second);
        }
      }
    }
  }
}

TEST(NodeId, TableNumbersAreOfTheTable) {
  EXPECT_EQ(DecodeNode(TableNodeId(UINT64_MAX))->kind, NodeKind::kTable);
  EXPECT_EQ(DecodeNode(TableNodeId(0))->kind, NodeKind::kTable);
}

TEST(NodeId, InodesKnowTheSnapshotButNotTheSlot) {
  const Node here{NodeKind::kRowFolder, 0, 5, 0};
  const Node there{NodeKind::kRowFolder, 3, 5, 0};

  EXPECT_EQ(InodeOf(EncodeNode(here), 11), InodeOf(EncodeNode(there), 11));
  EXPECT_NE(InodeOf(EncodeNode(here), 11), InodeOf(EncodeNode(here), 12));
}

}  // namespace
}  // namespace rowfs
