#include "storage/read/block_cache.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "storage/read/disk_cache.h"

namespace rowfs {
namespace {

// What an extent costs besides its bytes: map and list nodes, control block.
constexpr uint64_t kExtentOverheadBytes = 192;

uint64_t CostOf(const SharedBytes& bytes) {
  return bytes->size() + kExtentOverheadBytes;
}

size_t IndexOf(ReadKind kind) { return kind == ReadKind::kData ? 1 : 0; }

// The span from the first to the last byte of `range` that no piece has; absent
// when none is missing. `pieces` are (begin, end) in any order.
std::optional<ByteRange> Missing(ByteRange range,
                                 std::vector<ByteRange> pieces) {
  std::sort(
      pieces.begin(), pieces.end(),
      [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  uint64_t front = range.begin;
  for (const ByteRange& piece : pieces) {
    if (piece.begin <= front) front = std::max(front, piece.end);
  }
  if (front >= range.end) return std::nullopt;
  std::sort(
      pieces.begin(), pieces.end(),
      [](const ByteRange& a, const ByteRange& b) { return a.end > b.end; });
  uint64_t back = range.end;
  for (const ByteRange& piece : pieces) {
    if (piece.end >= back) back = std::min(back, piece.begin);
  }
  return ByteRange{front, back};
}

void CopyPiece(uint64_t begin, const Bytes& bytes, ByteRange range,
               MutableByteSpan out) {
  const uint64_t from = std::max(begin, range.begin);
  const uint64_t to = std::min(begin + bytes.size(), range.end);
  if (from >= to) return;
  std::memcpy(out.data() + (from - range.begin), bytes.data() + (from - begin),
              to - from);
}

}  // namespace

BlockCache::BlockCache(uint64_t bytes_max, DiskCache* disk)
    : bytes_max_(bytes_max), disk_(disk) {}

Result<CacheResult> BlockCache::Read(const std::string& key, ByteRange range,
                                     ReadKind kind, MutableByteSpan out,
                                     const Fetch& fetch) {
  assert(out.size() == range.size() && !range.empty());
  std::vector<Piece> pieces;
  std::shared_ptr<Flight> mine;
  CacheResult from = CacheResult::kMemory;
  {
    const MutexLock lock(mu_);
    Collect(key, range, &pieces);
    for (;;) {
      std::vector<ByteRange> covered;
      for (const Piece& piece : pieces) {
        covered.push_back({piece.begin, piece.begin + piece.bytes->size()});
      }
      const auto missing = Missing(range, std::move(covered));
      if (!missing) break;
      const auto flight = FindFlight(key, *missing);
      if (flight == nullptr) {
        mine = StartFlight(key, *missing);
        break;
      }
      while (!flight->done) flight_done_.Wait(mu_);
      // Kept bytes may be evicted at any time; these cannot.
      if (!flight->status.ok()) return flight->status;
      pieces.push_back({flight->range.begin, flight->bytes});
    }
  }
  if (mine != nullptr) {
    {
      // Ends the flight even if memory runs out: nobody may wait for ever.
      const std::shared_ptr<void> end(
          nullptr, [&](void*) { EndFlight(key, mine, kind); });
      Bytes bytes(mine->range.size());
      const Result<CacheResult> filled = Fill(key, mine->range, bytes, fetch);
      mine->status = filled.status();
      if (filled.ok()) from = filled.value();
      if (mine->status.ok()) {
        mine->bytes = std::make_shared<const Bytes>(std::move(bytes));
      }
    }
    if (!mine->status.ok()) return mine->status;
    pieces.push_back({mine->range.begin, mine->bytes});
  }
  for (const Piece& piece : pieces) {
    CopyPiece(piece.begin, *piece.bytes, range, out);
  }
  return from;
}

void BlockCache::Put(const std::string& key, ByteRange range, ReadKind kind,
                     ByteSpan bytes) {
  assert(bytes.size() == range.size());
  if (disk_ != nullptr && !key.starts_with(kVolatile)) {
    disk_->Put(key, range.begin, bytes);
  }
  std::shared_ptr<Flight> flight;
  {
    const MutexLock lock(mu_);
    flight = StartFlight(key, range);
  }
  flight->status = Status();
  flight->bytes = std::make_shared<const Bytes>(bytes.begin(), bytes.end());
  EndFlight(key, flight, kind);
}

Result<CacheResult> BlockCache::Fill(const std::string& key, ByteRange range,
                                     MutableByteSpan out,
                                     const Fetch& fetch) const {
  const bool durable = disk_ != nullptr && !key.starts_with(kVolatile);
  const ByteRange rest = durable ? disk_->Read(key, range, out) : range;
  if (rest.empty()) return CacheResult::kDisk;
  const MutableByteSpan wanted =
      out.subspan(rest.begin - range.begin, rest.size());
  ROWFS_RETURN_IF_ERROR(fetch(rest, wanted));
  if (durable) disk_->Put(key, rest.begin, wanted);
  return CacheResult::kFetched;
}

void BlockCache::Collect(const std::string& key, ByteRange range,
                         std::vector<Piece>* pieces) {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return;
  auto& extents = found->second->extents;
  auto at = extents.upper_bound(range.begin);
  if (at != extents.begin()) --at;
  for (; at != extents.end() && at->first < range.end; ++at) {
    if (at->first + at->second.bytes->size() <= range.begin) continue;
    pieces->push_back({at->first, at->second.bytes});
    LruList& list = lru_[IndexOf(at->second.kind)];
    list.splice(list.begin(), list, at->second.position);
  }
}

std::shared_ptr<BlockCache::Flight> BlockCache::FindFlight(
    const std::string& key, ByteRange range) {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return nullptr;
  for (const auto& flight : found->second->flights) {
    if (flight->range.begin < range.end && range.begin < flight->range.end) {
      return flight;
    }
  }
  return nullptr;
}

std::shared_ptr<BlockCache::Flight> BlockCache::StartFlight(
    const std::string& key, ByteRange range) {
  auto& object = objects_[key];
  if (object == nullptr) {
    object = std::make_unique<Object>();
    object->key = key;
  }
  auto flight = std::make_shared<Flight>();
  flight->range = range;
  flight->status =
      Status(Code::kResourceExhausted, "a shared read was given up");
  object->flights.push_back(flight);
  return flight;
}

void BlockCache::EndFlight(const std::string& key,
                           const std::shared_ptr<Flight>& flight,
                           ReadKind kind) {
  {
    const MutexLock lock(mu_);
    flight->done = true;
    // An object with a flight is never dropped, so it is there.
    Object* object = objects_.find(key)->second.get();
    std::erase(object->flights, flight);
    if (flight->status.ok()) Insert(object, *flight, kind);
    Evict();
    DropIfUnused(object);
  }
  flight_done_.NotifyAll();
}

void BlockCache::Insert(Object* object, const Flight& flight, ReadKind kind) {
  // One read must not empty the cache of everything else.
  if (flight.range.size() > bytes_max_ / 4) return;
  uint64_t begin = flight.range.begin;
  while (begin < flight.range.end) {
    uint64_t end =
        std::min(flight.range.end, (begin / kBlockBytes + 1) * kBlockBytes);
    const auto next = object->extents.upper_bound(begin);
    if (next != object->extents.end()) end = std::min(end, next->first);
    if (next != object->extents.begin()) {
      const auto& [start, extent] = *std::prev(next);
      if (start + extent.bytes->size() > begin) {
        begin = start + extent.bytes->size();  // kept already
        continue;
      }
    }
    const auto first = flight.bytes->begin() +
                       static_cast<int64_t>(begin - flight.range.begin);
    InsertExtent(object, begin,
                 std::make_shared<const Bytes>(
                     first, first + static_cast<int64_t>(end - begin)),
                 kind);
    begin = end;
  }
}

void BlockCache::InsertExtent(Object* object, uint64_t begin, SharedBytes bytes,
                              ReadKind kind) {
  LruList& list = lru_[IndexOf(kind)];
  list.emplace_front(object, begin);
  bytes_[IndexOf(kind)] += CostOf(bytes);
  object->extents[begin] = {std::move(bytes), kind, list.begin()};
}

void BlockCache::Evict() {
  while (bytes_[0] + bytes_[1] > bytes_max_) {
    const bool from_data = bytes_[1] > bytes_max_ / 2 || lru_[0].empty();
    const auto [object, begin] = lru_[from_data ? 1 : 0].back();
    Erase(object, begin);
    DropIfUnused(object);
  }
}

void BlockCache::Erase(Object* object, uint64_t begin) {
  const auto at = object->extents.find(begin);
  const size_t index = IndexOf(at->second.kind);
  bytes_[index] -= CostOf(at->second.bytes);
  lru_[index].erase(at->second.position);
  object->extents.erase(at);
}

void BlockCache::DropIfUnused(Object* object) {
  if (object->extents.empty() && object->flights.empty()) {
    objects_.erase(objects_.find(object->key));
  }
}

uint64_t BlockCache::bytes() const {
  const MutexLock lock(mu_);
  return bytes_[0] + bytes_[1];
}

void BlockCache::Clear() {
  const MutexLock lock(mu_);
  for (LruList& list : lru_) {
    while (!list.empty()) {
      const auto [object, begin] = list.back();
      Erase(object, begin);
      DropIfUnused(object);
    }
  }
}

}  // namespace rowfs
