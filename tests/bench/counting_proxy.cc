// An HTTP/1.1 proxy in front of one server that counts and delays:
// `counting_proxy HOST:PORT` prints the port it serves on 127.0.0.1.
//
//   GET /.proxy/latency/MS  wait so long before each request
//   GET /.proxy/take        what was asked since the last time, a request a
//   line:
//                           method path range status bytes start end (s)
//
// In its own process and language, so that it costs those it measures alike.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "storage/base/sync.h"
#include "storage/base/thread_pool.h"

namespace rowfs {
namespace {

constexpr size_t kClientsMax = 512;
constexpr size_t kPieceBytes = 256 << 10;

double Now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void SendAtOnce(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// One end of a connection.
class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) { SendAtOnce(fd); }
  ~Channel() { close(fd_); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Up to and with `end`; nothing when the other side is gone.
  std::optional<std::string> ReadUntil(std::string_view end) {
    size_t at = 0;
    while ((at = buffer_.find(end)) == buffer_.npos) {
      if (!Fill()) return {};
    }
    std::string found = buffer_.substr(0, at + end.size());
    buffer_.erase(0, found.size());
    return found;
  }
  // Up to `wanted` bytes; empty at the end.
  std::string Read(uint64_t wanted) {
    if (buffer_.empty() && !Fill()) return {};
    std::string part = buffer_.substr(
        0, static_cast<size_t>(std::min<uint64_t>(wanted, buffer_.size())));
    buffer_.erase(0, part.size());
    return part;
  }
  bool Write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

 private:
  bool Fill() {
    const size_t before = buffer_.size();
    buffer_.resize(before + kPieceBytes);
    const ssize_t got = recv(fd_, buffer_.data() + before, kPieceBytes, 0);
    buffer_.resize(before + static_cast<size_t>(got > 0 ? got : 0));
    return got > 0;
  }

  const int fd_;
  std::string buffer_;
};

// The value of a header line of `head`; names in lower case.
std::string HeaderOf(std::string_view head, std::string_view name) {
  size_t at = head.find("\r\n");
  while (at != head.npos && at + 2 < head.size()) {
    const std::string_view line =
        head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
    const size_t colon = line.find(':');
    if (colon == name.size()) {
      bool same = true;
      for (size_t i = 0; i < colon; ++i) same &= (line[i] | 0x20) == name[i];
      if (same) {
        const size_t begin = line.find_first_not_of(' ', colon + 1);
        return begin == line.npos ? "" : std::string(line.substr(begin));
      }
    }
    at = head.find("\r\n", at + 2);
  }
  return "";
}

uint64_t NumberIn(std::string_view text, int base = 10) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, base);
  return number;
}

struct Asked {
  std::string method, path, range;
  int status = 0;
  uint64_t bytes = 0;
  double start = 0;
};

class Proxy {
 public:
  Proxy(std::string host, uint16_t port)
      : host_(std::move(host)), port_(port) {}

  void Serve(int fd);

 private:
  std::unique_ptr<Channel> Connect() const;
  // Whether the connection may go on.
  bool Answer(Channel& client, std::unique_ptr<Channel>& server,
              const std::string& head);
  bool Control(Channel& client, std::string_view path) EXCLUDES(mu_);
  bool Relay(Channel& client, Channel& server, const std::string& head,
             Asked* asked);
  void Note(const Asked& asked) EXCLUDES(mu_);

  const std::string host_;
  const uint16_t port_;
  std::atomic<uint64_t> latency_ms_{0};
  Mutex mu_;
  std::string log_ GUARDED_BY(mu_);
};

std::unique_ptr<Channel> Proxy::Connect() const {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_);
  inet_pton(AF_INET, host_.c_str(), &address.sin_addr);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    close(fd);
    return nullptr;
  }
  return std::make_unique<Channel>(fd);
}

void Proxy::Note(const Asked& asked) {
  char text[96];
  std::snprintf(text, sizeof text, " %d %llu %.6f %.6f\n", asked.status,
                static_cast<unsigned long long>(asked.bytes), asked.start,
                Now());
  const MutexLock lock(mu_);
  log_ += asked.method + " " + asked.path + " " +
          (asked.range.empty() ? "-" : asked.range) + text;
}

