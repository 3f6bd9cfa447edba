// The HttpTransport that talks to the network, on libcurl. Every option is set
// in Configure, with its reason.
#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <list>
#include <utility>

#include "storage/base/sync.h"
#include "storage/object/http_client.h"
#include "storage/object/net_policy.h"

namespace rowfs {
namespace {

constexpr size_t kHeaderBytesMax = 64 << 10;
// Of an answer that is an error; S3 says in it what went wrong.
constexpr size_t kErrorBytesMax = 64 << 10;
// What a server promises to send is believed so far.
constexpr uint64_t kReservedBytesMax = 8 << 20;

// One easy handle and where it was connected to last, so that the next request
// to the same origin finds the connection open.
struct Connection {
  CURL* curl = nullptr;
  std::string origin;
  bool allow_private = true;

  Connection() : curl(::curl_easy_init()) {}
  ~Connection() {
    if (curl != nullptr) ::curl_easy_cleanup(curl);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
};

// State of one transfer, for the callbacks.
struct Transfer {
  const HttpRequest* request = nullptr;
  HttpResponse response;
  size_t header_bytes = 0;
  size_t sent = 0;
  uint64_t received = 0;  // of the body
  bool too_long = false;
  bool refused_address = false;
  bool checks_address = false;
  bool proxied = false;
  int64_t stall_timeout_ms = 0;
};

std::string Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  const size_t end = text.find_last_not_of(" \t\r\n");
  return std::string(text.substr(begin, end - begin + 1));
}

size_t OnHeader(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view line(data, size * count);
  transfer.header_bytes += line.size();
  if (transfer.header_bytes > kHeaderBytesMax) {
    transfer.too_long = true;
    return 0;
  }
  if (line.starts_with("HTTP/")) {
    transfer.response.headers.clear();  // of an interim (1xx) answer
    const size_t space = std::min(line.find(' '), line.size() - 1);
    transfer.response.status = 0;
    std::from_chars(line.data() + space + 1, line.data() + line.size(),
                    transfer.response.status);
    return line.size();
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return line.size();
  std::string name = Trim(line.substr(0, colon));
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  transfer.response.headers.emplace_back(std::move(name),
                                         Trim(line.substr(colon + 1)));
  return line.size();
}

void BeginBody(uint64_t most, Transfer& transfer) {
  HttpResponse& response = transfer.response;
  BodySink* sink = transfer.request->sink;
  response.in_sink = sink != nullptr && sink->Begin(response);
  if (response.in_sink) return;
  const std::string_view length = response.Header("content-length");
  uint64_t size = 0;
  std::from_chars(length.data(), length.data() + length.size(), size);
  response.body.reserve(std::min({size, most, kReservedBytesMax}));
}

size_t OnBody(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  HttpResponse& response = transfer.response;
  const std::string_view bytes(data, size * count);
  const uint64_t most = response.status >= 200 && response.status < 300
                            ? transfer.request->response_bytes_max
                            : kErrorBytesMax;
  if (transfer.received == 0) BeginBody(most, transfer);
  if (bytes.size() > most - transfer.received) {
    transfer.too_long = true;
    return 0;
  }
  transfer.received += bytes.size();
  if (response.in_sink) {
    transfer.request->sink->Write(AsBytes(bytes));
  } else {
    AppendText(&response.body, bytes);
  }
  return bytes.size();
}

size_t OnSend(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const ByteSpan rest = transfer.request->body.subspan(transfer.sent);
  const size_t bytes = std::min(size * count, rest.size());
  if (bytes != 0) std::memcpy(data, rest.data(), bytes);
  transfer.sent += bytes;
  return bytes;
}

int OnSeek(void* user, curl_off_t offset, int origin) {
  auto& transfer = *static_cast<Transfer*>(user);
  const auto size = static_cast<curl_off_t>(transfer.request->body.size());
  if (origin != SEEK_SET || offset < 0 || offset > size) return 1;
  transfer.sent = static_cast<size_t>(offset);
  return CURL_SEEKFUNC_OK;
}

std::string AddressText(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  // Copied out: sockaddr is only a view of the real type.
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (address.sa_family == AF_INET) {
    std::memcpy(&v4, &address, sizeof(v4));
    bytes = &v4.sin_addr;
  } else {
    std::memcpy(&v6, &address, sizeof(v6));
    bytes = &v6.sin6_addr;
  }
  ::inet_ntop(address.sa_family, bytes, text.data(), text.size());
  return text.data();
}

// The address is known here and nothing has been sent yet.
curl_socket_t OnOpenSocket(void* user, curlsocktype /*purpose*/,
                           curl_sockaddr* address) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (transfer.checks_address && IsPrivateAddress(AddressText(address->addr))) {
    transfer.refused_address = true;
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC,
                  address->protocol);
}

int OnSocketOptions(void* user, curl_socket_t socket,
                    curlsocktype /*purpose*/) {
  // Without it the kernel resends into a dead network at ever longer
  // intervals and notices the end of a cut only minutes later.
  const auto& transfer = *static_cast<Transfer*>(user);
  const auto timeout = static_cast<unsigned>(transfer.stall_timeout_ms);
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout,
               sizeof(timeout));
  return CURL_SOCKOPT_OK;
}

Code CodeOf(CURLcode code) {
  // NOLINTNEXTLINE: only these differ from "try again".
  if (code == CURLE_PEER_FAILED_VERIFICATION ||
      code == CURLE_SSL_CACERT_BADFILE || code == CURLE_SSL_CERTPROBLEM ||
      code == CURLE_SSL_ISSUER_ERROR) {
    return Code::kPermissionDenied;
  }
  if (code == CURLE_URL_MALFORMAT) return Code::kInvalidArgument;
  if (code == CURLE_OUT_OF_MEMORY) return Code::kResourceExhausted;
  return Code::kUnavailable;
}

class CurlTransport final : public HttpTransport {
 public:
  explicit CurlTransport(HttpOptions options) : options_(std::move(options)) {
    ::curl_global_init(CURL_GLOBAL_DEFAULT);
    environment_ = ProcessEnvironment();
    if (options_.ca_file.empty()) {
      options_.ca_file = environment_("SSL_CERT_FILE");
    }
  }

