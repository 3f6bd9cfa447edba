// `pack.manifest.json`: size and SHA-256 of every shard of a pack.
//
// One thread; hashing uses a pool.
#ifndef ROWFS_INDEX_CONVERT_MANIFEST_H_
#define ROWFS_INDEX_CONVERT_MANIFEST_H_

#include <atomic>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "index/convert/pack_set.h"
#include "storage/base/json.h"
#include "storage/base/thread_pool.h"

namespace rowfs {

inline constexpr std::string_view kManifestName = "pack.manifest.json";

// Lower-case hex digests of the shards, in order. Reads each once, in 4 MiB
// requests, and adds what it read to `done`.
Result<std::vector<std::string>> HashShards(std::span<const PackShard> shards,
                                            ThreadPool& pool,
                                            std::atomic<uint64_t>* done);

// Hash every shard and write the manifest beside them, replacing one that is
// there; durable, and whole or not at all.
Status WriteManifest(const std::string& folder,
                     std::span<const PackShard> shards, ThreadPool& pool,
                     std::atomic<uint64_t>* done);

// `text` as a JSON string in ASCII, the way Python's json writes it. Bytes that
// are not UTF-8 show as \udcXX.
std::string AsciiQuote(std::string_view text);

// What a manifest records of each shard. Absent: the folder has no manifest.
// kCorruption for one that is no JSON object with "shards".
Result<std::optional<std::map<std::string, Json>>> ReadManifest(
    const std::string& folder);

}  // namespace rowfs
#endif  // ROWFS_INDEX_CONVERT_MANIFEST_H_
