#include "fs/fuse/blocking.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

namespace rowfs {
namespace {

// A request that a pool thread or an interrupt answers, whoever is first.
struct Pending {
  std::atomic<bool> taken{false};
};

// Whether the asking thread is about to die. Any signal interrupts a request;
// answering EINTR to a process that merely got a timer tick would surprise it.
bool IsDying(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  constexpr uint64_t kKillBit = uint64_t{1} << 8;
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("SigPnd:")) continue;
    return (std::stoull(line.substr(7), nullptr, 16) & kKillBit) != 0;
  }
  return false;
}

void OnInterrupt(fuse_req_t request, void* data) {
  if (!IsDying(fuse_req_ctx(request)->pid)) return;
  auto* pending = static_cast<Pending*>(data);
  // After this line `pending` may be gone.
  if (!pending->taken.exchange(true)) fuse_reply_err(request, EINTR);
}

}  // namespace

void BlockingPool::Run(Request request,
                       std::function<std::function<void(Request)>()> work) {
  auto pending = std::make_shared<Pending>();
  fuse_req_t raw = request.Take();
  // May call OnInterrupt here and now.
  fuse_req_interrupt_func(raw, &OnInterrupt, pending.get());
  auto task = [raw, pending, work = std::move(work)] {
    std::function<void(Request)> answer;
    try {
      if (!pending->taken) answer = work();
    } catch (...) {
      // Request's destructor below answers EIO.
    }
    if (pending->taken.exchange(true)) return;
    // Waits for an OnInterrupt that is running, so that it still has `pending`.
    fuse_req_interrupt_func(raw, nullptr, nullptr);
    Request own(raw);
    try {
      if (answer) answer(std::move(own));
    } catch (...) {
    }
  };
  if (pool_.TrySubmit(task)) return;
  if (pending->taken.exchange(true)) return;
  fuse_req_interrupt_func(raw, nullptr, nullptr);
  fuse_reply_err(raw, EAGAIN);
}

}  // namespace rowfs
