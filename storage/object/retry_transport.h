// Wraps an HttpTransport: tries again what may go better the next time, with
// waits that grow and are spread out, and never past the request's deadline.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_OBJECT_RETRY_TRANSPORT_H_
#define ROWFS_STORAGE_OBJECT_RETRY_TRANSPORT_H_

#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "storage/base/clock.h"
#include "storage/base/sync.h"
#include "storage/object/http_client.h"

namespace rowfs {

struct RetryOptions {
  int64_t first_wait_ms = 50;
  // Small, so that reading resumes soon after a long cut has healed.
  int64_t wait_ms_max = 1'000;
  // While a server answers, but badly (5xx, early ends).
  int attempts_max = 6;
  // While an origin that has never answered does not answer.
  int first_contact_attempts_max = 3;
  uint64_t seed = 1;  // of the spread
};

// Tries again on kUnavailable, incomplete answers and the statuses 408, 429,
// 500, 502, 503 and 504, honouring Retry-After. Answers it returns are
// complete. An origin that has answered before and cannot be reached now is
// tried until the deadline; then kDeadlineExceeded with the last reason. The
// response says how many attempts it took.
class RetryTransport final : public HttpTransport {
 public:
  // `clock` outlives it.
  RetryTransport(std::unique_ptr<HttpTransport> transport, Clock& clock,
                 RetryOptions options);

  Result<HttpResponse> Send(const HttpRequest& request) override EXCLUDES(mu_);

 private:
  int64_t WaitMs(int attempt, const Result<HttpResponse>& result);
  bool HasAnswered(const std::string& origin) EXCLUDES(mu_);
  void NoteAnswer(const std::string& origin) EXCLUDES(mu_);

  const std::unique_ptr<HttpTransport> transport_;
  Clock& clock_;
  const RetryOptions options_;
  std::atomic<uint64_t> spread_;
  Mutex mu_;
  std::map<std::string, bool> answered_ GUARDED_BY(mu_);
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_OBJECT_RETRY_TRANSPORT_H_
