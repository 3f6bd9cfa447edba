#include "storage/object/http_store.h"

#include <algorithm>

#include "storage/base/clock.h"
#include "storage/object/retry_transport.h"
#include "tests/support/http_test_server.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A server that lies about one thing, and a store that reads from it.
class HttpStoreTest : public ::testing::Test {
 protected:
  using Change = std::function<void(const ServerRequest&, ServerReply*)>;

  void Serve(const Change& change) {
    server_ = std::make_unique<HttpTestServer>(
        [this, change](const ServerRequest& request) {
          ServerReply reply = ServeBytes(request, content_);
          change(request, &reply);
          return reply;
        });
    store_ = std::make_unique<HttpStore>(
        std::make_shared<RetryTransport>(MakeHttpTransport({}), clock_,
                                         RetryOptions{.first_wait_ms = 1}),
        HttpStore::Options{.origin = server_->url()});
  }
  Result<std::string> Read(uint64_t offset, size_t size,
                           const std::string& etag = "") {
    Bytes bytes(size);
    ROWFS_RETURN_IF_ERROR(store_->ReadAt({"/o", etag}, offset, bytes));
    return std::string(AsText(bytes));
  }
  static void Set(ServerReply* reply, const std::string& name,
                  const std::string& value) {
    std::erase_if(reply->headers,
                  [&](const auto& header) { return header.first == name; });
    reply->headers.emplace_back(name, value);
  }

  const std::string content_ = [] {
    std::string text;
    for (int i = 0; i < 100; ++i) text += static_cast<char>(33 + i % 90);
    return text;
  }();
  RealClock clock_;
  std::unique_ptr<HttpTestServer> server_;
  std::unique_ptr<HttpStore> store_;
};

TEST_F(HttpStoreTest, TailAndSizeCostOneRequest) {
  Serve([](const ServerRequest&, ServerReply*) {});

  ASSERT_OK_AND_ASSIGN(const auto tail, store_->ReadTail("/o", 10));

  EXPECT_EQ(AsText(tail.bytes), content_.substr(90));
  EXPECT_EQ(tail.meta.size, 100U);
  const auto requests = server_->TakeRequests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].Header("range"), "bytes=-10");
}

TEST_F(HttpStoreTest, ReadsArePinnedToTheEtag) {
  Serve([](const ServerRequest&, ServerReply*) {});

  EXPECT_EQ(Read(5, 3, "\"e1\"").value(), content_.substr(5, 3));
  EXPECT_EQ(server_->TakeRequests()[0].Header("if-match"), "\"e1\"");
  EXPECT_THAT(Read(5, 3, "\"e2\""), HasCode(Code::kChanged));
}

TEST_F(HttpStoreTest, AChangeShowsEvenIfTheServerIgnoresConditions) {
  Serve([](const ServerRequest& request, ServerReply* reply) {
    if (request.Header("if-match").empty()) return;
    Set(reply, "ETag", "\"e9\"");
  });

  EXPECT_THAT(Read(5, 3, "\"e1\""), HasCode(Code::kChanged));
}

TEST_F(HttpStoreTest, WeakEtagsAreComparedAndNotSent) {
  Serve([](const ServerRequest& request, ServerReply* reply) {
    EXPECT_EQ(request.Header("if-match"), "");
    Set(reply, "ETag", "W/\"e1\"");
  });

  EXPECT_OK(Read(5, 3, "W/\"e1\""));
  EXPECT_THAT(Read(5, 3, "W/\"e2\""), HasCode(Code::kChanged));
}

TEST_F(HttpStoreTest, AServerWithoutRangesIsNamed) {
  Serve([this](const ServerRequest& request, ServerReply* reply) {
    if (request.method == "GET") *reply = ServerReply{.body = content_};
  });

  const auto part = Read(20, 10);

  EXPECT_THAT(part, HasCode(Code::kUnsupported));
  EXPECT_THAT(std::string(part.status().message()),
              HasSubstr("ignores ranges"));
  EXPECT_EQ(Read(0, 100).value(), content_);
  EXPECT_THAT(Read(0, 99), HasCode(Code::kUnsupported));
  EXPECT_EQ(store_->ReadTail("/o", 200).value().meta.size, 100U);
}