  Result<HttpResponse> Send(const HttpRequest& request) override {
    const std::string origin = OriginOf(request.url);
    if (origin.empty()) {
      return Status(Code::kInvalidArgument,
                    SafeUrl(request.url) + ": not an http(s) URL");
    }
    if (!request.allow_private && NamesPrivateAddress(request.url)) {
      return RefusedAddress(request);
    }
    std::unique_ptr<Connection> connection =
        Borrow(origin, request.allow_private);
    if (connection->curl == nullptr) {
      return Status(Code::kResourceExhausted, "no memory for a connection");
    }
    Transfer transfer;
    transfer.request = &request;
    transfer.stall_timeout_ms = request.stall_timeout_ms > 0
                                    ? request.stall_timeout_ms
                                    : options_.stall_timeout_ms;
    const CURLcode code = Perform(*connection, request, &transfer);
    const Status status = StatusOf(code, request, transfer);
    ROWFS_RETURN_IF_ERROR(status);
    // After a failure its connections are in an unknown state.
    if (code == CURLE_OK) GiveBack(std::move(connection));
    return std::move(transfer.response);
  }

 private:
  CURLcode Perform(Connection& connection, const HttpRequest& request,
                   Transfer* transfer) const {
    CURL* curl = connection.curl;
    ::curl_easy_reset(curl);  // keeps connections and the DNS cache
    curl_slist* headers = Configure(curl, request, transfer);
    const CURLcode code = ::curl_easy_perform(curl);
    ::curl_slist_free_all(headers);
    transfer->response.complete = code == CURLE_OK;
    char* peer = nullptr;
    ::curl_easy_getinfo(curl, CURLINFO_PRIMARY_IP, &peer);
    // The peer of a proxied request is the proxy, which says nothing about the
    // host.
    transfer->response.peer_is_private =
        transfer->proxied
            ? NamesPrivateAddress(request.url)
            : peer != nullptr && *peer != '\0' && IsPrivateAddress(peer);
    return code;
  }

