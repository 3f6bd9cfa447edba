// A web server on 127.0.0.1 whose every answer a test decides: what it says,
// what it sends, when it hangs up. Speaks HTTP/1.1 with keep-alive.
//
// Thread-safe; the handler is called on the connection's thread.
#ifndef ROWFS_TESTS_SUPPORT_HTTP_TEST_SERVER_H_
#define ROWFS_TESTS_SUPPORT_HTTP_TEST_SERVER_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/sync.h"
#include "storage/object/http_client.h"

namespace rowfs {

struct ServerRequest {
  std::string method;
  std::string target;                          // path and query as sent
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  std::string path() const { return target.substr(0, target.find('?')); }
  // "" when there is none.
  std::string Header(const std::string& name) const;
  // The range asked for of an object of `size` bytes; absent without one.
  std::optional<ByteRange> Range(uint64_t size) const;
};

struct ServerReply {
  int status = 200;
  HttpHeaders headers;  // Content-Length is added unless it is here
  std::string body;
  // Send only so much of the body, then close; `reset` closes with a RST.
  std::optional<size_t> cut;
  bool reset = false;
};

// What a sound server answers to GET and HEAD of `content`, etag included.
ServerReply ServeBytes(const ServerRequest& request, const std::string& content,
                       const std::string& etag = "\"e1\"");

class HttpTestServer {
 public:
  using Handler = std::function<ServerReply(const ServerRequest&)>;

  explicit HttpTestServer(Handler handler);
  ~HttpTestServer();

  std::string url() const {
    return "http://127.0.0.1:" + std::to_string(port_);
  }
  int port() const { return port_; }
  // All requests since the last call.
  std::vector<ServerRequest> TakeRequests() EXCLUDES(mu_);
  size_t connection_count() const { return connections_; }

 private:
  void Accept();
  void Serve(int fd);
  std::optional<ServerRequest> ReadRequest(int fd, std::string* buffer);

  const Handler handler_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<size_t> connections_{0};
  Mutex mu_;
  std::vector<ServerRequest> requests_ GUARDED_BY(mu_);
  std::vector<int> fds_ GUARDED_BY(mu_);
  bool stopping_ GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_ GUARDED_BY(mu_);
  std::thread acceptor_;
};

}  // namespace rowfs
#endif  // ROWFS_TESTS_SUPPORT_HTTP_TEST_SERVER_H_
