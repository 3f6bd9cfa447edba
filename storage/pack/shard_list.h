// Which files of a folder are the shards of one dataset.
//
// Thread-safe, pure apart from the listings it asks for.
#ifndef ROWFS_STORAGE_PACK_SHARD_LIST_H_
#define ROWFS_STORAGE_PACK_SHARD_LIST_H_

#include <string>
#include <string_view>
#include <vector>

#include "storage/object/object_store.h"

namespace rowfs {

enum class ShardKind { kNone, kZip, kTar };

// By the ending of the name: .zip, .cbz; .tar, .tar.gz, .tgz, .tar.zst.
ShardKind ShardKindOf(std::string_view name);

struct ShardList {
  std::vector<Location> shards;    // in order of their paths
  std::vector<std::string> names;  // path below the folder, or the file's name
  size_t zips = 0;
  size_t tars = 0;
  // There are files beside the shards that are neither notes nor manifests:
  // then the folder is no set of shards.
  bool others = false;
};

// The shards at `location`: a file is its own, a folder has those that lie in
// it or in folders of it, "shard-{000..012}.tar" is written out without
// listing. Hidden files are left out. kNotFound when there is nothing. Costs
// one request for a file (none for a remote one whose name says what it is),
// the listings of a folder; with `strict` it gives up at the first folder that
// holds something else.
Result<ShardList> ListShards(const Location& location, bool strict);

// "x-{08..10}.tar" -> x-08.tar, x-09.tar, x-10.tar; other text stays as it is.
// Commas too: "{a,b}". kInvalidArgument above a million names.
Result<std::vector<std::string>> ExpandBraces(std::string_view text);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_SHARD_LIST_H_
