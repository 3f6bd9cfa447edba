// The stores behind a network, on servers of this machine.
#include <cstdlib>
#include <map>

#include "storage/base/clock.h"
#include "storage/base/json.h"
#include "storage/object/http_store.h"
#include "storage/object/hub_store.h"
#include "storage/object/retry_transport.h"
#include "storage/object/s3_store.h"
#include "storage/object/uri.h"
#include "tests/conformance/object_store_suite.h"
#include "tests/support/http_test_server.h"
#include "tests/support/server_process.h"

namespace rowfs {
namespace {

// Files by decoded path, served as a sound web server does.
class Files {
 public:
  void Put(const std::string& path, std::string_view text) EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    files_[path] = {std::string(text), ++version_};
  }
  ServerReply Serve(const ServerRequest& request, const std::string& path)
      EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    const auto found = files_.find(path);
    if (found == files_.end()) return {.status = 404};
    return ServeBytes(request, found->second.first,
                      "\"v" + std::to_string(found->second.second) + "\"");
  }
  std::map<std::string, std::pair<std::string, int>> All() EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    return files_;
  }

 private:
  Mutex mu_;
  std::map<std::string, std::pair<std::string, int>> files_ GUARDED_BY(mu_);
  int version_ GUARDED_BY(mu_) = 0;
};

std::string Decoded(const std::string& path) {
  return PercentDecode(path).value();
}

// What a store under test needs to live.
struct Rig {
  RealClock clock;
  Files files;
  std::unique_ptr<HttpTestServer> server;
  std::unique_ptr<HttpTransport> plain = MakeHttpTransport({});
  std::shared_ptr<HttpTransport> transport = std::make_shared<RetryTransport>(
      MakeHttpTransport({}), clock, RetryOptions{});
};

StoreUnderTest MakeHttp() {
  auto rig = std::make_shared<Rig>();
  rig->server = std::make_unique<HttpTestServer>(
      [rig = rig.get()](const ServerRequest& request) {
        return rig->files.Serve(request, Decoded(request.path()));
      });
  const auto store = std::make_shared<HttpStore>(
      rig->transport, HttpStore::Options{.origin = rig->server->url()});
  return {store, "/root",
          [rig = rig.get()](const std::string& path, std::string_view text) {
            rig->files.Put(path, text);
          },
          rig};
}

constexpr char kCommit[] = "0123456789abcdef0123456789abcdef01234567";

// The listing that the hub's API gives for `folder`.
std::string HubListing(Files& files, const std::string& folder) {
  Json list = Json::Array();
  std::string last;
  for (const auto& [path, file] : files.All()) {
    if (!path.starts_with(folder + "/")) continue;
    const size_t slash = path.find('/', folder.size() + 1);
    const std::string name = path.substr(0, slash);
    if (name == last) continue;
    last = name;
    Json item = Json::Object();
    item.Add("type",
             Json::String(slash == std::string::npos ? "file" : "directory"));
    item.Add("path", Json::String(name));
    item.Add("size", Json::Uint(file.first.size()));
    list.items.push_back(std::move(item));
  }
  return list.items.empty() ? "" : WriteJson(list);
}

ServerReply ServeHub(Rig& rig, const ServerRequest& request) {
  const std::string path = Decoded(request.path());
  const std::string tree =
      std::string("/api/datasets/o/n/tree/") + kCommit + "/";
  const std::string resolve =
      std::string("/datasets/o/n/resolve/") + kCommit + "/";
  // Storage: whoever has the signed URL may read, and no token belongs here.
  if (path.starts_with("/storage/")) {
    if (!request.Header("authorization").empty()) return {.status = 400};
    return rig.files.Serve(request, path.substr(9));
  }
  if (request.Header("authorization") != "Bearer token") {
    return {.status = 401};
  }
  if (path == "/api/datasets/o/n/revision/main") {
    return {.body = std::string("{\"sha\":\"") + kCommit + "\"}"};
  }
  if (path.starts_with(tree)) {
    const std::string listing = HubListing(rig.files, path.substr(tree.size()));
    if (listing.empty()) return {.status = 404};
    return {.body = listing};
  }
  if (!path.starts_with(resolve)) return {.status = 404};
  const std::string file = path.substr(resolve.size());
  if (!rig.files.All().contains(file)) return {.status = 404};
  return {.status = 302,
          .headers = {
              {"Location",
               "http://localhost:" + std::to_string(rig.server->port()) +
                   "/storage/" + PercentEncode(file, "/") + "?signature=x"}}};
}

