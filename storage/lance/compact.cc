#include "storage/lance/compact.h"

#include <algorithm>

#include "storage/lance/blob_writer.h"
#include "storage/lance/compact_plan.h"
#include "storage/lance/fragment_writer.h"
#include "storage/lance/manifest_check.h"
#include "storage/lance/row_batch.h"
#include "storage/lance/row_versions.h"
#include "storage/lance/snapshot.h"

namespace rowfs {
namespace {

constexpr uint64_t kBatchRowsFirst = 16;
constexpr uint64_t kBatchRowsMax = 8192;

Result<LanceFileVersion> WritableVersion(const pb::Manifest& manifest) {
  const std::string& version = manifest.data_format().version();
  if (version == "2.2") return LanceFileVersion{2, 2};
  if (version == "2.3") return LanceFileVersion{2, 3};
  return Status(Code::kUnsupported, "compacting a table of file version " +
                                        version + " (2.2 and 2.3 are written)");
}

// Copies one group of fragments into a new one.
class GroupCopier {
 public:
  GroupCopier(LanceSnapshot* snapshot, const Location& root,
              LanceFileVersion version)
      : snapshot_(*snapshot), root_(root), version_(version) {}

  // The new fragment, its files durable. `copied` counts rows.
  Result<pb::DataFragment> Run(const std::vector<size_t>& group,
                               const std::function<void(uint64_t)>& copied);

  // What was written, to be removed when nothing comes of it.
  std::vector<Location> files() const {
    return writer_ ? writer_->finished() : std::vector<Location>();
  }

 private:
  Status CopyRows(size_t index, const std::function<void(uint64_t)>& copied);
  Status CopyBatch(size_t index, uint64_t first, uint64_t rows_left);
  Result<Array> MoveBlobs(Array array, BlobSink* sink);
  Status CopyLineage(const std::vector<size_t>& group,
                     pb::DataFragment* out) const;

