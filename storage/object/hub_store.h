// Datasets of a Hugging Face hub: hf://datasets/owner/name[@revision][/path].
// The revision is resolved to a commit once, so that everything read through
// one store is of one state of the repository.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_OBJECT_HUB_STORE_H_
#define ROWFS_STORAGE_OBJECT_HUB_STORE_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/clock.h"
#include "storage/base/secret.h"
#include "storage/base/sync.h"
#include "storage/object/gradual_reads.h"
#include "storage/object/http_client.h"
#include "storage/object/net_policy.h"
#include "storage/object/object_store.h"

namespace rowfs {

struct HubOptions {
  std::string endpoint = "https://huggingface.co";
  std::string repository;  // "owner/name" or "name"
  std::string revision;    // branch, tag or commit; empty: "main"
  Secret token;            // empty: anonymous
};

// HF_ENDPOINT and the token of HF_TOKEN or of the file that the hub's own tools
// keep (HF_TOKEN_PATH, else HF_HOME/token, else ~/.cache/huggingface/token).
HubOptions HubOptionsFromEnvironment(const Environment& environment);

class HubStore final : public ObjectStore, public GradualReads {
 public:
  // `clock` outlives it.
  HubStore(std::shared_ptr<HttpTransport> transport, Clock& clock,
           HubOptions options)
      : transport_(std::move(transport)),
        clock_(clock),
        options_(std::move(options)) {}

  StoreCapabilities capabilities() const override {
    return {.list = true, .write = false, .remote = true};
  }
  std::string Uri(const std::string& path) const override;
  // The etag is the commit: a path of a commit never changes. The first call of
  // all costs one request more, for the commit; a file one more, the redirect
  // to where its bytes are, which gets no token and is kept for a while.
  Result<ObjectMeta> Stat(const std::string& path) override;
  Status ReadAt(const ObjectRef& object, uint64_t offset,
                MutableByteSpan out) override;
  Status ReadGradually(const ObjectRef& object, uint64_t offset,
                       MutableByteSpan out,
                       const ReadProgress& progress) override;
  Result<ObjectMeta> ReadFirst(const std::string& path, uint64_t offset,
                               MutableByteSpan out) override;
  Result<Tail> ReadTail(const std::string& path, uint64_t wanted) override;
  Result<std::vector<ListEntry>> List(const std::string& directory) override;
  Result<std::unique_ptr<ObjectWriter>> Create(const std::string& path,
                                               PutMode mode) override;
  Status Remove(const std::string& path) override;

 private:
  struct Target {
    std::string url;
    int64_t until_ns = 0;
  };

  Result<std::string> Commit() EXCLUDES(mu_);
  Result<HttpResponse> Ask(HttpRequest request);
  // The file's bytes, through the redirect kept for it if there is one.
  Result<HttpResponse> AskFile(const std::string& url, HttpRequest request)
      EXCLUDES(mu_);
  Result<struct HttpObject> Object(const std::string& path);
  Result<HttpResponse> ListPage(const std::string& url, const std::string& uri,
                                std::vector<ListEntry>* entries);

  const std::shared_ptr<HttpTransport> transport_;
  Clock& clock_;
  const HubOptions options_;
  Mutex mu_;
  std::string commit_ GUARDED_BY(mu_);
  std::map<std::string, Target> targets_ GUARDED_BY(mu_);
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_OBJECT_HUB_STORE_H_
