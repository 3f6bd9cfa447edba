#include "storage/read/cached_store.h"

#include <algorithm>

#include "storage/read/meta_keeper.h"
#include "storage/read/read_trace.h"

namespace rowfs {
namespace {

// How long a listing speaks for its objects, and for itself.
constexpr int64_t kListedNs = int64_t{5} * 1'000'000'000;
constexpr int64_t kSameListingNs = int64_t{1} * 1'000'000'000;
constexpr size_t kListingsMax = 256;
// Larger objects are read in parts, by readers that keep them themselves.
constexpr uint64_t kKeptBytesMax = 16 << 20;

std::string BytesKey(const std::string& uri, const std::string& etag) {
  return "whole " + uri + '\0' + etag;
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// What a listing of its folder says about `path`. Without an etag nothing would
// tell a change.
std::optional<ObjectMeta> FindIn(const std::vector<ListEntry>& entries,
                                 const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const auto found =
      std::lower_bound(entries.begin(), entries.end(), name,
                       [](const ListEntry& entry, const std::string& n) {
                         return entry.name < n;
                       });
  if (found == entries.end() || found->name != name || found->is_directory ||
      found->meta.etag.empty()) {
    return {};
  }
  return found->meta;
}

// A store's answers "there is none" are kept as this size.
constexpr uint64_t kAbsent = UINT64_MAX;

}  // namespace

// Passes everything on; the end of a write is a change of the folder.
class CachedWriter final : public ObjectWriter {
 public:
  CachedWriter(CachedStore& store, std::string path,
               std::unique_ptr<ObjectWriter> writer)
      : store_(store), path_(std::move(path)), writer_(std::move(writer)) {}

  Status Write(ByteSpan bytes) override {
    size_ += bytes.size();
    return writer_->Write(bytes);
  }
  Status Finish() override {
    const int64_t begin_ns = store_.Now();
    const Status status = writer_->Finish();
    store_.Forget();
    store_.Note(path_, "write", {0, size_}, begin_ns, status);
    return status;
  }

