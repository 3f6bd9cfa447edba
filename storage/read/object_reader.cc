#include "storage/read/object_reader.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "storage/base/deferred_copies.h"
#include "storage/base/keep_scope.h"
#include "storage/base/no_wait.h"
#include "storage/object/gradual_reads.h"
#include "storage/read/block_cache.h"
#include "storage/read/fetch_queue.h"
#include "storage/read/meta_keeper.h"
#include "storage/read/read_trace.h"

namespace rowfs {
namespace {

// What is faster to read through than to ask for again on a remote store whose
// speed nobody measures. Blob payload is never read in excess.
constexpr uint64_t kRemoteGapBytes = 64 << 10;

// Longer reads of remote objects go as several requests at once: one connection
// seldom fills the network.
constexpr uint64_t kRemotePartBytes = 8 << 20;
// Of what is brought ahead: a server has work with every request.
constexpr uint64_t kAheadParts = 4;
constexpr uint64_t kAheadPartBytesMin = 4 << 20;
constexpr uint64_t kAheadPartBytesMax = 16 << 20;
// Longer strides are of passes so long (some 32 MiB) that they would push
// everything else off the disk, and writing down costs as much as reading.
constexpr uint64_t kKeptStrideBytes = 8 << 20;

int64_t MonotonicNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string_view NameOf(ReadKind kind) {
  return kind == ReadKind::kData ? "data" : "metadata";
}

std::string CacheKey(const Location& location, const ObjectMeta& meta) {
  const std::string size = std::to_string(meta.size);
  if (!meta.etag.empty()) {
    return location.uri() + '\0' + meta.etag + '\0' + size;
  }
  return BlockCache::kVolatile + location.uri() + '\0' + size + '\0' +
         std::to_string(meta.mtime_ns);
}

std::string PinKey(const Location& location, const ReadContext& context) {
  return "pinned " + location.uri() + '\0' + context.pin;
}

// What an earlier run found out.
std::optional<ObjectMeta> FindKept(const Location& location,
                                   const ReadContext& context) {
  if (context.metas == nullptr || context.pin.empty()) return {};
  const auto kept = context.metas->GetMeta(PinKey(location, context));
  return kept && !kept->etag.empty() ? kept : std::nullopt;
}

// While it lasts, who reads into `out` in this thread is to tell `progress`. A
// read that a longer one brings along ends elsewhere and tells nobody.
class ToldScope {
 public:
  ToldScope(MutableByteSpan out, const ReadProgress& progress)
      : out_(out), progress_(progress) {
    current_ = this;
  }
  ~ToldScope() { current_ = nullptr; }
  ToldScope(const ToldScope&) = delete;
  ToldScope& operator=(const ToldScope&) = delete;

  // Null when nobody is to be told.
  static const ReadProgress* Find(MutableByteSpan out) {
    const bool meant =
        current_ != nullptr && current_->out_.data() == out.data();
    return meant ? &current_->progress_ : nullptr;
  }

