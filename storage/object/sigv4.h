// AWS Signature Version 4: what proves to S3 and STS who asks. Pure; the time
// is an argument and the intermediate strings can be seen, so that AWS's
// published vectors are tests.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_OBJECT_SIGV4_H_
#define ROWFS_STORAGE_OBJECT_SIGV4_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/base/secret.h"
#include "storage/object/http_client.h"

namespace rowfs {

struct AwsCredentials {
  std::string access_key;  // empty: anonymous, requests are not signed
  Secret secret_key;
  Secret session_token;    // empty: none
  int64_t expires_ns = 0;  // since the epoch; 0: never
};

struct SigningScope {
  std::string region;
  std::string service;  // "s3", "sts"
  int64_t time_ns = 0;  // since the epoch
};

struct SignedV4 {
  std::string canonical_request;
  std::string string_to_sign;
  std::string signature;  // hex
  HttpHeaders headers;    // the request's and those that were added
};

// Sign `method` on `url` (absolute, percent-coded as it will be sent) with the
// given headers and the hex SHA-256 of the body or "UNSIGNED-PAYLOAD". Adds
// x-amz-date, x-amz-content-sha256 (s3 only), x-amz-security-token where there
// is one, and Authorization; the Host header is implied.
SignedV4 SignV4(const HttpRequest& request, std::string_view payload_hash,
                const AwsCredentials& credentials, const SigningScope& scope);

// "20130524T000000Z".
std::string AwsTime(int64_t time_ns);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_OBJECT_SIGV4_H_
