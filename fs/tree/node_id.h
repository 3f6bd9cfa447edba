// Node numbers by arithmetic: for everything but view files, nested folders and
// selections a number says what it names, so that nothing has to be kept for
// it.
//
//   bit 63..59 kind | 58..49 slot of the snapshot | 48..15 row | 14..0 item
//
// The root of the mounted snapshot is 1. Nodes of the table have kind kTable
// and 59 bits of a hash (node_table.h).
//
// Pure functions, thread-safe.
#ifndef ROWFS_FS_TREE_NODE_ID_H_
#define ROWFS_FS_TREE_NODE_ID_H_

#include <cstdint>
#include <optional>

namespace rowfs {

enum class NodeKind : uint8_t {
  kRoot = 1,
  kRows,         // rows/
  kShard,        // rows/042/: `row` = number of the shard
  kRowFolder,    // `row`
  kRowFile,      // `row`, `item` = RowItem::code
  kRowLink,      // rows/7 -> 000007
  kMetadata,     // metadata.jsonl
  kControl,      // .rowfs/
  kControlFile,  // `item` = ControlFile
  kBy,           // by/
  kByColumn,     // `item` = column
  kByValue,      // `item` = column, `row` = number of the value
  kByLink,       // a row, three folders below the root
  kSelect,       // select/
  kSelectLink,   // a row, two folders below the root
  kViews,        // views/
  kView,         // `row` = number of the view
  kVersions,     // .versions/
  kVersion,      // `row` = version
  kTags,         // .tags/
  kTag,          // `row` = version
  kTable = 31,
};

struct Node {
  NodeKind kind = NodeKind::kRoot;
  uint32_t slot = 0;  // which snapshot; 0 = the mounted one
  uint64_t row = 0;
  uint32_t item = 0;

  bool operator==(const Node&) const = default;
};

inline constexpr uint32_t kSlotsMax = 1u << 10;
inline constexpr uint64_t kNodeRowsMax = uint64_t{1} << 34;
inline constexpr uint32_t kNodeItemsMax = 1u << 15;

// Requires: kind is not kTable, the fields are below their maxima.
uint64_t EncodeNode(const Node& node);
// Absent for numbers that name nothing; kTable without fields for those of the
// table.
std::optional<Node> DecodeNode(uint64_t id);

// The number of a table node: kind kTable and bits of `hash`.
uint64_t TableNodeId(uint64_t hash);

// The inode number people see: as unique within a snapshot as `id` is, and
// different for other snapshots. Never 0 or 1.
uint64_t InodeOf(uint64_t id, uint64_t snapshot_hash);

}  // namespace rowfs
#endif  // ROWFS_FS_TREE_NODE_ID_H_
