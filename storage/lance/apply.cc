#include "storage/lance/apply.h"

#include <algorithm>
#include <map>
#include <set>

namespace rowfs {
namespace {

using Fragments = google::protobuf::RepeatedPtrField<pb::DataFragment>;

Status Gone(uint64_t id) {
  return Status(Code::kChanged,
                "fragment " + std::to_string(id) + " is no longer there");
}

// Hands out fragment ids and stable row ids.
class IdSource {
 public:
  explicit IdSource(pb::Manifest* manifest) : manifest_(manifest) {
    uint64_t next = manifest->has_max_fragment_id()
                        ? uint64_t{manifest->max_fragment_id()} + 1
                        : 0;
    for (const pb::DataFragment& fragment : manifest->fragments()) {
      next = std::max(next, fragment.id() + 1);
    }
    next_ = next;
  }

  // Requires: not more than 2^32 fragments in a table's life (checked).
  Status Assign(pb::DataFragment* fragment) {
    if (next_ > UINT32_MAX) {
      return Status(Code::kResourceExhausted, "all fragment ids are used up");
    }
    fragment->set_id(next_);
    manifest_->set_max_fragment_id(static_cast<uint32_t>(next_));
    ++next_;
    const bool stable =
        (manifest_->reader_feature_flags() & kFlagStableRowIds) != 0;
    if (!stable || fragment->has_inline_row_ids() ||
        fragment->has_row_id_column()) {
      return {};
    }
    const uint64_t begin = manifest_->next_row_id();
    const auto end = CheckedAdd(begin, fragment->physical_rows());
    if (!end) {
      return Status(Code::kResourceExhausted, "all row ids are used up");
    }
    pb::RowIdSequence sequence;
    auto* range = sequence.add_segments()->mutable_range();
    range->set_start(begin);
    range->set_end(*end);
    fragment->set_inline_row_ids(sequence.SerializeAsString());
    manifest_->set_next_row_id(*end);
    return {};
  }

