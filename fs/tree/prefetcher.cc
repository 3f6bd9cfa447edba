#include "fs/tree/prefetcher.h"

#include <string_view>
#include <utility>

namespace rowfs {

Prefetcher::~Prefetcher() {
  const MutexLock lock(mu_);
  stopping_ = true;
  while (jobs_ > 0) ended_.Wait(mu_);
}

Status Prefetcher::Write(ByteSpan bytes) {
  if (pool_ == nullptr) {
    return {Code::kUnsupported, "prefetch: not available here"};
  }
  {
    const MutexLock lock(mu_);
    std::string_view text = AsText(bytes);
    for (size_t end = text.find('\n'); end != text.npos;
         end = text.find('\n')) {
      rest_ += text.substr(0, end);
      text.remove_prefix(end + 1);
      if (lines_.size() >= kLinesMax) {
        return {Code::kResourceExhausted, "prefetch: too many lines wait"};
      }
      if (!rest_.empty()) lines_.push_back(std::exchange(rest_, {}));
    }
    rest_ += text;
    if (rest_.size() > kLineBytesMax) {
      rest_.clear();
      return {Code::kInvalidArgument, "prefetch: line too long"};
    }
  }
  Start();
  return {};
}

void Prefetcher::Flush() {
  {
    const MutexLock lock(mu_);
    if (rest_.empty() || lines_.size() >= kLinesMax) return;
    lines_.push_back(std::exchange(rest_, {}));
  }
  Start();
}

void Prefetcher::Start() {
  for (;;) {
    {
      const MutexLock lock(mu_);
      if (stopping_ || pool_ == nullptr || jobs_ == kJobsMax ||
          lines_.size() <= jobs_ - working_) {
        return;
      }
      ++jobs_;
    }
    // A full pool: the next write tries again.
    if (pool_->TrySubmit([this] { Work(); })) continue;
    const MutexLock lock(mu_);
    --jobs_;
    ended_.NotifyAll();
    return;
  }
}

void Prefetcher::Work() {
  for (;;) {
    std::string line;
    {
      const MutexLock lock(mu_);
      if (lines_.empty() || stopping_) {
        --jobs_;
        ended_.NotifyAll();
        return;
      }
      line = std::move(lines_.front());
      lines_.pop_front();
      ++working_;
    }
    work_(line);
    const MutexLock lock(mu_);
    --working_;
    ++done_;
  }
}

std::string Prefetcher::Text() const {
  const MutexLock lock(mu_);
  return "pending " + std::to_string(lines_.size() + working_) + "\ndone " +
         std::to_string(done_) + "\n";
}

}  // namespace rowfs