 private:
  static inline thread_local const ToldScope* current_ = nullptr;
  const MutableByteSpan out_;
  const ReadProgress& progress_;
};

uint64_t NextId() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

ObjectReader::ObjectReader(Location location, std::optional<ObjectMeta> meta,
                           Bytes tail, const ReadContext& context)
    : location_(std::move(location)),
      tail_(std::move(tail)),
      context_(context),
      id_(NextId()),
      remote_(location_.store->capabilities().remote) {
  if (meta) {
    known_ = std::make_shared<Known>(Known{*meta, CacheKey(location_, *meta)});
  }
}

Result<std::shared_ptr<const ObjectReader>> ObjectReader::Open(
    const Location& location, uint64_t tail_bytes, const ReadContext& context,
    bool pinned) {
  pinned = pinned && location.store->capabilities().remote;
  if (pinned) {
    if (const auto kept = FindKept(location, context)) {
      return Make(location, *kept, context);
    }
  }
  const int64_t begin_ns = MonotonicNs();
  ObjectStore::Tail tail;
  if (tail_bytes == 0) {
    ROWFS_ASSIGN_OR_RETURN(tail.meta, location.store->Stat(location.path));
  } else {
    ROWFS_ASSIGN_OR_RETURN(tail,
                           location.store->ReadTail(location.path, tail_bytes));
  }
  const ByteRange range{tail.meta.size - tail.bytes.size(), tail.meta.size};
  // Wrappers count what they are asked.
  if (&location.store->direct() == location.store.get()) {
    if (context.stats != nullptr) {
      ++context.stats->metadata.requests;
      context.stats->metadata.bytes += range.size();
    }
    if (context.trace != nullptr) {
      const std::string uri = location.uri();
      context.trace->Add({.uri = uri,
                          .range = range,
                          .what = tail_bytes == 0 ? "stat" : "open",
                          .elapsed_ns = MonotonicNs() - begin_ns});
    }
  }
  std::shared_ptr<const ObjectReader> reader(new ObjectReader(
      location, std::move(tail.meta), std::move(tail.bytes), context));
  if (!pinned) return reader;
  const ObjectMeta meta = reader->meta();
  reader->KeepMeta(meta);
  if (context.cache != nullptr && !range.empty() && !meta.etag.empty()) {
    // The next run finds size and etag, and must find these bytes too.
    Bytes copy(range.size());
    const auto from_tail = [&](ByteRange part, MutableByteSpan out) {
      std::memcpy(out.data(), reader->tail_.data() + (part.begin - range.begin),
                  out.size());
      return Status();
    };
    ROWFS_RETURN_IF_ERROR(context.cache
                              ->Read(reader->known()->cache_key, range,
                                     ReadKind::kMetadata, copy, from_tail)
                              .status());
  }
  return reader;
}

Result<std::shared_ptr<const ObjectReader>> ObjectReader::OpenLater(
    const Location& location, const ReadContext& context) {
  if (!location.store->capabilities().remote) return Open(location, 0, context);
  return std::shared_ptr<const ObjectReader>(
      new ObjectReader(location, FindKept(location, context), {}, context));
}

std::shared_ptr<const ObjectReader> ObjectReader::Make(
    const Location& location, const ObjectMeta& meta,
    const ReadContext& context) {
  return std::shared_ptr<const ObjectReader>(
      new ObjectReader(location, meta, {}, context));
}

std::shared_ptr<const ObjectReader::Known> ObjectReader::known() const {
  const MutexLock lock(mu_);
  return known_;
}

Status ObjectReader::Learn(const ObjectMeta& meta) const {
  {
    const MutexLock lock(mu_);
    if (known_ != nullptr) {
      if (known_->meta.etag == meta.etag && known_->meta.size == meta.size) {
        return {};
      }
      return {Code::kChanged, uri() + ": changed while it was read"};
    }
    known_ = std::make_shared<Known>(Known{meta, CacheKey(location_, meta)});
  }
  KeepMeta(meta);
  return {};
}

void ObjectReader::KeepMeta(const ObjectMeta& meta) const {
  if (context_.metas == nullptr || context_.pin.empty() || meta.etag.empty()) {
    return;
  }
  context_.metas->PutMeta(PinKey(location_, context_), meta);
}

const ObjectMeta& ObjectReader::meta() const {
  static const ObjectMeta kNothing;
  if (const auto known = this->known()) return known->meta;
  const auto found = location_.store->Stat(location_.path);
  if (!found.ok() || !Learn(found.value()).ok()) return kNothing;
  return this->known()->meta;
}

Status ObjectReader::CheckEnd(uint64_t end) const {
  const auto known = this->known();
  if (known == nullptr || end <= known->meta.size) return {};
  return {Code::kCorruption,
          uri() + ": ends at " + std::to_string(known->meta.size) +
              ", bytes up to " + std::to_string(end) + " are wanted"};
}

Status ObjectReader::CheckRange(ByteRange range) const {
  if (range.begin > range.end) {
    return {Code::kCorruption, uri() + ": a range that ends before it begins"};
  }
  return CheckEnd(range.end);
}

void ObjectReader::NoteChange(const Status& status) const {
  if (status.code() != Code::kChanged) return;
  {
    const MutexLock lock(mu_);
    if (std::exchange(change_noted_, true)) return;
  }
  // Put there again it may have another etag; the next run looks for itself.
  if (context_.metas != nullptr && !context_.pin.empty()) {
    context_.metas->PutMeta(PinKey(location_, context_), {});
  }
  if (context_.log != nullptr) {
    context_.log->Log(LogLevel::kWarn, "read", status.message());
  }
}

Status ObjectReader::Ask(const Known* known, ByteRange range,
                         MutableByteSpan out, ReadKind kind) const {
  const int64_t begin_ns = MonotonicNs();
  ObjectStore& store = location_.store->direct();
  Status status;
  const ReadProgress* progress = ToldScope::Find(out);
  auto* gradual =
      progress != nullptr ? dynamic_cast<GradualReads*>(&store) : nullptr;
  if (known != nullptr && gradual != nullptr) {
    status = gradual->ReadGradually({location_.path, known->meta.etag},
                                    range.begin, out, *progress);
  } else if (known != nullptr) {
    status = store.ReadAt({location_.path, known->meta.etag}, range.begin, out);
  } else {
    const auto meta = store.ReadFirst(location_.path, range.begin, out);
    status = meta.ok() ? Learn(meta.value()) : meta.status();
  }
  if (context_.stats != nullptr) {
    ++context_.stats->of(kind).requests;
    context_.stats->of(kind).bytes += range.size();
  }
  if (context_.trace != nullptr) {
    const std::string name = uri();
    context_.trace->Add({.uri = name,
                         .range = range,
                         .why = NameOf(kind),
                         .cache = remote_ ? "miss" : "none",
                         .elapsed_ns = MonotonicNs() - begin_ns,
                         .status = status});
  }
  NoteChange(status);
  // What names an object that was not looked at before is damaged without it.
  const bool gone = known == nullptr && status.code() == Code::kNotFound;
  if (gone || status.code() == Code::kOutOfRange) {
    return {Code::kCorruption, std::string(status.message())};
  }
  return status;
}

Status ObjectReader::Fetch(const Known* known, ByteRange range,
                           MutableByteSpan out, ReadKind kind) const {
  if (context_.queue == nullptr || !remote_) {
    return Ask(known, range, out, kind);
  }
  return context_.queue->Read(&location_.store->direct(), location_.path, range,
                              out, [&](ByteRange whole, MutableByteSpan bytes) {
                                return Ask(known, whole, bytes, kind);
                              });
}

Status ObjectReader::ReadThroughCache(ByteRange range, MutableByteSpan out,
                                      ReadKind kind) const {
  const auto known = this->known();
  // The page cache of the kernel has local files already.
  if (context_.cache == nullptr || !remote_) {
    return Fetch(known.get(), range, out, kind);
  }
  const int64_t begin_ns = MonotonicNs();
  // Before anything is known this reader's callers meet under a name that no
  // other reader uses: it may find the object changed.
  const std::string key = known != nullptr ? known->cache_key
                                           : BlockCache::kVolatile + uri() +
                                                 '\0' + std::to_string(id_);
  std::vector<SharedSpan> pieces;
  ROWFS_ASSIGN_OR_RETURN(
      const CacheResult from,
      context_.cache->ReadPieces(
          key, range, kind,
          [&](ByteRange part, MutableByteSpan bytes) {
            ROWFS_RETURN_IF_ERROR(Fetch(known.get(), part, bytes, kind));
            const auto learned = known == nullptr ? this->known() : nullptr;
            if (learned == nullptr) return Status();
            context_.cache->Put(learned->cache_key, part, kind, bytes);
            return Status();
          },
          &pieces));
  for (const SharedSpan& piece : pieces) {
    DeferredCopies::Copy(piece, out.first(piece.bytes.size()));
    out = out.subspan(piece.bytes.size());
  }
  const bool hit = from != CacheResult::kFetched;
  if (context_.stats != nullptr) {
    ++(hit ? context_.stats->cache_hits : context_.stats->cache_misses);
  }
  if (hit && context_.trace != nullptr) {
    const std::string name = uri();
    context_.trace->Add(
        {.uri = name,
         .range = range,
         .why = NameOf(kind),
         .cache = from == CacheResult::kDisk ? "disk" : "memory",
         .elapsed_ns = MonotonicNs() - begin_ns});
  }
  return {};
}

void ObjectReader::BringAhead(ByteRange range) const {
  if (range.empty()) return;
  ReadaheadBudget& budget = *context_.ahead;
  // Several at once fill a network, few of them spare the server.
  const uint64_t part_max =
      std::min({std::max(range.size() / kAheadParts, kAheadPartBytesMin),
                kAheadPartBytesMax, budget.bytes_max / 4 + 1});
  // What is brought reaches as far ahead as the pass is long.
  const bool keep = KeepScope::Active() || range.size() <= kKeptStrideBytes;
  const auto load = [keep](const ObjectReader& self, ByteRange part) {
    const auto known = self.known();
    const auto from = self.context_.cache->Load(
        known->cache_key, part, keep,
        [&](ByteRange rest, MutableByteSpan out, const ReadProgress& progress) {
          const ToldScope told(out, progress);
          return self.Fetch(known.get(), rest, out, ReadKind::kData);
        });
    // The reader that comes for it meets an error itself.
    if (from.ok() && from.value() == CacheResult::kFetched &&
        self.context_.stats != nullptr) {
      ++self.context_.stats->cache_misses;
    }
  };
  while (!range.empty()) {
    const ByteRange part{range.begin,
                         std::min(range.end, range.begin + part_max)};
    range.begin = part.end;
    if (budget.in_use.fetch_add(part.size()) + part.size() > budget.bytes_max) {
      budget.in_use -= part.size();
      return;
    }
    // A dataset that is closed takes what was to be brought with it.
    const bool queued = context_.pool->TrySubmit(
        [load, weak = weak_from_this(), part, &budget] {
          const auto self = weak.lock();
          if (self != nullptr) load(*self, part);
          budget.in_use -= part.size();
        });
    if (!queued) {
      budget.in_use -= part.size();
      return;
    }
  }
}

Status ObjectReader::ReadAt(uint64_t offset, MutableByteSpan out,
                            ReadKind kind) const {
  const auto end = CheckedAdd(offset, out.size());
  ROWFS_RETURN_IF_ERROR(CheckRange({offset, end.value_or(UINT64_MAX)}));
  if (out.empty()) return {};
  const bool ahead = kind == ReadKind::kData && remote_ &&
                     context_.ahead != nullptr && context_.pool != nullptr &&
                     context_.cache != nullptr;
  if (const auto known = ahead ? this->known() : nullptr) {
    BringAhead(readahead_.Note({offset, *end}, known->meta.size));
  }
  return ReadNow(offset, out, kind);
}

Status ObjectReader::ReadNow(uint64_t offset, MutableByteSpan out,
                             ReadKind kind) const {
  if (!tail_.empty()) {
    const uint64_t tail_begin = size() - tail_.size();
    if (offset + out.size() > tail_begin) {
      const uint64_t from = std::max(offset, tail_begin);
      const MutableByteSpan back = out.subspan(from - offset);
      std::memcpy(back.data(), tail_.data() + (from - tail_begin), back.size());
      out = out.first(from - offset);
    }
  }
  if (out.empty()) return {};
  if (out.size() <= PartBytes()) {
    return ReadThroughCache({offset, offset + out.size()}, out, kind);
  }
  std::vector<std::function<Status()>> tasks;
  AddParts(offset, out, kind, &tasks);
  return RunAll(*context_.pool, tasks);
}

uint64_t ObjectReader::PartBytes() const {
  return context_.pool != nullptr && remote_ ? kRemotePartBytes : UINT64_MAX;
}

uint64_t ObjectReader::GapBytes(ReadKind kind) const {
  if (!remote_ || kind == ReadKind::kData) return 0;
  return context_.queue == nullptr
             ? kRemoteGapBytes
             : context_.queue->GapBytes(&location_.store->direct());
}

void ObjectReader::AddParts(uint64_t offset, MutableByteSpan out, ReadKind kind,
                            std::vector<std::function<Status()>>* tasks) const {
  while (!out.empty()) {
    const size_t size = std::min<uint64_t>(out.size(), PartBytes());
    tasks->push_back([this, offset, part = out.first(size), kind] {
      return ReadNow(offset, part, kind);
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
  limits.gap_bytes_max = GapBytes(kind);
  const RangePlan plan = PlanRanges(wanted, limits);
  std::vector<Bytes> requests(plan.requests.size());
  std::vector<std::function<Status()>> tasks;
  for (size_t i = 0; i < plan.requests.size(); ++i) {
    requests[i].resize(plan.requests[i].size());
    AddParts(plan.requests[i].begin, requests[i], kind, &tasks);
  }
  if (context_.pool != nullptr && !NoWaitScope::Active()) {
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
