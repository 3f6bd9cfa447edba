#include "storage/object/aws_credentials.h"

#include <array>
#include <ctime>

#include "storage/base/json_members.h"
#include "storage/object/aws_text.h"
#include "storage/object/local_store.h"
#include "storage/object/uri.h"
#include "storage/object/xml.h"

namespace rowfs {
namespace {

constexpr int64_t kRefreshBeforeNs = int64_t{300} * 1'000'000'000;
constexpr uint64_t kFileBytesMax = 1 << 20;
// The instance endpoint answers at once or is not there.
constexpr int64_t kInstanceDeadlineMs = 1'000;
constexpr int64_t kEndpointDeadlineMs = 5'000;

std::string Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return std::string(
      text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1));
}

void MergeFile(const std::string& path, const std::string& profile,
               std::map<std::string, std::string>* values) {
  const auto text = FileText(path);
  if (!text) return;
  IniSections sections = ParseIni(*text);
  for (auto& [key, value] : sections[profile]) (*values)[key] = value;
}

}  // namespace

std::optional<std::string> FileText(const std::string& path) {
  const auto bytes =
      ReadWhole({std::make_shared<LocalStore>(), path}, kFileBytesMax);
  if (!bytes.ok()) return std::nullopt;
  std::string text(AsText(bytes.value()));
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

IniSections ParseIni(std::string_view text) {
  IniSections sections;
  std::string section;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string trimmed = Trim(line);
    if (trimmed.empty() || trimmed[0] == '#' || trimmed[0] == ';') continue;
    if (trimmed.front() == '[' && trimmed.back() == ']') {
      section = Trim(trimmed.substr(1, trimmed.size() - 2));
      if (section.starts_with("profile ")) section = Trim(section.substr(8));
      continue;
    }
    const size_t equals = trimmed.find('=');
    if (equals == std::string::npos || line[0] == ' ' || line[0] == '\t') {
      continue;
    }
    sections[section][Trim(trimmed.substr(0, equals))] =
        Trim(trimmed.substr(equals + 1));
  }
  return sections;
}

AwsProfile LoadAwsProfile(const Environment& environment, std::string profile) {
  if (profile.empty()) profile = environment("AWS_PROFILE");
  if (profile.empty()) profile = "default";
  const std::string folder = environment("HOME") + "/.aws/";
  AwsProfile values;
  const std::string config = environment("AWS_CONFIG_FILE");
  MergeFile(config.empty() ? folder + "config" : config, profile, &values);
  const std::string keys = environment("AWS_SHARED_CREDENTIALS_FILE");
  MergeFile(keys.empty() ? folder + "credentials" : keys, profile, &values);
  return values;
}

int64_t ParseIsoTimeNs(std::string_view text) {
  std::tm parts{};
  const std::string copy(text);
  if (::strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr) {
    return 0;
  }
  return int64_t{::timegm(&parts)} * 1'000'000'000;
}

AwsCredentialsChain::AwsCredentialsChain(HttpTransport& transport, Clock& clock,
                                         Environment environment)
    : transport_(transport),
      clock_(clock),
      environment_(std::move(environment)) {}

Result<AwsCredentials> AwsCredentialsChain::Get() {
  std::optional<AwsCredentials> old;
  {
    const MutexLock lock(mu_);
    for (;;) {
      if (current_ &&
          (current_->expires_ns == 0 ||
           current_->expires_ns - kRefreshBeforeNs > clock_.NowNs())) {
        return *current_;
      }
      if (!fetching_) break;
      fetched_.Wait(mu_);
    }
    fetching_ = true;
    old = current_;
  }
  Result<AwsCredentials> found = Fetch();
  if (!found.ok() && old && old->expires_ns > clock_.NowNs()) found = *old;
  {
    const MutexLock lock(mu_);
    fetching_ = false;
    if (found.ok()) current_ = found.value();
  }
  fetched_.NotifyAll();
  return found;
}

void AwsCredentialsChain::Expire(const AwsCredentials& keys) {
  const MutexLock lock(mu_);
  if (current_ && current_->access_key == keys.access_key &&
      current_->session_token.Reveal() == keys.session_token.Reveal()) {
    current_.reset();
  }
}

Result<AwsCredentials> AwsCredentialsChain::Fetch() {
  using Source = Result<Found> (AwsCredentialsChain::*)();
  for (const Source source :
       {&AwsCredentialsChain::FromEnvironment,
        &AwsCredentialsChain::FromWebIdentity,
        &AwsCredentialsChain::FromProfile, &AwsCredentialsChain::FromContainer,
        &AwsCredentialsChain::FromInstance}) {
    ROWFS_ASSIGN_OR_RETURN(const Found found, (this->*source)());
    if (found) return *found;
  }
  return AwsCredentials{};
}

