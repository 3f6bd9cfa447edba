#include "storage/object/open_store.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <map>
#include <vector>

#include "storage/base/clock.h"
#include "storage/base/hash.h"
#include "storage/base/sync.h"
#include "storage/object/aws_credentials.h"
#include "storage/object/hedge_transport.h"
#include "storage/object/http_client.h"
#include "storage/object/http_store.h"
#include "storage/object/hub_store.h"
#include "storage/object/local_store.h"
#include "storage/object/posix_file.h"
#include "storage/object/retry_transport.h"
#include "storage/object/s3_store.h"
#include "storage/object/uri.h"

namespace rowfs {
namespace {

// `path` made absolute, without empty and "." parts and without a '/' at the
// end. ".." stays: what it means depends on links.
Result<std::string> AbsolutePath(const std::string& path) {
  std::string rooted = path;
  if (path.front() != '/') {
    std::array<char, PATH_MAX> directory{};
    if (::getcwd(directory.data(), directory.size()) == nullptr) {
      return ErrnoStatus(errno, path, "working directory");
    }
    rooted = std::string(directory.data()) + "/" + path;
  }
  std::string clean;
  size_t begin = 0;
  while (begin < rooted.size()) {
    size_t end = rooted.find('/', begin);
    if (end == std::string::npos) end = rooted.size();
    const std::string part = rooted.substr(begin, end - begin);
    if (!part.empty() && part != ".") clean += "/" + part;
    begin = end + 1;
  }
  return clean.empty() ? "/" : clean;
}

// Stores kept at most; signed URLs can make one each.
constexpr size_t kStoresMax = 10'000;

// "name:password" as a header value.
Result<Secret> BasicAuthorization(std::string_view user_info) {
  ROWFS_ASSIGN_OR_RETURN(const std::string plain, PercentDecode(user_info));
  return Secret("Basic " + ToBase64(AsBytes(plain)));
}

// --offline: what is not in a cache is not to be had.
class OfflineTransport final : public HttpTransport {
 public:
  Result<HttpResponse> Send(const HttpRequest& request) override {
    return Status(Code::kUnavailable,
                  SafeUrl(request.url) +
                      ": not in the cache, and --offline allows no request");
  }
};

std::shared_ptr<HttpTransport> MakeTransport(const StoreOptions& options,
                                             Clock& clock) {
  if (options.offline) return std::make_shared<OfflineTransport>();
  const auto seed = static_cast<uint64_t>(clock.NowNs());
  std::unique_ptr<HttpTransport> network =
      MakeHttpTransport({.ca_file = options.ca_file});
  if (options.hedge_after_ms > 0) {
    network = std::make_unique<HedgeTransport>(std::move(network),
                                               options.hedge_after_ms);
  }
  return std::make_shared<RetryTransport>(std::move(network), clock,
                                          RetryOptions{.seed = seed});
}

class Registry final : public StoreRegistry {
 public:
  explicit Registry(StoreOptions options)
      : options_(std::move(options)),
        environment_(ProcessEnvironment()),
        transport_(MakeTransport(options_, clock_)),
        // Its endpoints have deadlines of their own.
        plain_transport_(MakeHttpTransport({.connect_timeout_ms = 1'000,
                                            .ca_file = options_.ca_file,
                                            .idle_connections_max = 4})),
        credentials_(std::make_shared<AwsCredentialsChain>(
            *plain_transport_, clock_, environment_)) {}

  Result<Location> Resolve(std::string_view uri) override {
    return Find(uri, true);
  }
  Result<Location> ResolveFromDataset(std::string_view uri) override {
    return Find(uri, false);
  }

 private:
  Result<Location> Find(std::string_view uri, bool trusted) {
    if (uri.empty()) {
      return Status(Code::kInvalidArgument,
                    "an empty source; give a path or a URL");
    }
    const std::optional<Uri> parts = FindUri(uri);
    if (!parts) return Local(std::string(uri));
    if (parts->scheme == "file") return LocalUri(*parts, uri);
    if (parts->scheme == "http" || parts->scheme == "https") {
      return Http(uri, trusted);
    }
    if (parts->scheme == "s3") return S3(*parts, uri);
    if (parts->scheme == "hf") return Hub(*parts, uri);
    return Status(Code::kInvalidArgument,
                  SafeUri(*parts) + ": unknown scheme " + parts->scheme +
                      "://; known are file, http, https, s3 and hf");
  }

  // A URI nobody knows may hold a password anywhere before the path.
  static std::string SafeUri(const Uri& parts) {
    const size_t at = parts.authority.rfind('@');
    const size_t from = at == std::string::npos ? 0 : at + 1;
    return parts.scheme + "://" + parts.authority.substr(from) + parts.path;
  }

  template <typename Make>
  std::shared_ptr<ObjectStore> Kept(const std::string& key, const Make& make)
      EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    if (stores_.size() >= kStoresMax) stores_.clear();
    std::shared_ptr<ObjectStore>& store = stores_[key];
    if (store == nullptr) {
      store = make();
      if (options_.wrap) store = options_.wrap(std::move(store));
    }
    return store;
  }

