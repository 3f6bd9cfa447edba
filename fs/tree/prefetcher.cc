#include "fs/tree/prefetcher.h"

#include <string_view>
#include <utility>

namespace rowfs {

Prefetcher::~Prefetcher() {
  const MutexLock lock(mu_);
  stopping_ = true;
  while (working_) ended_.Wait(mu_);
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
  {
    const MutexLock lock(mu_);
    if (working_ || stopping_ || lines_.empty() || pool_ == nullptr) return;
    working_ = true;
  }
  // A full pool: the next write tries again.
  if (pool_->TrySubmit([this] { Work(); })) return;
  const MutexLock lock(mu_);
  working_ = false;
  ended_.NotifyAll();
}

void Prefetcher::Work() {
  for (;;) {
    std::string line;
    {
      const MutexLock lock(mu_);
      if (lines_.empty() || stopping_) {
        working_ = false;
        ended_.NotifyAll();
        return;
      }
      line = std::move(lines_.front());
      lines_.pop_front();
    }
    work_(line);
    const MutexLock lock(mu_);
    ++done_;
  }
}

std::string Prefetcher::Text() const {
  const MutexLock lock(mu_);
  return "pending " + std::to_string(lines_.size() + (working_ ? 1 : 0)) +
         "\ndone " + std::to_string(done_) + "\n";
}

}  // namespace rowfs
