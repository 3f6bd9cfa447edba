#include "storage/object/http_client.h"

#include "storage/base/thread_pool.h"
#include "tests/support/fake_transport.h"
#include "tests/support/http_test_server.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

HttpRequest Get(const std::string& url) {
  HttpRequest request;
  request.url = url;
  return request;
}

TEST(HttpUrls, OriginsCompare) {
  EXPECT_EQ(OriginOf("HTTPS://User:pw@Example.ORG:443/x"),
            "https://example.org");
  EXPECT_EQ(OriginOf("http://example.org:8080?x"), "http://example.org:8080");
  EXPECT_EQ(OriginOf("ftp://example.org/"), "");
  EXPECT_EQ(OriginOf("http:///x"), "");
  EXPECT_EQ(OriginOf("http://good.org?@evil.org/"), "http://good.org");
}

TEST(HttpUrls, MessagesShowNoPasswordAndNoQuery) {
  EXPECT_EQ(SafeUrl("https://user:secret@host/a?sig=secret#x"),
            "https://host/a?...");
}

TEST(HttpUrls, ReferencesResolve) {
  const std::string base = "https://h/a/b?q";
  EXPECT_EQ(ResolveUrl(base, "/c?x"), "https://h/c?x");
  EXPECT_EQ(ResolveUrl(base, "c"), "https://h/a/c");
  EXPECT_EQ(ResolveUrl(base, "?y"), "https://h/a/b?y");
  EXPECT_EQ(ResolveUrl(base, "//other/c"), "https://other/c");
  EXPECT_EQ(ResolveUrl(base, "http://other/c#f"), "http://other/c");
}

class RedirectTest : public ::testing::Test {
 protected:
  // Answers `first` with a redirect to `target`, everything else with 200.
  Result<HttpResponse> Follow(const std::string& first,
                              const std::string& target,
                              bool first_is_private = false) {
    FakeTransport transport([&](const HttpRequest& request) {
      HttpResponse response = Respond(200);
      if (request.url == first) response = Respond(302, {{"location", target}});
      response.peer_is_private = first_is_private;
      return response;
    });
    HttpRequest request = Get(first);
    request.headers = {{"Authorization", "secret"},
                       {"Cookie", "secret"},
                       {"x-amz-security-token", "secret"},
                       {"Range", "bytes=0-1"}};
    auto response = SendFollowing(transport, std::move(request));
    requests_ = transport.TakeRequests();
    return response;
  }
  std::vector<HttpRequest> requests_;
};

TEST_F(RedirectTest, CredentialsStayAtTheirOrigin) {
  ASSERT_OK(Follow("https://a/x", "https://b/x"));

  ASSERT_EQ(requests_.size(), 2U);
  EXPECT_EQ(requests_[1].headers, (HttpHeaders{{"Range", "bytes=0-1"}}));

  ASSERT_OK(Follow("https://a/x", "https://a:443/y"));
  EXPECT_EQ(HeaderOf(requests_[1], "Authorization"), "secret");
  ASSERT_OK(Follow("https://a/x", "https://a:444/y"));
  EXPECT_EQ(HeaderOf(requests_[1], "Authorization"), "");
  ASSERT_OK(Follow("http://a/x", "https://a/y"));
  EXPECT_EQ(HeaderOf(requests_[1], "Authorization"), "");
}

TEST_F(RedirectTest, NeverLeadToALesserScheme) {
  EXPECT_THAT(Follow("https://a/x", "http://a/x"),
              HasCode(Code::kPermissionDenied));
  EXPECT_EQ(requests_.size(), 1U);
  EXPECT_THAT(Follow("https://a/x", "file:///etc/passwd"),
              HasCode(Code::kPermissionDenied));
  EXPECT_THAT(Follow("https://a/x", "ftp://a/x"),
              HasCode(Code::kPermissionDenied));
}

TEST_F(RedirectTest, OnlyAPrivateHostMayLeadToAPrivateOne) {
  ASSERT_OK(Follow("https://a/x", "https://b/x", false));
  EXPECT_FALSE(requests_[1].allow_private);
  ASSERT_OK(Follow("https://a/x", "https://b/x", true));
  EXPECT_TRUE(requests_[1].allow_private);
}

TEST_F(RedirectTest, EndAfterThree) {
  FakeTransport transport([](const HttpRequest&) {
    return Respond(302, {{"location", "/again"}});
  });

  EXPECT_THAT(SendFollowing(transport, Get("https://a/x")),
              HasCode(Code::kPermissionDenied));
  EXPECT_EQ(transport.TakeRequests().size(), 4U);
}

TEST(CurlTransport, ReadsAnAnswerWithItsHeaders) {
  HttpTestServer server([](const ServerRequest& request) {
    return ServerReply{.headers = {{"X-Thing", " a b "}},
                       .body = request.method + " " + request.target};
  });
  const auto transport = MakeHttpTransport({});

  ASSERT_OK_AND_ASSIGN(const HttpResponse response,
                       transport->Send(Get(server.url() + "/a/../%20?q=1")));

  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(AsText(response.body), "GET /a/../%20?q=1");
  EXPECT_EQ(response.Header("x-thing"), "a b");
  EXPECT_TRUE(response.peer_is_private);
  const auto requests = server.TakeRequests();
  EXPECT_EQ(requests[0].Header("accept-encoding"), "identity");
}