  LanceSnapshot& snapshot_;
  const Location root_;
  const LanceFileVersion version_;
  std::unique_ptr<FragmentWriter> writer_;
  BlobLedger ledger_;
  RowBatch batch_{kBatchRowsFirst, kBatchRowsMax};
};

Result<Array> GroupCopier::MoveBlobs(Array array, BlobSink* sink) {
  for (uint64_t i = 0; i < array.blobs.size(); ++i) {
    if (array.IsNull(i)) continue;
    BlobCell& cell = array.blobs[i];
    // Managed blobs stay where they are; seen from the new data file, which is
    // in the dataset itself, that may be another base.
    if (cell.kind == BlobKind::kManaged && cell.base_id) {
      cell.kind = BlobKind::kManagedWithBase;
    }
    BlobSource source;
    const bool stays = cell.kind == BlobKind::kExternal ||
                       cell.kind == BlobKind::kManaged ||
                       cell.kind == BlobKind::kManagedWithBase;
    if (!stays) {
      ROWFS_ASSIGN_OR_RETURN(source, snapshot_.blobs().Open(cell));
    }
    ROWFS_ASSIGN_OR_RETURN(cell, CopyBlob(cell, source, sink));
  }
  for (Array& child : array.children) {
    ROWFS_ASSIGN_OR_RETURN(child, MoveBlobs(std::move(child), sink));
  }
  return array;
}

Status GroupCopier::CopyBatch(size_t index, uint64_t first,
                              uint64_t rows_left) {
  const Fragment fragment = snapshot_.fragment(index);
  const std::vector<LanceField>& fields = snapshot_.lance_schema().fields;
  ROWFS_ASSIGN_OR_RETURN(
      std::vector<Array> columns,
      batch_.Read(fields.size(), rows_left, [&](size_t i, uint64_t rows) {
        return fragment.ReadLive(fields[i], first, rows, BlobDetail::kFull);
      }));
  for (size_t i = 0; i < fields.size(); ++i) {
    BlobSink sink;
    sink.fragment = writer_.get();
    sink.ledger = &ledger_;
    sink.pack = i;
    sink.allow_info = version_ >= LanceFileVersion{2, 3};
    ROWFS_ASSIGN_OR_RETURN(
        sink.thresholds,
        FindThresholds(snapshot_.schema().fields[i], LanceWriteOptions()));
    ROWFS_ASSIGN_OR_RETURN(columns[i], MoveBlobs(std::move(columns[i]), &sink));
    ROWFS_ASSIGN_OR_RETURN(columns[i],
                           StoreBlobs(fields[i], columns[i], &sink));
  }
  return writer_->Append(columns);
}

Status GroupCopier::CopyRows(size_t index,
                             const std::function<void(uint64_t)>& copied) {
  const uint64_t live =
      snapshot_.first_row(index + 1) - snapshot_.first_row(index);
  for (uint64_t begin = 0; begin < live; begin += batch_.rows()) {
    ROWFS_RETURN_IF_ERROR(CopyBatch(index, begin, live - begin));
    copied(batch_.rows());
  }
  return {};
}

// Stable ids and versions go along with their rows.
Status GroupCopier::CopyLineage(const std::vector<size_t>& group,
                                pb::DataFragment* out) const {
  if ((snapshot_.message().reader_feature_flags() & kFlagStableRowIds) == 0) {
    return {};
  }
  std::vector<uint64_t> ids;
  std::vector<uint64_t> created;
  std::vector<uint64_t> updated;
  bool has_versions = true;
  for (const size_t index : group) {
    const auto& message =
        snapshot_.message().fragments(static_cast<int>(index));
    const Fragment fragment = snapshot_.fragment(index);
    ROWFS_ASSIGN_OR_RETURN(const auto deleted, fragment.Deleted());
    has_versions &= message.has_inline_created_at_versions() &&
                    message.has_inline_last_updated_at_versions();
    std::vector<uint64_t> old_created(message.physical_rows());
    std::vector<uint64_t> old_updated(message.physical_rows());
    if (has_versions) {
      ROWFS_ASSIGN_OR_RETURN(
          old_created,
          DecodeRowVersions(AsBytes(message.inline_created_at_versions()),
                            message.physical_rows()));
      ROWFS_ASSIGN_OR_RETURN(
          old_updated,
          DecodeRowVersions(AsBytes(message.inline_last_updated_at_versions()),
                            message.physical_rows()));
    }
    for (uint64_t row = 0; row < message.physical_rows(); ++row) {
      if (deleted && deleted->Contains(static_cast<uint32_t>(row))) continue;
      ROWFS_ASSIGN_OR_RETURN(const uint64_t id, fragment.StableRowId(row));
      ids.push_back(id);
      created.push_back(old_created[row]);
      updated.push_back(old_updated[row]);
    }
  }
  out->set_inline_row_ids(RowIdSequence::Encode(ids));
  if (!has_versions) return {};
  out->set_inline_created_at_versions(EncodeRowVersions(created));
  out->set_inline_last_updated_at_versions(EncodeRowVersions(updated));
  return {};
}

Result<pb::DataFragment> GroupCopier::Run(
    const std::vector<size_t>& group,
    const std::function<void(uint64_t)>& copied) {
  ROWFS_ASSIGN_OR_RETURN(
      writer_,
      FragmentWriter::Create(root_, snapshot_.lance_schema(), version_));
  for (const size_t index : group) {
    ROWFS_RETURN_IF_ERROR(CopyRows(index, copied));
  }
  ROWFS_ASSIGN_OR_RETURN(pb::DataFragment fragment, writer_->Finish());
  ROWFS_RETURN_IF_ERROR(CopyLineage(group, &fragment));
  return fragment;
}

// One attempt on one version; what it wrote is removed unless it is committed.
class Compaction {
 public:
  Compaction(std::shared_ptr<LanceSnapshot> snapshot, const Location& root,
             const CompactOptions& options)
      : snapshot_(std::move(snapshot)), root_(root), options_(options) {}
  ~Compaction() {
    if (keep_files_) return;
    for (const Location& file : files_) {
      const Status ignored = file.store->Remove(file.path);
      static_cast<void>(ignored);
    }
  }
  Compaction(const Compaction&) = delete;
  Compaction& operator=(const Compaction&) = delete;

