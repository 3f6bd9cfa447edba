#include "index/view/renderer.h"

#include <algorithm>
#include <charconv>

#include "storage/base/hash.h"

namespace rowfs {
namespace {

constexpr size_t kAheadJobsMax = 4;  // batches rendered ahead at a time
constexpr size_t kTrailsMax = 10'000;

// "dir/000012.jpg" as "dir/", 12, 6 digits, ".jpg".
struct NumberedPath {
  std::string_view before;
  int64_t number = 0;
  size_t digits = 0;
  std::string_view after;

  std::string At(int64_t other) const {
    std::string text = std::to_string(other);
    if (text.size() < digits) text.insert(0, digits - text.size(), '0');
    return std::string(before) + text + std::string(after);
  }
};

std::optional<NumberedPath> ParseNumbered(std::string_view path) {
  NumberedPath result;
  const size_t name = path.rfind('/') + 1;  // 0 when there is none
  size_t end = name;
  while (end < path.size() && path[end] >= '0' && path[end] <= '9') ++end;
  result.before = path.substr(0, name);
  result.digits = end - name;
  result.after = path.substr(end);
  const auto [ptr, error] =
      std::from_chars(path.data() + name, path.data() + end, result.number);
  // Only a whole number counts: "12.5.jpg" is a time, not the twelfth file.
  const bool whole = error == std::errc() && ptr == path.data() + end &&
                     result.after.rfind('.') == 0;
  if (!whole) return std::nullopt;
  return result;
}

uint64_t SizeKey(const Media& media, const std::string& path) {
  const std::string text = media.plugin().version() + "\n" + path;
  return Hash64(AsBytes(text), media.index().key);
}

const std::string& CacheName(const std::string& path, const ViewEntry& entry) {
  return entry.canonical_path.empty() ? path : entry.canonical_path;
}

}  // namespace

// A file that is being made (no result yet) or was made.
struct Renderer::Slot {
  std::optional<Result<std::shared_ptr<const ViewFile>>> result;
  std::list<Key>::iterator by_use;  // when filled
  uint64_t size = 0;
};

Renderer::~Renderer() {
  const MutexLock lock(mu_);
  while (ahead_jobs_ > 0) changed_.Wait(mu_);
}

Renderer::Files Renderer::Render(const Media& media,
                                 std::span<const std::string> paths) {
  ViewTimes times;
  Files files = media.OpenFiles(paths, &times);
  decode_ns_ += times.decode_ns;
  return files;
}

Result<std::shared_ptr<const ViewFile>> Renderer::Open(
    const std::shared_ptr<const Media>& media, const std::string& path,
    const ViewEntry& entry) {
  const Key key{media->index().key, CacheName(path, entry)};
  std::shared_ptr<Slot> slot;
  bool mine = false;
  {
    const MutexLock lock(mu_);
    auto& place = slots_[key];
    mine = place == nullptr;
    if (mine) place = std::make_shared<Slot>();
    slot = place;
    if (slot->result && slot->result->ok()) {
      by_use_.splice(by_use_.begin(), by_use_, slot->by_use);
    }
  }
  if (mine) {
    Fill(key, Render(*media, std::span(&key.second, 1))[0]);
  }
  Result<std::shared_ptr<const ViewFile>> result =
      Status(Code::kInternal, "unfilled");
  {
    const MutexLock lock(mu_);
    while (!slot->result) changed_.Wait(mu_);
    result = *slot->result;
  }
  if (!result.ok() && !mine) {
    // Another reader's failure, or one of rendering ahead, is not ours.
    result = Render(*media, std::span(&key.second, 1))[0];
  }
  if (result.ok()) {
    if (mine && sizes_ != nullptr && !entry.size_exact) {
      sizes_->PutSize(SizeKey(*media, key.second), result.value()->size());
    }
    if (result.value()->in_memory()) {
      RenderAhead(media, path, result.value()->size());
    }
  }
  return result;
}

void Renderer::Fill(const Key& key,
                    Result<std::shared_ptr<const ViewFile>> file) {
  {
    const MutexLock lock(mu_);
    const auto found = slots_.find(key);
    const std::shared_ptr<Slot> slot = found->second;
    slot->result = std::move(file);
    // What failed is forgotten; what is read from the blob anyway costs nothing
    // to make again.
    if (!slot->result->ok() || !slot->result->value()->in_memory()) {
      slots_.erase(found);
    } else {
      slot->size = slot->result->value()->size();
      cached_bytes_ += slot->size;
      by_use_.push_front(key);
      slot->by_use = by_use_.begin();
      Evict();
    }
  }
  changed_.NotifyAll();
}

void Renderer::Evict() {
  while (cached_bytes_ > limits_.cache_bytes_max && by_use_.size() > 1) {
    const auto found = slots_.find(by_use_.back());
    cached_bytes_ -= found->second->size;
    slots_.erase(found);
    by_use_.pop_back();
  }
}

void Renderer::RenderAhead(const std::shared_ptr<const Media>& media,
                           const std::string& path, uint64_t size) {
  const auto here = ParseNumbered(path);
  if (!here || pool_ == nullptr) return;
  std::vector<std::string> wanted;
  {
    const MutexLock lock(mu_);
    if (trails_.size() > kTrailsMax) trails_.clear();
    Trail& trail = trails_[media->index().key];
    const std::string last = trail.path;
    const auto before = ParseNumbered(last);
    const int64_t moved =
        before && before->before == here->before && before->after == here->after
            ? here->number - before->number
            : 0;
    const int64_t step = moved == 1 || moved == -1 ? moved : 0;
    // A neighbour may be chance; the same step again is a direction.
    const bool goes_on = step != 0 && step == trail.step;
    const uint64_t length = goes_on ? trail.length + 1 : 1;
    const bool busy = trail.ahead;
    trail = {path, step, length, busy};
    // One batch of a reader at a time: a second one would decode in another
    // process what the first does.
    if (!goes_on || busy || ahead_jobs_ >= kAheadJobsMax) return;
    // A batch is there when all of it is, so a reader that has just begun to
    // go on gets a small one.
    const uint64_t items =
        std::min<uint64_t>({limits_.ahead_items_max, 2 * (length - 1),
                            limits_.ahead_bytes_max / (size + 1)});
    const auto window = static_cast<int64_t>(2 * items);
    for (int64_t i = 1; i <= window && here->number + step * i >= 0; ++i) {
      std::string next = here->At(here->number + step * i);
      if (wanted.size() < items &&
          !slots_.contains({media->index().key, next})) {
        wanted.push_back(std::move(next));
      }
    }
    // Most of it is still there: a later call asks for more at once.
    if (wanted.size() < (items + 1) / 2) return;
    for (const std::string& next : wanted) {
      slots_[{media->index().key, next}] = std::make_shared<Slot>();
    }
    ++ahead_jobs_;
    trail.ahead = true;
  }
  const auto job = [this, media, wanted] {
    // The end of the media may lie between: then what is there is asked for
    // alone.
    size_t count = wanted.size();
    while (count > 0 && !media->Lookup(wanted[count - 1]).ok()) --count;
    const auto files = Render(*media, std::span(wanted).first(count));
    for (size_t i = 0; i < wanted.size(); ++i) {
      Fill({media->index().key, wanted[i]},
           i < count ? files[i]
                     : Status(Code::kNotFound, wanted[i] + ": no such file"));
    }
    EndAhead(media->index().key);
  };
  if (pool_->TrySubmit(job)) return;
  for (const std::string& next : wanted) {
    Fill({media->index().key, next},
         Status(Code::kUnavailable, "too busy to render ahead"));
  }
  EndAhead(media->index().key);
}

void Renderer::EndAhead(uint64_t index) {
  {
    const MutexLock lock(mu_);
    --ahead_jobs_;
    const auto trail = trails_.find(index);
    if (trail != trails_.end()) trail->second.ahead = false;
  }
  changed_.NotifyAll();
}

std::optional<uint64_t> Renderer::FindSize(const Media& media,
                                           const std::string& path,
                                           const ViewEntry& entry) {
  const std::string& name = CacheName(path, entry);
  {
    const MutexLock lock(mu_);
    const auto found = slots_.find({media.index().key, name});
    if (found != slots_.end() && found->second->result &&
        found->second->result->ok()) {
      return found->second->size;
    }
  }
  return sizes_ == nullptr ? std::nullopt
                           : sizes_->FindSize(SizeKey(media, name));
}

uint64_t Renderer::cached_bytes() const {
  const MutexLock lock(mu_);
  return cached_bytes_;
}

}  // namespace rowfs
