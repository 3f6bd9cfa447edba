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
  int64_t wait_ms_max = 500;
  // A request without a body that gets nothing for so long is sent again on
  // another connection: what hangs in a network that was cut hangs longer than
  // the cut. Doubled each time, for servers that are just slow.
  int64_t first_stall_ms = 4'000;
  // To an origin that has answered before; longer at every third attempt.
  int64_t connect_timeout_ms = 2'000;
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
  void SetTimeouts(int attempts, HttpRequest* request) EXCLUDES(mu_);
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