 private:
  pb::Manifest* manifest_;
  uint64_t next_ = 0;
};

// Two commits of the same rows may run at the same time.
Status CheckNew(const Fragments& added, const Fragments& there) {
  std::set<std::string_view> paths;
  for (const pb::DataFragment& fragment : added) {
    for (const pb::DataFile& file : fragment.files()) {
      if (!file.has_base_id()) paths.insert(file.path());
    }
  }
  for (const pb::DataFragment& fragment : there) {
    for (const pb::DataFile& file : fragment.files()) {
      if (!file.has_base_id() && paths.contains(file.path())) {
        return {Code::kInvalidArgument, "the rows of data/" + file.path() +
                                            " are in the table already"};
      }
    }
  }
  return {};
}

Status Append(const Fragments& added, pb::Manifest* manifest) {
  ROWFS_RETURN_IF_ERROR(CheckNew(added, manifest->fragments()));
  IdSource ids(manifest);
  for (const pb::DataFragment& fragment : added) {
    pb::DataFragment* copy = manifest->add_fragments();
    *copy = fragment;
    ROWFS_RETURN_IF_ERROR(ids.Assign(copy));
  }
  return {};
}

Status Overwrite(const pb::Transaction::Overwrite& op,
                 const CommitOptions& options, pb::Manifest* manifest) {
  manifest->clear_fragments();
  *manifest->mutable_fields() = op.schema();
  *manifest->mutable_schema_metadata() = op.schema_metadata();
  for (const auto& [key, value] : op.config_upsert_values()) {
    (*manifest->mutable_config())[key] = value;
  }
  manifest->mutable_base_paths()->MergeFrom(op.initial_bases());
  manifest->mutable_data_format()->set_file_format("lance");
  manifest->mutable_data_format()->set_version(options.data_format);
  if (options.stable_row_ids) {
    manifest->set_reader_feature_flags(manifest->reader_feature_flags() |
                                       kFlagStableRowIds);
  }
  return Append(op.fragments(), manifest);
}

Status Delete(const pb::Transaction::Delete& op, pb::Manifest* manifest) {
  std::map<uint64_t, const pb::DataFragment*> updated;
  for (const auto& fragment : op.updated_fragments()) {
    updated[fragment.id()] = &fragment;
  }
  std::set<uint64_t> removed(op.deleted_fragment_ids().begin(),
                             op.deleted_fragment_ids().end());
  Fragments kept;
  for (pb::DataFragment& fragment : *manifest->mutable_fragments()) {
    if (removed.erase(fragment.id()) != 0) continue;
    const auto change = updated.find(fragment.id());
    if (change == updated.end()) {
      kept.Add()->Swap(&fragment);
    } else {
      *kept.Add() = *change->second;
      updated.erase(change);
    }
  }
  if (!removed.empty()) return Gone(*removed.begin());
  if (!updated.empty()) return Gone(updated.begin()->first);
  manifest->mutable_fragments()->Swap(&kept);
  return {};
}

// New fragments take the place of the group's first old one, so that rows stay
// in order.
Status RewriteGroup(pb::Transaction::Rewrite::Group* group, IdSource* ids,
                    pb::Manifest* manifest) {
  std::set<uint64_t> old;
  for (const auto& fragment : group->old_fragments()) old.insert(fragment.id());
  if (old.empty()) {
    return Status(Code::kInvalidArgument, "rewrite of no fragment");
  }
  for (pb::DataFragment& fragment : *group->mutable_new_fragments()) {
    ROWFS_RETURN_IF_ERROR(ids->Assign(&fragment));
  }
  Fragments kept;
  bool placed = false;
  for (pb::DataFragment& fragment : *manifest->mutable_fragments()) {
    if (old.erase(fragment.id()) == 0) {
      kept.Add()->Swap(&fragment);
    } else if (!placed) {
      kept.MergeFrom(group->new_fragments());
      placed = true;
    }
  }
  if (!old.empty()) return Gone(*old.begin());
  manifest->mutable_fragments()->Swap(&kept);
  return {};
}

Status ApplyOperation(const CommitOptions& options,
                      pb::Transaction* transaction, pb::Manifest* manifest) {
  if (transaction->has_append()) {
    return Append(transaction->append().fragments(), manifest);
  }
  if (transaction->has_overwrite()) {
    return Overwrite(transaction->overwrite(), options, manifest);
  }
  if (transaction->has_delete_()) {
    return Delete(transaction->delete_(), manifest);
  }
  if (transaction->has_rewrite()) {
    IdSource ids(manifest);
    for (auto& group : *transaction->mutable_rewrite()->mutable_groups()) {
      ROWFS_RETURN_IF_ERROR(RewriteGroup(&group, &ids, manifest));
    }
    return {};
  }
  return Status(Code::kInvalidArgument,
                "an operation that this release cannot commit");
}

void SetFlags(uint64_t added, pb::Manifest* manifest) {
  uint64_t reader = manifest->reader_feature_flags() & ~kFlagDeletionFiles;
  uint64_t writer = manifest->writer_feature_flags() & ~kFlagDeletionFiles;
  for (const pb::DataFragment& fragment : manifest->fragments()) {
    if (fragment.has_deletion_file()) added |= kFlagDeletionFiles;
  }
  if (manifest->base_paths_size() != 0) added |= kFlagBasePaths;
  if ((reader & kFlagStableRowIds) != 0) added |= kFlagStableRowIds;
  if (!manifest->config().empty()) writer |= kFlagTableConfig;
  manifest->set_reader_feature_flags(reader | added);
  manifest->set_writer_feature_flags(writer | added);
}

}  // namespace

Result<pb::Manifest> ApplyTransaction(const pb::Manifest& base,
                                      pb::Transaction* transaction,
                                      const CommitOptions& options,
                                      int64_t now_ns) {
  pb::Manifest manifest = base;
  manifest.set_version(base.version() + 1);
  manifest.clear_tag();
  constexpr int64_t kSecond = 1000000000;
  manifest.mutable_timestamp()->set_seconds(now_ns / kSecond);
  manifest.mutable_timestamp()->set_nanos(
      static_cast<int32_t>(now_ns % kSecond));
  auto* writer = manifest.mutable_writer_version();
  writer->Clear();
  writer->set_library(kWriterLibrary);
  writer->set_version(kWriterVersion);
  ROWFS_RETURN_IF_ERROR(ApplyOperation(options, transaction, &manifest));
  SetFlags(options.add_flags, &manifest);
  return manifest;
}

}  // namespace rowfs
