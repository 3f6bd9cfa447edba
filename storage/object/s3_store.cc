#include "storage/object/s3_store.h"

#include <algorithm>
#include <charconv>

#include "storage/base/hash.h"
#include "storage/object/http_object.h"
#include "storage/object/posix_file.h"
#include "storage/object/s3_writer.h"
#include "storage/object/uri.h"
#include "storage/object/xml.h"

namespace rowfs {
namespace {

// Pages of 1,000; more is no folder anybody opens.
constexpr int kListPagesMax = 10'000;
constexpr uint64_t kListPageBytesMax = 16 << 20;
// "a///b" nests one empty name a slash.
constexpr size_t kEmptyNamesMax = 32;

std::string Encode(const std::string& key) { return PercentEncode(key, "/"); }

// Whether the server wants newer keys.
bool SaysExpired(const HttpResponse& response) {
  if (response.status != 400 && response.status != 403) return false;
  const auto xml = ParseXml(AsText(response.body));
  if (!xml.ok()) return false;
  const std::string code = xml.value().TextOf("Code");
  return code == "ExpiredToken" || code == "InvalidToken" ||
         code == "TokenRefreshRequired" || code == "RequestExpired";
}

bool IsHostName(const std::string& bucket) {
  // A dot would not match the wildcard certificate.
  return bucket.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") ==
         std::string::npos;
}

ObjectMeta MetaOf(const XmlElement& contents) {
  ObjectMeta meta;
  const std::string size = contents.TextOf("Size");
  std::from_chars(size.data(), size.data() + size.size(), meta.size);
  meta.etag = contents.TextOf("ETag");
  meta.mtime_ns = ParseIsoTimeNs(contents.TextOf("LastModified"));
  return meta;
}

}  // namespace

Result<std::string> DecodeS3Key(std::string text) {
  std::replace(text.begin(), text.end(), '+', ' ');
  return PercentDecode(text);
}

S3Store::S3Store(std::shared_ptr<HttpTransport> transport,
                 std::shared_ptr<AwsCredentialsChain> credentials, Clock& clock,
                 S3Options options)
    : transport_(std::move(transport)),
      credentials_(std::move(credentials)),
      clock_(clock),
      options_(std::move(options)),
      region_(options_.region.empty() ? "us-east-1" : options_.region) {}

std::string S3Store::Uri(const std::string& path) const {
  return "s3://" + options_.bucket + "/" + path;
}

std::string S3Store::region() const {
  const MutexLock lock(mu_);
  return region_;
}

Result<HttpResponse> S3Store::SendTo(const std::string& region,
                                     HttpRequest request,
                                     const std::string& target) {
  if (!options_.endpoint.empty()) {
    request.url = options_.endpoint + "/" + options_.bucket + target;
  } else {
    const std::string domain = "s3." + region + ".amazonaws.com" +
                               (region.starts_with("cn-") ? ".cn" : "");
    request.url = IsHostName(options_.bucket)
                      ? "https://" + options_.bucket + "." + domain + target
                      : "https://" + domain + "/" + options_.bucket + target;
  }
  if (options_.requester_pays) {
    request.headers.emplace_back("x-amz-request-payer", "requester");
  }
  const std::string hash = ToHex(Sha256(request.body));
  const HttpHeaders unsigned_headers = request.headers;
  for (bool again = false;; again = true) {
    ROWFS_ASSIGN_OR_RETURN(const AwsCredentials credentials,
                           credentials_->Get());
    if (!credentials.access_key.empty()) {
      request.headers = unsigned_headers;
      request.headers =
          SignV4(request, hash, credentials, {region, "s3", clock_.NowNs()})
              .headers;
    }
    Result<HttpResponse> response = transport_->Send(request);
    if (again || !response.ok() || credentials.session_token.empty() ||
        !SaysExpired(response.value())) {
      return response;
    }
    credentials_->Expire(credentials);
  }
}

Result<HttpResponse> S3Store::Send(HttpRequest request,
                                   const std::string& target) {
  const std::string region = this->region();
  ROWFS_ASSIGN_OR_RETURN(HttpResponse response,
                         SendTo(region, request, target));
  if (response.status != 301 && response.status != 307 &&
      response.status != 400) {
    return response;
  }
  // S3 says where the bucket is, in a header or in the error. Its Location is
  // not followed: a signature is for one host.
  std::string actual(response.Header("x-amz-bucket-region"));
  if (actual.empty()) {
    const auto xml = ParseXml(AsText(response.body));
    if (xml.ok()) actual = xml.value().TextOf("Region");
  }
  const bool plausible =
      actual.size() < 64 &&
      actual.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") ==
          std::string::npos;
  if (actual.empty() || actual == region || !plausible) return response;
  {
    const MutexLock lock(mu_);
    region_ = actual;
  }
  return SendTo(actual, std::move(request), target);
}

HttpObject S3Store::Object(const std::string& path) {
  HttpObject object;
  object.uri = Uri(path);
  object.coding_is_stored = true;
  object.send = [this, target = "/" + Encode(path)](HttpRequest request) {
    return Send(std::move(request), target);
  };
  return object;
}

Result<ObjectMeta> S3Store::Stat(const std::string& path) {
  return HttpStat(Object(path));
}

Status S3Store::ReadAt(const ObjectRef& object, uint64_t offset,
                       MutableByteSpan out) {
  return HttpReadAt(Object(object.path), object.etag, offset, out, nullptr);
}

Status S3Store::ReadGradually(const ObjectRef& object, uint64_t offset,
                              MutableByteSpan out,
                              const ReadProgress& progress) {
  return HttpReadAt(Object(object.path), object.etag, offset, out, progress);
}

Result<ObjectMeta> S3Store::ReadFirst(const std::string& path, uint64_t offset,
                                      MutableByteSpan out) {
  return HttpReadFirst(Object(path), offset, out);
}

Result<ObjectStore::Tail> S3Store::ReadTail(const std::string& path,
                                            uint64_t wanted) {
  return HttpReadTail(Object(path), wanted);
}

Result<bool> S3Store::ListPrefix(const std::string& prefix,
                                 const std::string& shown,
                                 std::vector<ListEntry>* entries) {
  bool found = false;
  std::string token;
  std::vector<std::string> empty_names;
  for (int page = 0; page < kListPagesMax; ++page) {
    HttpRequest request;
    request.response_bytes_max = kListPageBytesMax;
    std::string target =
        "/?delimiter=%2F&encoding-type=url&list-type=2&prefix=";
    target += PercentEncode(prefix, "");
    if (!token.empty()) {
      target += "&continuation-token=" + PercentEncode(token, "");
    }
    const std::string uri = Uri(prefix);
    ROWFS_ASSIGN_OR_RETURN(const HttpResponse response, Send(request, target));
    if (response.status != 200) return HttpError(response, uri);
    Result<XmlElement> xml = ParseXml(AsText(response.body));
    if (!xml.ok()) return xml.status().With(uri + ": list");
    for (const XmlElement& element : xml.value().children) {
      const bool is_directory = element.name == "CommonPrefixes";
      if (!is_directory && element.name != "Contents") continue;
      ROWFS_ASSIGN_OR_RETURN(
          std::string key,
          DecodeS3Key(element.TextOf(is_directory ? "Prefix" : "Key")));
      if (!key.starts_with(prefix)) continue;
      found = true;
      std::string name = key.substr(prefix.size());
      if (name.empty()) continue;  // the folder's own marker
      if (is_directory) {
        name.pop_back();  // the delimiter
        if (name.empty()) {
          empty_names.push_back(key);
          continue;
        }
      }
      entries->push_back({shown + name, is_directory,
                          is_directory ? ObjectMeta() : MetaOf(element)});
    }
    token = xml.value().TextOf("NextContinuationToken");
    if (token.empty() || xml.value().TextOf("IsTruncated") == "false") break;
  }
  for (const std::string& key : empty_names) {
    if (shown.size() >= kEmptyNamesMax) continue;
    ROWFS_RETURN_IF_ERROR(ListPrefix(key, shown + "/", entries).status());
  }
  return found;
}

Result<std::vector<ListEntry>> S3Store::List(const std::string& directory) {
  std::vector<ListEntry> entries;
  ROWFS_ASSIGN_OR_RETURN(
      const bool found,
      ListPrefix(directory.empty() ? "" : directory + "/", "", &entries));
  if (!found && !directory.empty()) {
    return Status(Code::kNotFound,
                  Uri(directory) + ": there is nothing below it");
  }
  std::stable_sort(
      entries.begin(), entries.end(),
      [](const ListEntry& a, const ListEntry& b) { return a.name < b.name; });
  return entries;
}

Result<HttpResponse> S3Store::Put(const std::string& key, ByteSpan bytes,
                                  HttpHeaders headers) {
  HttpRequest request;
  request.method = "PUT";
  request.headers = std::move(headers);
  request.body = bytes;
  return Send(std::move(request), "/" + Encode(key));
}

Status S3Store::PutIfAbsent(const std::string& key, ByteSpan bytes) {
  ROWFS_RETURN_IF_ERROR(ProbeConditions(key));
  ROWFS_ASSIGN_OR_RETURN(const std::string mark, UniqueName());
  const HttpHeaders headers = {{"If-None-Match", "*"}, {kWriterHeader, mark}};
  Status status;
  // 409 means that two creators met: the answer is not decided yet.
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto response = Put(key, bytes, headers);
    if (!response.ok()) {
      status = response.status();
      break;
    }
    if (response.value().status == 200) return {};
    status = HttpError(response.value(), Uri(key));
    if (response.value().status != 409) break;
  }
  if (status.code() != Code::kChanged && status.code() != Code::kUnavailable &&
      status.code() != Code::kDeadlineExceeded) {
    return status;
  }
  // An answer may have been lost although the write was not: whose is it?
  const auto writer = WriterOf(key);
  if (!writer.ok()) return status;
  if (writer.value() == mark) return {};
  return {Code::kAlreadyExists, Uri(key) + ": is there already"};
}

