// A plugin as the rest of rowfs sees it: the C interface of
// index/abi/rowfs_plugin.h in our types. Two implementations: PluginHost calls
// a shared object in this process, PluginWorker a pool of caged child
// processes.
//
// Thread-safe.
#ifndef ROWFS_INDEX_RUNTIME_PLUGIN_H_
#define ROWFS_INDEX_RUNTIME_PLUGIN_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/status.h"

namespace rowfs {

// What identifies an open index. Equal keys mean equal contents, so a worker
// may keep it open between calls.
struct PluginIndex {
  uint64_t key = 0;  // Hash64 over plugin, config and both byte strings
  SharedBytes stream_info;
  SharedBytes entries;  // null: head only
  uint64_t blob_size = 0;
  std::string config;
};

struct ViewEntry {
  std::string name;
  bool is_directory = false;
  bool lookup_only = false;
  bool is_whole = false;  // takes the blob's own file name
  bool size_exact = false;
  uint64_t size = 0;
  std::string media_type;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string canonical_path;
};

// A file that needs no decoding, as pieces in order.
struct ViewSegment {
  SharedBytes literal;  // null: a range of the blob
  ByteRange range;

  uint64_t size() const { return literal ? literal->size() : range.size(); }
};

// One decode call: these items out of these ranges.
struct DecodeGroup {
  std::vector<size_t> items;  // indices into the planned paths
  std::vector<ByteRange> ranges;
  Bytes recipe;
};

struct ViewPlan {
  // One per path; empty when the item is in a group.
  std::vector<std::vector<ViewSegment>> segments;
  std::vector<DecodeGroup> groups;
};

struct IngestInput {
  uint64_t size = 0;
  std::function<Status(uint64_t offset, MutableByteSpan out)> read_at;
  std::string file_name;
  std::string config;
};

struct IngestOptions {
  enum class Layout { kStored, kContainer };
  enum class Verify { kOff, kKeys, kFull };

  Layout layout = Layout::kStored;
  Verify verify = Verify::kKeys;
  bool keep_container = false;
};

struct IngestOutput {
  uint8_t blob_type = 0;
  Bytes stream_info;
  Bytes entries;
};

class Plugin {
 public:
  virtual ~Plugin() = default;

  virtual const std::string& name() const = 0;
  virtual const std::string& version() const = 0;
  virtual std::array<char, 4> magic() const = 0;

  // Errors of every call below: kCorruption (damaged media or index),
  // kUnsupported, kInvalidArgument, kNotFound (no such view, item or time),
  // kResourceExhausted, kDeadlineExceeded and kInternal (the plugin failed or
  // died, twice). kOutOfRange: the index was opened with the head alone and the
  // call needs `entries`.
  virtual Result<int> Probe(ByteSpan head, std::string_view file_name) = 0;
  // `payload` gets the stored bytes in order; may be called from this thread
  // only. Blocks for as long as demuxing and verifying take.
  virtual Result<IngestOutput> Ingest(
      const IngestInput& input, const IngestOptions& options,
      const std::function<Status(ByteSpan)>& payload) = 0;
  virtual Result<std::vector<ViewEntry>> List(const PluginIndex& index,
                                              std::string_view directory,
                                              uint64_t start,
                                              uint64_t limit) = 0;
  virtual Result<ViewEntry> Lookup(const PluginIndex& index,
                                   std::string_view path) = 0;
  virtual Result<std::vector<ViewEntry>> Select(const PluginIndex& index,
                                                std::string_view view,
                                                std::string_view from,
                                                std::string_view to) = 0;
  // Every path is answered; the first that cannot be planned fails the call.
  virtual Result<ViewPlan> Plan(const PluginIndex& index,
                                std::span<const std::string> paths) = 0;
  // One result per group.items, in that order; `ranges[i]` holds the bytes of
  // group.ranges[i].
  virtual Result<std::vector<Result<Bytes>>> Decode(
      const PluginIndex& index, const DecodeGroup& group,
      std::span<const ByteSpan> ranges) = 0;
  // The same for a group without ranges, whose plugin reads what it needs of
  // the blob on the way; what `blob` says besides size and read_at is not
  // looked at.
  virtual Result<std::vector<Result<Bytes>>> DecodeFrom(
      const PluginIndex& index, const DecodeGroup& group,
      const IngestInput& blob) = 0;
  // What List(index, "") usually gives for files of this name's extension;
  // empty when the plugin does not say.
  virtual Result<std::vector<ViewEntry>> Foresee(std::string_view) {
    return std::vector<ViewEntry>();
  }
};

// The plugins of this process, by name and by what they wrote.
class PluginRegistry {
 public:
  virtual ~PluginRegistry() = default;
  virtual std::vector<std::string> Names() const = 0;
  // Null when there is none.
  virtual Plugin* FindByName(std::string_view name) = 0;
  virtual Plugin* FindByMagic(ByteSpan stream_info) = 0;
  // The plugins that may know a file, the surest first. Heads do not tell all:
  // of one that finds what it cannot use the next may know better.
  virtual Result<std::vector<Plugin*>> RankByContent(
      ByteSpan head, std::string_view file_name) = 0;
  // The views a file with this extension ("mp4", lower case) usually has, of
  // the first plugin that foresees some. Asked of the plugins once, then from
  // memory.
  virtual std::vector<ViewEntry> ForeseeViews(std::string_view) { return {}; }
  // Why plugins that lie beside the program are not used, one line each; for
  // the log.
  virtual std::vector<std::string> Problems() const { return {}; }
};

struct PluginOptions {
  // Where rowfs_*.so and rowfs-worker are; empty: beside the program, then
  // ../lib/rowfs.
  std::string directory;
  std::vector<std::string>
      extra_paths;  // more shared objects (--media PATH.so)
  bool in_process = false;
  size_t workers_max = 0;                         // 0: the number of processors
  uint64_t memory_bytes_max = uint64_t{2} << 30;  // RLIMIT_AS of a worker
  int64_t deadline_ms = 30'000;      // wall time of one call, ingest excepted
  int64_t ingest_stall_ms = 60'000;  // ingest without any progress
};

// Find and describe the plugins. Workers start at the first call. kNotFound
// when an extra path does not exist, kUnsupported when its ABI is another.
Result<std::unique_ptr<PluginRegistry>> OpenPlugins(
    const PluginOptions& options);

PluginIndex MakePluginIndex(const Plugin& plugin, SharedBytes stream_info,
                            SharedBytes entries, uint64_t blob_size,
                            std::string_view config);

}  // namespace rowfs
#endif  // ROWFS_INDEX_RUNTIME_PLUGIN_H_
