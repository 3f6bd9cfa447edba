#include "storage/read/block_cache.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "storage/read/disk_cache.h"

namespace rowfs {
namespace {

// What an extent costs besides its bytes: map and list nodes, control block.
constexpr uint64_t kExtentOverheadBytes = 192;
// Longer reads are kept as they came: a copy would cost more than it is worth.
constexpr uint64_t kWholeBytes = 1 << 20;

uint64_t CostOf(const SharedSpan& span) {
  return span.bytes.size() + kExtentOverheadBytes;
}

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

template <typename Pieces>
std::optional<ByteRange> MissingOf(ByteRange range, const Pieces& pieces) {
  std::vector<ByteRange> covered;
  covered.reserve(pieces.size());
  for (const auto& piece : pieces) {
    covered.push_back({piece.begin, piece.end()});
  }
  return Missing(range, std::move(covered));
}

// `pieces`, which cover `range` and may overlap, as its bytes in order.
template <typename Pieces>
std::vector<SharedSpan> InOrder(ByteRange range, Pieces pieces) {
  std::sort(pieces.begin(), pieces.end(),
            [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::vector<SharedSpan> spans;
  uint64_t front = range.begin;
  for (const auto& piece : pieces) {
    const uint64_t end = std::min(piece.end(), range.end);
    if (end <= front) continue;
    spans.push_back({piece.span.owner, piece.span.bytes.subspan(
                                           front - piece.begin, end - front)});
    front = end;
  }
  return spans;
}

}  // namespace

BlockCache::BlockCache(uint64_t bytes_max, DiskCache* disk)
    : bytes_max_(bytes_max), disk_(disk) {}

Result<CacheResult> BlockCache::Read(const std::string& key, ByteRange range,
                                     ReadKind kind, MutableByteSpan out,
                                     const Fetch& fetch) {
  assert(out.size() == range.size());
  std::vector<SharedSpan> pieces;
  ROWFS_ASSIGN_OR_RETURN(const CacheResult from,
                         ReadPieces(key, range, kind, fetch, &pieces));
  for (const SharedSpan& piece : pieces) {
    std::memcpy(out.data(), piece.bytes.data(), piece.bytes.size());
    out = out.subspan(piece.bytes.size());
  }
  return from;
}

Result<CacheResult> BlockCache::ReadPieces(const std::string& key,
                                           ByteRange range, ReadKind kind,
                                           const Fetch& fetch,
                                           std::vector<SharedSpan>* spans) {
  assert(!range.empty());
  std::vector<Piece> pieces;
  std::shared_ptr<Flight> mine;
  {
    const MutexLock lock(mu_);
    Collect(key, range, &pieces);
    while (const auto missing = MissingOf(range, pieces)) {
      const auto flight = FindFlight(key, *missing);
      if (flight == nullptr) {
        mine = StartFlight(key, *missing);
        break;
      }
      const uint64_t needed =
          std::min(missing->end, flight->range.end) - flight->range.begin;
      while (!flight->done && flight->filled < needed) {
        flight->moved.Wait(mu_);
      }
      // Kept bytes may be evicted at any time; these cannot.
      const ByteSpan arrived = flight->arrived();
      if (arrived.size() < needed) return flight->status;
      pieces.push_back({flight->range.begin, {flight->bytes, arrived}});
    }
  }
  CacheResult from = CacheResult::kMemory;
  if (mine != nullptr) {
    const auto plainly = [&](ByteRange part, MutableByteSpan bytes,
                             const ReadProgress&) {
      return fetch(part, bytes);
    };
    ROWFS_ASSIGN_OR_RETURN(
        from,
        Fly(key, mine, kind == ReadKind::kData ? kData : kMeta, true, plainly));
    pieces.push_back({mine->range.begin,
                      {mine->bytes, {mine->bytes.get(), mine->range.size()}}});
  }
  *spans = InOrder(range, std::move(pieces));
  return from;
}

Result<CacheResult> BlockCache::Load(const std::string& key, ByteRange range,
                                     bool keep, const GradualFetch& fetch) {
  std::shared_ptr<Flight> flight;
  {
    const MutexLock lock(mu_);
    std::vector<Piece> pieces;
    Collect(key, range, &pieces);
    const auto missing = MissingOf(range, pieces);
    if (!missing) return CacheResult::kMemory;
    const ByteRange rest = Unclaimed(key, *missing);
    if (rest.empty()) return CacheResult::kMemory;
    flight = StartFlight(key, rest);
  }
  return Fly(key, flight, kAhead, keep, fetch);
}

Result<CacheResult> BlockCache::Fly(const std::string& key,
                                    const std::shared_ptr<Flight>& flight,
                                    Class kept_as, bool keep,
                                    const GradualFetch& fetch) {
  ByteRange fetched;
  {
    // Ends the flight even if memory runs out: nobody may wait for ever.
    const std::shared_ptr<void> end(
        nullptr, [&](void*) { EndFlight(key, flight, kept_as); });
    flight->status = Fill(key, *flight, fetch, &fetched);
  }
  ROWFS_RETURN_IF_ERROR(flight->status);
  if (fetched.empty()) return CacheResult::kDisk;
  if (keep && MayKeepOnDisk(key)) {
    disk_->Put(key, fetched.begin,
               {flight->bytes.get() + (fetched.begin - flight->range.begin),
                fetched.size()});
  }
  return CacheResult::kFetched;
}

void BlockCache::Put(const std::string& key, ByteRange range, ReadKind kind,
                     ByteSpan bytes) {
  assert(bytes.size() == range.size());
  if (MayKeepOnDisk(key)) disk_->Put(key, range.begin, bytes);
  std::shared_ptr<Flight> flight;
  {
    const MutexLock lock(mu_);
    flight = StartFlight(key, range);
  }
  flight->bytes = MakeBuffer(bytes.size());
  std::memcpy(flight->bytes.get(), bytes.data(), bytes.size());
  flight->status = Status();
  EndFlight(key, flight, kind == ReadKind::kData ? kData : kMeta);
}

bool BlockCache::MayKeepOnDisk(const std::string& key) const {
  return disk_ != nullptr && !key.starts_with(kVolatile);
}

Status BlockCache::Fill(const std::string& key, Flight& flight,
                        const GradualFetch& fetch, ByteRange* fetched) {
  const ByteRange range = flight.range;
  const std::shared_ptr<std::byte[]> bytes = MakeBuffer(range.size());
  const MutableByteSpan out(bytes.get(), range.size());
  const ByteRange rest =
      MayKeepOnDisk(key) ? disk_->Read(key, range, out) : range;
  const uint64_t first = rest.begin - range.begin;
  {
    const MutexLock lock(mu_);
    flight.bytes = bytes;
  }
  if (rest.empty()) return {};
  const auto progress = [&](uint64_t done) {
    {
      const MutexLock lock(mu_);
      flight.filled = first + done;
    }
    flight.moved.NotifyAll();
  };
  *fetched = rest;
  return fetch(rest, out.subspan(first, rest.size()), progress);
}

void BlockCache::Collect(const std::string& key, ByteRange range,
                         std::vector<Piece>* pieces) {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return;
  auto& extents = found->second->extents;
  auto at = extents.upper_bound(range.begin);
  if (at != extents.begin()) --at;
  for (; at != extents.end() && at->first < range.end; ++at) {
    Extent& extent = at->second;
    const uint64_t end = at->first + extent.span.bytes.size();
    if (end <= range.begin) continue;
    pieces->push_back({at->first, extent.span});
    Class now = extent.kept_as;
    if (now == kAhead && range.end >= end) now = kAheadRead;
    if (now != extent.kept_as) {
      bytes_[extent.kept_as] -= CostOf(extent.span);
      bytes_[now] += CostOf(extent.span);
    }
    // What is ahead stays in its order.
    if (now != kAhead) {
      lru_[now].splice(lru_[now].begin(), lru_[extent.kept_as],
                       extent.position);
    }
    extent.kept_as = now;
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

ByteRange BlockCache::Unclaimed(const std::string& key, ByteRange range) {
  while (const auto flight = FindFlight(key, range)) {
    if (flight->range.begin > range.begin) {
      range.end = flight->range.begin;
    } else {
      range.begin = std::min(flight->range.end, range.end);
    }
    if (range.empty()) break;
  }
  return range;
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
                           Class kept_as) {
  {
    const MutexLock lock(mu_);
    flight->done = true;
    // An object with a flight is never dropped, so it is there.
    Object* object = objects_.find(key)->second.get();
    if (flight->status.ok()) Insert(object, *flight, kept_as);
    Evict();
    std::erase(object->flights, flight);
    DropIfUnused(object);
  }
  flight->moved.NotifyAll();
}

void BlockCache::Insert(Object* object, const Flight& flight, Class kept_as) {
  // One read must not empty the cache of everything else.
  if (flight.range.size() > bytes_max_ / 4) return;
  const auto block = [](uint64_t at) { return at / kBlockBytes; };
  if (kept_as == kAhead || flight.range.size() >= kWholeBytes ||
      block(flight.range.begin) == block(flight.range.end - 1)) {
    InsertWhole(object, flight, kept_as);
    return;
  }
  uint64_t begin = flight.range.begin;
  while (begin < flight.range.end) {
    uint64_t end = std::min(flight.range.end, (block(begin) + 1) * kBlockBytes);
    const auto next = object->extents.upper_bound(begin);
    if (next != object->extents.end()) end = std::min(end, next->first);
    if (next != object->extents.begin()) {
      const auto& [start, extent] = *std::prev(next);
      if (start + extent.span.bytes.size() > begin) {
        begin = start + extent.span.bytes.size();  // kept already
        continue;
      }
    }
    auto copy = MakeBuffer(end - begin);
    std::memcpy(copy.get(), flight.bytes.get() + (begin - flight.range.begin),
                end - begin);
    const ByteSpan bytes(copy.get(), end - begin);
    InsertExtent(object, begin, {std::move(copy), bytes}, kept_as);
    begin = end;
  }
}

void BlockCache::InsertWhole(Object* object, const Flight& flight,
                             Class kept_as) {
  auto& extents = object->extents;
  ByteRange range = flight.range;
  auto at = extents.lower_bound(range.begin);
  if (at != extents.begin()) {
    const auto before = std::prev(at);
    range.begin =
        std::max(range.begin, before->first + before->second.span.bytes.size());
  }
  // The same bytes again, or a part of them.
  while (at != extents.end() && at->first < range.end) {
    if (at->first + at->second.span.bytes.size() > range.end) {
      range.end = at->first;
      break;
    }
    const uint64_t begin = at->first;
    ++at;
    Erase(object, begin);
  }
  if (range.begin >= range.end) return;
  InsertExtent(
      object, range.begin,
      {flight.bytes,
       {flight.bytes.get() + (range.begin - flight.range.begin), range.size()}},
      kept_as);
}

void BlockCache::InsertExtent(Object* object, uint64_t begin, SharedSpan span,
                              Class kept_as) {
  lru_[kept_as].emplace_front(object, begin);
  bytes_[kept_as] += CostOf(span);
  object->extents[begin] = {std::move(span), kept_as, lru_[kept_as].begin()};
}

bool BlockCache::IsOver() const {
  return bytes_[kMeta] + bytes_[kData] + AheadBytes() > bytes_max_ ||
         AheadBytes() > bytes_max_ / 4;
}

BlockCache::Class BlockCache::Victim() const {
  if (AheadBytes() > bytes_max_ / 4) {
    return lru_[kAheadRead].empty() ? kAhead : kAheadRead;
  }
  const bool from_data = bytes_[kData] + AheadBytes() > bytes_max_ / 2;
  if (!from_data && !lru_[kMeta].empty()) return kMeta;
  if (!lru_[kAheadRead].empty()) return kAheadRead;
  return lru_[kData].empty() ? kAhead : kData;
}

void BlockCache::Evict() {
  while (IsOver()) {
    const auto [object, begin] = lru_[Victim()].back();
    Erase(object, begin);
    DropIfUnused(object);
  }
}

void BlockCache::Erase(Object* object, uint64_t begin) {
  const auto at = object->extents.find(begin);
  const Class kept_as = at->second.kept_as;
  bytes_[kept_as] -= CostOf(at->second.span);
  lru_[kept_as].erase(at->second.position);
  object->extents.erase(at);
}

void BlockCache::DropIfUnused(Object* object) {
  if (object->extents.empty() && object->flights.empty()) {
    objects_.erase(objects_.find(object->key));
  }
}

uint64_t BlockCache::bytes() const {
  const MutexLock lock(mu_);
  return bytes_[kMeta] + bytes_[kData] + AheadBytes();
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
