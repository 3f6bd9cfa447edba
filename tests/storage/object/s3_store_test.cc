#include "storage/object/s3_store.h"

#include "tests/support/fake_clock.h"
#include "tests/support/fake_transport.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

using ::testing::HasSubstr;

std::string Keys(const char* name) {
  const std::string_view variable = name;
  if (variable == "AWS_ACCESS_KEY_ID") return "id";
  if (variable == "AWS_SECRET_ACCESS_KEY") return "canary";
  return "";
}

class S3StoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<S3Store> Make(S3Options options, FakeTransport::Answer answer,
                                const Environment& environment = Keys) {
    transport_ = std::make_shared<FakeTransport>(std::move(answer));
    return std::make_unique<S3Store>(
        transport_,
        std::make_shared<AwsCredentialsChain>(*transport_, clock_, environment),
        clock_, std::move(options));
  }
  std::vector<std::string> Urls() {
    std::vector<std::string> urls;
    for (const HttpRequest& request : transport_->TakeRequests()) {
      urls.push_back(request.method + " " + request.url);
    }
    return urls;
  }

  FakeClock clock_;
  std::shared_ptr<FakeTransport> transport_;
};

HttpResponse Found() {
  return Respond(200, {{"content-length", "5"}, {"etag", "\"e\""}});
}

TEST_F(S3StoreTest, HostNamesAndPathsFollowTheEndpoint) {
  const auto answer = [](const HttpRequest&) { return Found(); };
  const auto url = [&](const S3Options& options) {
    EXPECT_OK(Make(options, answer)->Stat("a b/c+d"));
    return Urls().at(0);
  };

  EXPECT_EQ(url({.bucket = "bucket", .region = "eu-x"}),
            "HEAD https://bucket.s3.eu-x.amazonaws.com/a%20b/c%2Bd");
  EXPECT_EQ(url({.bucket = "b.dots"}),
            "HEAD https://s3.us-east-1.amazonaws.com/b.dots/a%20b/c%2Bd");
  EXPECT_EQ(url({.bucket = "bucket", .endpoint = "http://h:1"}),
            "HEAD http://h:1/bucket/a%20b/c%2Bd");
  EXPECT_EQ(url({.bucket = "bucket", .region = "cn-north-1"}),
            "HEAD https://bucket.s3.cn-north-1.amazonaws.com.cn/a%20b/c%2Bd");
}

TEST_F(S3StoreTest, RequestsAreSignedUnlessAnonymous) {
  const auto answer = [](const HttpRequest&) { return Found(); };

  EXPECT_OK(
      Make({.bucket = "bucket", .requester_pays = true}, answer)->Stat("k"));
  const HttpRequest request = transport_->TakeRequests().at(0);
  EXPECT_THAT(HeaderOf(request, "Authorization"),
              HasSubstr("Credential=id/20231114/us-east-1/s3/aws4_request"));
  EXPECT_EQ(HeaderOf(request, "x-amz-request-payer"), "requester");

  const Environment nothing = [](const char* name) -> std::string {
    return std::string_view(name) == "AWS_EC2_METADATA_DISABLED" ? "true" : "";
  };
  EXPECT_OK(Make({.bucket = "bucket"}, answer, nothing)->Stat("k"));
  EXPECT_EQ(HeaderOf(transport_->TakeRequests().at(0), "Authorization"), "");
}

TEST_F(S3StoreTest, ABucketElsewhereIsFoundOnceAndRemembered) {
  const auto store = Make({.bucket = "bucket"}, [](const HttpRequest& request) {
    if (request.url.find("eu-west-9") != std::string::npos) return Found();
    return Respond(301, {{"x-amz-bucket-region", "eu-west-9"},
                         {"location", "https://evil.org/"}});
  });

  EXPECT_OK(store->Stat("k"));
  EXPECT_OK(store->Stat("k"));

  EXPECT_EQ(Urls(), (std::vector<std::string>{
                        "HEAD https://bucket.s3.us-east-1.amazonaws.com/k",
                        "HEAD https://bucket.s3.eu-west-9.amazonaws.com/k",
                        "HEAD https://bucket.s3.eu-west-9.amazonaws.com/k"}));
}

TEST_F(S3StoreTest, ARegionThatIsNoHostNameIsNotFollowed) {
  const auto store = Make({.bucket = "bucket"}, [](const HttpRequest&) {
    return Respond(301, {{"x-amz-bucket-region", "evil.org/"}});
  });

  EXPECT_FALSE(store->Stat("k").ok());
  EXPECT_EQ(Urls().size(), 1U);
}

TEST_F(S3StoreTest, ErrorsSayWhatS3Said) {
  const auto store = Make({.bucket = "bucket"}, [](const HttpRequest&) {
    return Respond(403, {},
                   "<Error><Code>InvalidAccessKeyId</Code>"
                   "<Message>no such key</Message></Error>");
  });

  const auto listed = store->List("x");

  EXPECT_THAT(listed, HasCode(Code::kPermissionDenied));
  EXPECT_THAT(std::string(listed.status().message()),
              HasSubstr("InvalidAccessKeyId (no such key)"));
}

