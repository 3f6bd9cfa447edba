#include "storage/object/http_store.h"

#include "storage/base/hash.h"
#include "storage/object/http_object.h"
#include "storage/object/uri.h"

namespace rowfs {
namespace {

bool LooksSecret(std::string query) {
  for (char& c : query) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  for (const std::string_view word :
       {"sig", "token", "key", "secret", "pass", "auth", "credential"}) {
    if (query.find(word) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

Status ReadOnlyStore(const std::string& uri, std::string_view what) {
  return {Code::kUnsupported, uri + ": " + std::string(what) +
                                  " is not possible there; use a local path "
                                  "or s3://"};
}

std::string HttpStore::Uri(const std::string& path) const {
  std::string uri = options_.origin + PercentEncode(path, "/");
  if (options_.query.empty()) return uri;
  if (!LooksSecret(options_.query)) return uri + "?" + options_.query;
  const std::string digest = ToHex(Sha256(AsBytes(options_.query)));
  return uri + "?redacted=" + digest.substr(0, 8);
}

HttpObject HttpStore::Object(const std::string& path) const {
  HttpObject object;
  object.uri = Uri(path);
  object.url = options_.origin + PercentEncode(path, "/");
  if (!options_.query.empty()) object.url += "?" + options_.query;
  object.send = [this](HttpRequest request) {
    request.allow_private = options_.allow_private;
    if (!options_.authorization.empty()) {
      request.headers.emplace_back("Authorization",
                                   options_.authorization.Reveal());
    }
    return SendFollowing(*transport_, std::move(request));
  };
  return object;
}

Result<ObjectMeta> HttpStore::Stat(const std::string& path) {
  return HttpStat(Object(path));
}

Status HttpStore::ReadAt(const ObjectRef& object, uint64_t offset,
                         MutableByteSpan out) {
  return HttpReadAt(Object(object.path), object.etag, offset, out, nullptr);
}

Status HttpStore::ReadGradually(const ObjectRef& object, uint64_t offset,
                                MutableByteSpan out,
                                const ReadProgress& progress) {
  return HttpReadAt(Object(object.path), object.etag, offset, out, progress);
}

Result<ObjectMeta> HttpStore::ReadFirst(const std::string& path,
                                        uint64_t offset, MutableByteSpan out) {
  return HttpReadFirst(Object(path), offset, out);
}

Result<ObjectStore::Tail> HttpStore::ReadTail(const std::string& path,
                                              uint64_t wanted) {
  return HttpReadTail(Object(path), wanted);
}

Result<std::vector<ListEntry>> HttpStore::List(const std::string& directory) {
  return ReadOnlyStore(Uri(directory), "listing a folder");
}

Result<std::unique_ptr<ObjectWriter>> HttpStore::Create(const std::string& path,
                                                        PutMode /*mode*/) {
  return ReadOnlyStore(Uri(path), "writing");
}

Status HttpStore::Remove(const std::string& path) {
  return ReadOnlyStore(Uri(path), "removing");
}

}  // namespace rowfs
