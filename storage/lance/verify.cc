#include "storage/lance/verify.h"

#include <algorithm>

#include "storage/lance/row_batch.h"
#include "storage/lance/snapshot.h"

namespace rowfs {
namespace {

constexpr uint64_t kBatchRows = 1024;

class Verifier {
 public:
  Verifier(std::shared_ptr<LanceSnapshot> snapshot, const Location& root,
           const VerifyOptions& options)
      : snapshot_(std::move(snapshot)), root_(root), options_(options) {}

  std::vector<Finding> Run();

 private:
  bool Full() const { return findings_.size() >= options_.findings_max; }
  void Note(std::string where, const Status& status) {
    if (status.ok() || Full()) return;
    findings_.push_back({std::move(where), std::string(status.message())});
  }
  void CheckFragment(size_t index);
  void CheckRowIds(size_t index, const std::string& where);
  void CheckColumn(size_t index, size_t column, const std::string& where);
  void CheckBlobs(const Array& array, const std::string& where);
  void CheckRefs();
  void Progress(uint64_t done) const {
    if (options_.progress) options_.progress(done, snapshot_->row_count());
  }

  const std::shared_ptr<LanceSnapshot> snapshot_;
  const Location root_;
  const VerifyOptions& options_;
  std::vector<Finding> findings_;
};

void Verifier::CheckBlobs(const Array& array, const std::string& where) {
  for (uint64_t i = 0; i < array.blobs.size() && !Full(); ++i) {
    if (array.IsNull(i)) continue;
    const Status status = snapshot_->blobs().Open(array.blobs[i]).status();
    if (status.code() == Code::kPermissionDenied) continue;
    Note(where + " + " + std::to_string(i), status);
  }
  for (const Array& child : array.children) CheckBlobs(child, where);
}

void Verifier::CheckColumn(size_t index, size_t column,
                           const std::string& where) {
  const LanceField& field = snapshot_->lance_schema().fields[column];
  const uint64_t rows =
      snapshot_->message().fragments(static_cast<int>(index)).physical_rows();
  RowBatch batch(kBatchRows, kBatchRows);
  for (uint64_t begin = 0; begin < rows && !Full(); begin += batch.rows()) {
    const std::string at = where + ", column \"" + field.field.name +
                           "\", row " + std::to_string(begin);
    const auto read = batch.Read(1, rows - begin, [&](size_t, uint64_t count) {
      return snapshot_->fragment(index).Read(field, begin, begin + count,
                                             BlobDetail::kFull);
    });
    Note(at, read.status());
    // What comes after in this file is as likely as not damaged by the same.
    if (!read.ok()) return;
    Note(at, Validate(read.value()[0], field.field.name));
    CheckBlobs(read.value()[0], at);
  }
}

void Verifier::CheckRowIds(size_t index, const std::string& where) {
  const pb::Manifest& manifest = snapshot_->message();
  if ((manifest.reader_feature_flags() & kFlagStableRowIds) == 0) return;
  const auto& fragment = manifest.fragments(static_cast<int>(index));
  if (fragment.physical_rows() == 0) return;
  Note(where, snapshot_->fragment(index)
                  .StableRowId(fragment.physical_rows() - 1)
                  .status());
}

void Verifier::CheckFragment(size_t index) {
  const auto& message = snapshot_->message().fragments(static_cast<int>(index));
  const std::string where = "fragment " + std::to_string(message.id());
  const size_t before = findings_.size();
  for (const pb::DataFile& file : message.files()) {
    Note(where, snapshot_->OpenFile(file, message.physical_rows()).status());
  }
  Note(where, snapshot_->fragment(index).Deleted().status());
  CheckRowIds(index, where);
  // Values of a fragment that does not fit together would only repeat that.
  if (!options_.values || findings_.size() > before) return;
  const size_t columns = snapshot_->schema().fields.size();
  for (size_t column = 0; column < columns; ++column) {
    CheckColumn(index, column, where);
  }
}

void Verifier::CheckRefs() {
  const auto tags = ListTags(root_);
  Note("tags", tags.status());
  if (tags.ok()) {
    for (const auto& [name, tag] : tags.value()) {
      Note("tag " + name,
           FindVersion(BranchRoot(root_, tag.branch), tag.version).status());
    }
  }
  const auto branches = ListBranches(root_);
  Note("branches", branches.status());
  if (!branches.ok()) return;
  for (const std::string& branch : branches.value()) {
    Note("branch " + branch, FindLatest(BranchRoot(root_, branch)).status());
  }
}

std::vector<Finding> Verifier::Run() {
  const auto count = static_cast<size_t>(snapshot_->message().fragments_size());
  for (size_t i = 0; i < count && !Full(); ++i) {
    CheckFragment(i);
    Progress(snapshot_->first_row(i + 1));
  }
  CheckRefs();
  return std::move(findings_);
}

}  // namespace

Result<std::vector<Finding>> VerifyDataset(const Location& root,
                                           std::string_view spec,
                                           const VerifyOptions& options,
                                           const OpenContext& context) {
  ROWFS_ASSIGN_OR_RETURN(auto snapshot,
                         LanceSnapshot::Open(root, spec, context));
  return Verifier(std::move(snapshot), root, options).Run();
}

}  // namespace rowfs
