// Where AWS keys come from: the chain every AWS tool walks, in its order:
// environment, web identity, profile files (keys, roles, single sign-on),
// container endpoint, instance endpoint, and anonymous when there is nothing.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_OBJECT_AWS_CREDENTIALS_H_
#define ROWFS_STORAGE_OBJECT_AWS_CREDENTIALS_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "storage/base/clock.h"
#include "storage/base/sync.h"
#include "storage/object/http_client.h"
#include "storage/object/net_policy.h"
#include "storage/object/sigv4.h"

namespace rowfs {

using IniSections = std::map<std::string, std::map<std::string, std::string>>;

// The profile files' syntax: "[profile x]", "key = value", '#' and ';'
// comments; indented (nested) lines are skipped. A section "profile x" is
// called "x".
IniSections ParseIni(std::string_view text);

// What the profile files say about `profile` (empty: the one in use, that is
// AWS_PROFILE, else "default"): ~/.aws/config and ~/.aws/credentials, or
// AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE. The latter wins.
using AwsProfile = std::map<std::string, std::string>;
AwsProfile LoadAwsProfile(const Environment& environment,
                          std::string profile = "");

class AwsCredentialsChain {
 public:
  // `transport` and `clock` outlive it.
  AwsCredentialsChain(HttpTransport& transport, Clock& clock,
                      Environment environment);

  // The current keys; an empty access_key means anonymous. Kept until five
  // minutes before they expire, then fetched again; when that fails the old
  // ones are used as long as they are valid. Blocks for at most a few seconds.
  // kPermissionDenied when a source that is configured gives nothing.
  Result<AwsCredentials> Get() EXCLUDES(mu_);
  // A server says that `keys` have expired: the next Get asks their source.
  void Expire(const AwsCredentials& keys) EXCLUDES(mu_);

 private:
  using Found = std::optional<AwsCredentials>;
  Result<AwsCredentials> Fetch();
  Result<Found> FromEnvironment();
  Result<Found> FromWebIdentity();
  Result<Found> AssumeWithWebIdentity(const std::string& role,
                                      const std::string& token_file,
                                      const std::string& session);
  Result<Found> FromProfile();
  // The keys of one profile, by whatever way it names; `depth` counts profiles
  // that lead to another.
  Result<Found> FromProfileNamed(const std::string& name, int depth);
  Result<Found> AssumeRole(const AwsProfile& profile, int depth);
  Result<Found> FromSso(const AwsProfile& profile);
  Result<Found> AskSts(const std::string& parameters,
                       const AwsCredentials* signer, const std::string& result,
                       const std::string& role);
  std::string RegionOf(const AwsProfile& profile) const;
  Result<Found> FromContainer();
  Result<Found> FromInstance();
  Result<Found> FromJson(const HttpResponse& response,
                         const std::string& where);
  Result<HttpResponse> Ask(const std::string& method, const std::string& url,
                           HttpHeaders headers, int64_t deadline_ms);

  HttpTransport& transport_;
  Clock& clock_;
  const Environment environment_;
  Mutex mu_;
  CondVar fetched_;
  bool fetching_ GUARDED_BY(mu_) = false;
  std::optional<AwsCredentials> current_ GUARDED_BY(mu_);
};

// Nanoseconds since the epoch of "2026-01-02T03:04:05Z"; 0 when malformed.
int64_t ParseIsoTimeNs(std::string_view text);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_OBJECT_AWS_CREDENTIALS_H_
