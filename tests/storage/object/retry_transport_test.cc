#include "storage/object/retry_transport.h"

#include "tests/support/fake_clock.h"
#include "tests/support/fake_transport.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

using Answers = std::vector<Result<HttpResponse>>;

HttpResponse BrokenOff() {
  HttpResponse response = Respond(206);
  response.complete = false;
  return response;
}

Status Down() { return {Code::kUnavailable, "https://a/x: cannot connect"}; }

class RetryTransportTest : public ::testing::Test {
 protected:
  // Send one request; the last answer repeats for ever.
  Result<HttpResponse> Send(const Answers& answers,
                            int64_t deadline_ms = 60'000) {
    auto fake = std::make_unique<FakeTransport>(
        [this, answers](const HttpRequest& request) {
          deadlines_.push_back(request.deadline_ms);
          const size_t at = std::min(calls_++, answers.size() - 1);
          return answers[at];
        });
    begin_ns_ = clock_.NowNs();
    calls_ = 0;
    RetryTransport transport(std::move(fake), clock_, {});
    HttpRequest request;
    request.url = "https://a/x";
    request.deadline_ms = deadline_ms;
    return transport.Send(request);
  }
  int64_t ElapsedMs() { return (clock_.NowNs() - begin_ns_) / 1'000'000; }

  FakeClock clock_;
  size_t calls_ = 0;
  int64_t begin_ns_ = 0;
  std::vector<int64_t> deadlines_;
};

TEST_F(RetryTransportTest, TriesAgainWhatMayGoBetter) {
  const auto response =
      Send({Respond(503), BrokenOff(), Down(), Respond(429), Respond(200)});

  ASSERT_OK(response);
  EXPECT_EQ(response.value().attempts, 5);
}

TEST_F(RetryTransportTest, DoesNotRepeatWhatWillNotChange) {
  EXPECT_EQ(Send({Respond(404)}).value().status, 404);
  EXPECT_EQ(calls_, 1U);
  EXPECT_THAT(Send({Status(Code::kPermissionDenied, "certificate")}),
              HasCode(Code::kPermissionDenied));
  EXPECT_EQ(calls_, 1U);
}

TEST_F(RetryTransportTest, GivesUpOnAServerThatKeepsFailing) {
  EXPECT_EQ(Send({Respond(500)}).value().status, 500);
  EXPECT_EQ(calls_, 6U);
  EXPECT_THAT(Send({BrokenOff()}), HasCode(Code::kUnavailable));
  EXPECT_EQ(calls_, 6U);
}

TEST_F(RetryTransportTest, HonoursRetryAfter) {
  ASSERT_OK(Send({Respond(503, {{"retry-after", "7"}}), Respond(200)}));

  EXPECT_EQ(ElapsedMs(), 7000);
}

TEST_F(RetryTransportTest, SoonFailsWhereNobodyHasEverAnswered) {
  EXPECT_THAT(Send({Down()}), HasCode(Code::kUnavailable));

  EXPECT_EQ(calls_, 3U);
  EXPECT_LT(ElapsedMs(), 1000);
}

TEST_F(RetryTransportTest, OutlastsACutUntilTheDeadline) {
  EXPECT_THAT(Send({Respond(503), Down()}, 60'000),
              HasCode(Code::kDeadlineExceeded));

  EXPECT_GT(ElapsedMs(), 55'000);
  EXPECT_LE(ElapsedMs(), 60'000);
}

TEST_F(RetryTransportTest, EachAttemptGetsWhatIsLeftOfTheDeadline) {
  ASSERT_OK(Send({Respond(503), Respond(503), Respond(200)}, 10'000));

  ASSERT_EQ(deadlines_.size(), 3U);
  EXPECT_EQ(deadlines_[0], 10'000);
  EXPECT_LT(deadlines_[1], 10'000);
  EXPECT_LT(deadlines_[2], deadlines_[1]);
}

TEST_F(RetryTransportTest, AKnownOriginIsWaitedForInGrowingSteps) {
  std::vector<HttpRequest> seen;
  auto fake = std::make_unique<FakeTransport>(
      [&](const HttpRequest& request) -> Result<HttpResponse> {
        seen.push_back(request);
        if (seen.size() == 1) return Respond(200);
        return Down();
      });
  RetryTransport transport(std::move(fake), clock_, {});
  HttpRequest request;
  request.url = "https://a/x";
  ASSERT_OK(transport.Send(request));
  EXPECT_EQ(seen[0].stall_timeout_ms, 0);

  EXPECT_THAT(transport.Send(request), HasCode(Code::kDeadlineExceeded));

  EXPECT_EQ(seen[1].stall_timeout_ms, 4'000);
  EXPECT_EQ(seen[2].stall_timeout_ms, 8'000);
  EXPECT_EQ(seen[5].stall_timeout_ms, 30'000);
  EXPECT_EQ(seen[1].connect_timeout_ms, 2'000);
  EXPECT_EQ(seen[3].connect_timeout_ms, 0);  // the transport's own
  // Whoever was cut off comes back soon after the cut: no long silence.
  EXPECT_GT(seen.size(), 100U);
}

}  // namespace
}  // namespace rowfs
