#include "storage/parquet/array_cache.h"

namespace rowfs {

uint64_t ArrayBytes(const Array& array) {
  uint64_t bytes = sizeof(Array) + array.blobs.size() * sizeof(BlobCell);
  for (const SharedBytes& part : {array.validity, array.offsets, array.data}) {
    if (part) bytes += part->size();
  }
  for (const Array& child : array.children) bytes += ArrayBytes(child);
  if (array.dictionary) bytes += ArrayBytes(*array.dictionary);
  return bytes;
}

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
