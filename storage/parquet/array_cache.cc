#include "storage/parquet/array_cache.h"

#include "storage/table/array_bytes.h"

namespace rowfs {

std::shared_ptr<const Array> ArrayCache::Find(const Key& key) {
  const MutexLock lock(mu_);
  const auto found = index_.find(key);
  if (found == index_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->array;
}

void ArrayCache::Put(const Key& key, std::shared_ptr<const Array> array) {
  const uint64_t bytes = ArrayBytes(*array);
  if (bytes > bytes_max_ / 2) return;
  const MutexLock lock(mu_);
  if (index_.contains(key)) return;
  entries_.push_front({key, std::move(array), bytes});
  index_[key] = entries_.begin();
  bytes_ += bytes;
  while (bytes_ > bytes_max_) {
    bytes_ -= entries_.back().bytes;
    index_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

}  // namespace rowfs
