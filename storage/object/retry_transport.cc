#include "storage/object/retry_transport.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "storage/base/hash.h"

namespace rowfs {
namespace {

// Origins remembered; beyond, an origin counts as never met.
constexpr size_t kOriginsMax = 10'000;
// A server that asks for a longer wait is not worth waiting for.
constexpr int64_t kRetryAfterMsMax = 30'000;
constexpr int64_t kStallMsMax = 30'000;

bool IsRetryable(int status) {
  return status == 408 || status == 429 || status == 500 || status == 502 ||
         status == 503 || status == 504;
}

// Retry-After in seconds; dates and nonsense are ignored.
std::optional<int64_t> RetryAfterMs(const HttpResponse& response) {
  const std::string_view text = response.Header("retry-after");
  int64_t seconds = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  if (seconds < 0 || seconds > kRetryAfterMsMax / 1000) return {};
  return seconds * 1000;
}

}  // namespace

RetryTransport::RetryTransport(std::unique_ptr<HttpTransport> transport,
                               Clock& clock, RetryOptions options)
    : transport_(std::move(transport)),
      clock_(clock),
      options_(options),
      spread_(options.seed) {}

int64_t RetryTransport::WaitMs(int attempt,
                               const Result<HttpResponse>& result) {
  if (result.ok()) {
    if (const auto wait = RetryAfterMs(result.value())) return *wait;
  }
  const int64_t longest = std::min(
      options_.wait_ms_max, options_.first_wait_ms << std::min(attempt, 16));
  // Half of it fixed, half spread, so that clients do not come back together.
  const uint64_t number = ++spread_;
  const uint64_t spread =
      Hash64(std::as_bytes(std::span(&number, 1)), options_.seed);
  return longest / 2 +
         static_cast<int64_t>(spread % static_cast<uint64_t>(longest / 2 + 1));
}

bool RetryTransport::HasAnswered(const std::string& origin) {
  const MutexLock lock(mu_);
  return answered_.contains(origin);
}

void RetryTransport::NoteAnswer(const std::string& origin) {
  const MutexLock lock(mu_);
  if (answered_.size() < kOriginsMax) answered_.emplace(origin, true);
}

void RetryTransport::SetTimeouts(int attempts, HttpRequest* request) {
  if (!HasAnswered(OriginOf(request->url))) return;
  request->connect_timeout_ms =
      attempts % 3 == 0 ? 0 : options_.connect_timeout_ms;
  if (!request->body.empty()) return;
  request->stall_timeout_ms = std::min(
      options_.first_stall_ms << std::min(attempts - 1, 16), kStallMsMax);
}

Result<HttpResponse> RetryTransport::Send(const HttpRequest& request) {
  const std::string origin = OriginOf(request.url);
  const int64_t begin_ns = clock_.MonotonicNs();
  HttpRequest attempt = request;
  int answers = 0;
  for (int attempts = 1;; ++attempts) {
    SetTimeouts(attempts, &attempt);
    Result<HttpResponse> result = transport_->Send(attempt);
    if (result.ok()) {
      result.value().attempts = attempts;
      NoteAnswer(origin);
      ++answers;
      const bool complete = result.value().complete;
      if (complete && !IsRetryable(result.value().status)) return result;
      if (!complete) {
        result = Status(Code::kUnavailable,
                        SafeUrl(request.url) + ": the answer breaks off");
      }
    } else if (result.status().code() != Code::kUnavailable) {
      return result;
    }
    const bool met = HasAnswered(origin);
    if (answers >= options_.attempts_max ||
        (!met && attempts >= options_.first_contact_attempts_max)) {
      return result;
    }
    const int64_t wait_ms = WaitMs(attempts - 1, result);
    if (request.deadline_ms > 0) {
      const int64_t elapsed_ms = (clock_.MonotonicNs() - begin_ns) / 1'000'000;
      attempt.deadline_ms = request.deadline_ms - elapsed_ms - wait_ms;
      if (attempt.deadline_ms <= 0) {
        if (result.ok()) return result;
        return Status(Code::kDeadlineExceeded,
                      std::string(result.status().message()) + ", tried " +
                          std::to_string(attempts) + " times in " +
                          std::to_string(elapsed_ms / 1000) + " s");
      }
    }
    clock_.SleepMs(wait_ms);
  }
}

}  // namespace rowfs
