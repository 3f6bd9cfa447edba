#include "storage/read/object_reader.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "storage/read/block_cache.h"

namespace rowfs {
namespace {

// What is faster to read through than to ask for again on a remote store:
// latency times bandwidth, about 1 ms at 64 MB/s. Blob payload is never read
// in excess.
constexpr uint64_t kRemoteGapBytes = 64 << 10;

// Longer reads of remote objects go as several requests at once: one connection
// seldom fills the network.
constexpr uint64_t kRemotePartBytes = 8 << 20;

int64_t MonotonicNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Count(const ReadContext& context, const Location& location,
           ByteRange range, ReadKind kind, int64_t started_ns) {
  if (context.stats != nullptr) {
    ++context.stats->of(kind).requests;
    context.stats->of(kind).bytes += range.size();
  }
  if (context.observer != nullptr) {
    const std::string uri = location.uri();
    (*context.observer)({uri, range, kind, MonotonicNs() - started_ns});
  }
}

std::string CacheKey(const Location& location, const ObjectMeta& meta) {
  const std::string pinned =
      meta.etag.empty() ? std::string(1, BlockCache::kVolatile) : "";
  return pinned + location.uri() + '\0' + meta.etag + '\0' +
         std::to_string(meta.size) + '\0' + std::to_string(meta.mtime_ns);
}

}  // namespace

ObjectReader::ObjectReader(Location location, ObjectMeta meta, Bytes tail,
                           const ReadContext& context)
    : location_(std::move(location)),
      meta_(std::move(meta)),
      tail_(std::move(tail)),
      context_(context),
      cache_key_(CacheKey(location_, meta_)) {}

Result<std::shared_ptr<const ObjectReader>> ObjectReader::Open(
    const Location& location, uint64_t tail_bytes, const ReadContext& context) {
  const int64_t started_ns = MonotonicNs();
  ObjectStore::Tail tail;
  if (tail_bytes == 0) {
    ROWFS_ASSIGN_OR_RETURN(tail.meta, location.store->Stat(location.path));
  } else {
    ROWFS_ASSIGN_OR_RETURN(tail,
                           location.store->ReadTail(location.path, tail_bytes));
  }
  const uint64_t size = tail.meta.size;
  Count(context, location, {size - tail.bytes.size(), size},
        ReadKind::kMetadata, started_ns);
  return std::shared_ptr<const ObjectReader>(new ObjectReader(
      location, std::move(tail.meta), std::move(tail.bytes), context));
}

std::shared_ptr<const ObjectReader> ObjectReader::Make(
    const Location& location, const ObjectMeta& meta,
    const ReadContext& context) {
  return std::shared_ptr<const ObjectReader>(
      new ObjectReader(location, meta, {}, context));
}

Status ObjectReader::CheckRange(ByteRange range) const {
  if (range.begin <= range.end && range.end <= meta_.size) return {};
  return {Code::kCorruption, uri() + ": bytes " + std::to_string(range.begin) +
                                 ".." + std::to_string(range.end) +
                                 " are wanted, but it ends at " +
                                 std::to_string(meta_.size)};
}

Status ObjectReader::ReadStore(uint64_t offset, MutableByteSpan out,
                               ReadKind kind) const {
  const auto from_store = [&](ByteRange range, MutableByteSpan bytes) {
    const int64_t started_ns = MonotonicNs();
    const Status status = location_.store->ReadAt({location_.path, meta_.etag},
                                                  range.begin, bytes);
    Count(context_, location_, range, kind, started_ns);
    if (status.code() == Code::kOutOfRange) {
      return Status(Code::kCorruption, std::string(status.message()));
    }
    return status;
  };
  const ByteRange range{offset, offset + out.size()};
  // The page cache of the kernel has local files already.
  if (context_.cache == nullptr || !location_.store->capabilities().remote) {
    return from_store(range, out);
  }
  ROWFS_ASSIGN_OR_RETURN(
      const bool hit,
      context_.cache->Read(cache_key_, range, kind, out, from_store));
  if (context_.stats != nullptr) {
    ++(hit ? context_.stats->cache_hits : context_.stats->cache_misses);
  }
  return {};
}

Status ObjectReader::ReadAt(uint64_t offset, MutableByteSpan out,
                            ReadKind kind) const {
  const auto end = CheckedAdd(offset, out.size());
  ROWFS_RETURN_IF_ERROR(CheckRange({offset, end.value_or(UINT64_MAX)}));
  const uint64_t tail_begin = meta_.size - tail_.size();
  if (*end > tail_begin && !out.empty()) {
    const uint64_t from = std::max(offset, tail_begin);
    const MutableByteSpan back = out.subspan(from - offset);
    std::memcpy(back.data(), tail_.data() + (from - tail_begin), back.size());
    out = out.first(from - offset);
  }
  if (out.empty()) return {};
  if (out.size() <= PartBytes()) return ReadStore(offset, out, kind);
  std::vector<std::function<Status()>> tasks;
  AddParts(offset, out, kind, &tasks);
  return RunAll(*context_.pool, tasks);
}

uint64_t ObjectReader::PartBytes() const {
  const bool split =
      context_.pool != nullptr && location_.store->capabilities().remote;
  return split ? kRemotePartBytes : UINT64_MAX;
}

void ObjectReader::AddParts(uint64_t offset, MutableByteSpan out, ReadKind kind,
                            std::vector<std::function<Status()>>* tasks) const {
  while (!out.empty()) {
    const size_t size = std::min<uint64_t>(out.size(), PartBytes());
    tasks->push_back([this, offset, part = out.first(size), kind] {
      return ReadAt(offset, part, kind);
    });
    offset += size;
    out = out.subspan(size);
  }
}

Result<Bytes> ObjectReader::Read(ByteRange range, ReadKind kind) const {
  // Before the buffer: its size comes from files.
  ROWFS_RETURN_IF_ERROR(CheckRange(range));
  Bytes bytes(range.size());
  ROWFS_RETURN_IF_ERROR(ReadAt(range.begin, bytes, kind));
  return bytes;
}

Result<std::vector<Bytes>> ObjectReader::ReadMany(
    std::span<const ByteRange> wanted, ReadKind kind) const {
  for (const ByteRange& range : wanted) {
    ROWFS_RETURN_IF_ERROR(CheckRange(range));
  }
  PlanLimits limits;
  if (location_.store->capabilities().remote && kind == ReadKind::kMetadata) {
    limits.gap_bytes_max = kRemoteGapBytes;
  }
  const RangePlan plan = PlanRanges(wanted, limits);
  std::vector<Bytes> requests(plan.requests.size());
  std::vector<std::function<Status()>> tasks;
  for (size_t i = 0; i < plan.requests.size(); ++i) {
    requests[i].resize(plan.requests[i].size());
    AddParts(plan.requests[i].begin, requests[i], kind, &tasks);
  }
  if (context_.pool != nullptr) {
    ROWFS_RETURN_IF_ERROR(RunAll(*context_.pool, tasks));
  } else {
    for (const auto& task : tasks) ROWFS_RETURN_IF_ERROR(task());
  }
  std::vector<size_t> users(requests.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i].empty()) ++users[plan.slices[i].request];
  }
  std::vector<Bytes> results(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].empty()) continue;
    Bytes& from = requests[plan.slices[i].request];
    if (users[plan.slices[i].request] == 1 && from.size() == wanted[i].size()) {
      results[i] = std::move(from);
      continue;
    }
    const auto first =
        from.begin() + static_cast<int64_t>(plan.slices[i].offset);
    results[i].assign(first, first + static_cast<int64_t>(wanted[i].size()));
  }
  return results;
}

}  // namespace rowfs
