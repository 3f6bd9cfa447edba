#include "storage/object/net_policy.h"

#include <map>

#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

TEST(NetPolicy, KnowsPrivateAddresses) {
  for (const char* address : {"127.0.0.1",
                              "10.1.2.3",
                              "172.16.0.1",
                              "172.31.255.255",
                              "192.168.1.1",
                              "169.254.169.254",
                              "100.64.0.1",
                              "0.0.0.0",
                              "224.0.0.1",
                              "255.255.255.255",
                              "::1",
                              "::",
                              "fe80::1",
                              "fe80::1%eth0",
                              "fd00::1",
                              "fd00:ec2::254",
                              "::ffff:127.0.0.1",
                              "::ffff:169.254.169.254",
                              "::127.0.0.1",
                              "64:ff9b::a9fe:a9fe",
                              "2002:7f00:1::",
                              "ff02::1",
                              "2001:db8::1",
                              "[::1]",
                              "not an address"}) {
    EXPECT_TRUE(IsPrivateAddress(address)) << address;
  }
  for (const char* address :
       {"8.8.8.8", "172.32.0.1", "172.15.0.1", "100.128.0.1", "192.169.0.1",
        "11.0.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "2002:808:808::"}) {
    EXPECT_FALSE(IsPrivateAddress(address)) << address;
  }
}

TEST(NetPolicy, KnowsHostsThatAreLocalByName) {
  EXPECT_TRUE(NamesPrivateAddress("http://localhost:80/x"));
  EXPECT_TRUE(NamesPrivateAddress("http://a.localhost/x"));
  EXPECT_TRUE(NamesPrivateAddress("http://user@127.0.0.1/x"));
  EXPECT_TRUE(NamesPrivateAddress("http://[::1]:8080/x"));
  EXPECT_TRUE(NamesPrivateAddress("http://2130706433/x"));
  EXPECT_FALSE(NamesPrivateAddress("https://example.org/127.0.0.1"));
  EXPECT_FALSE(NamesPrivateAddress("https://8.8.8.8/"));
}

class ProxyTest : public ::testing::Test {
 protected:
  std::string Find(std::string_view url) const {
    return ProxyFor(url, [this](const char* name) {
      const auto found = variables_.find(name);
      return found == variables_.end() ? "" : found->second;
    });
  }
  std::map<std::string, std::string> variables_;
};

TEST_F(ProxyTest, DependsOnTheScheme) {
  variables_ = {{"HTTPS_PROXY", "http://p:1"}, {"http_proxy", "http://q:2"}};

  EXPECT_EQ(Find("https://example.org/"), "http://p:1");
  EXPECT_EQ(Find("http://example.org/"), "http://q:2");
}

TEST_F(ProxyTest, NoProxyNamesHostsAndTheirSubdomains) {
  variables_ = {{"ALL_PROXY", "socks5h://p:1"},
                {"NO_PROXY", "localhost, .inner.org,other.org:8080, ::1"}};

  EXPECT_EQ(Find("http://localhost:90/"), "");
  EXPECT_EQ(Find("http://a.INNER.org/"), "");
  EXPECT_EQ(Find("http://inner.org/"), "");
  EXPECT_EQ(Find("http://dinner.org/"), "socks5h://p:1");
  EXPECT_EQ(Find("http://other.org:8080/"), "");
  EXPECT_EQ(Find("http://other.org/"), "socks5h://p:1");
  EXPECT_EQ(Find("http://[::1]:80/"), "");
  variables_["no_proxy"] = "*";
  EXPECT_EQ(Find("http://other.org/"), "");
}

}  // namespace
}  // namespace rowfs
