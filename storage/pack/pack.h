// One shard: a zip, a tar or a folder that holds many small files ("members"),
// opened for reading single members by name or number.
//
// A member is a byte range of the shard where it is stored as it is; else
// (deflated, sparse, in a compressed tar) a reader that decodes on the way.
// What is wrong with one member is that member's error alone.
//
// Thread-safe, immutable.
#ifndef ROWFS_STORAGE_PACK_PACK_H_
#define ROWFS_STORAGE_PACK_PACK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "storage/pack/member_table.h"
#include "storage/table/table_source.h"

namespace rowfs {

// A reference into a shard, as table cells hold it: `zip://member::path`.
struct PackReference {
  std::string scheme;  // "zip" or "tar"
  std::string member;
  std::string shard;  // path or URL, as written
};

// Absent when `text` is no reference: another scheme, no "::", an empty part.
// Splits at the first "::"; nothing is unescaped.
std::optional<PackReference> ParsePackReference(std::string_view text);

class Pack : public std::enable_shared_from_this<Pack> {
 public:
  virtual ~Pack() = default;

  virtual std::string_view kind() const = 0;  // "zip", "tar", "folder"
  virtual const Location& location() const = 0;
  // Of the shard; for a folder only what identifies its listing.
  virtual const ObjectMeta& meta() const = 0;
  virtual const MemberTable& members() const = 0;
  // Why the list of members may not be whole, and which entries are no members:
  // empty strings when all is well.
  virtual std::string_view damage() const = 0;

  // The member called `name`, exactly. kNotFound when there is none,
  // kCorruption when there are several: nobody can tell which one is meant.
  // The first call makes an index of 8 bytes a member.
  virtual Result<uint64_t> Find(std::string_view name) const = 0;

  // Make member `i` readable: a range of the shard, or a reader of its own.
  // One small read at most; the first read of a remote zip's member checks its
  // local header in the same request. Errors say what is wrong with the member.
  virtual Result<BlobSource> OpenMember(uint64_t i) const = 0;

  // Read exactly out.size() bytes of the content of member `i`; what the
  // readers that OpenMember hands out are made of.
  virtual Status ReadMember(uint64_t i, uint64_t offset,
                            MutableByteSpan out) const = 0;
};

// Open the zip or tar at `location`; its name says which, else its bytes. A zip
// costs its tail (256 KiB, and the rest of a longer directory), a tar one pass
// over its headers. With a cache directory the index of a tar, and of
// a remote zip whose directory is longer than its tail, is kept there.
// kCorruption, kUnsupported name the shard. `found`: see OpenTar.
Result<std::shared_ptr<const Pack>> OpenPack(const Location& location,
                                             const OpenContext& context,
                                             const TarObserver& found = {});

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_PACK_H_