TEST_F(S3StoreTest, ListingGoesOnWhereAPageEnds) {
  const auto store = Make({.bucket = "bucket"}, [](const HttpRequest& request) {
    const bool first =
        request.url.find("continuation-token=t%2F1") == std::string::npos;
    return Respond(
        200, {},
        first ? "<L><IsTruncated>true</IsTruncated>"
                "<NextContinuationToken>t/1</NextContinuationToken>"
                "<Contents><Key>d/a+b</Key><Size>1</Size></Contents></L>"
              : "<L><IsTruncated>false</IsTruncated>"
                "<CommonPrefixes><Prefix>d/c/</Prefix></CommonPrefixes></L>");
  });

  ASSERT_OK_AND_ASSIGN(const auto entries, store->List("d"));

  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].name, "a b");
  EXPECT_EQ(entries[1].name, "c");
  EXPECT_TRUE(entries[1].is_directory);
}

TEST_F(S3StoreTest, AStoreThatIgnoresConditionsIsNotCommittedTo) {
  const auto store = Make({.bucket = "bucket"},
                          [](const HttpRequest&) { return Respond(200); });

  ASSERT_OK_AND_ASSIGN(auto writer,
                       store->Create("v/1.manifest", PutMode::kIfAbsent));
  ASSERT_OK(writer->Write(AsBytes("x")));

  EXPECT_THAT(writer->Finish(), HasCode(Code::kUnsupported));
  for (const std::string& url : Urls()) {
    EXPECT_THAT(url, ::testing::Not(HasSubstr("1.manifest")));
  }
}

// The first PUT arrives, its answer does not, and the repetition meets the
// object it made itself.
class LostAnswerTest : public S3StoreTest {
 protected:
  Status Commit(bool mine) {
    std::string mark;
    const auto store =
        Make({.bucket = "bucket"}, [&](const HttpRequest& request) {
          if (request.method == "DELETE") return Respond(204);
          if (request.method == "HEAD") {
            HttpResponse response = Found();
            response.headers.emplace_back("x-amz-meta-rowfs-writer",
                                          mine ? mark : "another");
            return response;
          }
          if (request.url.find(".tmp") != std::string::npos) {
            return Respond(++probes_ % 2 == 1 ? 200 : 412);
          }
          mark = HeaderOf(request, "x-amz-meta-rowfs-writer");
          HttpResponse response = Respond(412);
          response.attempts = 2;
          return response;
        });
    auto writer = store->Create("v/1.manifest", PutMode::kIfAbsent);
    ROWFS_RETURN_IF_ERROR(writer.value()->Write(AsBytes("x")));
    return writer.value()->Finish();
  }
  int probes_ = 0;
};

TEST_F(LostAnswerTest, IsSuccessWhenTheObjectIsOurs) {
  EXPECT_OK(Commit(true));
}

TEST_F(LostAnswerTest, IsALostRaceWhenItIsAnothers) {
  EXPECT_THAT(Commit(false), HasCode(Code::kAlreadyExists));
}

TEST_F(S3StoreTest, AnAbandonedUploadIsAborted) {
  const auto store = Make({.bucket = "bucket"}, [](const HttpRequest& request) {
    if (request.method == "POST") {
      return Respond(200, {}, "<R><UploadId>u+1</UploadId></R>");
    }
    return Respond(request.method == "DELETE" ? 204 : 200, {{"etag", "\"p\""}});
  });
  {
    ASSERT_OK_AND_ASSIGN(auto writer, store->Create("k", PutMode::kOverwrite));
    ASSERT_OK(writer->Write(Bytes(S3Store::kPartBytes + 1)));
  }

  const auto urls = Urls();
  ASSERT_EQ(urls.size(), 3U);
  EXPECT_EQ(urls[2],
            "DELETE https://bucket.s3.us-east-1.amazonaws.com/"
            "k?uploadId=u%2B1");
}

TEST_F(S3StoreTest, AnUploadThatFailsAtTheEndIsAnError) {
  const auto store = Make({.bucket = "bucket"}, [](const HttpRequest& request) {
    if (request.url.find("uploads=") != std::string::npos) {
      return Respond(200, {}, "<R><UploadId>u</UploadId></R>");
    }
    if (request.method == "POST") {
      return Respond(200, {}, "<Error><Code>InternalError</Code></Error>");
    }
    return Respond(200, {{"etag", "\"p\""}});
  });
  ASSERT_OK_AND_ASSIGN(auto writer, store->Create("k", PutMode::kOverwrite));
  ASSERT_OK(writer->Write(Bytes(S3Store::kPartBytes + 1)));

  EXPECT_THAT(writer->Finish(), HasCode(Code::kUnavailable));
}

}  // namespace
}  // namespace rowfs
