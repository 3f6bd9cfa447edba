// Writes Lance datasets: data files, blob sidecars, and the manifest that makes
// them one version (facts: commit protocol). Creates a dataset or appends to
// one.
//
// One thread. Sticky: after the first failure every call returns it.
#ifndef ROWFS_STORAGE_LANCE_DATASET_WRITER_H_
#define ROWFS_STORAGE_LANCE_DATASET_WRITER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "storage/lance/file_reader.h"
#include "storage/object/object_store.h"
#include "storage/table/array.h"

namespace rowfs {

struct LanceWriteOptions {
  // kBlob fields need 2.2; blob_info needs 2.3 (planar pages).
  LanceFileVersion version{2, 2};
  uint64_t rows_per_file_max = uint64_t{1} << 20;
  uint64_t bytes_per_file_max = uint64_t{90} << 30;
  // Blob thresholds; a field's metadata overrides them (facts: blob v2).
  uint64_t inline_bytes_max = 64 << 10;
  uint64_t packed_bytes_max = 4 << 20;
  uint64_t pack_file_bytes_max = uint64_t{1} << 30;
  Metadata properties;  // of the transaction
};

// A blob's payload on its way into the dataset. Feed it, then hand the cell to
// Append inside the column's array. A blob with info goes to a packed or
// dedicated sidecar whatever its size.
class LanceBlobWriter {
 public:
  virtual ~LanceBlobWriter() = default;
  virtual Status Write(ByteSpan bytes) = 0;
  // The cell to put into the column. `info` becomes the sixth field.
  virtual Result<BlobCell> Finish(std::optional<BlobInfo> info) = 0;
  // Forget what was written; the bytes are dropped or left unreferenced.
  virtual void Abandon() = 0;
};

class LanceDatasetWriter {
 public:
  // A new dataset at `root`; kAlreadyExists when there is one.
  static Result<std::unique_ptr<LanceDatasetWriter>> Create(
      const Location& root, const Schema& schema,
      const LanceWriteOptions& options);
  // Rows with the schema, layout and version that `root` has.
  static Result<std::unique_ptr<LanceDatasetWriter>> Append(
      const Location& root, const LanceWriteOptions& options);
  virtual ~LanceDatasetWriter() = default;

  virtual const Schema& schema() const = 0;
  // Start a payload for the kBlob field at top-level index `field`. At most one
  // open per field at a time. `with_info`: the cell will carry blob_info.
  virtual Result<std::unique_ptr<LanceBlobWriter>> StartBlob(
      size_t field, bool with_info) = 0;
  // Add rows. kBlob cells come from StartBlob, or are kCell with bytes (stored
  // by the thresholds), or kExternal.
  virtual Status Append(const RecordBatch& batch) = 0;
  // Make everything durable and commit: put-if-absent, rebased over concurrent
  // commits where the conflict matrix allows. Returns the new version.
  // kAlreadyExists / kChanged when it cannot be rebased. Nothing is visible
  // before.
  virtual Result<uint64_t> Commit() = 0;
  // Instead of Commit: make everything durable and return the text of a
  // FragmentList (fragment_list.h), by which anybody can publish it later. Last
  // call. One request a file.
  virtual Result<std::string> Stage() = 0;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_DATASET_WRITER_H_