Result<std::string> S3Store::WriterOf(const std::string& key) {
  HttpRequest request;
  request.method = "HEAD";
  ROWFS_ASSIGN_OR_RETURN(const HttpResponse response,
                         Send(request, "/" + Encode(key)));
  if (response.status != 200) return HttpError(response, Uri(key));
  return std::string(response.Header(kWriterHeader));
}

// A store that ignores If-None-Match would lose other writers' versions
// silently; better to find out on an object nobody needs.
Status S3Store::ProbeConditions(const std::string& key) {
  {
    const MutexLock lock(mu_);
    if (conditions_work_) return {};
  }
  ROWFS_ASSIGN_OR_RETURN(const std::string unique, UniqueName());
  const size_t slash = key.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "" : key.substr(0, slash + 1);
  const std::string scratch = folder + ".rowfs-" + unique + ".tmp";
  const HttpHeaders headers = {{"If-None-Match", "*"}};
  ROWFS_ASSIGN_OR_RETURN(const HttpResponse first,
                         Put(scratch, AsBytes("x"), headers));
  if (first.status != 200 && first.status != 412) {
    return HttpError(first, Uri(scratch));
  }
  const auto second = Put(scratch, AsBytes("x"), headers);
  const Status removed = Remove(scratch);
  if (!second.ok()) return second.status();
  if (second.value().status != 412) {
    return {Code::kUnsupported,
            Uri(key) +
                ": the store does not honour If-None-Match, so a "
                "version could be overwritten; write to a store that "
                "does"};
  }
  ROWFS_RETURN_IF_ERROR(removed);
  const MutexLock lock(mu_);
  conditions_work_ = true;
  return {};
}

Result<std::unique_ptr<ObjectWriter>> S3Store::Create(const std::string& path,
                                                      PutMode mode) {
  return std::unique_ptr<ObjectWriter>(
      std::make_unique<S3Writer>(*this, path, mode));
}

Status S3Store::Remove(const std::string& path) {
  HttpRequest request;
  request.method = "DELETE";
  ROWFS_ASSIGN_OR_RETURN(const HttpResponse response,
                         Send(std::move(request), "/" + Encode(path)));
  if (response.status == 200 || response.status == 204 ||
      response.status == 404) {
    return {};
  }
  return HttpError(response, Uri(path));
}

}  // namespace rowfs
