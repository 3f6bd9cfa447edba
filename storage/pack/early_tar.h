// A WebDataset tar whose index does not exist yet: its samples as they are
// found, and the table once all were.
//
// Thread-safe; Finish is called once.
#ifndef ROWFS_STORAGE_PACK_EARLY_TAR_H_
#define ROWFS_STORAGE_PACK_EARLY_TAR_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/sync.h"
#include "storage/pack/member_table.h"
#include "storage/table/early_rows.h"

namespace rowfs {

class EarlyTar final : public EarlyRows {
 public:
  // Null where there is nothing to gain or to begin with: not the name of an
  // uncompressed tar, no tar, shorter than `bytes_min`, its index is kept
  // already, or its store does not say what identifies the bytes or answers
  // with an error. Costs one request for the size and one for the first header.
  static std::unique_ptr<EarlyTar> Begin(const Location& location,
                                         const OpenContext& context,
                                         uint64_t bytes_min);

  // Look through the tar and open it as `--format webdataset` does; waits.
  // kCancelled after Cancel.
  Result<std::unique_ptr<TableSource>> Finish();
  void Cancel();

  std::string fingerprint() const override { return fingerprint_; }
  Found found() const override EXCLUDES(mu_);
  Found WaitForMore(uint64_t rows) const override EXCLUDES(mu_);
  std::optional<FileRows::FileRow> FilesOf(uint64_t row) const override
      EXCLUDES(mu_);
  Result<BlobSource> OpenFile(const FileRows::File& file) const override
      EXCLUDES(mu_);

 private:
  EarlyTar(const Location& location, const OpenContext& context,
           std::shared_ptr<const ObjectReader> shard);

  // A member was found; the tar is known up to `bytes`.
  Status Add(const Member& member, uint64_t bytes) EXCLUDES(mu_);
  Found FoundLocked() const REQUIRES(mu_);

  const Location location_;
  const OpenContext context_;
  const std::shared_ptr<const ObjectReader> shard_;
  const std::string fingerprint_;
  mutable Mutex mu_;
  mutable CondVar more_;
  MemberTableBuilder samples_ GUARDED_BY(mu_);  // members of samples only
  std::vector<uint32_t> first_of_row_ GUARDED_BY(mu_);
  std::string key_ GUARDED_BY(mu_);  // of the last row
  // Columns in the order they first appear, as in MemberRows.
  std::map<std::pair<std::string, uint32_t>, size_t> columns_ GUARDED_BY(mu_);
  std::map<std::string, uint32_t> seen_ GUARDED_BY(mu_);  // in the last row
  uint64_t bytes_ GUARDED_BY(mu_) = 0;
  bool ended_ GUARDED_BY(mu_) = false;
  bool cancelled_ GUARDED_BY(mu_) = false;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_EARLY_TAR_H_
