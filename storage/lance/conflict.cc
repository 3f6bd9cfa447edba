#include "storage/lance/conflict.h"

#include <set>
#include <string>

namespace rowfs {
namespace {

namespace pb = lance::pb;
using Ids = std::set<uint64_t>;

template <typename Fragments>
void AddIds(const Fragments& fragments, Ids* ids) {
  for (const pb::DataFragment& fragment : fragments) ids->insert(fragment.id());
}

// The fragments that existed before and that the operation changed or removed.
Ids TouchedFragments(const pb::Transaction& transaction) {
  Ids ids;
  if (transaction.has_delete_()) {
    const auto& op = transaction.delete_();
    AddIds(op.updated_fragments(), &ids);
    ids.insert(op.deleted_fragment_ids().begin(),
               op.deleted_fragment_ids().end());
  } else if (transaction.has_update()) {
    const auto& op = transaction.update();
    AddIds(op.updated_fragments(), &ids);
    ids.insert(op.removed_fragment_ids().begin(),
               op.removed_fragment_ids().end());
  } else if (transaction.has_rewrite()) {
    AddIds(transaction.rewrite().old_fragments(), &ids);
    for (const auto& group : transaction.rewrite().groups()) {
      AddIds(group.old_fragments(), &ids);
    }
  } else if (transaction.has_data_replacement()) {
    for (const auto& group : transaction.data_replacement().replacements()) {
      ids.insert(group.fragment_id());
    }
  }
  return ids;
}

bool Overlap(const pb::Transaction& a, const pb::Transaction& b) {
  const Ids left = TouchedFragments(a);
  for (const uint64_t id : TouchedFragments(b)) {
    if (left.contains(id)) return true;
  }
  return false;
}

std::set<std::string> ConfigKeys(const pb::Transaction& transaction) {
  std::set<std::string> keys;
  const auto add = [&keys](const auto& map) {
    for (const auto& [key, value] : map) keys.insert(key);
  };
  if (transaction.has_overwrite()) {
    add(transaction.overwrite().config_upsert_values());
  } else if (transaction.has_update_config()) {
    const auto& op = transaction.update_config();
    add(op.upsert_values());
    keys.insert(op.delete_keys().begin(), op.delete_keys().end());
    for (const auto& entry : op.config_updates().update_entries()) {
      keys.insert(entry.key());
    }
  }
  return keys;
}

bool ConfigOverlap(const pb::Transaction& a, const pb::Transaction& b) {
  const std::set<std::string> left = ConfigKeys(a);
  for (const std::string& key : ConfigKeys(b)) {
    if (left.contains(key)) return true;
  }
  return false;
}

using Case = pb::Transaction::OperationCase;

Conflict AppendAfter(Case theirs) {
  switch (theirs) {
    case Case::kOverwrite:
    case Case::kRestore:
    case Case::kUpdateMemWalState:
      return Conflict::kIncompatible;
    case Case::OPERATION_NOT_SET:
      return Conflict::kRetry;
    case Case::kAppend:
    case Case::kDelete:
    case Case::kCreateIndex:
    case Case::kRewrite:
    case Case::kMerge:
    case Case::kReserveFragments:
    case Case::kUpdate:
    case Case::kProject:
    case Case::kUpdateConfig:
    case Case::kDataReplacement:
    case Case::kClone:
    case Case::kUpdateBases:
      return Conflict::kNone;
  }
  return Conflict::kRetry;
}

// Delete and Rewrite: what matters is whether the same fragments were touched.
Conflict ChangeAfter(const pb::Transaction& mine,
                     const pb::Transaction& theirs) {
  switch (theirs.operation_case()) {
    case Case::kOverwrite:
    case Case::kRestore:
      return Conflict::kIncompatible;
    case Case::kUpdateMemWalState:
      return mine.has_rewrite() ? Conflict::kNone : Conflict::kIncompatible;
    case Case::kDelete:
    case Case::kUpdate:
    case Case::kRewrite:
    case Case::kDataReplacement:
      return Overlap(mine, theirs) ? Conflict::kRetry : Conflict::kNone;
    case Case::kCreateIndex:
      // Which fragments the index covers is not known here; compaction must
      // look at it again.
      return mine.has_rewrite() ? Conflict::kRetry : Conflict::kNone;
    case Case::kMerge:
    case Case::OPERATION_NOT_SET:
      return Conflict::kRetry;
    case Case::kAppend:
    case Case::kReserveFragments:
    case Case::kProject:
    case Case::kUpdateConfig:
    case Case::kClone:
    case Case::kUpdateBases:
      return Conflict::kNone;
  }
  return Conflict::kRetry;
}

}  // namespace

Conflict FindConflict(const pb::Transaction& mine,
                      const pb::Transaction& theirs) {
  if (mine.has_append()) return AppendAfter(theirs.operation_case());
  if (mine.has_delete_() || mine.has_rewrite()) {
    return ChangeAfter(mine, theirs);
  }
  // Overwrite: the table it replaces may have become anything, but settings
  // that somebody else just made are not undone.
  if (theirs.has_update_mem_wal_state() || ConfigOverlap(mine, theirs)) {
    return Conflict::kIncompatible;
  }
  return Conflict::kNone;
}

}  // namespace rowfs
