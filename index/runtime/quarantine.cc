#include "index/runtime/quarantine.h"

namespace rowfs {

Status Quarantine::Find(uint64_t call) {
  MutexLock lock(mu_);
  const auto found = entries_.find(call);
  if (found == entries_.end()) return Status();
  // Expired ones leave when they are the oldest, as all others do.
  if (clock_.MonotonicNs() >= found->second.until_ns) return Status();
  return found->second.error;
}

void Quarantine::Put(uint64_t call, const Status& error) {
  MutexLock lock(mu_);
  const Entry entry = {error, clock_.MonotonicNs() + keep_ns_};
  if (!entries_.insert_or_assign(call, entry).second) return;
  order_.push_back(call);
  if (order_.size() <= calls_max_) return;
  entries_.erase(order_.front());
  order_.pop_front();
}

}  // namespace rowfs
