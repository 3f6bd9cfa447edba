// One fragment of a dataset on its way to disk: its data file, and the sidecars
// that its packed and dedicated blobs go to.
//
// One thread. Sticky through the data file's writer.
#ifndef ROWFS_STORAGE_LANCE_FRAGMENT_WRITER_H_
#define ROWFS_STORAGE_LANCE_FRAGMENT_WRITER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/lance/dataset_writer.h"
#include "storage/lance/file_writer.h"
#include "storage/lance/table.pb.h"

namespace rowfs {

// Up to which sizes a blob column's values go where.
struct BlobThresholds {
  uint64_t inline_bytes_max = 0;
  uint64_t packed_bytes_max = 0;
  uint64_t pack_file_bytes_max = 0;
};

// The options', moved by the field's metadata. kInvalidArgument for a threshold
// that is no number.
Result<BlobThresholds> FindThresholds(const Field& field,
                                      const LanceWriteOptions& options);
// The same for a field inside another, whose thresholds are `defaults`.
Result<BlobThresholds> FindThresholds(const Field& field,
                                      const BlobThresholds& defaults);

class FragmentWriter {
 public:
  // `root` is the dataset. Nothing is visible before Finish but sidecars.
  static Result<std::unique_ptr<FragmentWriter>> Create(
      const Location& root, const LanceSchema& schema,
      LanceFileVersion version);

  // As LanceFileWriter::Append.
  Status Append(std::span<const Array> columns);

  // Store a payload that is at hand: inline, or (never with `sidecar_only`) by
  // size in a packed or a dedicated sidecar. `pack` tells apart the packed
  // sidecars that fill at the same time, one a column.
  Result<BlobCell> Store(ByteSpan bytes, const BlobThresholds& thresholds,
                         size_t pack, bool sidecar_only);

  // A payload of unknown size, as a sidecar of its own: write to what comes
  // back, then FinishDedicated. Dropping it leaves nothing.
  struct Dedicated {
    BlobCell cell;
    std::unique_ptr<ObjectWriter> writer;
  };
  Result<Dedicated> StartDedicated();
  // Make it durable; its cell, of `size` bytes.
  Result<BlobCell> FinishDedicated(Dedicated dedicated, uint64_t size);

  // Make all of it durable; what the manifest has to say of it.
  Result<lance::pb::DataFragment> Finish();

  const std::string& stem() const { return stem_; }
  uint64_t row_count() const { return file_->row_count(); }
  // Data file and sidecars, so far.
  uint64_t size() const { return file_->size() + sidecar_bytes_; }
  // Objects that exist already, to be removed if nothing comes of it.
  const std::vector<Location>& finished() const { return finished_; }

 private:
  struct Pack {
    std::string path;
    std::unique_ptr<ObjectWriter> writer;
    uint64_t size = 0;
  };

  FragmentWriter(const Location& root, LanceFileVersion version);

  // The path, below the dataset, of the next sidecar.
  std::string NextSidecar();
  Result<BlobCell> StorePacked(ByteSpan bytes, const BlobThresholds& thresholds,
                               size_t pack);
  Status FinishPack(Pack* pack);

  const Location root_;
  const LanceFileVersion version_;
  const std::string stem_;
  std::unique_ptr<LanceFileWriter> file_;
  std::map<size_t, Pack> packs_;
  uint32_t next_sidecar_ = 1;
  uint64_t sidecar_bytes_ = 0;
  std::vector<Location> finished_;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_FRAGMENT_WRITER_H_
