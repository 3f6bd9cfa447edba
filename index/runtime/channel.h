// One end of the connection between the parent and a worker: a datagram socket
// for frames and two shared memory regions.
//
// Not thread-safe: one caller at a time.
#ifndef ROWFS_INDEX_RUNTIME_CHANNEL_H_
#define ROWFS_INDEX_RUNTIME_CHANNEL_H_

#include <cstdint>
#include <utility>

#include "storage/base/bytes.h"
#include "storage/base/status.h"

namespace rowfs {

// An owned file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { Reset(); }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  void Reset();
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

// Shared memory mapped into this process. It can neither shrink nor grow, so
// that no access can fault, whatever the other side does.
class SharedRegion {
 public:
  enum class Access { kRead, kWrite };

  SharedRegion() = default;
  ~SharedRegion();
  SharedRegion(SharedRegion&& other) noexcept;
  SharedRegion& operator=(SharedRegion&& other) noexcept;

  // Make a region of `size` bytes, without memory until it is touched.
  // kResourceExhausted when the system gives none.
  static Result<Fd> Make(uint64_t size);
  // Map the first `size` bytes of it.
  static Result<SharedRegion> Map(int fd, uint64_t size, Access access);

  ByteSpan bytes() const { return {data_, size_}; }
  MutableByteSpan writable() { return {data_, size_}; }
  // Give the memory behind `keep_bytes` back; it reads as zeros afterwards.
  void Release(uint64_t keep_bytes);

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// Make a connected pair of datagram sockets, closed on exec.
Result<std::pair<Fd, Fd>> MakeSocketPair();

// Send one frame without waiting. kUnavailable when the other side is gone or
// does not read: each side waits for an answer, so nothing ever queues up.
Status SendFrame(int socket, ByteSpan frame);
// Receive one frame of at most kFrameBytesMax into `buffer`, waiting until
// `deadline_ns` of the monotonic clock (0: for ever). kUnavailable when the
// other side is gone, kDeadlineExceeded, kCorruption for a frame that is
// larger.
Result<ByteSpan> ReceiveFrame(int socket, int64_t deadline_ns, Bytes* buffer);

}  // namespace rowfs
#endif  // ROWFS_INDEX_RUNTIME_CHANNEL_H_
