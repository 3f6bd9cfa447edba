// Very many distinct names, numbered from 0 in the order they came: some 20
// bytes a name beside its text. What --name-column and by/ look names up in.
//
// Not thread-safe while names are added; afterwards reading is.
#ifndef ROWFS_FS_TREE_NAME_TABLE_H_
#define ROWFS_FS_TREE_NAME_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rowfs {

class NameTable {
 public:
  NameTable() : begins_{0} {}

  // The number of `name`, and whether it is new.
  std::pair<uint64_t, bool> Add(std::string_view name);
  std::optional<uint64_t> Find(std::string_view name) const;
  // Valid until the next Add. Requires: number < size().
  std::string_view at(uint64_t number) const;
  uint64_t size() const { return begins_.size() - 1; }

 private:
  size_t SlotOf(std::string_view name) const;
  void Grow();

  std::string text_;              // all names, one behind the other
  std::vector<uint64_t> begins_;  // of each name, and the end of the last
  std::vector<uint64_t> slots_;   // open addressing; number + 1, 0 = free
};

}  // namespace rowfs
#endif  // ROWFS_FS_TREE_NAME_TABLE_H_
