// Reading one HTTP resource with every answer checked: what the HTTP, S3 and
// hub stores share. An answer that does not say what was asked for is an error,
// never bytes.
//
// Pure but for the sender; thread-safe when the sender is.
#ifndef ROWFS_STORAGE_OBJECT_HTTP_OBJECT_H_
#define ROWFS_STORAGE_OBJECT_HTTP_OBJECT_H_

#include <functional>
#include <string>

#include "storage/object/gradual_reads.h"
#include "storage/object/http_client.h"
#include "storage/object/object_store.h"

namespace rowfs {

// A resource, how to ask for it, and how messages call it.
struct HttpObject {
  // Sends GET and HEAD requests: adds credentials, follows redirects.
  std::function<Result<HttpResponse>(HttpRequest)> send;
  std::string url;
  std::string uri;
  // Whether If-Match may be sent; some servers know only weak etags.
  bool conditional = true;
  // Content-Encoding is what the writer said about the stored bytes, not
  // something that happened on the way (S3).
  bool coding_is_stored = false;
};

// The error that `status` stands for; `response` is read for S3's <Code> and
// <Message>. Requires: not a 2xx.
Status HttpError(const HttpResponse& response, const std::string& uri);

// HEAD; where that is not allowed, a GET of one byte. kNotFound, ...
Result<ObjectMeta> HttpStat(const HttpObject& object);

// Exactly out.size() bytes. An answer that lies about what it is (wrong range,
// wrong length, coded bytes) is asked for again, three times in all, then
// kUnavailable. kUnsupported when the server ignores ranges. A changed etag is
// kChanged, also when the server does not look at If-Match.
// Bytes go to `out` as they arrive once the answer's head is sound; `progress`
// (may be empty) is told of them.
Status HttpReadAt(const HttpObject& object, const std::string& etag,
                  uint64_t offset, MutableByteSpan out,
                  const ReadProgress& progress);

// The same for an object whose etag nobody knows yet: tells it and the size.
Result<ObjectMeta> HttpReadFirst(const HttpObject& object, uint64_t offset,
                                 MutableByteSpan out);

// A suffix range; two requests where the server does not do these.
Result<ObjectStore::Tail> HttpReadTail(const HttpObject& object,
                                       uint64_t wanted);

// Size from Content-Length, etag from ETag or, without one, Last-Modified.
ObjectMeta HttpMetaOf(const HttpResponse& response, uint64_t size);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_OBJECT_HTTP_OBJECT_H_
