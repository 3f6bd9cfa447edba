#include "fs/tree/node_table.h"

#include <algorithm>

#include "fs/tree/node_id.h"
#include "storage/base/hash.h"

namespace rowfs {
namespace {

// What identifies the node, without the slot: the same file of the same
// version has the same inode whatever was looked at before.
uint64_t HashOf(const TableNode& node, uint64_t snapshot_hash) {
  Bytes key;
  AppendU8(&key, static_cast<uint8_t>(node.type));
  AppendU64(&key, node.row);
  AppendU64(&key, node.cell.column);
  AppendU64(&key, node.cell.steps.size());
  for (const uint32_t step : node.cell.steps) AppendU32(&key, step);
  AppendText(&key, node.path);
  return Hash64(key, snapshot_hash);
}

}  // namespace

uint64_t InodeOf(const TableNode& node, uint64_t snapshot_hash) {
  return std::max(HashOf(node, snapshot_hash), uint64_t{2});
}

uint64_t NodeTable::Place(const TableNode& node, uint64_t snapshot_hash) const {
  // The number is the session's own business, so it may depend on the slot.
  uint64_t id = TableNodeId(HashOf(node, snapshot_hash) + node.slot * 1024);
  for (auto it = slots_.find(id);
       it != slots_.end() && !it->second.node.SameNode(node);
       it = slots_.find(id)) {
    id = TableNodeId((id + 1) << 5);
  }
  return id;
}

std::pair<uint64_t, TableNode> NodeTable::Add(TableNode node,
                                              uint64_t snapshot_hash) {
  const MutexLock lock(mu_);
  const uint64_t id = Place(node, snapshot_hash);
  Slot& slot = slots_[id];
  if (slot.references == 0) {
    node.inode = InodeOf(node, snapshot_hash);
    slot.node = std::move(node);
  }
  if (!slot.node.size_exact && node.size_exact) {
    slot.node.size = node.size;
    slot.node.size_exact = true;
  }
  ++slot.references;
  return {id, slot.node};
}

std::optional<std::pair<uint64_t, TableNode>> NodeTable::FindAndAdd(
    const TableNode& node, uint64_t snapshot_hash) {
  const MutexLock lock(mu_);
  const uint64_t id = Place(node, snapshot_hash);
  const auto it = slots_.find(id);
  if (it == slots_.end()) return {};
  ++it->second.references;
  return std::pair(id, it->second.node);
}

std::optional<TableNode> NodeTable::Find(uint64_t id) const {
  const MutexLock lock(mu_);
  const auto it = slots_.find(id);
  if (it == slots_.end()) return {};
  return it->second.node;
}

void NodeTable::Forget(uint64_t id, uint64_t count) {
  const MutexLock lock(mu_);
  const auto it = slots_.find(id);
  if (it == slots_.end()) return;
  it->second.references -= std::min(count, it->second.references);
  if (it->second.references == 0) slots_.erase(it);
}

void NodeTable::SetExactSize(uint64_t id, uint64_t size) {
  const MutexLock lock(mu_);
  const auto it = slots_.find(id);
  if (it == slots_.end()) return;
  it->second.node.size = size;
  it->second.node.size_exact = true;
}

uint64_t NodeTable::size() const {
  const MutexLock lock(mu_);
  return slots_.size();
}

}  // namespace rowfs
