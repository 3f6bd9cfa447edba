#include "tests/support/http_test_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace rowfs {
namespace {

std::string Lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

bool SendAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

// False at the end of the connection.
bool ReceiveMore(int fd, std::string* buffer) {
  std::array<char, 65536> bytes;
  const ssize_t n = ::recv(fd, bytes.data(), bytes.size(), 0);
  if (n <= 0) return false;
  buffer->append(bytes.data(), static_cast<size_t>(n));
  return true;
}

}  // namespace

std::string ServerRequest::Header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

std::optional<ByteRange> ServerRequest::Range(uint64_t size) const {
  const std::string range = Header("range");
  if (!range.starts_with("bytes=")) return std::nullopt;
  const std::string from = range.substr(6, range.find('-') - 6);
  const std::string to = range.substr(range.find('-') + 1);
  if (from.empty())
    return ByteRange{size - std::min(size, std::stoul(to)), size};
  const uint64_t begin = std::stoul(from);
  return ByteRange{begin,
                   to.empty() ? size : std::min(size, std::stoul(to) + 1)};
}

ServerReply ServeBytes(const ServerRequest& request, const std::string& content,
                       const std::string& etag) {
  ServerReply reply;
  reply.headers = {{"ETag", etag}, {"Accept-Ranges", "bytes"}};
  const std::string condition = request.Header("if-match");
  if (!condition.empty() && condition != etag) {
    reply.status = 412;
    return reply;
  }
  const auto range = request.Range(content.size());
  if (!range || request.method == "HEAD") {
    reply.body = content;
    return reply;
  }
  if (range->begin >= content.size()) {
    reply.status = 416;
    reply.headers.emplace_back("Content-Range",
                               "bytes */" + std::to_string(content.size()));
    return reply;
  }
  reply.status = 206;
  reply.headers.emplace_back("Content-Range",
                             "bytes " + std::to_string(range->begin) + "-" +
                                 std::to_string(range->end - 1) + "/" +
                                 std::to_string(content.size()));
  reply.body = content.substr(range->begin, range->size());
  return reply;
}

HttpTestServer::HttpTestServer(Handler handler) : handler_(std::move(handler)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, generic, &size) != 0) {
    std::abort();
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

HttpTestServer::~HttpTestServer() {
  std::vector<std::thread> threads;
  {
    const MutexLock lock(mu_);
    stopping_ = true;
    for (const int fd : fds_) ::shutdown(fd, SHUT_RDWR);
  }
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  ::close(listener_);
  {
    const MutexLock lock(mu_);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

std::vector<ServerRequest> HttpTestServer::TakeRequests() {
  const MutexLock lock(mu_);
  return std::exchange(requests_, {});
}

void HttpTestServer::Accept() {
  for (;;) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    ++connections_;
    const MutexLock lock(mu_);
    if (stopping_) {
      ::close(fd);
      return;
    }
    fds_.push_back(fd);
    threads_.emplace_back([this, fd] {
      Serve(fd);
      const MutexLock closing(mu_);
      std::erase(fds_, fd);
      ::close(fd);
    });
  }
}

std::optional<ServerRequest> HttpTestServer::ReadRequest(int fd,
                                                         std::string* buffer) {
  size_t end = 0;
  while ((end = buffer->find("\r\n\r\n")) == std::string::npos) {
    if (!ReceiveMore(fd, buffer)) return std::nullopt;
  }
  ServerRequest request;
  const std::string head = buffer->substr(0, end + 2);
  buffer->erase(0, end + 4);
  const size_t space = head.find(' ');
  request.method = head.substr(0, space);
  request.target =
      head.substr(space + 1, head.find(' ', space + 1) - space - 1);
  for (size_t at = head.find("\r\n") + 2; at < head.size();) {
    const size_t line_end = head.find("\r\n", at);
    const std::string line = head.substr(at, line_end - at);
    const size_t colon = line.find(':');
    const size_t value = line.find_first_not_of(' ', colon + 1);
    request.headers[Lower(line.substr(0, colon))] =
        value == std::string::npos ? "" : line.substr(value);
    at = line_end + 2;
  }
  const std::string length = request.Header("content-length");
  const size_t body = length.empty() ? 0 : std::stoul(length);
  while (buffer->size() < body) {
    if (!ReceiveMore(fd, buffer)) return std::nullopt;
  }
  request.body = buffer->substr(0, body);
  buffer->erase(0, body);
  return request;
}

void HttpTestServer::Serve(int fd) {
  std::string buffer;
  while (const auto request = ReadRequest(fd, &buffer)) {
    {
      const MutexLock lock(mu_);
      requests_.push_back(*request);
    }
    const ServerReply reply = handler_(*request);
    std::string text = "HTTP/1.1 " + std::to_string(reply.status) + " X\r\n";
    bool has_length = reply.status == 204;
    for (const auto& [name, value] : reply.headers) {
      text += name + ": " + value + "\r\n";
      has_length = has_length || Lower(name) == "content-length";
    }
    if (!has_length) {
      text += "Content-Length: " + std::to_string(reply.body.size()) + "\r\n";
    }
    text += "\r\n";
    if (request->method != "HEAD") {
      text += reply.body.substr(0, reply.cut.value_or(std::string::npos));
    }
    if (reply.reset) {
      const linger hard{1, 0};
      ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    }
    if (!SendAll(fd, text) || reply.cut || reply.reset) return;
  }
}

}  // namespace rowfs
