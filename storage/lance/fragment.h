// One fragment of a dataset version: the values of its live rows, out of
// whichever of its data files hold them.
//
// A view of what the dataset owns; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_FRAGMENT_H_
#define ROWFS_STORAGE_LANCE_FRAGMENT_H_

#include <memory>
#include <span>
#include <vector>

#include "storage/lance/data_files.h"
#include "storage/lance/roaring.h"
#include "storage/lance/row_ids.h"

namespace rowfs {

// What the fragments of one dataset version share.
struct FragmentContext {
  FragmentContext(const BasePaths& base_paths, const ReadContext& read)
      : bases(base_paths), files(base_paths, read) {}

  const BasePaths& bases;
  DataFiles files;
  // By fragment id. Deletions of a million rows take 128 KiB at most.
  LruCache<uint64_t, RoaringBitmap> deletions{1024};
  LruCache<uint64_t, RowIdSequence> row_ids{1024};
};

class Fragment {
 public:
  // `message` has its physical row count. Both outlive the view.
  Fragment(FragmentContext* context, const lance::pb::DataFragment& message)
      : context_(*context), message_(message) {}

  // Rows of one column at physical offsets `rows` (any order, repeats allowed),
  // or of all live rows in [begin, end). Null where no file holds the field.
  // Costs: see LanceFileReader; a file is opened when first touched.
  Result<Array> Take(const LanceField& field, std::span<const uint64_t> rows,
                     BlobDetail detail) const;
  Result<Array> Read(const LanceField& field, uint64_t begin, uint64_t end,
                     BlobDetail detail) const;
  // The same of `count` live rows (at least one), counted among live ones.
  Result<Array> ReadLive(const LanceField& field, uint64_t first,
                         uint64_t count, BlobDetail detail) const;

  // The physical offsets of live rows `live` (ascending or not). Reads the
  // deletion file on first use.
  Result<std::vector<uint64_t>> Physical(std::span<const uint64_t> live) const;

  // Deleted offsets; null when there are none.
  Result<std::shared_ptr<const RoaringBitmap>> Deleted() const;

  // The stable id of a physical row. Requires: the dataset has stable row ids.
  Result<uint64_t> StableRowId(uint64_t physical_row) const;

 private:
  template <typename ReadPart>
  Result<Array> Collect(const LanceField& field, uint64_t length,
                        const ReadPart& read) const;
  Result<uint64_t> HiddenRowId(uint64_t physical_row) const;

  FragmentContext& context_;
  const lance::pb::DataFragment& message_;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_FRAGMENT_H_
