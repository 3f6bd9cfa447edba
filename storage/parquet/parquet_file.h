// One Parquet file: any rows of any columns with no more pages read than hold
// them, or rows in order as a stream.
//
// Thread-safe after Open; immutable but for its caches.
#ifndef ROWFS_STORAGE_PARQUET_PARQUET_FILE_H_
#define ROWFS_STORAGE_PARQUET_PARQUET_FILE_H_

#include <parquet/arrow/schema.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/parquet/array_cache.h"
#include "storage/parquet/page_decoder.h"
#include "storage/parquet/page_table.h"
#include "storage/parquet/row_file.h"

namespace rowfs {

class ParquetFile final : public RowFile {
 public:
  // Reads the footer, unless `reader` has it in its kept tail. `cache`
  // outlives the file, which calls itself `number` there. kCorruption when it
  // is no Parquet file, kUnsupported when it is encrypted.
  static Result<std::unique_ptr<RowFile>> Open(
      std::shared_ptr<const ObjectReader> reader, ArrayCache* cache,
      uint32_t number);

  const Schema& schema() const override { return schema_; }
  uint64_t row_count() const override { return group_rows_.back(); }

  // Reads the pages that hold `rows`, and what tells where they are, once each:
  // the offset index of each leaf, or its page headers, on first use. At most
  // three rounds of requests a row group.
  Result<std::vector<Array>> Take(std::span<const uint64_t> rows,
                                  std::span<const size_t> fields) override;
  // Reads each column chunk front to back, some pages at a time.
  Result<std::unique_ptr<BatchReader>> Scan(std::span<const size_t> fields,
                                            uint64_t begin, uint64_t end,
                                            uint64_t batch_rows) override;

 private:
  // Pages by number, null until they are decoded, and those of each leaf.
  using Pages = std::map<size_t, std::shared_ptr<const Array>>;
  using Wanted = std::map<int, Pages>;
  // What must be equal for leaves to be decoded together.
  struct PageGroup {
    int codec = 0;
    std::vector<uint64_t> page_rows;
    auto operator<=>(const PageGroup&) const = default;
  };

  ParquetFile(std::shared_ptr<const ObjectReader> reader, ArrayCache* cache,
              uint32_t number)
      : reader_(std::move(reader)), cache_(cache), number_(number) {}

  Status Load();
  parquet::ArrowReaderProperties ArrowProperties() const;
  std::vector<int> LeavesOf(std::span<const size_t> fields) const;
  Result<std::unique_ptr<BatchReader>> ScanGroups(
      const std::vector<int>& groups, const std::vector<int>& leaves,
      uint64_t batch_rows) const;
  uint64_t RowsWithin(uint64_t bytes, int group,
                      std::span<const int> leaves) const;

  // In parquet_file_take.cc.
  Result<std::vector<Array>> TakeFromGroup(int group,
                                           std::span<const uint64_t> rows,
                                           std::span<const size_t> fields);
  Result<ChunkPlace> PlaceOf(int group, int leaf) const;
  Status FindPages(int group, std::span<const int> leaves) EXCLUDES(mu_);
  Result<PageTable> MakeTable(int group, int leaf, const ChunkPlace& place,
                              ByteSpan index) const;
  std::shared_ptr<const PageTable> TableOf(int group, int leaf) EXCLUDES(mu_);
  Status FetchPages(int group, const Wanted& wanted,
                    std::map<PageGroup, std::vector<LeafPages>>* out);
  Status LoadPages(int group, Wanted* wanted);
  Status DecodeStretches(int group, int leaf, Pages* wanted);
  static Result<Array> GatherRows(const PageTable& table, const Pages& pages,
                                  std::span<const uint64_t> rows);

  const std::shared_ptr<const ObjectReader> reader_;
  ArrayCache* const cache_;
  const uint32_t number_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  parquet::arrow::SchemaManifest manifest_;
  Schema schema_;
  std::vector<std::vector<int>> field_leaves_;
  std::vector<uint64_t> group_rows_ = {0};  // rows before group i; last: all
  Mutex mu_;
  std::map<std::pair<int, int>, std::shared_ptr<const PageTable>> tables_
      GUARDED_BY(mu_);
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PARQUET_PARQUET_FILE_H_
