#include "fs/tree/node_id.h"

#include <cassert>

namespace rowfs {
namespace {

constexpr int kKindShift = 59;
constexpr int kSlotShift = 49;
constexpr int kRowShift = 15;
constexpr uint64_t kSlotMask = (kSlotsMax - 1) * (uint64_t{1} << kSlotShift);
constexpr uint64_t kTableBits = uint64_t{31} << kKindShift;
constexpr uint64_t kRootId = 1;

// A bijection (the finalizer of MurmurHash3), so that different numbers of one
// snapshot stay different.
uint64_t Mix(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  x ^= x >> 33;
  return x;
}

}  // namespace

uint64_t EncodeNode(const Node& node) {
  assert(node.kind != NodeKind::kTable && node.slot < kSlotsMax);
  assert(node.row < kNodeRowsMax && node.item < kNodeItemsMax);
  if (node.kind == NodeKind::kRoot && node.slot == 0) return kRootId;
  return static_cast<uint64_t>(node.kind) << kKindShift |
         static_cast<uint64_t>(node.slot) << kSlotShift |
         node.row << kRowShift | node.item;
}

std::optional<Node> DecodeNode(uint64_t id) {
  if (id == kRootId) return Node{};
  const uint64_t kind = id >> kKindShift;
  if (kind == static_cast<uint64_t>(NodeKind::kTable)) {
    return Node{NodeKind::kTable, 0, 0, 0};
  }
  if (kind == 0 || kind > static_cast<uint64_t>(NodeKind::kTag)) return {};
  Node node;
  node.kind = static_cast<NodeKind>(kind);
  node.slot = static_cast<uint32_t>((id & kSlotMask) >> kSlotShift);
  node.row = (id >> kRowShift) & (kNodeRowsMax - 1);
  node.item = static_cast<uint32_t>(id & (kNodeItemsMax - 1));
  return node;
}

uint64_t TableNodeId(uint64_t hash) { return kTableBits | hash >> 5; }

uint64_t InodeOf(uint64_t id, uint64_t snapshot_hash) {
  // Without the slot: which versions were looked at before must not matter.
  const uint64_t plain = id >= kTableBits ? id : id & ~kSlotMask;
  const uint64_t inode = Mix(plain ^ snapshot_hash);
  return inode < 2 ? inode + 2 : inode;
}

}  // namespace rowfs
