// HTTP as stores need it: one request, one whole answer. HttpTransport is the
// seam (tests put canned answers there, retrying wraps it); the one that talks
// to the network is made by MakeHttpTransport. No storage words in here.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_OBJECT_HTTP_CLIENT_H_
#define ROWFS_STORAGE_OBJECT_HTTP_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/status.h"

namespace rowfs {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpResponse;

// Where the body of an answer goes while it arrives, so that it is copied once.
class BodySink {
 public:
  virtual ~BodySink() = default;
  // An answer with this head begins; a retried request has several. False: its
  // body is collected in the response, as without a sink.
  virtual bool Begin(const HttpResponse& head) = 0;
  // The next bytes of it, never more than response_bytes_max in all.
  virtual void Write(ByteSpan bytes) = 0;
};

struct HttpRequest {
  std::string method = "GET";
  std::string url;      // absolute, percent-coded
  HttpHeaders headers;  // never logged
  ByteSpan body;        // outlives the call
  // Outlives the call; null: the body comes with the response. Transports may
  // leave it aside.
  BodySink* sink = nullptr;
  // More answer than this is refused while it arrives.
  uint64_t response_bytes_max = 1 << 20;
  // Whether the address that the host's name leads to may be a private,
  // loopback or link-local one. Checked after name resolution, before
  // anything is sent. (Behind a proxy only a literal address is checked.)
  bool allow_private = true;
  // The whole call, retries included. 0: no limit but the stall timeout.
  int64_t deadline_ms = 90'000;
  // How long to wait for a connection, and for the next byte. 0: the
  // transport's own.
  int64_t connect_timeout_ms = 0;
  int64_t stall_timeout_ms = 0;
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;  // names in lower case
  Bytes body;
  bool in_sink = false;  // the body went to the request's sink
  // False when the connection broke in the middle of the answer.
  bool complete = true;
  bool peer_is_private = false;  // what allow_private would have refused
  // Requests that went out for this answer. Above 1, an earlier one may have
  // had its effect although its answer was lost.
  int attempts = 1;
  std::string final_url;  // SendFollowing: where the answer came from

  // The first header of that (lower-case) name; empty when there is none.
  std::string_view Header(std::string_view name) const;
};

class HttpTransport {
 public:
  virtual ~HttpTransport() = default;

  // Send one request and read the whole answer, whatever its status; redirects
  // are not followed. kUnavailable when trying again may help (no connection,
  // reset, stall, early end), kPermissionDenied for a certificate or an address
  // that is not accepted, kCorruption for more bytes than wanted,
  // kDeadlineExceeded. Messages name the host and path and never a query, a
  // header or a password.
  virtual Result<HttpResponse> Send(const HttpRequest& request) = 0;
};

struct HttpOptions {
  int64_t connect_timeout_ms = 5'000;
  // Nothing received for so long: the connection is given up.
  int64_t stall_timeout_ms = 10'000;
  // PEM file of trusted roots; empty: SSL_CERT_FILE, else the system's.
  std::string ca_file;
  // Connections kept for reuse.
  size_t idle_connections_max = 64;
};

// The network's. Proxies from HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY
// (either case); HTTP/2 where TLS negotiates it; TLS always verified.
std::unique_ptr<HttpTransport> MakeHttpTransport(const HttpOptions& options);

// Send, and follow redirects: at most 3, of GET and HEAD only, never from https
// to http. A hop to another origin gets neither Authorization nor Cookie nor
// any X-Amz-* header, and may lead to a private address only when the first
// host had one. kPermissionDenied for a redirect that is refused.
Result<HttpResponse> SendFollowing(HttpTransport& transport,
                                   HttpRequest request);

// "https://host:port" of `url`, lower case, default ports left out; empty when
// `url` is not http(s).
std::string OriginOf(std::string_view url);
// `url` as messages may show it: without user, password and query.
std::string SafeUrl(std::string_view url);
// `reference` as a document at `base` means it (RFC 3986, 5.2, for http URLs).
std::string ResolveUrl(std::string_view base, std::string_view reference);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_OBJECT_HTTP_CLIENT_H_
