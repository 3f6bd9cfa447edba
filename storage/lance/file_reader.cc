#include "storage/lance/file_reader.h"

#include <algorithm>
#include <utility>

#include "storage/lance/column_reader.h"
#include "storage/lance/file_metadata.h"

namespace rowfs {
namespace {

// Chunk tables, repetition indexes and dictionaries kept per file.
constexpr uint64_t kPageStateBytesMax = 32 << 20;

class FileReader final : public LanceFileReader {
 public:
  FileReader(std::shared_ptr<const ObjectReader> object, std::string path,
             FileMetadata metadata)
      : object_(std::move(object)),
        path_(std::move(path)),
        metadata_(std::move(metadata)),
        cache_(kPageStateBytesMax) {}

  uint64_t row_count() const override { return metadata_.row_count; }
  LanceFileVersion version() const override { return metadata_.version; }
  size_t column_count() const override { return metadata_.columns.size(); }
  const LanceSchema& schema() const override { return metadata_.schema; }
  const std::shared_ptr<const ObjectReader>& object() const override {
    return object_;
  }

  Result<Array> Take(const LanceField& field,
                     const std::map<int32_t, uint32_t>& columns,
                     std::span<const uint64_t> rows,
                     BlobDetail detail) const override {
    std::vector<uint64_t> sorted(rows.begin(), rows.end());
    const bool in_order =
        std::is_sorted(rows.begin(), rows.end(), std::less_equal<>());
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    if (!sorted.empty() && sorted.back() >= row_count()) {
      return RowError(sorted.back());
    }
    RowRanges ranges;
    for (const uint64_t row : sorted) {
      if (!ranges.empty() && ranges.back().end == row) {
        ++ranges.back().end;
      } else {
        ranges.push_back({row, row + 1});
      }
    }
    ROWFS_ASSIGN_OR_RETURN(Array array,
                           ReadRanges(field, columns, ranges, detail));
    if (in_order && sorted.size() == rows.size()) return array;
    std::vector<uint64_t> indices;
    indices.reserve(rows.size());
    for (const uint64_t row : rows) {
      indices.push_back(static_cast<uint64_t>(
          std::lower_bound(sorted.begin(), sorted.end(), row) -
          sorted.begin()));
    }
    return TakeArray(array, indices);
  }

  Result<Array> Read(const LanceField& field,
                     const std::map<int32_t, uint32_t>& columns, uint64_t begin,
                     uint64_t end, BlobDetail detail) const override {
    if (begin > end || end > row_count()) return RowError(end);
    RowRanges ranges;
    if (begin < end) ranges.push_back({begin, end});
    return ReadRanges(field, columns, ranges, detail);
  }

 private:
  Status RowError(uint64_t row) const {
    return {Code::kOutOfRange, path_ + ": row " + std::to_string(row) + " of " +
                                   std::to_string(row_count())};
  }

  Result<Array> ReadRanges(const LanceField& field,
                           const std::map<int32_t, uint32_t>& columns,
                           const RowRanges& ranges, BlobDetail detail) const {
    if (ranges.empty()) return NullArray(field.field.type, 0);
    const FileContext context{.object = object_.get(),
                              .metadata = &metadata_,
                              .path = &path_,
                              .cache = &cache_};
    auto array = metadata_.version == LanceFileVersion{2, 0}
                     ? ReadArrayField(context, field, columns, ranges)
                     : ReadField(context, field, columns, ranges, detail);
    if (array.ok()) return array;
    return array.status().With(object_->uri());
  }

  const std::shared_ptr<const ObjectReader> object_;
  const std::string path_;
  const FileMetadata metadata_;
  mutable PageStateCache cache_;  // locks for itself
};

}  // namespace

Result<std::shared_ptr<const LanceFileReader>> LanceFileReader::Open(
    std::shared_ptr<const ObjectReader> reader, std::string path) {
  auto metadata = ReadFileMetadata(*reader);
  if (!metadata.ok()) return metadata.status().With(reader->uri());
  return std::shared_ptr<const LanceFileReader>(
      std::make_shared<const FileReader>(std::move(reader), std::move(path),
                                         std::move(metadata).value()));
}

}  // namespace rowfs