Result<AwsCredentialsChain::Found> AwsCredentialsChain::FromEnvironment() {
  AwsCredentials keys;
  keys.access_key = environment_("AWS_ACCESS_KEY_ID");
  keys.secret_key = Secret(environment_("AWS_SECRET_ACCESS_KEY"));
  if (keys.access_key.empty() || keys.secret_key.empty()) return Found();
  keys.session_token = Secret(environment_("AWS_SESSION_TOKEN"));
  return Found(std::move(keys));
}

Result<HttpResponse> AwsCredentialsChain::Ask(const std::string& method,
                                              const std::string& url,
                                              HttpHeaders headers,
                                              int64_t deadline_ms) {
  HttpRequest request;
  request.method = method;
  request.url = url;
  request.headers = std::move(headers);
  request.deadline_ms = deadline_ms;
  return transport_.Send(request);
}

Result<AwsCredentialsChain::Found> AwsCredentialsChain::FromWebIdentity() {
  const std::string file = environment_("AWS_WEB_IDENTITY_TOKEN_FILE");
  const std::string role = environment_("AWS_ROLE_ARN");
  if (file.empty() || role.empty()) return Found();
  return AssumeWithWebIdentity(role, file,
                               environment_("AWS_ROLE_SESSION_NAME"));
}

Result<AwsCredentialsChain::Found> AwsCredentialsChain::FromJson(
    const HttpResponse& response, const std::string& where) {
  const auto json = ParseJson(AsText(response.body));
  AwsCredentials keys;
  if (response.status == 200 && json.ok()) {
    keys.access_key = StringMember(json.value(), "AccessKeyId");
    keys.secret_key = Secret(StringMember(json.value(), "SecretAccessKey"));
    keys.session_token = Secret(StringMember(json.value(), "Token"));
    keys.expires_ns = ParseIsoTimeNs(StringMember(json.value(), "Expiration"));
  }
  if (keys.access_key.empty() || keys.secret_key.empty()) {
    return Status(Code::kPermissionDenied, "AWS keys: " + where + " answers " +
                                               std::to_string(response.status) +
                                               " without keys");
  }
  return Found(std::move(keys));
}

Result<AwsCredentialsChain::Found> AwsCredentialsChain::FromContainer() {
  std::string url = environment_("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  const std::string relative =
      environment_("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  if (!relative.empty()) url = "http://169.254.170.2" + relative;
  if (url.empty()) return Found();
  std::string token = environment_("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  const std::string file =
      environment_("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  if (!file.empty()) token = Trim(FileText(file).value_or(""));
  // The token is for this machine's agent, not for the open network.
  if (url.starts_with("http:") && !NamesPrivateAddress(url)) {
    return Status(Code::kPermissionDenied,
                  "AWS_CONTAINER_CREDENTIALS_FULL_URI must be https or name "
                  "a local address");
  }
  HttpHeaders headers;
  if (!token.empty()) headers.emplace_back("Authorization", token);
  ROWFS_ASSIGN_OR_RETURN(
      const HttpResponse response,
      Ask("GET", url, std::move(headers), kEndpointDeadlineMs));
  return FromJson(response, OriginOf(url));
}

Result<AwsCredentialsChain::Found> AwsCredentialsChain::FromInstance() {
  if (environment_("AWS_EC2_METADATA_DISABLED") == "true") return Found();
  std::string root = environment_("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (root.empty()) root = "http://169.254.169.254";
  if (root.ends_with('/')) root.pop_back();
  const auto token = Ask("PUT", root + "/latest/api/token",
                         {{"x-aws-ec2-metadata-token-ttl-seconds", "300"}},
                         kInstanceDeadlineMs);
  // No instance, no keys: that is not an error.
  if (!token.ok() || token.value().status != 200) return Found();
  const HttpHeaders headers = {
      {"x-aws-ec2-metadata-token", std::string(AsText(token.value().body))}};
  const std::string roles =
      root + "/latest/meta-data/iam/security-credentials/";
  ROWFS_ASSIGN_OR_RETURN(const HttpResponse listed,
                         Ask("GET", roles, headers, kEndpointDeadlineMs));
  if (listed.status != 200) return Found();  // an instance without a role
  const std::string text(AsText(listed.body));
  const std::string role = Trim(text.substr(0, text.find('\n')));
  ROWFS_ASSIGN_OR_RETURN(const HttpResponse response,
                         Ask("GET", roles + PercentEncode(role, ""), headers,
                             kEndpointDeadlineMs));
  return FromJson(response, "the instance endpoint");
}

}  // namespace rowfs
