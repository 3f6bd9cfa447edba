// A TableSource whose rows are made when they are asked for, so that a million
// of them cost nothing, and that counts what it was asked for. Bytes of blobs
// lie in a store of the caller.
//
// Thread-safe.
#ifndef ROWFS_TESTS_SUPPORT_GENERATED_TABLE_H_
#define ROWFS_TESTS_SUPPORT_GENERATED_TABLE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/table/table_source.h"

namespace rowfs {

class GeneratedTable final : public TableSource {
 public:
  // Appends the value of `row` in field `field` to `out`.
  using Fill =
      std::function<void(uint64_t row, size_t field, ArrayBuilder& out)>;

  // `store` has the objects that blob cells name; may be null.
  GeneratedTable(Schema schema, uint64_t row_count, Fill fill,
                 std::shared_ptr<ObjectStore> store)
      : schema_(std::move(schema)),
        row_count_(row_count),
        fill_(std::move(fill)),
        store_(std::move(store)) {}

  void set_fingerprint(std::string fingerprint) {
    fingerprint_ = std::move(fingerprint);
  }
  void set_versions(std::vector<TableVersion> versions) {
    versions_ = std::move(versions);
  }
  // Called before every Take and Scan batch; may block.
  void set_on_read(std::function<void(uint64_t first_row)> on_read) {
    on_read_ = std::move(on_read);
  }
  uint64_t take_count() const { return takes_; }
  uint64_t open_count() const { return opens_; }

  std::string_view format() const override { return "generated"; }
  const Schema& schema() const override { return schema_; }
  uint64_t row_count() const override { return row_count_; }
  std::string fingerprint() const override { return fingerprint_; }
  Json Describe() const override;
  Result<RecordBatch> Take(std::span<const uint64_t> rows,
                           std::span<const size_t> columns,
                           BlobDetail detail) override;
  Result<std::unique_ptr<BatchReader>> Scan(std::span<const size_t> columns,
                                            uint64_t begin, uint64_t end,
                                            uint64_t batch_rows,
                                            BlobDetail detail) override;
  Result<uint64_t> RowId(uint64_t row) override { return row + 1000; }
  Result<BlobSource> OpenBlob(const BlobCell& cell) override;
  Result<std::vector<TableVersion>> Versions() override { return versions_; }

 private:
  const Schema schema_;
  const uint64_t row_count_;
  const Fill fill_;
  const std::shared_ptr<ObjectStore> store_;
  std::string fingerprint_ = "generated";
  std::vector<TableVersion> versions_;
  std::function<void(uint64_t)> on_read_;
  std::atomic<uint64_t> takes_{0};
  std::atomic<uint64_t> opens_{0};
};

// A field of `type`; with `metadata`.
Field MakeField(std::string name, TypePtr type, Metadata metadata = {});

}  // namespace rowfs
#endif  // ROWFS_TESTS_SUPPORT_GENERATED_TABLE_H_
