#include "fs/fuse/fuse_loop.h"

#include <poll.h>
#include <signal.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>

namespace rowfs {
namespace {

// Looking whether more is waiting costs a system call: only now and then.
constexpr uint32_t kSampleEvery = 4;
// So many looks in a row that found more waiting bring a helper in, so many
// that found nothing send it home.
constexpr int kLooksToGrow = 8;
constexpr int kLooksToShrink = 8;

// Interrupts a read; the handler has nothing to do.
constexpr int kWakeSignal = SIGUSR1;
void OnWake(int) {}

}  // namespace

FuseLoop::FuseLoop(fuse_session* session, size_t threads_max,
                   std::function<void()> ended)
    : session_(session),
      threads_max_(threads_max),
      ended_(std::move(ended)),
      pool_(threads_max, threads_max) {}

FuseLoop::~FuseLoop() { Stop(); }

void FuseLoop::Start() {
  struct sigaction action = {};
  action.sa_handler = OnWake;  // without SA_RESTART: read returns EINTR
  sigaction(kWakeSignal, &action, nullptr);
  ++running_;
  pool_.Submit([this] { Serve(false); });
}

void FuseLoop::Stop() {
  stopping_ = true;
  const MutexLock lock(mu_);
  while (!threads_.empty()) {
    // A thread may be about to read when its signal comes: ask again.
    for (const pthread_t thread : threads_) pthread_kill(thread, kWakeSignal);
    left_.WaitFor(mu_, std::chrono::milliseconds(10));
  }
}

void FuseLoop::Enter() {
  const MutexLock lock(mu_);
  threads_.insert(pthread_self());
}

void FuseLoop::Leave() {
  const MutexLock lock(mu_);
  threads_.erase(threads_.find(pthread_self()));
  --running_;
  left_.NotifyAll();
}

bool FuseLoop::HasBacklog() const {
  pollfd fd = {fuse_session_fd(session_), POLLIN, 0};
  return poll(&fd, 1, 0) == 1 && (fd.revents & POLLIN) != 0;
}

void FuseLoop::Serve(bool helper) {
  Enter();
  fuse_buf buffer = {};
  uint32_t served = 0;
  int looks = 0;  // in a row: positive found more, negative found nothing
  while (!stopping_ && fuse_session_exited(session_) == 0) {
    const int size = fuse_session_receive_buf(session_, &buffer);
    if (size == -EINTR || size == -EAGAIN) continue;
    if (size <= 0) break;  // unmounted
    fuse_session_process_buf(session_, &buffer);
    if (++served % kSampleEvery != 0) continue;
    looks = HasBacklog() ? (looks > 0 ? looks + 1 : 1)
                         : (looks < 0 ? looks - 1 : -1);
    if (helper && looks <= -kLooksToShrink) break;
    if (looks < kLooksToGrow) continue;
    looks = 0;
    if (++running_ > threads_max_ ||
        !pool_.TrySubmit([this] { Serve(true); })) {
      --running_;
    }
  }
  free(buffer.mem);
  if (!helper && !stopping_) ended_();
  Leave();
}

}  // namespace rowfs
