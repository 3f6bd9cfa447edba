// Rendered files, kept within one memory budget: what makes a neighbour of a
// frame cheap and a walk through frames decode each GOP once, forwards or
// backwards.
//
// Thread-safe. No lock is held while anything is read or decoded.
#ifndef ROWFS_INDEX_VIEW_RENDERER_H_
#define ROWFS_INDEX_VIEW_RENDERER_H_

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "index/view/media.h"
#include "storage/base/sync.h"
#include "storage/base/thread_pool.h"

namespace rowfs {

// Remembers the exact sizes of rendered files between mounts (the catalog).
class SizeStore {
 public:
  virtual ~SizeStore() = default;
  // `key` is stable over processes and machines.
  virtual std::optional<uint64_t> FindSize(uint64_t key) = 0;
  virtual void PutSize(uint64_t key, uint64_t size) = 0;
};

struct RenderLimits {
  uint64_t cache_bytes_max = 256 << 20;
  size_t ahead_items_max = 16;  // rendered ahead of a sequential reader
  uint64_t ahead_bytes_max = 32 << 20;
};

class Renderer {
 public:
  // `pool` renders ahead; null: never. `sizes` may be null. Both outlive this.
  Renderer(const RenderLimits& limits, ThreadPool* pool, SizeStore* sizes)
      : limits_(limits), pool_(pool), sizes_(sizes) {}
  // Waits for what is being rendered ahead.
  ~Renderer();

  // The file at `path` of `media`; `entry` is what Lookup said about it. From
  // the cache if it is there; identical requests in flight are shared. A reader
  // that opens number after number of one directory, up or down, is rendered
  // ahead of, the further the longer it goes on. Failures are not kept.
  Result<std::shared_ptr<const ViewFile>> Open(
      const std::shared_ptr<const Media>& media, const std::string& path,
      const ViewEntry& entry) EXCLUDES(mu_);

  // The exact size of a rendered file when it is known by now. From memory, or
  // one catalog lookup.
  std::optional<uint64_t> FindSize(const Media& media, const std::string& path,
                                   const ViewEntry& entry) EXCLUDES(mu_);

  uint64_t cached_bytes() const EXCLUDES(mu_);
  // Time spent decoding so far, by all threads together.
  int64_t decode_ns() const { return decode_ns_; }

 private:
  using Key = std::pair<uint64_t, std::string>;  // index key, canonical path
  struct Slot;
  // The path opened last of one index, the step that led there, and how often
  // that was taken in a row.
  struct Trail {
    std::string path;
    int64_t step = 0;
    uint64_t length = 0;
    bool ahead = false;  // something is rendered ahead
  };

  void Fill(const Key& key, Result<std::shared_ptr<const ViewFile>> file)
      EXCLUDES(mu_);
  void Evict() REQUIRES(mu_);
  void RenderAhead(const std::shared_ptr<const Media>& media,
                   const std::string& path, uint64_t size) EXCLUDES(mu_);
  void EndAhead(uint64_t index) EXCLUDES(mu_);

  using Files = std::vector<Result<std::shared_ptr<const ViewFile>>>;
  Files Render(const Media& media, std::span<const std::string> paths);

  const RenderLimits limits_;
  std::atomic<int64_t> decode_ns_{0};
  ThreadPool* const pool_;
  SizeStore* const sizes_;
  mutable Mutex mu_;
  CondVar changed_;
  std::map<Key, std::shared_ptr<Slot>> slots_ GUARDED_BY(mu_);
  std::list<Key> by_use_ GUARDED_BY(mu_);  // newest first, filled slots only
  uint64_t cached_bytes_ GUARDED_BY(mu_) = 0;
  size_t ahead_jobs_ GUARDED_BY(mu_) = 0;
  std::map<uint64_t, Trail> trails_ GUARDED_BY(mu_);  // by index
};

}  // namespace rowfs
#endif  // ROWFS_INDEX_VIEW_RENDERER_H_
