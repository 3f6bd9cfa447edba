// The entries of a folder as they go to the kernel.
//
// A Listing is used by one thread at a time.
#ifndef ROWFS_FS_FUSE_FUSE_LISTING_H_
#define ROWFS_FS_FUSE_FUSE_LISTING_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "fs/fuse/fuse_reply.h"
#include "fs/tree/tree.h"

namespace rowfs {

class Listing {
 public:
  // Fill it with the entries of `node` behind `offset`, up to `size` bytes;
  // what was in it before is gone. The errors of Tree::ReadDir.
  struct Wanted {
    NodeId node = 0;
    size_t size = 0;
    uint64_t offset = 0;
    bool plus = false;
  };
  Status Fill(Tree& tree, const Ownership& owner, const Wanted& wanted,
              Wait wait);

  // Empty: the end.
  std::string_view bytes() const { return {buffer_.data(), used_}; }
  // Give back what the entries refer to: they were not delivered.
  void Forget(Tree& tree) const;

 private:
  bool Add(const Ownership& owner, bool plus, const char* name,
           const Entry& entry, uint64_t next);

  std::vector<char> buffer_;  // grows, so that it can be used again
  size_t size_ = 0;
  size_t used_ = 0;
  std::vector<NodeId> references_;
};

}  // namespace rowfs
#endif  // ROWFS_FS_FUSE_FUSE_LISTING_H_
