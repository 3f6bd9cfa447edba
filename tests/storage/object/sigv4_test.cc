// The published examples of AWS: "Signature calculations ... examples" of the
// S3 documentation and the Signature Version 4 test suite.
#include "storage/object/sigv4.h"

#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

constexpr char kEmptyHash[] =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
// 2013-05-24T00:00:00Z
constexpr int64_t kS3TimeNs = int64_t{1'369'353'600} * 1'000'000'000;
// 2015-08-30T12:36:00Z
constexpr int64_t kSuiteTimeNs = int64_t{1'440'938'160} * 1'000'000'000;

AwsCredentials S3Example() {
  AwsCredentials keys;
  keys.access_key = "AKIAIOSFODNN7EXAMPLE";
  keys.secret_key = Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");
  return keys;
}

AwsCredentials SuiteExample() {
  AwsCredentials keys;
  keys.access_key = "AKIDEXAMPLE";
  keys.secret_key = Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY");
  return keys;
}

TEST(SigV4, SignsTheS3GetObjectExample) {
  HttpRequest request;
  request.url = "https://examplebucket.s3.amazonaws.com/test.txt";
  request.headers = {{"Range", "bytes=0-9"}};

  const SignedV4 result =
      SignV4(request, kEmptyHash, S3Example(), {"us-east-1", "s3", kS3TimeNs});

  EXPECT_EQ(result.canonical_request,
            "GET\n/test.txt\n\n"
            "host:examplebucket.s3.amazonaws.com\n"
            "range:bytes=0-9\n"
            "x-amz-content-sha256:" +
                std::string(kEmptyHash) +
                "\nx-amz-date:20130524T000000Z\n\n"
                "host;range;x-amz-content-sha256;x-amz-date\n" +
                kEmptyHash);
  EXPECT_EQ(result.string_to_sign,
            "AWS4-HMAC-SHA256\n20130524T000000Z\n"
            "20130524/us-east-1/s3/aws4_request\n"
            "7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972");
  EXPECT_EQ(result.signature,
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(SigV4, SignsTheS3PutObjectExample) {
  HttpRequest request;
  request.method = "PUT";
  request.url = "https://examplebucket.s3.amazonaws.com/test%24file.text";
  request.headers = {{"Date", "Fri, 24 May 2013 00:00:00 GMT"},
                     {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};

  const SignedV4 result =
      SignV4(request,
             "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
             S3Example(), {"us-east-1", "s3", kS3TimeNs});

  EXPECT_EQ(result.signature,
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST(SigV4, SignsTheS3ListExamples) {
  HttpRequest lifecycle;
  lifecycle.url = "https://examplebucket.s3.amazonaws.com/?lifecycle";
  HttpRequest list;
  list.url = "https://examplebucket.s3.amazonaws.com/?prefix=J&max-keys=2";

  EXPECT_EQ(
      SignV4(lifecycle, kEmptyHash, S3Example(), {"us-east-1", "s3", kS3TimeNs})
          .signature,
      "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  EXPECT_EQ(
      SignV4(list, kEmptyHash, S3Example(), {"us-east-1", "s3", kS3TimeNs})
          .signature,
      "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(SigV4, SignsTheVanillaRequestOfTheTestSuite) {
  HttpRequest request;
  request.url = "https://example.amazonaws.com/";

  const SignedV4 result = SignV4(request, kEmptyHash, SuiteExample(),
                                 {"us-east-1", "service", kSuiteTimeNs});

  EXPECT_EQ(result.signature,
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  EXPECT_EQ(result.headers.back().second,
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/"
            "service/aws4_request,SignedHeaders=host;x-amz-date,Signature=" +
                result.signature);
}

TEST(SigV4, SortsTheQueryAsTheTestSuiteDoes) {
  HttpRequest request;
  request.url = "https://example.amazonaws.com/?Param2=value2&Param1=value1";

  EXPECT_EQ(SignV4(request, kEmptyHash, SuiteExample(),
                   {"us-east-1", "service", kSuiteTimeNs})
                .signature,
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
}

TEST(SigV4, SignsTheSessionToken) {
  HttpRequest request;
  request.url = "https://example.amazonaws.com/";
  AwsCredentials keys = SuiteExample();
  keys.session_token = Secret("token");

  const SignedV4 result =
      SignV4(request, kEmptyHash, keys, {"us-east-1", "s3", kSuiteTimeNs});

  EXPECT_THAT(result.canonical_request,
              ::testing::HasSubstr("x-amz-security-token:token\n"));
}

}  // namespace
}  // namespace rowfs
