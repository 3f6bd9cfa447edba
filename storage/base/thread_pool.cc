#include "storage/base/thread_pool.h"

#include <utility>

namespace rowfs {

ThreadPool::ThreadPool(size_t thread_count, size_t queue_length_max)
    : thread_count_(thread_count), queue_length_max_(queue_length_max) {}

ThreadPool::~ThreadPool() {
  std::vector<std::thread> threads;
  {
    const MutexLock lock(mu_);
    stopping_ = true;
    threads.swap(threads_);
  }
  not_empty_.NotifyAll();
  for (std::thread& thread : threads) thread.join();
}

void ThreadPool::Start() {
  while (threads_.size() < thread_count_) {
    threads_.emplace_back([this] { Run(); });
  }
}

void ThreadPool::Submit(std::function<void()> task) {
  {
    const MutexLock lock(mu_);
    Start();
    while (queue_.size() >= queue_length_max_) not_full_.Wait(mu_);
    queue_.push_back(std::move(task));
  }
  not_empty_.NotifyOne();
}

bool ThreadPool::TrySubmit(std::function<void()> task) {
  {
    const MutexLock lock(mu_);
    Start();
    if (queue_.size() >= queue_length_max_) return false;
    queue_.push_back(std::move(task));
  }
  not_empty_.NotifyOne();
  return true;
}

void ThreadPool::Run() {
  for (;;) {
    std::function<void()> task;
    {
      const MutexLock lock(mu_);
      while (queue_.empty() && !stopping_) not_empty_.Wait(mu_);
      if (queue_.empty()) return;
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    not_full_.NotifyOne();
    task();
  }
}

Status RunAll(ThreadPool& pool,
              std::span<const std::function<Status()>> tasks) {
  if (tasks.empty()) return {};
  std::vector<Status> results(tasks.size());
  Mutex mu;
  CondVar done;
  size_t pending = tasks.size() - 1;
  for (size_t i = 1; i < tasks.size(); ++i) {
    pool.Submit([&, i] {
      Status status = tasks[i]();
      const MutexLock lock(mu);
      results[i] = std::move(status);
      --pending;
      done.NotifyOne();
    });
  }
  results[0] = tasks[0]();
  {
    const MutexLock lock(mu);
    while (pending > 0) done.Wait(mu);
  }
  for (Status& status : results) ROWFS_RETURN_IF_ERROR(std::move(status));
  return {};
}

}  // namespace rowfs