StoreUnderTest MakeHub() {
  auto rig = std::make_shared<Rig>();
  rig->server = std::make_unique<HttpTestServer>(
      [rig = rig.get()](const ServerRequest& request) {
        return ServeHub(*rig, request);
      });
  HubOptions options;
  options.endpoint = rig->server->url();
  options.repository = "o/n";
  options.token = Secret("token");
  const auto store =
      std::make_shared<HubStore>(rig->transport, rig->clock, options);
  return {store, "root",
          [rig = rig.get()](const std::string& path, std::string_view text) {
            rig->files.Put(path, text);
          },
          rig, /*pinned=*/true};
}

std::string TestEnvironment(const char* name) {
  const std::string_view variable = name;
  if (variable == "AWS_ACCESS_KEY_ID") return "key";
  if (variable == "AWS_SECRET_ACCESS_KEY") return "secret";
  return "";
}

// One S3 server for all tests; each gets a bucket of its own.
ServerProcess& Moto() {
  static ServerProcess server(
      {OraclePython(), ROWFS_SOURCE_DIR "/tests/support/moto_server.py"});
  return server;
}

StoreUnderTest MakeS3() {
  if (Moto().port() == 0) return {};
  static int buckets = 0;
  const std::string bucket = "bucket-" + std::to_string(++buckets);
  auto rig = std::make_shared<Rig>();
  HttpRequest create;
  create.method = "PUT";
  create.url = Moto().url() + "/" + bucket;
  EXPECT_EQ(rig->plain->Send(create).value().status, 200);
  const auto credentials = std::make_shared<AwsCredentialsChain>(
      *rig->plain, rig->clock, TestEnvironment);
  const auto store = std::make_shared<S3Store>(
      rig->transport, credentials, rig->clock,
      S3Options{.bucket = bucket, .endpoint = Moto().url()});
  return {store, "root",
          [store](const std::string& path, std::string_view text) {
            EXPECT_OK(
                WriteWhole({store, path}, AsBytes(text), PutMode::kOverwrite));
          },
          rig};
}

INSTANTIATE_TEST_SUITE_P(Remote, ObjectStoreSuite,
                         ::testing::Values(StoreFactory{"Http", MakeHttp},
                                           StoreFactory{"Hub", MakeHub},
                                           StoreFactory{"S3", MakeS3}),
                         [](const auto& instance) {
                           return instance.param.name;
                         });

// Keys as people have them, read back through the listing.
TEST(S3Keys, OddKeysListAndRead) {
  const StoreUnderTest s3 = MakeS3();
  if (s3.store == nullptr) GTEST_SKIP() << "no moto; set ROWFS_PYTHON";
  const std::vector<std::string> keys = {
      "odd/sp ace",  "odd/plus+sign",     "odd/percent%20lit", "odd/hash#1",
      "odd/ques?ti", "odd/double//slash", "odd/both",          "odd/both/inner",
      "odd/amp&=;",  "odd/quote'\"",      "odd/tab\there",     "odd//lead",
      "odd/./dot",   "odd/../up",         "odd/\xc3\xbc",      "odd/u\xcc\x88"};
  for (const std::string& key : keys) s3.put(key, key);
  s3.put("odd/", "");
  s3.put("odd/empty/", "");

  std::vector<std::string> found;
  std::vector<std::string> folders = {"odd"};
  while (!folders.empty()) {
    const Location folder{s3.store, folders.back()};
    folders.pop_back();
    ASSERT_OK_AND_ASSIGN(const auto entries, s3.store->List(folder.path));
    for (const ListEntry& entry : entries) {
      const Location at = folder.Join(entry.name);
      if (entry.is_directory) {
        folders.push_back(at.path);
        continue;
      }
      found.push_back(at.path);
      ASSERT_OK_AND_ASSIGN(const Bytes bytes, ReadWhole(at, 100));
      EXPECT_EQ(AsText(bytes), at.path);
    }
  }

  EXPECT_THAT(found, ::testing::UnorderedElementsAreArray(keys));
}

}  // namespace
}  // namespace rowfs
