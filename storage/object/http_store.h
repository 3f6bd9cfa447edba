// Objects of one web server, read by ranged GET. Paths are decoded ("/a b");
// what the URL had behind '?' goes with every request, as signed folder URLs
// want it.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_OBJECT_HTTP_STORE_H_
#define ROWFS_STORAGE_OBJECT_HTTP_STORE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/secret.h"
#include "storage/object/gradual_reads.h"
#include "storage/object/http_client.h"
#include "storage/object/object_store.h"

namespace rowfs {

// Why `uri` cannot be written or listed there.
Status ReadOnlyStore(const std::string& uri, std::string_view what);

class HttpStore final : public ObjectStore, public GradualReads {
 public:
  struct Options {
    std::string origin;    // "https://host:port"
    std::string query;     // without '?'; may hold a signature: never shown
    Secret authorization;  // a header value; empty: none
    // False for URLs that came from a dataset, not from the user.
    bool allow_private = true;
  };

  HttpStore(std::shared_ptr<HttpTransport> transport, Options options)
      : transport_(std::move(transport)), options_(std::move(options)) {}

  StoreCapabilities capabilities() const override {
    return {.list = false, .write = false, .remote = true};
  }
  // Without user and password, and without a query that looks like a signature
  // (a digest stands for it, so that different ones stay different).
  std::string Uri(const std::string& path) const override;
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
  struct HttpObject Object(const std::string& path) const;

  const std::shared_ptr<HttpTransport> transport_;
  const Options options_;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_OBJECT_HTTP_STORE_H_