TEST_F(HttpStoreTest, AServerWithoutHeadIsAskedForOneByte) {
  Serve([](const ServerRequest& request, ServerReply* reply) {
    if (request.method == "HEAD") *reply = ServerReply{.status = 405};
  });

  EXPECT_EQ(store_->Stat("/o").value().size, 100U);
}

TEST_F(HttpStoreTest, AServerWithoutSuffixRangesCostsASecondRequest) {
  Serve([](const ServerRequest& request, ServerReply* reply) {
    if (request.Header("range").starts_with("bytes=-")) {
      *reply = ServerReply{.status = 416};
    }
  });

  EXPECT_EQ(AsText(store_->ReadTail("/o", 10).value().bytes),
            content_.substr(90));
}

TEST_F(HttpStoreTest, LiesGiveAnErrorAndNeverBytes) {
  const std::pair<const char*, Change> lies[] = {
      {"another range",
       [](const ServerRequest&, ServerReply* reply) {
         if (reply->status == 206) {
           Set(reply, "Content-Range", "bytes 30-39/100");
         }
       }},
      {"no range",
       [](const ServerRequest&, ServerReply* reply) {
         if (reply->status == 206) Set(reply, "Content-Range", "nonsense");
       }},
      {"a total below the range",
       [](const ServerRequest&, ServerReply* reply) {
         if (reply->status == 206) {
           Set(reply, "Content-Range", "bytes 20-29/25");
         }
       }},
      {"a body that is too long",
       [](const ServerRequest&, ServerReply* reply) { reply->body += "x"; }},
      {"a body that is too short",
       [](const ServerRequest&, ServerReply* reply) {
         if (!reply->body.empty()) reply->body.pop_back();
       }},
      {"a body that breaks off",
       [](const ServerRequest&, ServerReply* reply) { reply->cut = 3; }},
      {"coded bytes",
       [](const ServerRequest&, ServerReply* reply) {
         Set(reply, "Content-Encoding", "gzip");
       }},
      {"the beginning instead of the range",
       [this](const ServerRequest&, ServerReply* reply) {
         if (reply->status == 206) reply->body = content_;
       }},
      {"a login page",
       [](const ServerRequest&, ServerReply* reply) {
         *reply = ServerReply{.body = "<html>sign in</html>"};
       }},
  };
  for (const auto& [what, lie] : lies) {
    SCOPED_TRACE(what);
    Serve(lie);

    const auto part = Read(20, 10);

    EXPECT_FALSE(part.ok());
    EXPECT_LE(server_->TakeRequests().size(), 6U);
    const auto tail = store_->ReadTail("/o", 10);
    if (std::string_view(what) == "a login page") {
      EXPECT_NE(tail.ok() ? tail.value().meta.size : 0, 100U);
    } else if (tail.ok()) {
      EXPECT_EQ(AsText(tail.value().bytes), content_.substr(90));
    }
  }
}

TEST_F(HttpStoreTest, ALieToldOnceIsAskedAboutAgain) {
  int count = 0;
  Serve([&count](const ServerRequest&, ServerReply* reply) {
    if (++count == 1) Set(reply, "Content-Range", "bytes 0-9/100");
  });

  EXPECT_EQ(Read(20, 10).value(), content_.substr(20, 10));
  EXPECT_EQ(count, 2);
}

TEST_F(HttpStoreTest, ConnectionsThatBreakAreTriedAgain) {
  int count = 0;
  Serve([&count](const ServerRequest&, ServerReply* reply) {
    reply->reset = ++count % 3 != 0;
    if (reply->reset) reply->cut = reply->body.size() / 2;
  });

  EXPECT_EQ(Read(20, 10).value(), content_.substr(20, 10));
}

TEST_F(HttpStoreTest, RedirectsAreFollowed) {
  Serve([](const ServerRequest& request, ServerReply* reply) {
    if (request.path() == "/o") {
      *reply = ServerReply{.status = 302,
                           .headers = {{"Location", "/moved?sig=a%2Fb"}}};
    }
  });

  EXPECT_EQ(Read(20, 10).value(), content_.substr(20, 10));
  EXPECT_EQ(server_->TakeRequests().back().target, "/moved?sig=a%2Fb");
}

