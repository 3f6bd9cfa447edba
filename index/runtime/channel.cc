#include "index/runtime/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "index/runtime/protocol.h"
#include "storage/base/clock.h"

namespace rowfs {
namespace {

Status SystemError(const char* what) {
  const int number = errno;
  return Status(
      number == EMFILE || number == ENFILE || number == ENOMEM
          ? Code::kResourceExhausted
          : Code::kUnavailable,
      std::string(what) + ": " + std::generic_category().message(number));
}

// Wait until `socket` can be read. False when the deadline passed.
Result<bool> WaitReadable(int socket, int64_t deadline_ns) {
  RealClock clock;
  while (true) {
    int timeout_ms = -1;
    if (deadline_ns != 0) {
      const int64_t left_ns = deadline_ns - clock.MonotonicNs();
      if (left_ns <= 0) return false;
      timeout_ms = static_cast<int>(
          std::min<int64_t>((left_ns + 999'999) / 1'000'000, 1 << 30));
    }
    pollfd waiting = {socket, POLLIN, 0};
    const int ready = poll(&waiting, 1, timeout_ms);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return SystemError("poll");
  }
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    Reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Fd::Reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

SharedRegion::~SharedRegion() {
  if (data_ != nullptr) munmap(data_, size_);
}

SharedRegion::SharedRegion(SharedRegion&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

SharedRegion& SharedRegion::operator=(SharedRegion&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Result<Fd> SharedRegion::Make(uint64_t size) {
  Fd fd(memfd_create("rowfs", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd.get() < 0) return SystemError("memfd_create");
  if (ftruncate(fd.get(), static_cast<off_t>(size)) != 0) {
    return SystemError("ftruncate");
  }
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (fcntl(fd.get(), F_ADD_SEALS, seals) != 0) return SystemError("seal");
  return fd;
}

Result<SharedRegion> SharedRegion::Map(int fd, uint64_t size, Access access) {
  const int protection =
      access == Access::kWrite ? PROT_READ | PROT_WRITE : PROT_READ;
  void* data = mmap(nullptr, size, protection, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) return SystemError("mmap");
  SharedRegion region;
  region.data_ = static_cast<std::byte*>(data);
  region.size_ = size;
  return region;
}

void SharedRegion::Release(uint64_t keep_bytes) {
  if (keep_bytes >= size_) return;
  madvise(data_ + keep_bytes, size_ - keep_bytes, MADV_REMOVE);
}

Result<std::pair<Fd, Fd>> MakeSocketPair() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
    return SystemError("socketpair");
  }
  return std::pair<Fd, Fd>(Fd(fds[0]), Fd(fds[1]));
}

Status SendFrame(int socket, ByteSpan frame) {
  while (true) {
    const ssize_t sent =
        send(socket, frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return Status();
    if (errno != EINTR) return SystemError("send");
  }
}

Result<ByteSpan> ReceiveFrame(int socket, int64_t deadline_ns, Bytes* buffer) {
  // One byte more, so that a frame that was too large does not look complete.
  buffer->resize(kFrameBytesMax + 1);
  while (true) {
    ROWFS_ASSIGN_OR_RETURN(const bool readable,
                           WaitReadable(socket, deadline_ns));
    if (!readable) return Status(Code::kDeadlineExceeded, "no answer in time");
    const ssize_t got =
        recv(socket, buffer->data(), buffer->size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return SystemError("recv");
    if (got == 0) return Status(Code::kUnavailable, "the other side is gone");
    const auto size = static_cast<size_t>(got);
    if (size > kFrameBytesMax) {
      return Status(Code::kCorruption, "frame is too large");
    }
    return ByteSpan(*buffer).first(size);
  }
}

}  // namespace rowfs
