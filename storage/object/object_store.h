// One place objects live. Implementations: local files, HTTP, S3, and wrappers
// that add retrying, counting or logging to another store.
//
// Paths are keys inside the store with '/' between parts: for the local store
// an absolute path, for S3 the key below the bucket, for HTTP the path and
// query.
//
// Thread-safe: any method may be called from any thread at any time.
#ifndef ROWFS_STORAGE_OBJECT_OBJECT_STORE_H_
#define ROWFS_STORAGE_OBJECT_OBJECT_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/status.h"

namespace rowfs {

struct ObjectMeta {
  uint64_t size = 0;
  // What pins the bytes: the store's etag or version; for local files device,
  // inode, size, mtime and ctime. Empty when the store has none.
  std::string etag;
  int64_t mtime_ns = 0;  // since the Unix epoch; 0 when unknown
};

// An object as it was when it was opened. Reads fail with kChanged when `etag`
// is set and no longer current.
struct ObjectRef {
  std::string path;
  std::string etag;
};

struct ListEntry {
  std::string name;  // one path part
  bool is_directory = false;
  ObjectMeta meta;  // of objects
};

enum class PutMode {
  kOverwrite,
  kIfAbsent,  // kAlreadyExists when there is one: how versions are committed
};

// Writes one object. Sticky: after the first failure every call returns it.
// Nothing is visible at the final path until Finish returns OK; destroying an
// unfinished writer leaves nothing behind. One thread at a time.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;
  virtual Status Write(ByteSpan bytes) = 0;
  // Make the object durable and visible. Last call.
  virtual Status Finish() = 0;
};

struct StoreCapabilities {
  bool list = true;
  bool write = true;
  bool remote = false;  // a request costs a round trip worth saving
};

class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  virtual StoreCapabilities capabilities() const = 0;
  // `path` as a URI a person may pass back to rowfs; no credentials in it.
  virtual std::string Uri(const std::string& path) const = 0;

  // kNotFound if there is no such object (or it is a directory). One request.
  virtual Result<ObjectMeta> Stat(const std::string& path) = 0;

  // Read exactly `out.size()` bytes of `object` starting at `offset`.
  //
  // kOutOfRange if the object ends first, kNotFound if there is none, kChanged
  // if `object.etag` is set and not current, kUnavailable if trying again may
  // help. On any error the contents of `out` are unspecified.
  // Costs one request and blocks until it is answered. Requires: !out.empty().
  virtual Status ReadAt(const ObjectRef& object, uint64_t offset,
                        MutableByteSpan out) = 0;

  // The same for an object whose etag nobody knows yet; tells it and the size.
  // One request where the store can, else two.
  virtual Result<ObjectMeta> ReadFirst(const std::string& path, uint64_t offset,
                                       MutableByteSpan out);

  struct Tail {
    ObjectMeta meta;
    Bytes bytes;  // the last min(size, wanted) bytes
  };
  // Size, etag and the last `wanted` bytes. One request where the store can
  // (a suffix range), else two.
  virtual Result<Tail> ReadTail(const std::string& path, uint64_t wanted) = 0;

  // Objects and directories directly below `directory`, sorted by name.
  // kNotFound when there is neither an object nor a directory below it,
  // kUnsupported without capabilities().list. One request per 1,000 entries.
  virtual Result<std::vector<ListEntry>> List(const std::string& directory) = 0;

  // Parents are made as needed.
  virtual Result<std::unique_ptr<ObjectWriter>> Create(const std::string& path,
                                                       PutMode mode) = 0;
  // OK when there is none.
  virtual Status Remove(const std::string& path) = 0;

  // This store without the caches and counters that wrappers put around it:
  // for readers that cache and count themselves.
  virtual ObjectStore& direct() { return *this; }
};

// A store and a path in it.
struct Location {
  std::shared_ptr<ObjectStore> store;
  std::string path;

  std::string uri() const { return store->Uri(path); }
  // This location with `/part` behind it.
  Location Join(std::string_view part) const;
};

// The whole of a small object. kResourceExhausted above `size_max`. One request
// where the store can read a tail, plus one when it is longer than 64 KiB.
Result<Bytes> ReadWhole(const Location& location, uint64_t size_max);
// Write `bytes` as one object, durable before it returns.
Status WriteWhole(const Location& location, ByteSpan bytes, PutMode mode);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_OBJECT_OBJECT_STORE_H_
