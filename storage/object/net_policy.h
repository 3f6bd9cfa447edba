// Which network addresses are private, and which proxy a URL goes through.
//
// Pure functions, thread-safe.
#ifndef ROWFS_STORAGE_OBJECT_NET_POLICY_H_
#define ROWFS_STORAGE_OBJECT_NET_POLICY_H_

#include <functional>
#include <string>
#include <string_view>

namespace rowfs {

// Whether `address` (an IPv4 or IPv6 literal) is anything but a public unicast
// address: loopback, private, shared, link-local, unspecified, multicast,
// reserved, documentation, or one of these wrapped in IPv6 (mapped, NAT64,
// 6to4). True for what is no address at all.
bool IsPrivateAddress(std::string_view address);

// Whether the host of `url` is such an address, literally, or "localhost". (A
// name that leads to one shows only when it is resolved.)
bool NamesPrivateAddress(std::string_view url);

// An environment variable; absent is "".
using Environment = std::function<std::string(const char* name)>;
Environment ProcessEnvironment();

// The proxy for `url` by http_proxy, https_proxy, all_proxy and no_proxy
// (either case, lower case first); empty: a direct connection. NO_PROXY holds
// "*" or hosts, each also for its subdomains, with an optional port.
std::string ProxyFor(std::string_view url, const Environment& environment);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_OBJECT_NET_POLICY_H_
