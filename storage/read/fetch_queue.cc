#include "storage/read/fetch_queue.h"

#include <algorithm>
#include <cstring>

namespace rowfs {

FetchQueue::Store& FetchQueue::StoreOf(const void* store) {
  std::unique_ptr<Store>& found = stores_[store];
  if (found == nullptr) found = std::make_unique<Store>();
  return *found;
}

uint64_t FetchQueue::GapBytes(const void* store) {
  const MutexLock lock(mu_);
  return StoreOf(store).speed.GapBytes();
}

bool FetchQueue::HasRoom(const Store& store, const std::string& object) const {
  if (store.active >= limits_.per_store) return false;
  const auto found = store.by_object.find(object);
  return found == store.by_object.end() || found->second < limits_.per_object;
}

void FetchQueue::Enter(Store& store, const std::string& object) {
  ++store.active;
  ++store.by_object[object];
}

void FetchQueue::Leave(Store& store, const std::string& object) {
  --store.active;
  const auto found = store.by_object.find(object);
  if (--found->second == 0) store.by_object.erase(found);
  for (auto at = store.waiting.begin(); at != store.waiting.end(); ++at) {
    Waiter* next = *at;
    if (!HasRoom(store, *next->object)) continue;
    store.waiting.erase(at);
    Enter(store, *next->object);
    next->may_go = true;
    next->woken.NotifyOne();
    return;
  }
}

std::vector<FetchQueue::Waiter*> FetchQueue::TakeMates(
    Store& store, const std::string& object, ByteRange* range) {
  std::vector<Waiter*> mates;
  const uint64_t gap = store.speed.GapBytes();
  for (bool grown = true; grown;) {
    grown = false;
    for (auto at = store.waiting.begin(); at != store.waiting.end();) {
      const ByteRange other = (*at)->range;
      const ByteRange both{std::min(range->begin, other.begin),
                           std::max(range->end, other.end)};
      const bool near =
          other.begin <= range->end + gap && range->begin <= other.end + gap;
      if (*(*at)->object != object || !near ||
          both.size() > limits_.request_bytes_max) {
        ++at;
        continue;
      }
      *range = both;
      mates.push_back(*at);
      at = store.waiting.erase(at);
      grown = true;
    }
  }
  return mates;
}

void FetchQueue::Return(Store& store, const std::vector<Waiter*>& mates) {
  store.waiting.insert(store.waiting.begin(), mates.begin(), mates.end());
}

Status FetchQueue::Read(const void* store, const std::string& object,
                        ByteRange range, MutableByteSpan out,
                        const Fetch& fetch) {
  ByteRange whole = range;
  std::vector<Waiter*> mates;
  Store* place = nullptr;
  {
    const MutexLock lock(mu_);
    place = &StoreOf(store);
    if (HasRoom(*place, object)) {
      Enter(*place, object);
    } else {
      Waiter self;
      self.object = &object;
      self.range = range;
      self.out = out;
      place->waiting.push_back(&self);
      while (!self.may_go && !self.done) self.woken.Wait(mu_);
      if (self.done) return {};
    }
    mates = TakeMates(*place, object, &whole);
  }
  const int64_t begin_ns = clock_.MonotonicNs();
  Status status;
  Bytes merged;
  if (mates.empty()) {
    status = fetch(range, out);
  } else {
    merged.resize(whole.size());
    status = fetch(whole, merged);
    if (!status.ok()) {
      {
        const MutexLock lock(mu_);
        Return(*place, mates);
        mates.clear();
      }
      status = fetch(range, out);
    } else {
      std::memcpy(out.data(), merged.data() + (range.begin - whole.begin),
                  range.size());
    }
  }
  const int64_t elapsed_ns = clock_.MonotonicNs() - begin_ns;
  const MutexLock lock(mu_);
  if (status.ok()) place->speed.Add(whole.size(), elapsed_ns);
  for (Waiter* mate : mates) {
    std::memcpy(mate->out.data(),
                merged.data() + (mate->range.begin - whole.begin),
                mate->range.size());
    mate->done = true;
    mate->woken.NotifyOne();
  }
  Leave(*place, object);
  return status;
}

}  // namespace rowfs
