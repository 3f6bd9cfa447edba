#include "storage/object/net_policy.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

#include "storage/object/http_client.h"

namespace rowfs {
namespace {

struct Network4 {
  uint32_t address;
  unsigned bits;
};

// RFC 6890 and later: what is not globally reachable.
constexpr Network4 kPrivate4[] = {
    {0x00000000, 8},   // this network
    {0x0a000000, 8},   // private
    {0x64400000, 10},  // shared (carrier NAT)
    {0x7f000000, 8},   // loopback
    {0xa9fe0000, 16},  // link-local: cloud metadata is here
    {0xac100000, 12},  // private
    {0xc0000000, 24},  // protocol assignments
    {0xc0000200, 24},  // documentation
    {0xc0a80000, 16},  // private
    {0xc6120000, 15},  // benchmarking
    {0xc6336400, 24},  // documentation
    {0xcb007100, 24},  // documentation
    {0xe0000000, 4},   // multicast
    {0xf0000000, 4},   // reserved and broadcast
};

bool IsPrivate4(uint32_t address) {
  return std::any_of(
      std::begin(kPrivate4), std::end(kPrivate4),
      [address](const Network4& network) {
        return (address ^ network.address) >> (32 - network.bits) == 0;
      });
}

uint32_t Load4(const std::array<uint8_t, 16>& bytes, size_t at) {
  return (uint32_t{bytes[at]} << 24) | (uint32_t{bytes[at + 1]} << 16) |
         (uint32_t{bytes[at + 2]} << 8) | uint32_t{bytes[at + 3]};
}

bool IsPrivate6(const std::array<uint8_t, 16>& bytes) {
  const uint32_t first = Load4(bytes, 0);
  const bool low_zero = Load4(bytes, 4) == 0 && Load4(bytes, 8) == 0;
  // Mapped ::ffff:a.b.c.d, compatible ::a.b.c.d, loopback and unspecified.
  if (first == 0 && Load4(bytes, 4) == 0 &&
      (Load4(bytes, 8) == 0xffff || Load4(bytes, 8) == 0)) {
    return IsPrivate4(Load4(bytes, 12));
  }
  if (first == 0x0064ff9b && low_zero) return IsPrivate4(Load4(bytes, 12));
  if (first >> 16 == 0x2002) return IsPrivate4(Load4(bytes, 2));
  if (first == 0x20010db8 || first == 0x20010000) return true;
  // Global unicast is 2000::/3; all else is local, multicast or unassigned.
  return first >> 29 != 1;
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

// "host:port" without the port and the brackets of IPv6.
std::string HostOf(std::string host) {
  const size_t colon = host.rfind(':');
  if (colon != std::string::npos &&
      host.find(']', colon) == std::string::npos) {
    host.resize(colon);
  }
  if (host.starts_with('[') && host.ends_with(']')) {
    return host.substr(1, host.size() - 2);
  }
  return host;
}

// `host` or `host:port` against one entry of NO_PROXY.
bool Excluded(const std::string& host, const std::string& host_and_port,
              std::string entry) {
  entry.erase(0, entry.find_first_not_of(" .*"));
  entry.erase(entry.find_last_not_of(' ') + 1);
  if (entry.empty()) return false;
  return host == entry || host_and_port == entry ||
         host.ends_with("." + entry) || host_and_port.ends_with("." + entry);
}

}  // namespace

bool IsPrivateAddress(std::string_view address) {
  std::string text(address.substr(0, address.find('%')));  // no zone
  if (text.starts_with('[') && text.ends_with(']')) {
    text = text.substr(1, text.size() - 2);
  }
  in_addr v4{};
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) {
    return IsPrivate4(ntohl(v4.s_addr));
  }
  std::array<uint8_t, 16> bytes{};
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) {
    return IsPrivate6(bytes);
  }
  return true;
}

bool NamesPrivateAddress(std::string_view url) {
  const std::string origin = OriginOf(url);
  if (origin.empty()) return true;
  const std::string host = HostOf(origin.substr(origin.find("//") + 2));
  if (host == "localhost" || host.ends_with(".localhost")) return true;
  const bool is_literal =
      host.find(':') != std::string::npos ||
      host.find_first_not_of("0123456789.") == std::string::npos;
  return is_literal && IsPrivateAddress(host);
}

Environment ProcessEnvironment() {
  return [](const char* name) -> std::string {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here sets variables.
    const char* value = ::getenv(name);
    return value == nullptr ? "" : value;
  };
}

std::string ProxyFor(std::string_view url, const Environment& environment) {
  const auto either = [&](std::string name) {
    std::string value = environment(name.c_str());
    if (!value.empty()) return value;
    for (char& c : name) {
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    return environment(name.c_str());
  };
  const std::string origin = OriginOf(url);
  if (origin.empty()) return {};
  const bool is_https = origin.starts_with("https:");
  std::string proxy = either(is_https ? "https_proxy" : "http_proxy");
  if (proxy.empty()) proxy = either("all_proxy");
  if (proxy.empty()) return {};
  const std::string host_and_port = origin.substr(origin.find("//") + 2);
  const std::string host = HostOf(host_and_port);
  const std::string exclusions = Lower(either("no_proxy"));
  size_t begin = 0;
  while (begin < exclusions.size()) {
    const size_t end = std::min(exclusions.find(',', begin), exclusions.size());
    const std::string entry = exclusions.substr(begin, end - begin);
    if (entry == "*" || Excluded(host, host_and_port, entry)) return {};
    begin = end + 1;
  }
  return proxy;
}

}  // namespace rowfs
