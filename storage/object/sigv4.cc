#include "storage/object/sigv4.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <map>

#include "storage/base/hash.h"
#include "storage/object/uri.h"

namespace rowfs {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// Trimmed, runs of blanks made one.
std::string CanonicalValue(std::string_view value) {
  std::string canonical;
  for (const char c : value) {
    if (c == ' ' && (canonical.empty() || canonical.back() == ' ')) continue;
    canonical += c;
  }
  if (canonical.ends_with(' ')) canonical.pop_back();
  return canonical;
}

// Parameters sorted by name, then value; "a" becomes "a=".
std::string CanonicalQuery(std::string_view query) {
  std::vector<std::string> parts;
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    std::string part(query.substr(0, end));
    if (part.find('=') == std::string::npos) part += '=';
    parts.push_back(std::move(part));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  // Compared as name and value: '=' must sort before every other character.
  std::sort(parts.begin(), parts.end(),
            [](const std::string& a, const std::string& b) {
              const size_t a_end = a.find('=');
              const size_t b_end = b.find('=');
              return std::pair(a.substr(0, a_end), a.substr(a_end)) <
                     std::pair(b.substr(0, b_end), b.substr(b_end));
            });
  std::string joined;
  for (const std::string& part : parts) {
    if (!joined.empty()) joined += '&';
    joined += part;
  }
  return joined;
}

ByteSpan Span(const Sha256Digest& digest) { return digest; }

std::string HexHash(std::string_view text) {
  return ToHex(Span(Sha256(AsBytes(text))));
}

std::string HostHeader(std::string_view url) {
  return OriginOf(url).substr(OriginOf(url).find("//") + 2);
}

Sha256Digest SigningKey(const AwsCredentials& credentials,
                        const SigningScope& scope, const std::string& date) {
  const Secret start("AWS4" + credentials.secret_key.Reveal());
  Sha256Digest key = HmacSha256(AsBytes(start.Reveal()), AsBytes(date));
  for (const std::string_view part :
       {std::string_view(scope.region), std::string_view(scope.service),
        std::string_view("aws4_request")}) {
    key = HmacSha256(Span(key), AsBytes(part));
  }
  return key;
}

}  // namespace

std::string AwsTime(int64_t time_ns) {
  const std::time_t seconds = time_ns / 1'000'000'000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const size_t size =
      std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts);
  return {text.data(), size};
}

SignedV4 SignV4(const HttpRequest& request, std::string_view payload_hash,
                const AwsCredentials& credentials, const SigningScope& scope) {
  SignedV4 result;
  result.headers = request.headers;
  const std::string time = AwsTime(scope.time_ns);
  const std::string date = time.substr(0, 8);
  result.headers.emplace_back("x-amz-date", time);
  if (scope.service == "s3") {
    result.headers.emplace_back("x-amz-content-sha256", payload_hash);
  }
  if (!credentials.session_token.empty()) {
    result.headers.emplace_back("x-amz-security-token",
                                credentials.session_token.Reveal());
  }
  std::map<std::string, std::string> canonical;
  canonical["host"] = HostHeader(request.url);
  for (const auto& [name, value] : result.headers) {
    canonical[Lower(name)] = CanonicalValue(value);
  }
  std::string header_lines;
  std::string names;
  for (const auto& [name, value] : canonical) {
    header_lines += name + ":" + value + "\n";
    names += (names.empty() ? "" : ";") + name;
  }
  const auto uri = FindUri(request.url);
  const std::string target = uri ? uri->path : "";
  const size_t mark = std::min(target.find('?'), target.size());
  const std::string path = target.substr(0, mark);
  const std::string query =
      mark < target.size() ? target.substr(mark + 1) : std::string();
  result.canonical_request = request.method + "\n" +
                             (path.empty() ? "/" : path) + "\n" +
                             CanonicalQuery(query) + "\n" + header_lines +
                             "\n" + names + "\n" + std::string(payload_hash);
  const std::string scope_text =
      date + "/" + scope.region + "/" + scope.service + "/aws4_request";
  result.string_to_sign = std::string(kAlgorithm) + "\n" + time + "\n" +
                          scope_text + "\n" + HexHash(result.canonical_request);
  const Sha256Digest key = SigningKey(credentials, scope, date);
  result.signature =
      ToHex(Span(HmacSha256(Span(key), AsBytes(result.string_to_sign))));
  result.headers.emplace_back(
      "Authorization", std::string(kAlgorithm) +
                           " Credential=" + credentials.access_key + "/" +
                           scope_text + ",SignedHeaders=" + names +
                           ",Signature=" + result.signature);
  return result;
}

}  // namespace rowfs