  Result<Location> Http(std::string_view uri, bool trusted) {
    const std::string_view whole = uri.substr(0, uri.find('#'));
    const size_t mark = std::min(whole.find('?'), whole.size());
    HttpStore::Options options;
    options.origin = OriginOf(whole);
    options.query = whole.substr(std::min(mark + 1, whole.size()));
    options.allow_private = trusted;
    const std::optional<Uri> parts = FindUri(whole.substr(0, mark));
    if (options.origin.empty() || !parts) {
      return Status(Code::kInvalidArgument,
                    SafeUrl(uri) + ": a URL without a host");
    }
    const size_t at = parts->authority.rfind('@');
    if (at != std::string::npos && trusted) {
      ROWFS_ASSIGN_OR_RETURN(
          options.authorization,
          BasicAuthorization(parts->authority.substr(0, at)));
    }
    Result<std::string> path = PercentDecode(parts->path);
    if (!path.ok()) {
      return Status(Code::kInvalidArgument,
                    SafeUrl(uri) + ": '%' that is not a coded character");
    }
    const std::string key =
        options.origin + "?" + options.query + "#" +
        (trusted ? "trusted" : "") + "#" +
        ToHex(Sha256(AsBytes(options.authorization.Reveal())));
    const auto make = [&] {
      return std::make_shared<HttpStore>(transport_, options);
    };
    return Location{Kept(key, make), path.value().empty() ? "/" : path.value()};
  }

  Result<Location> S3(const Uri& parts, std::string_view uri) {
    const std::string& bucket = parts.authority;
    if (bucket.size() < 3 || bucket.size() > 63 ||
        bucket.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-_"
                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ") !=
            std::string::npos) {
      return Status(Code::kInvalidArgument,
                    std::string(uri) +
                        ": no bucket is named so; the form is "
                        "s3://bucket/prefix");
    }
    std::string key = parts.path.empty() ? "" : parts.path.substr(1);
    if (key.ends_with('/')) key.pop_back();
    const auto make = [&] {
      return std::make_shared<S3Store>(transport_, credentials_, clock_,
                                       S3OptionsOf(bucket));
    };
    return Location{Kept("s3://" + bucket, make), std::move(key)};
  }

  S3Options S3OptionsOf(const std::string& bucket) const {
    std::map<std::string, std::string> profile = LoadAwsProfile(environment_);
    const auto first = [&](std::initializer_list<const char*> names,
                           const char* in_profile) {
      for (const char* name : names) {
        std::string value = environment_(name);
        if (!value.empty()) return value;
      }
      return profile[in_profile];
    };
    S3Options options;
    options.bucket = bucket;
    options.endpoint =
        first({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}, "endpoint_url");
    while (options.endpoint.ends_with('/')) options.endpoint.pop_back();
    options.region = first({"AWS_REGION", "AWS_DEFAULT_REGION"}, "region");
    options.requester_pays = environment_("AWS_REQUEST_PAYER") == "requester";
    return options;
  }

  // datasets/owner/name[@revision][/path]
  Result<Location> Hub(const Uri& parts, std::string_view uri) {
    std::vector<std::string> names;
    const std::string rest = parts.path.empty() ? "" : parts.path.substr(1);
    for (size_t begin = 0; begin < rest.size();) {
      const size_t end = std::min(rest.find('/', begin), rest.size());
      if (end > begin) names.push_back(rest.substr(begin, end - begin));
      begin = end + 1;
    }
    if (parts.authority != "datasets" || names.empty()) {
      return Status(Code::kInvalidArgument,
                    std::string(uri) +
                        ": the form is "
                        "hf://datasets/owner/name[@rev][/path]");
    }
    HubOptions options = HubOptionsFromEnvironment(environment_);
    const bool owned =
        names.size() > 1 && names[0].find('@') == std::string::npos;
    size_t used = owned ? 1 : 0;
    std::string name = names[used];
    if (const size_t at = name.find('@'); at != std::string::npos) {
      ROWFS_ASSIGN_OR_RETURN(options.revision,
                             PercentDecode(name.substr(at + 1)));
      name.resize(at);
      // "refs/convert/parquet" and "refs/pr/1" are one revision.
      if (options.revision == "refs" && used + 2 < names.size()) {
        options.revision += "/" + names[used + 1] + "/" + names[used + 2];
        used += 2;
      }
    }
    options.repository = owned ? names[0] + "/" + name : name;
    std::string path;
    for (size_t i = used + 1; i < names.size(); ++i) {
      path += (path.empty() ? "" : "/") + names[i];
    }
    const std::string key =
        "hf://" + options.repository + "@" + options.revision;
    const auto make = [&] {
      return std::make_shared<HubStore>(transport_, clock_, options);
    };
    return Location{Kept(key, make), std::move(path)};
  }

  Result<Location> Local(const std::string& path) {
    ROWFS_RETURN_IF_ERROR(CheckPath(path));
    ROWFS_ASSIGN_OR_RETURN(std::string absolute, AbsolutePath(path));
    return Location{local_, std::move(absolute)};
  }

  Result<Location> LocalUri(const Uri& parts, std::string_view uri) {
    if (!parts.authority.empty() && parts.authority != "localhost") {
      return Status(Code::kInvalidArgument,
                    std::string(uri) +
                        ": a file:// URL names no other host; "
                        "did you mean file:///" +
                        parts.authority + parts.path + "?");
    }
    ROWFS_ASSIGN_OR_RETURN(const std::string path, PercentDecode(parts.path));
    if (path.empty()) {
      return Status(Code::kInvalidArgument,
                    std::string(uri) + ": a file:// URL without a path");
    }
    return Local(path);
  }

  const StoreOptions options_;
  RealClock clock_;
  const Environment environment_;
  const std::shared_ptr<ObjectStore> local_ = std::make_shared<LocalStore>();
  const std::shared_ptr<HttpTransport> transport_;
  const std::shared_ptr<HttpTransport> plain_transport_;
  const std::shared_ptr<AwsCredentialsChain> credentials_;
  Mutex mu_;
  std::map<std::string, std::shared_ptr<ObjectStore>> stores_ GUARDED_BY(mu_);
};

}  // namespace

std::unique_ptr<StoreRegistry> MakeStoreRegistry(StoreOptions options) {
  return std::make_unique<Registry>(std::move(options));
}

}  // namespace rowfs
