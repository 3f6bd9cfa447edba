#include "storage/object/hedge_transport.h"

#include <atomic>

#include "storage/base/clock.h"
#include "tests/support/fake_transport.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

// Answers the nth request after `delays_ms[n]`, with its number as the body.
class SlowTransport final : public HttpTransport {
 public:
  explicit SlowTransport(std::vector<int64_t> delays_ms)
      : delays_ms_(std::move(delays_ms)) {}
  Result<HttpResponse> Send(const HttpRequest&) override {
    const size_t number = count_++;
    RealClock().SleepMs(delays_ms_.at(number));
    if (number == fails_) return Status(Code::kUnavailable, "reset");
    return Respond(200, {}, std::to_string(number));
  }
  void FailAt(size_t number) { fails_ = number; }
  size_t count() const { return count_; }

 private:
  const std::vector<int64_t> delays_ms_;
  size_t fails_ = SIZE_MAX;
  std::atomic<size_t> count_{0};
};

std::string Answer(HttpTransport& transport, const std::string& method) {
  HttpRequest request;
  request.method = method;
  request.url = "http://h/x";
  const auto response = transport.Send(request);
  return response.ok() ? std::string(AsText(response.value().body)) : "error";
}

TEST(HedgeTransport, AQuickAnswerIsTheOnlyRequest) {
  auto slow = std::make_unique<SlowTransport>(std::vector<int64_t>{0, 0});
  SlowTransport& below = *slow;
  HedgeTransport hedge(std::move(slow), 60'000);

  EXPECT_EQ(Answer(hedge, "GET"), "0");
  EXPECT_EQ(below.count(), 1U);
  EXPECT_EQ(hedge.hedges(), 0U);
}

TEST(HedgeTransport, AStragglerIsOvertakenByASecondRequest) {
  HedgeTransport hedge(
      std::make_unique<SlowTransport>(std::vector<int64_t>{1'500, 0}), 20);

  EXPECT_EQ(Answer(hedge, "GET"), "1");
  EXPECT_EQ(hedge.hedges(), 1U);
}

TEST(HedgeTransport, AFailureWaitsForTheOtherAnswer) {
  auto slow = std::make_unique<SlowTransport>(std::vector<int64_t>{200, 400});
  slow->FailAt(0);
  HedgeTransport hedge(std::move(slow), 20);

  EXPECT_EQ(Answer(hedge, "GET"), "1");
}

TEST(HedgeTransport, WritesAreNeverSentTwice) {
  auto slow = std::make_unique<SlowTransport>(std::vector<int64_t>{100, 0});
  SlowTransport& below = *slow;
  HedgeTransport hedge(std::move(slow), 1);

  EXPECT_EQ(Answer(hedge, "PUT"), "0");
  EXPECT_EQ(below.count(), 1U);
}

}  // namespace
}  // namespace rowfs