  Result<CompactResult> Run();

 private:
  Result<CompactPlan> Plan() const;
  Status Copy(const CompactPlan& plan, pb::Transaction* transaction);

  const std::shared_ptr<LanceSnapshot> snapshot_;
  const Location root_;
  const CompactOptions& options_;
  std::vector<Location> files_;
  bool keep_files_ = false;
};

Result<CompactPlan> Compaction::Plan() const {
  // The snapshot left the index section out.
  ROWFS_ASSIGN_OR_RETURN(
      Manifest manifest,
      ReadManifest(snapshot_->resolved().root.Join("_versions"),
                   snapshot_->resolved().name, ManifestParts::kAll));
  manifest.message = snapshot_->message();
  return PlanCompaction(manifest, options_);
}

Status Compaction::Copy(const CompactPlan& plan, pb::Transaction* transaction) {
  ROWFS_ASSIGN_OR_RETURN(const LanceFileVersion version,
                         WritableVersion(snapshot_->message()));
  uint64_t done = 0;
  const auto copied = [&](uint64_t rows) {
    done += rows;
    if (options_.progress) options_.progress(done, plan.row_count);
  };
  for (const std::vector<size_t>& indices : plan.groups) {
    auto* group = transaction->mutable_rewrite()->add_groups();
    for (const size_t index : indices) {
      *group->add_old_fragments() =
          snapshot_->message().fragments(static_cast<int>(index));
    }
    GroupCopier copier(snapshot_.get(), root_, version);
    auto fragment = copier.Run(indices, copied);
    const std::vector<Location> files = copier.files();
    files_.insert(files_.end(), files.begin(), files.end());
    if (!fragment.ok()) return fragment.status();
    *group->add_new_fragments() = std::move(fragment).value();
  }
  return {};
}

Result<CompactResult> Compaction::Run() {
  const pb::Manifest& message = snapshot_->message();
  ROWFS_RETURN_IF_ERROR(CheckWritable(message));
  ROWFS_ASSIGN_OR_RETURN(const CompactPlan plan, Plan());
  CompactResult result;
  result.version = message.version();
  result.fragments_before = static_cast<uint64_t>(message.fragments_size());
  result.fragments_after = result.fragments_before;
  result.fragments_kept = plan.fragments_kept;
  if (plan.groups.empty()) return result;

  pb::Transaction transaction;
  transaction.set_read_version(message.version());
  ROWFS_RETURN_IF_ERROR(Copy(plan, &transaction));
  CommitOptions commit_options;
  commit_options.clock = options_.clock;
  auto committed =
      CommitTransaction(root_, std::move(transaction), commit_options);
  // What the store answered last may not be what happened: only a conflict is
  // certain to leave nothing behind.
  keep_files_ =
      committed.ok() || (committed.status().code() != Code::kChanged &&
                         committed.status().code() != Code::kAlreadyExists);
  if (!committed.ok()) return committed.status();
  result.version = committed.value().version;
  result.fragments_after =
      static_cast<uint64_t>(committed.value().manifest.fragments_size());
  result.row_count = plan.row_count;
  return result;
}

}  // namespace

Result<CompactResult> CompactDataset(const Location& root,
                                     const CompactOptions& options,
                                     const OpenContext& context) {
  Status last;
  for (uint32_t i = 0; i < std::max(options.attempts_max, 1U); ++i) {
    ROWFS_ASSIGN_OR_RETURN(auto snapshot,
                           LanceSnapshot::Open(root, "", context));
    Compaction compaction(std::move(snapshot), root, options);
    auto result = compaction.Run();
    if (result.ok()) return result;
    last = result.status().With(root.uri());
    if (last.code() != Code::kChanged) return last;
  }
  return last;
}

}  // namespace rowfs