 private:
  CachedStore& store_;
  const std::string path_;
  const std::unique_ptr<ObjectWriter> writer_;
  uint64_t size_ = 0;
};

void CachedStore::Note(const std::string& path, std::string_view what,
                       ByteRange range, int64_t begin_ns,
                       const Status& status) const {
  if (options_.stats != nullptr) {
    ++options_.stats->metadata.requests;
    if (status.ok() && what != "write") {
      options_.stats->metadata.bytes += range.size();
    }
  }
  if (options_.trace == nullptr) return;
  const std::string uri = Uri(path);
  options_.trace->Add({.uri = uri,
                       .range = range,
                       .what = what,
                       .cache = "miss",
                       .elapsed_ns = Now() - begin_ns,
                       .status = status});
}

std::optional<ObjectMeta> CachedStore::FindListed(const std::string& path) {
  const MutexLock lock(mu_);
  const auto listing = listings_.find(FolderOf(path));
  if (listing == listings_.end() ||
      listing->second.listed_ns + kListedNs < Now()) {
    return {};
  }
  return FindIn(listing->second.entries, path);
}

std::optional<ObjectMeta> CachedStore::FindKept(const std::string& path) const {
  if (options_.disk == nullptr) return {};
  MetaKeeper keeper(*options_.disk);
  if (const auto kept = keeper.GetMeta("stat " + Uri(path))) return kept;
  const auto listing = keeper.GetListing("list " + Uri(FolderOf(path)));
  return listing ? FindIn(*listing, path) : std::nullopt;
}

void CachedStore::Forget() {
  const MutexLock lock(mu_);
  listings_.clear();
}

bool CachedStore::ReadKept(const std::string& path, const std::string& etag,
                           uint64_t begin, MutableByteSpan out) const {
  if (options_.disk == nullptr || etag.empty()) return false;
  if (out.empty()) return true;
  return options_.disk
      ->Read(BytesKey(Uri(path), etag), {begin, begin + out.size()}, out)
      .empty();
}

void CachedStore::Keep(const std::string& path, const std::string& etag,
                       uint64_t begin, ByteSpan bytes) const {
  if (options_.disk == nullptr || etag.empty() || bytes.empty()) return;
  if (bytes.size() > kKeptBytesMax) return;
  options_.disk->Put(BytesKey(Uri(path), etag), begin, bytes);
}

Status CachedStore::NotKept(const std::string& path) const {
  return {Code::kUnavailable,
          Uri(path) + ": not in the cache, and --offline allows no request"};
}

Result<ObjectMeta> CachedStore::Stat(const std::string& path) {
  const std::string key = "stat " + Uri(path);
  if (options_.offline) {
    const auto kept = FindKept(path);
    if (!kept) return NotKept(path);
    if (kept->size == kAbsent) {
      return Status(Code::kNotFound, Uri(path) + ": there is none");
    }
    return *kept;
  }
  if (const auto listed = FindListed(path)) return *listed;
  const int64_t begin_ns = Now();
  Result<ObjectMeta> meta = store_->Stat(path);
  Note(path, "stat", {}, begin_ns, meta.status());
  if (options_.disk != nullptr) {
    MetaKeeper keeper(*options_.disk);
    if (meta.ok()) keeper.PutMeta(key, meta.value());
    if (meta.status().code() == Code::kNotFound) {
      keeper.PutMeta(key, {.size = kAbsent});
    }
  }
  return meta;
}

Status CachedStore::ReadAt(const ObjectRef& object, uint64_t offset,
                           MutableByteSpan out) {
  if (ReadKept(object.path, object.etag, offset, out)) return {};
  if (options_.offline) return NotKept(object.path);
  const int64_t begin_ns = Now();
  const Status status = store_->ReadAt(object, offset, out);
  Note(object.path, "read", {offset, offset + out.size()}, begin_ns, status);
  if (status.ok()) Keep(object.path, object.etag, offset, out);
  return status;
}

Result<ObjectStore::Tail> CachedStore::TailOf(const std::string& path,
                                              const ObjectMeta& meta,
                                              uint64_t wanted) {
  Tail tail{meta, Bytes(std::min(wanted, meta.size))};
  if (tail.bytes.empty()) return tail;
  ROWFS_RETURN_IF_ERROR(
      ReadAt({path, meta.etag}, meta.size - tail.bytes.size(), tail.bytes));
  return tail;
}

Result<ObjectStore::Tail> CachedStore::ReadTail(const std::string& path,
                                                uint64_t wanted) {
  if (options_.offline) {
    ROWFS_ASSIGN_OR_RETURN(const ObjectMeta meta, Stat(path));
    return TailOf(path, meta, wanted);
  }
  if (const auto listed = FindListed(path)) {
    Result<Tail> tail = TailOf(path, *listed, wanted);
    const Code code = tail.status().code();
    if (code != Code::kChanged && code != Code::kNotFound) return tail;
    Forget();  // replaced since it was listed
  }
  const int64_t begin_ns = Now();
  Result<Tail> tail = store_->ReadTail(path, wanted);
  const uint64_t size = tail.ok() ? tail.value().meta.size : 0;
  const uint64_t begin = tail.ok() ? size - tail.value().bytes.size() : 0;
  Note(path, "open", {begin, size}, begin_ns, tail.status());
  if (options_.disk == nullptr) return tail;
  MetaKeeper keeper(*options_.disk);
  const std::string key = "stat " + Uri(path);
  if (tail.ok()) {
    keeper.PutMeta(key, tail.value().meta);
    Keep(path, tail.value().meta.etag, begin, tail.value().bytes);
  } else if (tail.status().code() == Code::kNotFound) {
    keeper.PutMeta(key, {.size = kAbsent});
  }
  return tail;
}

Result<std::vector<ListEntry>> CachedStore::List(const std::string& directory) {
  const std::string key = "list " + Uri(directory);
  std::optional<MetaKeeper> keeper;
  if (options_.disk != nullptr) keeper.emplace(*options_.disk);
  if (options_.offline) {
    auto kept = keeper ? keeper->GetListing(key) : std::nullopt;
    if (!kept) return NotKept(directory);
    if (!kept->empty()) return std::move(*kept);
    return Status(Code::kNotFound, Uri(directory) + ": nothing is below it");
  }
  {
    // Whoever opens a dataset asks twice: what is it, and what is in it.
    const MutexLock lock(mu_);
    const auto known = listings_.find(directory);
    if (known != listings_.end() &&
        known->second.listed_ns + kSameListingNs >= Now()) {
      return known->second.entries;
    }
  }
  const int64_t begin_ns = Now();
  auto entries = store_->List(directory);
  Note(directory, "list", {}, begin_ns, entries.status());
  const bool absent = entries.status().code() == Code::kNotFound;
  if (!entries.ok() && !absent) return entries;
  if (keeper) {
    keeper->PutListing(
        key, entries.ok() ? entries.value() : std::vector<ListEntry>());
  }
  if (!entries.ok()) return entries;
  const MutexLock lock(mu_);
  if (listings_.size() >= kListingsMax) listings_.clear();
  listings_[directory] = {entries.value(), Now()};
  return entries;
}

Result<std::unique_ptr<ObjectWriter>> CachedStore::Create(
    const std::string& path, PutMode mode) {
  if (options_.offline) {
    return Status(Code::kUnavailable, Uri(path) + ": --offline cannot write");
  }
  Forget();
  ROWFS_ASSIGN_OR_RETURN(auto writer, store_->Create(path, mode));
  return std::unique_ptr<ObjectWriter>(
      std::make_unique<CachedWriter>(*this, path, std::move(writer)));
}

Status CachedStore::Remove(const std::string& path) {
  if (options_.offline) {
    return {Code::kUnavailable, Uri(path) + ": --offline cannot write"};
  }
  const int64_t begin_ns = Now();
  const Status status = store_->Remove(path);
  Forget();
  Note(path, "remove", {}, begin_ns, status);
  return status;
}

}  // namespace rowfs
