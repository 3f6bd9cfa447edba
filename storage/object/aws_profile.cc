// The ways a profile leads to keys: its own, a role taken with other keys or
// with a token, single sign-on.
#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "storage/base/hash.h"
#include "storage/base/json_members.h"
#include "storage/object/aws_credentials.h"
#include "storage/object/aws_text.h"
#include "storage/object/uri.h"
#include "storage/object/xml.h"

namespace rowfs {
namespace {

constexpr int64_t kDeadlineMs = 5'000;
constexpr int kProfilesMax = 4;  // that lead from one to the next

std::string At(const AwsProfile& profile, const std::string& key) {
  const auto found = profile.find(key);
  return found == profile.end() ? "" : found->second;
}

Status Refused(std::string message) {
  return {Code::kPermissionDenied, std::move(message)};
}

// Where single sign-on tools keep their tokens.
std::string Sha1Hex(const std::string& text) {
  std::array<std::byte, 20> digest{};
  unsigned int size = 0;
  ::EVP_Digest(text.data(), text.size(), AsU8(MutableByteSpan(digest)), &size,
               ::EVP_sha1(), nullptr);
  return ToHex(digest);
}

}  // namespace

std::string AwsCredentialsChain::RegionOf(const AwsProfile& profile) const {
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (std::string region = environment_(name); !region.empty()) return region;
  }
  return At(profile, "region");
}

Result<AwsCredentialsChain::Found> AwsCredentialsChain::FromProfile() {
  ROWFS_ASSIGN_OR_RETURN(Found keys, FromProfileNamed("", 0));
  const std::string name = environment_("AWS_PROFILE");
  if (keys || name.empty()) return keys;
  return Refused("AWS profile " + name +
                 " gives no keys: it has no aws_access_key_id and "
                 "aws_secret_access_key, no role_arn and no sso_session");
}

Result<AwsCredentialsChain::Found> AwsCredentialsChain::FromProfileNamed(
    const std::string& name, int depth) {
  if (depth >= kProfilesMax) {
    return Refused("AWS profile " + name + ": profiles that lead in a circle");
  }
  const AwsProfile profile = LoadAwsProfile(environment_, name);
  // A role that another profile's keys open comes before keys of its own.
  if (!At(profile, "role_arn").empty()) return AssumeRole(profile, depth);
  AwsCredentials keys;
  keys.access_key = At(profile, "aws_access_key_id");
  keys.secret_key = Secret(At(profile, "aws_secret_access_key"));
  if (!keys.access_key.empty() && !keys.secret_key.empty()) {
    keys.session_token = Secret(At(profile, "aws_session_token"));
    return Found(std::move(keys));
  }
  return FromSso(profile);
}

Result<AwsCredentialsChain::Found> AwsCredentialsChain::AssumeRole(
    const AwsProfile& profile, int depth) {
  const std::string role = At(profile, "role_arn");
  std::string session = At(profile, "role_session_name");
  const std::string token_file = At(profile, "web_identity_token_file");
  if (!token_file.empty()) {
    return AssumeWithWebIdentity(role, token_file, session);
  }
  const std::string source = At(profile, "source_profile");
  const std::string kind = At(profile, "credential_source");
  Result<Found> signer = Found();
  if (!source.empty()) {
    signer = FromProfileNamed(source, depth + 1);
  } else if (kind == "Environment") {
    signer = FromEnvironment();
  } else if (kind == "EcsContainer") {
    signer = FromContainer();
  } else if (kind == "Ec2InstanceMetadata") {
    signer = FromInstance();
  }
  ROWFS_RETURN_IF_ERROR(signer.status());
  if (!signer.value()) {
    return Refused("AWS role " + role +
                   ": no keys to take it with; the profile needs a "
                   "source_profile with keys or a credential_source");
  }
  if (session.empty()) session = "rowfs";
  std::string parameters =
      "Action=AssumeRole&RoleArn=" + PercentEncode(role, "") +
      "&RoleSessionName=" + PercentEncode(session, "");
  if (const std::string id = At(profile, "external_id"); !id.empty()) {
    parameters += "&ExternalId=" + PercentEncode(id, "");
  }
  return AskSts(parameters, &*signer.value(), "AssumeRoleResult", role);
}

Result<AwsCredentialsChain::Found> AwsCredentialsChain::AssumeWithWebIdentity(
    const std::string& role, const std::string& token_file,
    const std::string& session) {
  const auto token = FileText(token_file);
  if (!token) return Refused(token_file + ": the token file cannot be read");
  return AskSts("Action=AssumeRoleWithWebIdentity&RoleArn=" +
                    PercentEncode(role, "") + "&RoleSessionName=" +
                    PercentEncode(session.empty() ? "rowfs" : session, "") +
                    "&WebIdentityToken=" + PercentEncode(*token, ""),
                nullptr, "AssumeRoleWithWebIdentityResult", role);
}

