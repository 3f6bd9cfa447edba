// What was opened last stays open: a bounded map that forgets its least
// recently used entry.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_LANCE_LRU_CACHE_H_
#define ROWFS_STORAGE_LANCE_LRU_CACHE_H_

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <utility>

#include "storage/base/sync.h"

namespace rowfs {

template <typename Key, typename Value>
class LruCache {
 public:
  explicit LruCache(size_t entries_max) : entries_max_(entries_max) {}

  // Null when it is not there.
  std::shared_ptr<const Value> Find(const Key& key) EXCLUDES(mu_) {
    MutexLock lock(mu_);
    const auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->second;
  }

  // Keeps `value`, or what somebody else put there first; returns what it
  // keeps.
  std::shared_ptr<const Value> Put(const Key& key,
                                   std::shared_ptr<const Value> value)
      EXCLUDES(mu_) {
    MutexLock lock(mu_);
    const auto found = index_.find(key);
    if (found != index_.end()) return found->second->second;
    entries_.emplace_front(key, value);
    index_[key] = entries_.begin();
    if (entries_.size() > entries_max_) {
      index_.erase(entries_.back().first);
      entries_.pop_back();
    }
    return value;
  }

 private:
  using Entry = std::pair<Key, std::shared_ptr<const Value>>;

  const size_t entries_max_;
  Mutex mu_;
  std::list<Entry> entries_ GUARDED_BY(mu_);  // most recent first
  std::map<Key, typename std::list<Entry>::iterator> index_ GUARDED_BY(mu_);
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_LRU_CACHE_H_