  // Returns the header list, which lives until after the transfer.
  curl_slist* Configure(CURL* curl, const HttpRequest& request,
                        Transfer* transfer) const {
    const auto set = [curl](CURLoption option, auto value) {
      ::curl_easy_setopt(curl, option, value);
    };
    set(CURLOPT_URL, request.url.c_str());
    set(CURLOPT_PATH_AS_IS, 1L);  // "/./" and "/../" are parts of S3 keys
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_FOLLOWLOCATION, 0L);  // redirects have a policy of ours
    set(CURLOPT_NOSIGNAL, 1L);        // signals belong to the program
    set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
    set(CURLOPT_SSL_VERIFYPEER, 1L);
    set(CURLOPT_SSL_VERIFYHOST, 2L);
    set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
    if (!options_.ca_file.empty()) {
      set(CURLOPT_CAINFO, options_.ca_file.c_str());
    }
    set(CURLOPT_NETRC, CURL_NETRC_IGNORED);  // no credentials by accident
    set(CURLOPT_CONNECTTIMEOUT_MS,
        static_cast<long>(request.connect_timeout_ms > 0
                              ? request.connect_timeout_ms
                              : options_.connect_timeout_ms));
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME,
        static_cast<long>((transfer->stall_timeout_ms + 999) / 1000));
    if (request.deadline_ms > 0) {
      set(CURLOPT_TIMEOUT_MS, static_cast<long>(request.deadline_ms));
    }
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_BUFFERSIZE, 256L << 10);  // fewer, larger reads
    set(CURLOPT_USERAGENT, "rowfs/0.1");
    const std::string proxy = ProxyFor(request.url, environment_);
    set(CURLOPT_PROXY, proxy.c_str());  // "" switches curl's own lookup off
    set(CURLOPT_NOPROXY, "");
    // Behind a proxy the socket goes to the proxy, whose address may be
    // private; then only a literal address in the URL can be checked.
    transfer->proxied = !proxy.empty();
    transfer->checks_address = !request.allow_private && proxy.empty();
    set(CURLOPT_OPENSOCKETFUNCTION, &OnOpenSocket);
    set(CURLOPT_OPENSOCKETDATA, transfer);
    set(CURLOPT_SOCKOPTFUNCTION, &OnSocketOptions);
    set(CURLOPT_SOCKOPTDATA, transfer);
    set(CURLOPT_HEADERFUNCTION, &OnHeader);
    set(CURLOPT_HEADERDATA, transfer);
    set(CURLOPT_WRITEFUNCTION, &OnBody);
    set(CURLOPT_WRITEDATA, transfer);
    SetMethod(curl, request, transfer);
    return SetHeaders(curl, request);
  }

  static void SetMethod(CURL* curl, const HttpRequest& request,
                        Transfer* transfer) {
    const auto size = static_cast<curl_off_t>(request.body.size());
    if (request.method == "HEAD") {
      ::curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
      return;
    }
    if (request.method == "GET") return;
    if (request.method == "PUT" || request.method == "POST") {
      ::curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
      ::curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, size);
      ::curl_easy_setopt(curl, CURLOPT_READFUNCTION, &OnSend);
      ::curl_easy_setopt(curl, CURLOPT_READDATA, transfer);
      ::curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, &OnSeek);
      ::curl_easy_setopt(curl, CURLOPT_SEEKDATA, transfer);
    }
    ::curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }

  static curl_slist* SetHeaders(CURL* curl, const HttpRequest& request) {
    curl_slist* list = nullptr;
    // Stored bytes, not a coding of them; and no waiting for "100 Continue".
    list = ::curl_slist_append(list, "Accept-Encoding: identity");
    list = ::curl_slist_append(list, "Expect:");
    for (const auto& [name, value] : request.headers) {
      list = ::curl_slist_append(list, (name + ": " + value).c_str());
    }
    ::curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
    return list;
  }

  static Status RefusedAddress(const HttpRequest& request) {
    return {Code::kPermissionDenied,
            SafeUrl(request.url) +
                ": leads to a private or local network "
                "address, which is not allowed here"};
  }

  static Status StatusOf(CURLcode code, const HttpRequest& request,
                         const Transfer& transfer) {
    const std::string what = SafeUrl(request.url) + ": ";
    if (transfer.refused_address) {
      return {Code::kPermissionDenied,
              what +
                  "leads to a private or local network address, which is "
                  "not allowed here"};
    }
    const bool ranged =
        std::any_of(request.headers.begin(), request.headers.end(),
                    [](const auto& header) { return header.first == "Range"; });
    if (transfer.too_long && ranged && transfer.response.status == 200) {
      return {Code::kUnsupported,
              what + "the server ignores ranges and sends the whole object"};
    }
    const std::string_view coding =
        transfer.response.Header("content-encoding");
    if (transfer.too_long && !coding.empty() && coding != "identity") {
      return {Code::kUnsupported, what + "the server sends it coded (" +
                                      std::string(coding) +
                                      ") although identity was asked for"};
    }
    if (transfer.too_long) {
      return {Code::kCorruption,
              what + "the server sends more than was asked for (status " +
                  std::to_string(transfer.response.status) + ")"};
    }
    if (code == CURLE_OK) return {};
    // Broken off after it began: the response says so.
    if (CodeOf(code) == Code::kUnavailable && transfer.response.status != 0) {
      return {};
    }
    // The scheme was checked; what curl calls unsupported is the answer.
    if (code == CURLE_UNSUPPORTED_PROTOCOL) {
      return {Code::kUnavailable, what + "what it answers is not HTTP"};
    }
    return {CodeOf(code), what + ::curl_easy_strerror(code)};
  }

  std::unique_ptr<Connection> Borrow(const std::string& origin,
                                     bool allow_private) EXCLUDES(mu_) {
    {
      const MutexLock lock(mu_);
      for (auto at = idle_.begin(); at != idle_.end(); ++at) {
        // A connection that was opened without the check must not serve a
        // request that wants it.
        if ((*at)->origin == origin && (*at)->allow_private == allow_private) {
          std::unique_ptr<Connection> found = std::move(*at);
          idle_.erase(at);
          return found;
        }
      }
    }
    auto made = std::make_unique<Connection>();
    made->origin = origin;
    made->allow_private = allow_private;
    return made;
  }

  void GiveBack(std::unique_ptr<Connection> connection) EXCLUDES(mu_) {
    std::unique_ptr<Connection> oldest;  // closed outside the lock
    const MutexLock lock(mu_);
    idle_.push_front(std::move(connection));
    if (idle_.size() > options_.idle_connections_max) {
      oldest = std::move(idle_.back());
      idle_.pop_back();
    }
  }

  HttpOptions options_;
  Environment environment_;
  Mutex mu_;
  std::list<std::unique_ptr<Connection>> idle_ GUARDED_BY(mu_);  // newest first
};

}  // namespace

std::unique_ptr<HttpTransport> MakeHttpTransport(const HttpOptions& options) {
  return std::make_unique<CurlTransport>(options);
}

}  // namespace rowfs
