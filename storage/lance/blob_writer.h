// How blob payloads get into a fragment: streamed through a LanceBlobWriter, or
// as the bytes of cells in a batch.
//
// One thread, together with the fragment.
#ifndef ROWFS_STORAGE_LANCE_BLOB_WRITER_H_
#define ROWFS_STORAGE_LANCE_BLOB_WRITER_H_

#include <cstdint>
#include <memory>
#include <set>

#include "storage/lance/dataset_writer.h"
#include "storage/lance/fragment_writer.h"
#include "storage/table/table_source.h"

namespace rowfs {

// What a dataset writer must know of blobs before it changes the fragment.
struct BlobLedger {
  std::set<size_t> open_fields;  // being written
  uint64_t pending = 0;          // stored, but in no row yet
};

// `fragment` outlives the writer's last Write or Finish.
std::unique_ptr<LanceBlobWriter> MakeBlobWriter(
    FragmentWriter* fragment, std::shared_ptr<BlobLedger> ledger,
    const BlobThresholds& thresholds, size_t field, bool with_info);

// Where the cells of one top-level column go.
struct BlobSink {
  FragmentWriter* fragment = nullptr;
  BlobLedger* ledger = nullptr;
  BlobThresholds thresholds;
  size_t pack = 0;
  bool allow_info = false;
  bool saw_info = false;  // set when a cell carried blob_info
};

// `array` with every blob cell below `field` stored and turned into its row of
// descriptors, as LanceFileWriter takes it. Arrays without blobs come back as
// they are.
Result<Array> StoreBlobs(const LanceField& field, const Array& array,
                         BlobSink* sink);

// Store the payload of a cell of any dataset anew, as compaction does: its
// bytes are copied from `source` (TableSource::OpenBlob), streamed when they
// are many, and blob_info goes along as it is. External and managed blobs stay
// where they are: their cells come back unchanged.
Result<BlobCell> CopyBlob(const BlobCell& cell, const BlobSource& source,
                          BlobSink* sink);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_BLOB_WRITER_H_