TEST(CurlTransport, ReusesItsConnections) {
  HttpTestServer server([](const ServerRequest&) { return ServerReply{}; });
  const auto transport = MakeHttpTransport({});

  for (int i = 0; i < 20; ++i) {
    ASSERT_OK(transport->Send(Get(server.url() + "/")));
  }

  EXPECT_EQ(server.connection_count(), 1U);
}

TEST(CurlTransport, SendsABody) {
  HttpTestServer server([](const ServerRequest& request) {
    return ServerReply{.body = request.method + request.body};
  });
  const auto transport = MakeHttpTransport({});
  const std::string body(300'000, 'b');
  HttpRequest request = Get(server.url() + "/");
  request.method = "PUT";
  request.body = AsBytes(body);

  ASSERT_OK_AND_ASSIGN(const HttpResponse response, transport->Send(request));

  EXPECT_EQ(AsText(response.body), "PUT" + body);
}

TEST(CurlTransport, StopsAnAnswerThatIsTooLong) {
  HttpTestServer server([](const ServerRequest&) {
    return ServerReply{.body = std::string(1 << 20, 'x')};
  });
  const auto transport = MakeHttpTransport({});
  HttpRequest request = Get(server.url() + "/");
  request.response_bytes_max = 1000;

  EXPECT_THAT(transport->Send(request), HasCode(Code::kCorruption));
  request.headers = {{"Range", "bytes=0-999"}};
  EXPECT_THAT(transport->Send(request), HasCode(Code::kUnsupported));
}

TEST(CurlTransport, SaysWhenAnAnswerBreaksOff) {
  HttpTestServer server([](const ServerRequest& request) {
    return ServerReply{
        .body = "0123456789", .cut = 5, .reset = request.target == "/reset"};
  });
  const auto transport = MakeHttpTransport({});

  for (const char* path : {"/cut", "/reset"}) {
    ASSERT_OK_AND_ASSIGN(const HttpResponse response,
                         transport->Send(Get(server.url() + path)));
    EXPECT_FALSE(response.complete) << path;
  }
}

TEST(CurlTransport, NobodyThereIsUnavailable) {
  std::string url;
  {
    const HttpTestServer server(
        [](const ServerRequest&) { return ServerReply{}; });
    url = server.url();
  }
  const auto transport = MakeHttpTransport({});

  const auto result = transport->Send(Get(url + "/x?sig=hidden"));

  EXPECT_THAT(result, HasCode(Code::kUnavailable));
  EXPECT_THAT(std::string(result.status().message()), Not(HasSubstr("hidden")));
}

TEST(CurlTransport, RefusesPrivateAddressesAfterResolution) {
  HttpTestServer server([](const ServerRequest&) { return ServerReply{}; });
  const auto transport = MakeHttpTransport({});
  const std::string port = std::to_string(server.port());
  ASSERT_OK(transport->Send(Get(server.url() + "/")));
  server.TakeRequests();

  for (const std::string host : {"127.0.0.1", "localhost", "0x7f.1", "[::1]",
                                 "[::ffff:127.0.0.1]", "0"}) {
    HttpRequest request = Get("http://" + host + ":" + port + "/");
    request.allow_private = false;
    EXPECT_THAT(transport->Send(request), HasCode(Code::kPermissionDenied))
        << host;
  }

  EXPECT_TRUE(server.TakeRequests().empty());
}

TEST(CurlTransport, GivesUpAStalledAnswer) {
  Mutex mu;
  CondVar released;
  bool over = false;
  HttpTestServer server([&](const ServerRequest&) {
    const MutexLock lock(mu);
    while (!over) released.Wait(mu);
    return ServerReply{};
  });
  const auto transport = MakeHttpTransport({.stall_timeout_ms = 1000});

  EXPECT_THAT(transport->Send(Get(server.url() + "/")),
              HasCode(Code::kUnavailable));

  const MutexLock lock(mu);
  over = true;
  released.NotifyAll();
}

TEST(CurlTransport, ServesManyThreads) {
  HttpTestServer server([](const ServerRequest& request) {
    return ServerReply{.body = request.target};
  });
  const auto transport = MakeHttpTransport({});
  ThreadPool pool(8, 64);
  std::vector<std::function<Status()>> tasks;
  for (int i = 0; i < 64; ++i) {
    tasks.emplace_back([&, i]() -> Status {
      const std::string path = "/" + std::to_string(i);
      ROWFS_ASSIGN_OR_RETURN(const HttpResponse response,
                             transport->Send(Get(server.url() + path)));
      if (AsText(response.body) == path) return {};
      return {Code::kInternal, "another's answer"};
    });
  }

  EXPECT_OK(RunAll(pool, tasks));

  EXPECT_LE(server.connection_count(), 9U);
}

}  // namespace
}  // namespace rowfs
