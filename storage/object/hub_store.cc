#include "storage/object/hub_store.h"

#include <algorithm>

#include "storage/base/json.h"
#include "storage/object/http_object.h"
#include "storage/object/http_store.h"
#include "storage/object/local_store.h"
#include "storage/object/uri.h"

namespace rowfs {
namespace {

constexpr uint64_t kPageBytesMax = 16 << 20;
constexpr int kPagesMax = 10'000;
constexpr size_t kTargetsMax = 10'000;
// Signed storage URLs live an hour or more.
constexpr int64_t kTargetLifeNs = int64_t{300} * 1'000'000'000;

std::string TokenFile(const Environment& environment) {
  std::string path = environment("HF_TOKEN_PATH");
  if (!path.empty()) return path;
  path = environment("HF_HOME");
  if (!path.empty()) return path + "/token";
  path = environment("XDG_CACHE_HOME");
  if (path.empty()) path = environment("HOME") + "/.cache";
  return path + "/huggingface/token";
}

bool IsCommit(std::string_view text) {
  return text.size() == 40 &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// The URL of `rel="next"` in a Link header; empty when there is none.
std::string NextLink(std::string_view link) {
  while (!link.empty()) {
    const size_t end = std::min(link.find(','), link.size());
    const std::string_view part = link.substr(0, end);
    const size_t open = part.find('<');
    const size_t close = part.find('>');
    if (part.find("rel=\"next\"") != std::string_view::npos &&
        open != std::string_view::npos && close != std::string_view::npos &&
        open < close) {
      return std::string(part.substr(open + 1, close - open - 1));
    }
    link.remove_prefix(std::min(end + 1, link.size()));
  }
  return {};
}

}  // namespace

HubOptions HubOptionsFromEnvironment(const Environment& environment) {
  HubOptions options;
  const std::string endpoint = environment("HF_ENDPOINT");
  if (!endpoint.empty()) options.endpoint = endpoint;
  while (options.endpoint.ends_with('/')) options.endpoint.pop_back();
  std::string token = environment("HF_TOKEN");
  if (token.empty()) {
    const auto file = ReadWhole(
        {std::make_shared<LocalStore>(), TokenFile(environment)}, 4096);
    if (file.ok()) token = AsText(file.value());
  }
  token.erase(token.find_last_not_of(" \t\r\n") + 1);
  options.token = Secret(std::move(token));
  return options;
}

std::string HubStore::Uri(const std::string& path) const {
  std::string uri = "hf://datasets/" + options_.repository;
  if (!options_.revision.empty()) uri += "@" + options_.revision;
  return path.empty() ? uri : uri + "/" + path;
}

Result<HttpResponse> HubStore::Ask(HttpRequest request) {
  if (!options_.token.empty()) {
    request.headers.emplace_back("Authorization",
                                 "Bearer " + options_.token.Reveal());
  }
  return SendFollowing(*transport_, std::move(request));
}

Result<std::string> HubStore::Commit() {
  if (IsCommit(options_.revision)) return options_.revision;
  {
    const MutexLock lock(mu_);
    if (!commit_.empty()) return commit_;
  }
  const std::string revision =
      options_.revision.empty() ? "main" : options_.revision;
  HttpRequest request;
  request.url = options_.endpoint + "/api/datasets/" +
                PercentEncode(options_.repository, "/") + "/revision/" +
                PercentEncode(revision, "");
  request.response_bytes_max = kPageBytesMax;
  ROWFS_ASSIGN_OR_RETURN(const HttpResponse response, Ask(std::move(request)));
  if (response.status != 200) return HttpError(response, Uri(""));
  const auto json = ParseJson(AsText(response.body));
  const Json* sha = json.ok() ? json.value().Find("sha") : nullptr;
  if (sha == nullptr || !IsCommit(sha->text)) {
    return Status(Code::kCorruption,
                  Uri("") + ": the hub names no commit for " + revision);
  }
  const MutexLock lock(mu_);
  // Two that asked at once agree on the first answer.
  if (commit_.empty()) commit_ = sha->text;
  return commit_;
}

Result<HttpResponse> HubStore::AskFile(const std::string& url,
                                       HttpRequest request) {
  std::string kept;
  {
    const MutexLock lock(mu_);
    const auto found = targets_.find(url);
    if (found != targets_.end() &&
        found->second.until_ns > clock_.MonotonicNs()) {
      kept = found->second.url;
    }
  }
  if (!kept.empty()) {
    HttpRequest direct = request;
    direct.url = kept;
    direct.allow_private = NamesPrivateAddress(options_.endpoint);
    Result<HttpResponse> response =
        SendFollowing(*transport_, std::move(direct));
    if (response.ok() && response.value().status < 400) return response;
  }
  request.url = url;
  ROWFS_ASSIGN_OR_RETURN(HttpResponse response, Ask(std::move(request)));
  if (response.final_url != url && response.status < 400) {
    const MutexLock lock(mu_);
    if (targets_.size() >= kTargetsMax) targets_.clear();
    targets_[url] = {response.final_url, clock_.MonotonicNs() + kTargetLifeNs};
  }
  return response;
}

Result<HttpObject> HubStore::Object(const std::string& path) {
  ROWFS_ASSIGN_OR_RETURN(const std::string commit, Commit());
  HttpObject object;
  object.uri = Uri(path);
  object.conditional = false;  // the commit pins the bytes
  object.url = options_.endpoint + "/datasets/" +
               PercentEncode(options_.repository, "/") + "/resolve/" + commit +
               "/" + PercentEncode(path, "/");
  object.send = [this, url = object.url](HttpRequest request) {
    return AskFile(url, std::move(request));
  };
  return object;
}

Result<ObjectMeta> HubStore::Stat(const std::string& path) {
  ROWFS_ASSIGN_OR_RETURN(const HttpObject object, Object(path));
  ROWFS_ASSIGN_OR_RETURN(ObjectMeta meta, HttpStat(object));
  ROWFS_ASSIGN_OR_RETURN(meta.etag, Commit());
  return meta;
}

Status HubStore::ReadAt(const ObjectRef& object, uint64_t offset,
                        MutableByteSpan out) {
  return ReadGradually(object, offset, out, nullptr);
}

Status HubStore::ReadGradually(const ObjectRef& object, uint64_t offset,
                               MutableByteSpan out,
                               const ReadProgress& progress) {
  ROWFS_ASSIGN_OR_RETURN(const std::string commit, Commit());
  if (!object.etag.empty() && object.etag != commit) {
    return {Code::kChanged, Uri(object.path) + ": is of another commit"};
  }
  ROWFS_ASSIGN_OR_RETURN(const HttpObject http, Object(object.path));
  return HttpReadAt(http, "", offset, out, progress);
}

Result<ObjectMeta> HubStore::ReadFirst(const std::string& path, uint64_t offset,
                                       MutableByteSpan out) {
  ROWFS_ASSIGN_OR_RETURN(const HttpObject object, Object(path));
  ROWFS_ASSIGN_OR_RETURN(ObjectMeta meta, HttpReadFirst(object, offset, out));
  ROWFS_ASSIGN_OR_RETURN(meta.etag, Commit());
  return meta;
}

Result<ObjectStore::Tail> HubStore::ReadTail(const std::string& path,
                                             uint64_t wanted) {
  ROWFS_ASSIGN_OR_RETURN(const HttpObject object, Object(path));
  ROWFS_ASSIGN_OR_RETURN(Tail tail, HttpReadTail(object, wanted));
  ROWFS_ASSIGN_OR_RETURN(tail.meta.etag, Commit());
  return tail;
}

Result<HttpResponse> HubStore::ListPage(const std::string& url,
                                        const std::string& uri,
                                        std::vector<ListEntry>* entries) {
  ROWFS_ASSIGN_OR_RETURN(const std::string commit, Commit());
  HttpRequest request;
  request.url = url;
  request.response_bytes_max = kPageBytesMax;
  ROWFS_ASSIGN_OR_RETURN(HttpResponse response, Ask(std::move(request)));
  if (response.status != 200) return HttpError(response, uri);
  const auto json = ParseJson(AsText(response.body));
  if (!json.ok() || json.value().kind != Json::Kind::kArray) {
    return Status(Code::kCorruption, uri + ": the hub lists no array");
  }
  for (const Json& item : json.value().items) {
    const Json* path = item.Find("path");
    const Json* type = item.Find("type");
    if (path == nullptr || type == nullptr) continue;
    ListEntry entry;
    entry.name = path->text.substr(path->text.rfind('/') + 1);
    entry.is_directory = type->text == "directory";
    if (!entry.is_directory) {
      const Json* size = item.Find("size");
      entry.meta.size = size == nullptr ? 0 : size->AsUint().value_or(0);
      entry.meta.etag = commit;
    }
    if (!entry.name.empty()) entries->push_back(std::move(entry));
  }
  return response;
}

Result<std::vector<ListEntry>> HubStore::List(const std::string& directory) {
  ROWFS_ASSIGN_OR_RETURN(const std::string commit, Commit());
  std::vector<ListEntry> entries;
  std::string url = options_.endpoint + "/api/datasets/" +
                    PercentEncode(options_.repository, "/") + "/tree/" + commit;
  if (!directory.empty()) url += "/" + PercentEncode(directory, "/");
  const std::string origin = OriginOf(url);
  for (int page = 0; page < kPagesMax && !url.empty(); ++page) {
    ROWFS_ASSIGN_OR_RETURN(const HttpResponse response,
                           ListPage(url, Uri(directory), &entries));
    const std::string next = NextLink(response.Header("link"));
    if (next.empty()) break;
    url = ResolveUrl(url, next);
    if (OriginOf(url) != origin) {
      return Status(Code::kPermissionDenied,
                    Uri(directory) + ": the listing goes on at another host");
    }
  }
  std::sort(
      entries.begin(), entries.end(),
      [](const ListEntry& a, const ListEntry& b) { return a.name < b.name; });
  return entries;
}

Result<std::unique_ptr<ObjectWriter>> HubStore::Create(const std::string& path,
                                                       PutMode /*mode*/) {
  return ReadOnlyStore(Uri(path), "writing");
}

Status HubStore::Remove(const std::string& path) {
  return ReadOnlyStore(Uri(path), "removing");
}

}  // namespace rowfs
