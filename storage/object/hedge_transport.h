// Wraps an HttpTransport: a GET that is not answered in time is sent a second
// time, and whichever answer comes first counts. Costs up to twice the
// requests, so it is for stores whose slowest answers are much slower than the
// rest; off unless asked for.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_OBJECT_HEDGE_TRANSPORT_H_
#define ROWFS_STORAGE_OBJECT_HEDGE_TRANSPORT_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "storage/base/thread_pool.h"
#include "storage/object/http_client.h"

namespace rowfs {

class HedgeTransport final : public HttpTransport {
 public:
  HedgeTransport(std::unique_ptr<HttpTransport> transport, int64_t after_ms);

  // As the transport below. When no thread is free the request goes once, from
  // this thread.
  Result<HttpResponse> Send(const HttpRequest& request) override;

  // Second requests so far.
  uint64_t hedges() const { return hedges_; }

 private:
  const std::unique_ptr<HttpTransport> transport_;
  const int64_t after_ms_;
  std::atomic<uint64_t> hedges_{0};
  ThreadPool pool_;  // last: joins what still runs
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_OBJECT_HEDGE_TRANSPORT_H_
