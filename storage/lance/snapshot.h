// One opened version of a dataset: manifest, schema, and what reading its rows
// takes. The table, its scans and the operations on datasets are made of it.
//
// Thread-safe after Open.
#ifndef ROWFS_STORAGE_LANCE_SNAPSHOT_H_
#define ROWFS_STORAGE_LANCE_SNAPSHOT_H_

#include <memory>
#include <string_view>
#include <vector>

#include "storage/lance/blob_opener.h"
#include "storage/lance/fragment.h"
#include "storage/lance/manifest.h"
#include "storage/lance/versions.h"

namespace rowfs {

class LanceSnapshot {
 public:
  // Version `spec` (see ResolveVersion) of the dataset at `root`, or version
  // `resolved` of it. What `context` points to outlives the snapshot. Errors of
  // ResolveVersion, ReadManifest and ManifestSchema; kCorruption when counts
  // contradict each other. Costs: finding the version, reading the manifest;
  // for fragments of old writers that leave counts out, opening those.
  static Result<std::shared_ptr<LanceSnapshot>> Open(
      const Location& root, std::string_view spec, const OpenContext& context);
  static Result<std::shared_ptr<LanceSnapshot>> Open(
      const Location& root, ResolvedVersion resolved,
      const OpenContext& context);

  const ResolvedVersion& resolved() const { return resolved_; }
  const Manifest& manifest() const { return manifest_; }
  const pb::Manifest& message() const { return manifest_.message; }
  const LanceSchema& lance_schema() const { return lance_schema_; }
  const Schema& schema() const { return schema_; }
  const BasePaths& bases() const { return bases_; }
  const BlobOpener& blobs() const { return blobs_; }

  uint64_t row_count() const { return first_rows_.back(); }
  // The first row of fragment `i` in manifest order; row_count() behind the
  // last.
  uint64_t first_row(size_t i) const { return first_rows_[i]; }
  // Views; the snapshot outlives them.
  Fragment fragment(size_t i) {
    return {&fragments_, message().fragments(static_cast<int>(i))};
  }
  // The reader of one of the version's data files. Errors of DataFiles::Open.
  Result<std::shared_ptr<const LanceFileReader>> OpenFile(
      const pb::DataFile& file, uint64_t physical_rows) {
    return fragments_.files.Open(file, physical_rows);
  }
  // The fragment that has row `row`. Requires: row < row_count().
  size_t FindFragment(uint64_t row) const;

 private:
  LanceSnapshot(const Location& root, ResolvedVersion resolved,
                Manifest manifest, LanceSchema schema,
                const OpenContext& context);
  Status CompleteRowCounts();
  Status CountRows();

  const ResolvedVersion resolved_;
  Manifest manifest_;  // changes only in Open: counts that were left out
  const LanceSchema lance_schema_;
  const Schema schema_;
  const BasePaths bases_;
  FragmentContext fragments_;
  const BlobOpener blobs_;
  std::vector<uint64_t> first_rows_;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_SNAPSHOT_H_