TEST_F(HttpStoreTest, SecretsAreInNoUriAndNoMessage) {
  Serve([](const ServerRequest&, ServerReply* reply) {
    *reply = ServerReply{.status = 403};
  });
  HttpStore store(MakeHttpTransport({}),
                  {.origin = server_->url(),
                   .query = "X-Amz-Signature=canary",
                   .authorization = Secret("Basic canary")});

  const auto result = store.Stat("/o");

  EXPECT_THAT(result, HasCode(Code::kPermissionDenied));
  EXPECT_THAT(std::string(result.status().message()), Not(HasSubstr("canary")));
  EXPECT_THAT(store.Uri("/o"), HasSubstr("/o?redacted="));
  EXPECT_EQ(server_->TakeRequests()[0].Header("authorization"), "Basic canary");
}

TEST_F(HttpStoreTest, AnEmptyObjectHasAnEmptyTail) {
  server_ = std::make_unique<HttpTestServer>(
      [](const ServerRequest& request) { return ServeBytes(request, ""); });
  HttpStore store(MakeHttpTransport({}), {.origin = server_->url()});

  EXPECT_EQ(store.ReadTail("/o", 10).value().meta.size, 0U);
}

// Long enough to be told of before its end.
class GradualReadTest : public HttpStoreTest {
 protected:
  static constexpr size_t kBytes = 1 << 20;

  void ServeLong(const Change& change) {
    server_ = std::make_unique<HttpTestServer>(
        [this, change](const ServerRequest& request) {
          ServerReply reply = ServeBytes(request, long_);
          change(request, &reply);
          return reply;
        });
    store_ = std::make_unique<HttpStore>(
        std::make_shared<RetryTransport>(MakeHttpTransport({}), clock_,
                                         RetryOptions{.first_wait_ms = 1}),
        HttpStore::Options{.origin = server_->url()});
  }
  // Reads all; what was told is compared at once, and must stay.
  Status ReadAll(const std::string& etag = "") {
    Bytes bytes(kBytes);
    told_.clear();
    const Status status =
        store_->ReadGradually({"/o", etag}, 0, bytes, [&](uint64_t done) {
          told_.push_back(done);
          EXPECT_EQ(AsText(bytes).substr(0, done), long_.substr(0, done));
        });
    if (status.ok()) {
      EXPECT_EQ(AsText(bytes), long_);
    }
    return status;
  }

  const std::string long_ = [] {
    std::string text(kBytes, ' ');
    for (size_t i = 0; i < kBytes; ++i) {
      text[i] = static_cast<char>(33 + (i + i / 251) % 90);
    }
    return text;
  }();
  std::vector<uint64_t> told_;
};

TEST_F(GradualReadTest, ProgressIsToldAndGrows) {
  ServeLong([](const ServerRequest&, ServerReply*) {});

  ASSERT_OK(ReadAll());

  EXPECT_GE(told_.size(), 2U);
  EXPECT_TRUE(std::is_sorted(told_.begin(), told_.end()));
  EXPECT_EQ(server_->TakeRequests().size(), 1U);
}

TEST_F(GradualReadTest, WhatWasToldStaysWhenTheReadIsTriedAgain) {
  int answers = 0;
  ServeLong([&](const ServerRequest&, ServerReply* reply) {
    if (++answers == 1) reply->cut = kBytes / 2;
    // The second answer has other bytes where the first was told of.
    if (answers == 2) reply->body[0] = '!';
  });

  ASSERT_OK(ReadAll());

  EXPECT_EQ(answers, 2);
  EXPECT_TRUE(std::is_sorted(told_.begin(), told_.end()));
}

TEST_F(GradualReadTest, NothingIsToldOfAnswersThatAreNotTheRightOnes) {
  const std::vector<Change> lies = {
      [](const ServerRequest&, ServerReply* reply) {
        Set(reply, "Content-Range", "bytes 1-1048576/2000000");
      },
      [](const ServerRequest&, ServerReply* reply) {
        Set(reply, "Content-Encoding", "gzip");
      },
      [](const ServerRequest&, ServerReply* reply) {
        Set(reply, "ETag", "\"e9\"");
      },
      [](const ServerRequest&, ServerReply* reply) { reply->status = 404; }};
  for (const Change& lie : lies) {
    ServeLong(lie);
    EXPECT_FALSE(ReadAll("\"e1\"").ok());
    EXPECT_TRUE(told_.empty());
  }
}

}  // namespace
}  // namespace rowfs
