// Objects of one S3 bucket, or of anything that speaks S3: SigV4, listing,
// ranged and conditional reads, multipart upload, create-if-absent.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_OBJECT_S3_STORE_H_
#define ROWFS_STORAGE_OBJECT_S3_STORE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/clock.h"
#include "storage/base/sync.h"
#include "storage/object/aws_credentials.h"
#include "storage/object/gradual_reads.h"
#include "storage/object/http_client.h"
#include "storage/object/object_store.h"
#include "storage/object/unfinished_uploads.h"

namespace rowfs {

struct S3Options {
  std::string bucket;
  // "https://host:port" for path-style requests; empty: Amazon's.
  std::string endpoint;
  std::string region;  // empty: asked for once
  bool requester_pays = false;
};

// A key as a listing with encoding-type=url has it, blanks as '+'.
Result<std::string> DecodeS3Key(std::string text);

// Under which the writer of an object says who it is.
inline constexpr char kWriterHeader[] = "x-amz-meta-rowfs-writer";

class S3Store final : public ObjectStore,
                      public GradualReads,
                      public UnfinishedUploads {
 public:
  // Bytes of one part of a multipart upload; an object up to this size is one
  // PUT. 10,000 parts are the most S3 takes.
  static constexpr uint64_t kPartBytes = 8 << 20;

  S3Store(std::shared_ptr<HttpTransport> transport,
          std::shared_ptr<AwsCredentialsChain> credentials, Clock& clock,
          S3Options options);

  StoreCapabilities capabilities() const override {
    return {.list = true, .write = true, .remote = true};
  }
  // Keys with an empty part ("a//b") list as an entry "/b" of "a".
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
  // Memory: one part; with kIfAbsent up to 64 MiB, which go in one request (a
  // larger object goes in parts, and as not every store looks at the condition
  // when these are put together, under a reservation: a scratch object that
  // only one of several creators gets). Before the first kIfAbsent the store is
  // tried once with a scratch object: kUnsupported when it would overwrite.
  Result<std::unique_ptr<ObjectWriter>> Create(const std::string& path,
                                               PutMode mode) override;
  Status Remove(const std::string& path) override;

  Result<std::vector<Upload>> ListUploads(const std::string& prefix) override;
  Status AbortUpload(const Upload& upload) override;

 private:
  friend class S3Writer;

  struct HttpObject Object(const std::string& path);
  // Sign, send, and once more where the bucket turns out to be in another
  // region. `target` is the path and query behind the bucket.
  Result<HttpResponse> Send(HttpRequest request, const std::string& target)
      EXCLUDES(mu_);
  Result<HttpResponse> SendTo(const std::string& region, HttpRequest request,
                              const std::string& target);
  std::string region() const EXCLUDES(mu_);
  // Append what is below `prefix`, names beginning with `shown`. True when
  // there was anything, a zero-byte folder marker included.
  Result<bool> ListPrefix(const std::string& prefix, const std::string& shown,
                          std::vector<ListEntry>* entries);
  Result<HttpResponse> Put(const std::string& key, ByteSpan bytes,
                           HttpHeaders headers);
  // PUT with If-None-Match: *; kAlreadyExists when there is one.
  Status PutIfAbsent(const std::string& key, ByteSpan bytes);
  // What the writer of the object called itself; empty when it does not say.
  Result<std::string> WriterOf(const std::string& key);
  Status ProbeConditions(const std::string& key) EXCLUDES(mu_);

  const std::shared_ptr<HttpTransport> transport_;
  const std::shared_ptr<AwsCredentialsChain> credentials_;
  Clock& clock_;
  const S3Options options_;
  mutable Mutex mu_;
  std::string region_ GUARDED_BY(mu_);
  bool conditions_work_ GUARDED_BY(mu_) = false;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_OBJECT_S3_STORE_H_
