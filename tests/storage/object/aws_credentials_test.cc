#include "storage/object/aws_credentials.h"

#include <filesystem>
#include <fstream>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_transport.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

class AwsCredentialsTest : public ::testing::Test {
 protected:
  AwsCredentialsTest() {
    variables_["HOME"] = folder_.path();
    variables_["AWS_EC2_METADATA_DISABLED"] = "true";
  }
  AwsCredentialsChain Chain() {
    return {transport_, clock_, [this](const char* name) {
              const auto found = variables_.find(name);
              return found == variables_.end() ? "" : found->second;
            }};
  }
  std::string File(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  const TempDir folder_;
  FakeClock clock_;
  std::map<std::string, std::string> variables_;
  FakeTransport::Answer answer_;
  FakeTransport transport_{
      [this](const HttpRequest& request) { return answer_(request); }};
};

TEST_F(AwsCredentialsTest, WithoutAnySourceRequestsAreAnonymous) {
  AwsCredentialsChain chain = Chain();

  EXPECT_EQ(chain.Get().value().access_key, "");
  EXPECT_TRUE(transport_.TakeRequests().empty());
}

TEST_F(AwsCredentialsTest, TheEnvironmentComesFirst) {
  variables_["AWS_ACCESS_KEY_ID"] = "id";
  variables_["AWS_SECRET_ACCESS_KEY"] = "secret";
  variables_["AWS_SESSION_TOKEN"] = "token";
  variables_["AWS_SHARED_CREDENTIALS_FILE"] =
      File("c",
           "[default]\naws_access_key_id=other\n"
           "aws_secret_access_key=other\n");
  AwsCredentialsChain chain = Chain();

  const AwsCredentials keys = chain.Get().value();

  EXPECT_EQ(keys.access_key, "id");
  EXPECT_EQ(keys.secret_key.Reveal(), "secret");
  EXPECT_EQ(keys.session_token.Reveal(), "token");
}

TEST_F(AwsCredentialsTest, ProfilesAreReadFromBothFiles) {
  variables_["AWS_PROFILE"] = "work";
  variables_["AWS_CONFIG_FILE"] =
      File("config",
           "# comment\n[default]\nregion = a\n[profile work]\n"
           "region = eu-x\ns3 =\n  region = nested\n");
  variables_["AWS_SHARED_CREDENTIALS_FILE"] =
      File("keys",
           "[work]\naws_access_key_id = id\n"
           "aws_secret_access_key = se=cret\n");
  AwsCredentialsChain chain = Chain();

  EXPECT_EQ(chain.Get().value().secret_key.Reveal(), "se=cret");
  const auto profile =
      LoadAwsProfile([this](const char* name) { return variables_[name]; });
  EXPECT_EQ(profile.at("region"), "eu-x");
}

TEST_F(AwsCredentialsTest, ANamedProfileWithoutKeysIsAnError) {
  variables_["AWS_PROFILE"] = "nobody";
  AwsCredentialsChain chain = Chain();

  EXPECT_THAT(chain.Get(), HasCode(Code::kPermissionDenied));
}

TEST_F(AwsCredentialsTest, WebIdentityAsksSts) {
  variables_["AWS_WEB_IDENTITY_TOKEN_FILE"] = File("token", "jwt+/=\n");
  variables_["AWS_ROLE_ARN"] = "arn:aws:iam::1:role/r";
  variables_["AWS_REGION"] = "eu-x";
  std::string body;
  answer_ = [&](const HttpRequest& request) -> Result<HttpResponse> {
    body = AsText(request.body);
    return Respond(200, {},
                   "<AssumeRoleWithWebIdentityResponse>"
                   "<AssumeRoleWithWebIdentityResult><Credentials>"
                   "<AccessKeyId>id</AccessKeyId>"
                   "<SecretAccessKey>s</SecretAccessKey>"
                   "<SessionToken>t</SessionToken>"
                   "<Expiration>2033-01-01T00:00:00Z</Expiration>"
                   "</Credentials></AssumeRoleWithWebIdentityResult>"
                   "</AssumeRoleWithWebIdentityResponse>");
  };
  AwsCredentialsChain chain = Chain();

  EXPECT_EQ(chain.Get().value().access_key, "id");
  EXPECT_EQ(transport_.TakeRequests()[0].url,
            "https://sts.eu-x.amazonaws.com/");
  EXPECT_THAT(body, ::testing::HasSubstr("WebIdentityToken=jwt%2B%2F%3D"));
}

TEST_F(AwsCredentialsTest, ContainerKeysAreRefreshedBeforeTheyExpire) {
  variables_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://127.0.0.1:1/k";
  variables_["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "agent";
  int count = 0;
  answer_ = [&](const HttpRequest& request) -> Result<HttpResponse> {
    EXPECT_EQ(HeaderOf(request, "Authorization"), "agent");
    // The fake clock starts at 2023-11-14T22:13:20Z.
    return Respond(200, {},
                   "{\"AccessKeyId\":\"id" + std::to_string(++count) +
                       "\",\"SecretAccessKey\":\"s\",\"Token\":\"t\","
                       "\"Expiration\":\"2023-11-14T23:13:20Z\"}");
  };
  AwsCredentialsChain chain = Chain();

  EXPECT_EQ(chain.Get().value().access_key, "id1");
  clock_.SleepMs(54 * 60'000);
  EXPECT_EQ(chain.Get().value().access_key, "id1");
  clock_.SleepMs(2 * 60'000);
  EXPECT_EQ(chain.Get().value().access_key, "id2");
  answer_ = [](const HttpRequest&) -> Result<HttpResponse> {
    return Status(Code::kUnavailable, "agent is down");
  };
  EXPECT_EQ(chain.Get().value().access_key, "id2");
  clock_.SleepMs(5 * 60'000);
  EXPECT_THAT(chain.Get(), HasCode(Code::kUnavailable));
}

TEST_F(AwsCredentialsTest, TheContainerTokenStaysOnThisMachine) {
  variables_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://example.org/k";
  AwsCredentialsChain chain = Chain();

  EXPECT_THAT(chain.Get(), HasCode(Code::kPermissionDenied));
  EXPECT_TRUE(transport_.TakeRequests().empty());
}

TEST_F(AwsCredentialsTest, InstancesAreAskedWithASessionToken) {
  variables_["AWS_EC2_METADATA_DISABLED"] = "";
  answer_ = [](const HttpRequest& request) -> Result<HttpResponse> {
    if (request.method == "PUT") return Respond(200, {}, "session");
    EXPECT_EQ(HeaderOf(request, "x-aws-ec2-metadata-token"), "session");
    if (request.url.ends_with("/security-credentials/")) {
      return Respond(200, {}, "role\n");
    }
    EXPECT_TRUE(request.url.ends_with("/security-credentials/role"));
    return Respond(200, {},
                   "{\"AccessKeyId\":\"id\",\"SecretAccessKey\":\"s\"}");
  };
  AwsCredentialsChain chain = Chain();

  EXPECT_EQ(chain.Get().value().access_key, "id");
}

constexpr char kRoleAnswer[] =
    "<AssumeRoleResponse><AssumeRoleResult><Credentials>"
    "<AccessKeyId>taken</AccessKeyId><SecretAccessKey>s</SecretAccessKey>"
    "<SessionToken>t</SessionToken><Expiration>2033-01-01T00:00:00Z"
    "</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>";

TEST_F(AwsCredentialsTest, ARoleIsTakenWithTheKeysOfItsSourceProfile) {
  variables_["AWS_PROFILE"] = "work";
  variables_["AWS_REGION"] = "eu-x";
  variables_["AWS_CONFIG_FILE"] =
      File("config",
           "[profile work]\nrole_arn = arn:aws:iam::1:role/r\n"
           "source_profile = base\nexternal_id = e+1\n"
           "[profile base]\naws_access_key_id = id\n"
           "aws_secret_access_key = secret\n");
  std::string body;
  answer_ = [&](const HttpRequest& request) -> Result<HttpResponse> {
    body = AsText(request.body);
    EXPECT_THAT(HeaderOf(request, "Authorization"),
                ::testing::HasSubstr("Credential=id/20231114/eu-x/sts/"));
    return Respond(200, {}, kRoleAnswer);
  };
  AwsCredentialsChain chain = Chain();

  EXPECT_EQ(chain.Get().value().access_key, "taken");
  EXPECT_THAT(body, ::testing::HasSubstr(
                        "Action=AssumeRole&RoleArn=arn%3Aaws%3Aiam%3A%3A1"));
  EXPECT_THAT(body, ::testing::HasSubstr("ExternalId=e%2B1"));
}

TEST_F(AwsCredentialsTest, ProfilesInACircleAreAnError) {
  variables_["AWS_PROFILE"] = "a";
  variables_["AWS_CONFIG_FILE"] =
      File("config",
           "[profile a]\nrole_arn = r\nsource_profile = b\n"
           "[profile b]\nrole_arn = r\nsource_profile = a\n");
  AwsCredentialsChain chain = Chain();

  EXPECT_THAT(chain.Get(), HasCode(Code::kPermissionDenied));
  EXPECT_TRUE(transport_.TakeRequests().empty());
}

TEST_F(AwsCredentialsTest, SingleSignOnUsesTheTokenThatLoginLeft) {
  variables_["AWS_PROFILE"] = "work";
  variables_["AWS_CONFIG_FILE"] =
      File("config",
           "[profile work]\nsso_session = corp\nsso_account_id = 12\n"
           "sso_role_name = reader\n[sso-session corp]\n"
           "sso_region = eu-x\n");
  std::filesystem::create_directories(folder_ / ".aws/sso/cache");
  // SHA-1 of "corp", as `sha1sum` gives it.
  File(".aws/sso/cache/ee0bfd2552fbd840c02cc48b6e823320543c450f.json", "{}");
  answer_ = [&](const HttpRequest& request) -> Result<HttpResponse> {
    EXPECT_EQ(HeaderOf(request, "x-amz-sso_bearer_token"), "tok");
    return Respond(200, {},
                   "{\"roleCredentials\":{\"accessKeyId\":\"id\","
                   "\"secretAccessKey\":\"s\",\"sessionToken\":\"t\","
                   "\"expiration\":1999999999000}}");
  };
  {
    AwsCredentialsChain chain = Chain();
    EXPECT_THAT(chain.Get(), HasCode(Code::kPermissionDenied));
  }
  File(".aws/sso/cache/ee0bfd2552fbd840c02cc48b6e823320543c450f.json",
       "{\"accessToken\":\"tok\",\"expiresAt\":\"2033-01-01T00:00:00Z\"}");
  AwsCredentialsChain chain = Chain();

  EXPECT_EQ(chain.Get().value().access_key, "id");
  EXPECT_EQ(transport_.TakeRequests()[0].url,
            "https://portal.sso.eu-x.amazonaws.com/federation/credentials"
            "?account_id=12&role_name=reader");
}

TEST_F(AwsCredentialsTest, KeysThatAServerCallsExpiredAreReadAgain) {
  variables_["AWS_SHARED_CREDENTIALS_FILE"] =
      File("keys",
           "[default]\naws_access_key_id = one\naws_secret_access_key = s\n"
           "aws_session_token = t\n");
  AwsCredentialsChain chain = Chain();
  const AwsCredentials old = chain.Get().value();
  File("keys",
       "[default]\naws_access_key_id = two\naws_secret_access_key = s\n"
       "aws_session_token = t\n");

  EXPECT_EQ(chain.Get().value().access_key, "one");
  chain.Expire(old);
  EXPECT_EQ(chain.Get().value().access_key, "two");
  chain.Expire(old);
  EXPECT_EQ(chain.Get().value().access_key, "two");
}

}  // namespace
}  // namespace rowfs
