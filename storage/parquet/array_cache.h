// Decoded pages and record batches, the ones used last, within a budget of
// bytes.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_PARQUET_ARRAY_CACHE_H_
#define ROWFS_STORAGE_PARQUET_ARRAY_CACHE_H_

#include <compare>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <utility>

#include "storage/base/sync.h"
#include "storage/table/array.h"

namespace rowfs {

class ArrayCache {
 public:
  struct Key {
    uint32_t file = 0;
    uint32_t group = 0;   // row group or record batch
    uint32_t column = 0;  // leaf
    uint64_t page = 0;
    auto operator<=>(const Key&) const = default;
  };

  explicit ArrayCache(uint64_t bytes_max) : bytes_max_(bytes_max) {}

  // Null when it is not there.
  std::shared_ptr<const Array> Find(const Key& key) EXCLUDES(mu_);
  // Keeps `array` unless it alone would take more than half of the budget.
  void Put(const Key& key, std::shared_ptr<const Array> array) EXCLUDES(mu_);

 private:
  struct Entry {
    Key key;
    std::shared_ptr<const Array> array;
    uint64_t bytes = 0;
  };

  const uint64_t bytes_max_;
  Mutex mu_;
  uint64_t bytes_ GUARDED_BY(mu_) = 0;
  std::list<Entry> entries_ GUARDED_BY(mu_);  // most recent first
  std::map<Key, std::list<Entry>::iterator> index_ GUARDED_BY(mu_);
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PARQUET_ARRAY_CACHE_H_