bool Proxy::Control(Channel& client, std::string_view path) {
  std::string body;
  if (path.starts_with("/.proxy/latency/")) {
    latency_ms_ = NumberIn(path.substr(16));
  } else {
    const MutexLock lock(mu_);
    body.swap(log_);
  }
  return client.Write("HTTP/1.1 200 OK\r\nContent-Length: " +
                      std::to_string(body.size()) + "\r\n\r\n" + body);
}

bool Proxy::Relay(Channel& client, Channel& server, const std::string& head,
                  Asked* asked) {
  bool alive = client.Write(head);
  const auto pass = [&](uint64_t size) {
    while (alive && size > 0) {
      const std::string part = server.Read(size);
      alive = !part.empty() && client.Write(part);
      size -= part.size();
      if (alive) asked->bytes += part.size();
    }
  };
  if (asked->method == "HEAD" || asked->status == 204 || asked->status == 304) {
    return alive;
  }
  if (HeaderOf(head, "transfer-encoding") != "chunked") {
    pass(NumberIn(HeaderOf(head, "content-length")));
    return alive;
  }
  for (uint64_t size = 1; alive && size > 0;) {
    const auto line = server.ReadUntil("\r\n");
    if (!line || !client.Write(*line)) return false;
    size = NumberIn(*line, 16);
    pass(size);
    const auto end = alive ? server.ReadUntil("\r\n") : std::nullopt;
    alive = end && client.Write(*end);
  }
  return alive;
}

bool Proxy::Answer(Channel& client, std::unique_ptr<Channel>& server,
                   const std::string& head) {
  const size_t space = head.find(' ');
  Asked asked;
  asked.method = head.substr(0, space);
  asked.path = head.substr(space + 1, head.find(' ', space + 1) - space - 1);
  asked.range = HeaderOf(head, "range");
  if (asked.path.starts_with("/.proxy/")) return Control(client, asked.path);
  asked.start = Now();
  if (!HeaderOf(head, "expect").empty()) {
    client.Write("HTTP/1.1 100 Continue\r\n\r\n");
  }
  std::string body;
  for (uint64_t left = NumberIn(HeaderOf(head, "content-length")); left > 0;) {
    const std::string part = client.Read(left);
    if (part.empty()) return false;
    left -= part.size();
    body += part;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(latency_ms_.load()));
  std::optional<std::string> answer;
  // A connection that was kept may have been closed meanwhile.
  for (int attempt = 0; attempt < 2 && !answer; ++attempt) {
    if (server == nullptr) server = Connect();
    if (server == nullptr) break;
    if (server->Write(head) && server->Write(body)) {
      do {
        answer = server->ReadUntil("\r\n\r\n");
      } while (answer && answer->find(" 100 ") < 12);
    }
    if (!answer) server = nullptr;
  }
  if (!answer) return false;
  asked.status = static_cast<int>(NumberIn(answer->substr(9, 3)));
  const bool alive = Relay(client, *server, *answer, &asked);
  Note(asked);
  if (!alive || HeaderOf(*answer, "connection") == "close") server = nullptr;
  return alive && HeaderOf(head, "connection") != "close";
}

void Proxy::Serve(int fd) {
  Channel client(fd);
  std::unique_ptr<Channel> server;
  for (auto head = client.ReadUntil("\r\n\r\n"); head;
       head = client.ReadUntil("\r\n\r\n")) {
    if (!Answer(client, server, *head)) return;
  }
}

int Run(const std::string& upstream) {
  std::signal(SIGPIPE, SIG_IGN);
  const size_t colon = upstream.rfind(':');
  Proxy proxy(upstream.substr(0, colon),
              static_cast<uint16_t>(NumberIn(upstream.substr(colon + 1))));
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* where = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener, where, size) != 0 || listen(listener, 256) != 0 ||
      getsockname(listener, where, &size) != 0) {
    return 1;
  }
  std::printf("%d\n", ntohs(address.sin_port));
  std::fflush(stdout);
  ThreadPool pool(kClientsMax, kClientsMax);
  for (;;) {
    const int client = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0) pool.Submit([&proxy, client] { proxy.Serve(client); });
  }
}

}  // namespace
}  // namespace rowfs

int main(int argc, char** argv) { return argc == 2 ? rowfs::Run(argv[1]) : 2; }
