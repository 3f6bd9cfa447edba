#include "storage/object/hedge_transport.h"

#include <chrono>
#include <optional>
#include <utility>

#include "storage/base/sync.h"

namespace rowfs {
namespace {

// Twice as many as readers send at once.
constexpr size_t kThreads = 64;

// One request on its way, shared by those who send it and who waits.
struct Race {
  HttpRequest request;
  Mutex mu;
  CondVar ended;
  int running GUARDED_BY(mu) = 0;
  std::optional<Result<HttpResponse>> answer GUARDED_BY(mu);
};

bool IsGood(const Result<HttpResponse>& answer) {
  return answer.ok() && answer.value().complete && answer.value().status < 500;
}

void Run(HttpTransport& transport, Race& race) {
  Result<HttpResponse> answer = transport.Send(race.request);
  {
    const MutexLock lock(race.mu);
    --race.running;
    const bool better =
        !race.answer || (!IsGood(*race.answer) && IsGood(answer));
    if (better) race.answer = std::move(answer);
  }
  race.ended.NotifyAll();
}

}  // namespace

HedgeTransport::HedgeTransport(std::unique_ptr<HttpTransport> transport,
                               int64_t after_ms)
    : transport_(std::move(transport)),
      after_ms_(after_ms),
      pool_(kThreads, 1) {}

Result<HttpResponse> HedgeTransport::Send(const HttpRequest& request) {
  if (request.method != "GET") return transport_->Send(request);
  const auto race = std::make_shared<Race>();
  race->request = request;
  race->request.sink = nullptr;  // the answer that comes first goes there
  const auto start = [&] {
    {
      const MutexLock lock(race->mu);
      ++race->running;
    }
    if (pool_.TrySubmit([this, race] { Run(*transport_, *race); })) return true;
    const MutexLock lock(race->mu);
    --race->running;
    return false;
  };
  if (!start()) return transport_->Send(request);
  bool hedged = false;
  const MutexLock lock(race->mu);
  // A bad answer counts only when no other can come.
  while (!race->answer || (!IsGood(*race->answer) && race->running > 0)) {
    if (hedged) {
      race->ended.Wait(race->mu);
      continue;
    }
    if (race->ended.WaitFor(race->mu, std::chrono::milliseconds(after_ms_))) {
      continue;
    }
    hedged = true;
    race->mu.Unlock();
    if (start()) ++hedges_;
    race->mu.Lock();
  }
  return std::move(*race->answer);
}

}  // namespace rowfs
