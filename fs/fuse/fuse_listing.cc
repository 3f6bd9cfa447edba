#include "fs/fuse/fuse_listing.h"

#include <string>

namespace rowfs {
namespace {

constexpr uint64_t kDotEntries = 2;  // "." and ".." come before the tree's

}  // namespace

bool Listing::Add(const Ownership& owner, bool plus, const char* name,
                  const Entry& entry, uint64_t next) {
  char* at = buffer_.data() + used_;
  const size_t space = size_ - used_;
  const auto offset = static_cast<off_t>(next);
  const fuse_entry_param param = EntryOf(entry, owner);
  // libfuse does not look at the request here.
  const size_t taken =
      plus ? fuse_add_direntry_plus(nullptr, at, space, name, &param, offset)
           : fuse_add_direntry(nullptr, at, space, name, &param.attr, offset);
  if (taken > space) return false;
  used_ += taken;
  return true;
}

Status Listing::Fill(Tree& tree, const Ownership& owner, const Wanted& wanted,
                     Wait wait) {
  if (buffer_.size() < wanted.size) buffer_.resize(wanted.size);
  size_ = wanted.size;
  used_ = 0;
  references_.clear();
  uint64_t offset = wanted.offset;
  constexpr const char* kDots[kDotEntries] = {".", ".."};
  for (; offset < kDotEntries; ++offset) {
    Entry entry;  // node 0: the kernel knows both
    entry.attributes.type = NodeType::kDirectory;
    entry.attributes.inode = kRootNode;
    if (!Add(owner, wanted.plus, kDots[offset], entry, offset + 1)) return {};
  }
  std::string name;
  return tree.ReadDir(wanted.node, offset - kDotEntries, wanted.plus, wait,
                      [&](const DirectoryEntry& child) {
                        name = child.name;
                        if (!Add(owner, wanted.plus, name.c_str(), child.entry,
                                 child.next + kDotEntries)) {
                          return false;
                        }
                        if (wanted.plus && child.entry.node != 0) {
                          references_.push_back(child.entry.node);
                        }
                        return true;
                      });
}

void Listing::Forget(Tree& tree) const {
  for (const NodeId node : references_) tree.Forget(node, 1);
}

}  // namespace rowfs
