// An HttpTransport that answers from a script and records what it was asked.
//
// Thread-safe.
#ifndef ROWFS_TESTS_SUPPORT_FAKE_TRANSPORT_H_
#define ROWFS_TESTS_SUPPORT_FAKE_TRANSPORT_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/sync.h"
#include "storage/object/http_client.h"

namespace rowfs {

class FakeTransport final : public HttpTransport {
 public:
  using Answer = std::function<Result<HttpResponse>(const HttpRequest&)>;

  explicit FakeTransport(Answer answer) : answer_(std::move(answer)) {}

  Result<HttpResponse> Send(const HttpRequest& request) override {
    {
      const MutexLock lock(mu_);
      requests_.push_back(request);
    }
    return answer_(request);
  }
  // Their bodies have gone; everything else is as it was sent.
  std::vector<HttpRequest> TakeRequests() EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    return std::exchange(requests_, {});
  }

 private:
  const Answer answer_;
  Mutex mu_;
  std::vector<HttpRequest> requests_ GUARDED_BY(mu_);
};

inline HttpResponse Respond(int status, HttpHeaders headers = {},
                            std::string_view body = "") {
  HttpResponse response;
  response.status = status;
  response.headers = std::move(headers);
  response.body = ToBytes(body);
  return response;
}

// The value of a request's header; empty when there is none.
inline std::string HeaderOf(const HttpRequest& request, std::string_view name) {
  for (const auto& [key, value] : request.headers) {
    if (key == name) return value;
  }
  return {};
}

}  // namespace rowfs
#endif  // ROWFS_TESTS_SUPPORT_FAKE_TRANSPORT_H_
