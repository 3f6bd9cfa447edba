#include "storage/object/http_client.h"

#include <algorithm>

#include "storage/object/uri.h"

namespace rowfs {
namespace {

constexpr int kRedirectsMax = 3;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool IsRedirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 ||
         status == 308;
}

// What was meant for one origin only.
bool IsCredential(const std::string& header) {
  const std::string name = Lower(header);
  return name == "authorization" || name == "cookie" ||
         name == "proxy-authorization" || name.starts_with("x-amz-");
}

}  // namespace

std::string_view HttpResponse::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

std::string OriginOf(std::string_view url) {
  const auto uri = FindUri(url);
  if (!uri || (uri->scheme != "http" && uri->scheme != "https")) return {};
  std::string host = uri->authority;
  // An '@' after '?' or '#' belongs to neither user nor host.
  host = host.substr(0, host.find_first_of("?#"));
  if (const size_t at = host.rfind('@'); at != std::string::npos) {
    host = host.substr(at + 1);
  }
  host = Lower(host);
  const std::string port = uri->scheme == "https" ? ":443" : ":80";
  if (host.ends_with(port)) host.resize(host.size() - port.size());
  if (host.ends_with(':')) host.pop_back();
  return host.empty() ? "" : uri->scheme + "://" + host;
}

std::string SafeUrl(std::string_view url) {
  const auto uri = FindUri(url);
  if (!uri) return "a malformed URL";
  const std::string path = uri->path.substr(0, uri->path.find_first_of("?#"));
  const bool has_query = url.find('?') != std::string_view::npos;
  return OriginOf(url) + path + (has_query ? "?..." : "");
}

std::string ResolveUrl(std::string_view base, std::string_view reference) {
  reference = reference.substr(0, reference.find('#'));
  if (FindUri(reference)) return std::string(reference);
  const auto uri = FindUri(base);
  if (!uri) return {};
  if (reference.starts_with("//")) {
    return uri->scheme + ":" + std::string(reference);
  }
  const std::string root = uri->scheme + "://" + uri->authority;
  if (reference.starts_with("/")) return root + std::string(reference);
  const std::string path = uri->path.substr(0, uri->path.find_first_of("?#"));
  if (reference.empty() || reference.front() == '?') {
    return root + path + std::string(reference);
  }
  const size_t slash = path.rfind('/');
  return root + (slash == std::string::npos ? "/" : path.substr(0, slash + 1)) +
         std::string(reference);
}

Result<HttpResponse> SendFollowing(HttpTransport& transport,
                                   HttpRequest request) {
  for (int hops = 0;; ++hops) {
    ROWFS_ASSIGN_OR_RETURN(HttpResponse response, transport.Send(request));
    const bool can_follow = request.method == "GET" || request.method == "HEAD";
    const std::string location(response.Header("location"));
    if (!IsRedirect(response.status) || !can_follow || location.empty()) {
      response.final_url = request.url;
      return response;
    }
    const std::string target = ResolveUrl(request.url, location);
    const std::string from = OriginOf(request.url);
    const std::string to = OriginOf(target);
    const std::string what = SafeUrl(request.url) + ": redirects to ";
    if (hops == kRedirectsMax) {
      return Status(Code::kPermissionDenied,
                    what + SafeUrl(target) + ", one redirect too many");
    }
    if (to.empty()) {
      return Status(Code::kPermissionDenied, what + "something not http(s)");
    }
    if (from.starts_with("https:") && !to.starts_with("https:")) {
      return Status(Code::kPermissionDenied,
                    what + SafeUrl(target) + ", away from https");
    }
    request.allow_private = request.allow_private && response.peer_is_private;
    request.url = target;
    if (from == to) continue;
    std::erase_if(request.headers, [](const auto& header) {
      return IsCredential(header.first);
    });
  }
}

}  // namespace rowfs