Result<AwsCredentialsChain::Found> AwsCredentialsChain::AskSts(
    const std::string& parameters, const AwsCredentials* signer,
    const std::string& result, const std::string& role) {
  const std::string region = RegionOf(LoadAwsProfile(environment_));
  std::string endpoint = environment_("AWS_ENDPOINT_URL_STS");
  if (endpoint.empty()) {
    endpoint = region.empty() ? "https://sts.amazonaws.com"
                              : "https://sts." + region + ".amazonaws.com";
  }
  const std::string body = parameters + "&Version=2011-06-15";
  HttpRequest request;
  request.method = "POST";
  request.url = endpoint + "/";
  request.headers.emplace_back("Content-Type",
                               "application/x-www-form-urlencoded");
  request.body = AsBytes(body);
  request.deadline_ms = kDeadlineMs;
  if (signer != nullptr) {
    const SigningScope scope{region.empty() ? "us-east-1" : region, "sts",
                             clock_.NowNs()};
    request.headers =
        SignV4(request, ToHex(Sha256(request.body)), *signer, scope).headers;
  }
  ROWFS_ASSIGN_OR_RETURN(const HttpResponse response, transport_.Send(request));
  const auto xml = ParseXml(AsText(response.body));
  const XmlElement* outer = xml.ok() ? xml.value().Find(result) : nullptr;
  const XmlElement* given =
      outer == nullptr ? nullptr : outer->Find("Credentials");
  if (response.status != 200 || given == nullptr) {
    return Refused("AWS role " + role + ": " + OriginOf(endpoint) +
                   " answers " + std::to_string(response.status));
  }
  AwsCredentials keys;
  keys.access_key = given->TextOf("AccessKeyId");
  keys.secret_key = Secret(given->TextOf("SecretAccessKey"));
  keys.session_token = Secret(given->TextOf("SessionToken"));
  keys.expires_ns = ParseIsoTimeNs(given->TextOf("Expiration"));
  return Found(std::move(keys));
}

Result<AwsCredentialsChain::Found> AwsCredentialsChain::FromSso(
    const AwsProfile& profile) {
  const std::string name = At(profile, "sso_session");
  std::string start = At(profile, "sso_start_url");
  if (name.empty() && start.empty()) return Found();
  std::string region = At(profile, "sso_region");
  if (!name.empty()) {
    const AwsProfile session =
        LoadAwsProfile(environment_, "sso-session " + name);
    if (region.empty()) region = At(session, "sso_region");
  }
  const std::string login =
      "; run `aws sso login` (its token is missing or has expired)";
  const auto text = FileText(environment_("HOME") + "/.aws/sso/cache/" +
                             Sha1Hex(name.empty() ? start : name) + ".json");
  const auto json = text ? ParseJson(*text) : Result<Json>(Refused(""));
  if (!json.ok()) return Refused("AWS single sign-on" + login);
  const Secret token(StringMember(json.value(), "accessToken"));
  const int64_t expires =
      ParseIsoTimeNs(StringMember(json.value(), "expiresAt"));
  if (token.empty() || expires <= clock_.NowNs()) {
    return Refused("AWS single sign-on" + login);
  }
  std::string endpoint = environment_("AWS_ENDPOINT_URL_SSO");
  if (endpoint.empty()) {
    endpoint = "https://portal.sso." + region + ".amazonaws.com";
  }
  ROWFS_ASSIGN_OR_RETURN(
      const HttpResponse response,
      Ask("GET",
          endpoint + "/federation/credentials?account_id=" +
              PercentEncode(At(profile, "sso_account_id"), "") +
              "&role_name=" + PercentEncode(At(profile, "sso_role_name"), ""),
          {{"x-amz-sso_bearer_token", token.Reveal()}}, kDeadlineMs));
  const auto answer = ParseJson(AsText(response.body));
  const Json* given =
      answer.ok() ? answer.value().Find("roleCredentials") : nullptr;
  if (response.status != 200 || given == nullptr) {
    return Refused("AWS single sign-on: " + OriginOf(endpoint) + " answers " +
                   std::to_string(response.status) + login);
  }
  AwsCredentials keys;
  keys.access_key = StringMember(*given, "accessKeyId");
  keys.secret_key = Secret(StringMember(*given, "secretAccessKey"));
  keys.session_token = Secret(StringMember(*given, "sessionToken"));
  const Json* until = given->Find("expiration");  // milliseconds
  constexpr uint64_t kMsMax = INT64_MAX / 1'000'000;
  const uint64_t ms = until == nullptr ? 0 : until->AsUint().value_or(0);
  keys.expires_ns = static_cast<int64_t>(std::min(ms, kMsMax)) * 1'000'000;
  return Found(std::move(keys));
}

}  // namespace rowfs
