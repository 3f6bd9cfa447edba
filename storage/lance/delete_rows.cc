#include "storage/lance/delete_rows.h"

#include <algorithm>
#include <map>

#include "storage/lance/commit.h"
#include "storage/lance/deletions.h"
#include "storage/lance/snapshot.h"

namespace rowfs {
namespace {

// Rows to delete by fragment id: physical offsets, which no commit but one that
// replaces the fragment's files can change.
struct Target {
  pb::DataFragment fragment;   // as it was when the rows were looked up
  std::vector<uint32_t> rows;  // increasing
};
using Targets = std::map<uint64_t, Target>;

Result<Targets> FindTargets(LanceSnapshot* snapshot,
                            std::span<const uint64_t> rows) {
  std::map<size_t, std::vector<uint64_t>> live;
  for (const uint64_t row : rows) {
    if (row >= snapshot->row_count()) {
      return Status(Code::kOutOfRange,
                    "no row " + std::to_string(row) + " in a table of " +
                        std::to_string(snapshot->row_count()));
    }
    const size_t index = snapshot->FindFragment(row);
    live[index].push_back(row - snapshot->first_row(index));
  }
  Targets targets;
  for (auto& [index, offsets] : live) {
    std::sort(offsets.begin(), offsets.end());
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
    ROWFS_ASSIGN_OR_RETURN(const std::vector<uint64_t> physical,
                           snapshot->fragment(index).Physical(offsets));
    const auto& fragment =
        snapshot->message().fragments(static_cast<int>(index));
    Target& target = targets[fragment.id()];
    target.fragment = fragment;
    for (const uint64_t row : physical) {
      target.rows.push_back(static_cast<uint32_t>(row));
    }
  }
  return targets;
}

// Whether offsets found in `old` still mean the same rows in `now`.
bool SameRows(const pb::DataFragment& old, const pb::DataFragment& now) {
  if (old.physical_rows() != now.physical_rows()) return false;
  for (const pb::DataFile& file : old.files()) {
    const bool kept = std::any_of(
        now.files().begin(), now.files().end(),
        [&](const pb::DataFile& other) { return other.path() == file.path(); });
    if (kept) return true;  // columns may have been added or replaced beside it
  }
  return false;
}

// One attempt: a transaction on the version `latest`, and the deletion files it
// made on the way.
class Attempt {
 public:
  Attempt(LanceSnapshot* latest, const Location& root)
      : latest_(*latest), root_(root) {}

  Status Add(uint64_t id, const Target& target);
  pb::Transaction transaction() const {
    pb::Transaction out = transaction_;
    out.set_read_version(latest_.message().version());
    return out;
  }
  uint64_t deleted_count() const { return deleted_count_; }
  bool empty() const {
    return transaction_.delete_().updated_fragments().empty() &&
           transaction_.delete_().deleted_fragment_ids().empty();
  }
  // Without the commit nobody refers to them; gc finds what stays.
  void RemoveFiles() const {
    for (const Location& file : files_) {
      const Status ignored = file.store->Remove(file.path);
      static_cast<void>(ignored);
    }
  }

 private:
  LanceSnapshot& latest_;
  const Location root_;
  pb::Transaction transaction_;
  uint64_t deleted_count_ = 0;
  std::vector<Location> files_;
};

Status Attempt::Add(uint64_t id, const Target& target) {
  const auto& fragments = latest_.message().fragments();
  const auto now = std::find_if(
      fragments.begin(), fragments.end(),
      [&](const pb::DataFragment& fragment) { return fragment.id() == id; });
  auto* change = transaction_.mutable_delete_();
  if (now == fragments.end() || !SameRows(target.fragment, *now)) {
    return Status(Code::kChanged,
                  "the rows of fragment " + std::to_string(id) +
                      " were moved or deleted meanwhile; look them up again");
  }
  const auto index = static_cast<size_t>(now - fragments.begin());
  ROWFS_ASSIGN_OR_RETURN(const auto deleted, latest_.fragment(index).Deleted());
  std::vector<uint32_t> all;
  const std::vector<uint32_t> before =
      deleted ? deleted->ToVector() : std::vector<uint32_t>();
  std::set_union(before.begin(), before.end(), target.rows.begin(),
                 target.rows.end(), std::back_inserter(all));
  deleted_count_ += all.size() - before.size();
  if (all.size() == before.size()) return {};
  if (all.size() == now->physical_rows()) {
    change->add_deleted_fragment_ids(id);
    return {};
  }
  ROWFS_ASSIGN_OR_RETURN(const pb::DeletionFile file,
                         WriteDeletions(root_, id, latest_.message().version(),
                                        RoaringBitmap::FromSorted(all)));
  files_.push_back(root_.Join("_deletions").Join(DeletionFileName(id, file)));
  pb::DataFragment* updated = change->add_updated_fragments();
  *updated = *now;
  *updated->mutable_deletion_file() = file;
  return {};
}

Result<DeleteResult> TryDelete(const Location& root, LanceSnapshot* latest,
                               const Targets& targets,
                               const DeleteOptions& options) {
  Attempt attempt(latest, root);
  for (const auto& [id, target] : targets) {
    const Status added = attempt.Add(id, target);
    if (added.ok()) continue;
    attempt.RemoveFiles();
    return added;
  }
  if (attempt.empty()) {
    return DeleteResult{latest->message().version(), 0};
  }
  CommitOptions commit_options;
  commit_options.clock = options.clock;
  commit_options.attempts_max = options.attempts_max;
  const auto result =
      CommitTransaction(root, attempt.transaction(), commit_options);
  if (!result.ok()) {
    if (result.status().code() == Code::kChanged) attempt.RemoveFiles();
    return result.status();
  }
  return DeleteResult{result.value().version, attempt.deleted_count()};
}

}  // namespace

Result<DeleteResult> DeleteRows(const Location& root,
                                std::span<const uint64_t> rows,
                                const DeleteOptions& options,
                                const OpenContext& context) {
  const std::string spec =
      options.version == 0 ? "" : std::to_string(options.version);
  ROWFS_ASSIGN_OR_RETURN(auto snapshot,
                         LanceSnapshot::Open(root, spec, context));
  ROWFS_RETURN_IF_ERROR(CheckWritable(snapshot->message()).With(root.uri()));
  auto targets = FindTargets(snapshot.get(), rows);
  if (!targets.ok()) return targets.status().With(root.uri());

  Status last;
  for (uint32_t i = 0; i < std::max(options.attempts_max, 1U); ++i) {
    // The rows were looked up in `version`; they are deleted from the latest.
    if (i > 0 || options.version != 0) {
      ROWFS_ASSIGN_OR_RETURN(snapshot, LanceSnapshot::Open(root, "", context));
    }
    auto result = TryDelete(root, snapshot.get(), targets.value(), options);
    if (result.ok()) return result;
    last = result.status().With(root.uri());
    if (last.code() != Code::kChanged) return last;
    // Moved rows stay moved; a lost race is worth another look.
    ROWFS_ASSIGN_OR_RETURN(const ManifestName latest, FindLatest(root));
    if (latest.version == snapshot->message().version()) return last;
  }
  return last;
}

}  // namespace rowfs
