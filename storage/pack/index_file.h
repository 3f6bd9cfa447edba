// What was found out about a shard once, kept on disk for later runs.
//
// A file per shard below the cache directory, readable by its owner only, named
// after what identifies the shard's bytes, checksummed, put in place by a
// rename: any number of processes may read and write, a crash leaves the old
// file or the new one, deleting costs time alone.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_PACK_INDEX_FILE_H_
#define ROWFS_STORAGE_PACK_INDEX_FILE_H_

#include <optional>
#include <string>
#include <string_view>

#include "storage/object/object_store.h"

namespace rowfs {

// The key of what `kind` found out about an object: empty when the store says
// nothing that pins the bytes, and then nothing is kept.
std::string IndexKey(std::string_view kind, const Location& location,
                     const ObjectMeta& meta);

// Absent when there is none, or one that is damaged.
std::optional<Bytes> LoadIndex(const std::string& cache_directory,
                               const std::string& key);
// Best effort: a full or read-only disk is no error of the reader.
void SaveIndex(const std::string& cache_directory, const std::string& key,
               ByteSpan content);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_INDEX_FILE_H_
