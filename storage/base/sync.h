// Mutex, MutexLock and CondVar that clang's -Wthread-safety understands. All
// locking in the project goes through these three.
//
// Rules: every mutable field is GUARDED_BY one Mutex, at most one Mutex a
// class, and none is held across I/O, a plugin call, a callback or a FUSE
// reply.
#ifndef ROWFS_STORAGE_BASE_SYNC_H_
#define ROWFS_STORAGE_BASE_SYNC_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define ROWFS_TS(x) __attribute__((x))
#else
#define ROWFS_TS(x)
#endif
#define GUARDED_BY(m) ROWFS_TS(guarded_by(m))
#define REQUIRES(...) ROWFS_TS(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) ROWFS_TS(locks_excluded(__VA_ARGS__))

namespace rowfs {

class ROWFS_TS(capability("mutex")) Mutex {
 public:
  void Lock() ROWFS_TS(acquire_capability()) { m_.lock(); }
  void Unlock() ROWFS_TS(release_capability()) { m_.unlock(); }

 private:
  friend class CondVar;
  std::mutex m_;
};

// Hold a Mutex for a scope.
class ROWFS_TS(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& m) ROWFS_TS(acquire_capability(m)) : m_(m) {
    m_.Lock();
  }
  ~MutexLock() ROWFS_TS(release_capability()) { m_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& m_;
};

class CondVar {
 public:
  // Wait for a notification; may wake without one, so call it in a loop.
  void Wait(Mutex& m) REQUIRES(m) {
    std::unique_lock lock(m.m_, std::adopt_lock);
    cv_.wait(lock);
    lock.release();
  }
  // The same, for `timeout` at most; false when the time ran out.
  bool WaitFor(Mutex& m, std::chrono::milliseconds timeout) REQUIRES(m) {
    std::unique_lock lock(m.m_, std::adopt_lock);
    const bool woken =
        cv_.wait_for(lock, timeout) == std::cv_status::no_timeout;
    lock.release();
    return woken;
  }
  void NotifyOne() { cv_.notify_one(); }
  void NotifyAll() { cv_.notify_all(); }

 private:
  std::condition_variable cv_;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_BASE_SYNC_H_
