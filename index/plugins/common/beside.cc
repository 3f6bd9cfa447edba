#include "index/plugins/common/beside.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace rowfs::plugin {

// The thread, the tasks of all calls, and the lock over both.
class Helper {
 public:
  static Helper& Get() {
    static Helper helper;
    return helper;
  }

  void Add(Beside* call, Beside::Task task) {
    {
      const std::lock_guard lock(mu_);
      if (!started_) Start();
      queue_.push_back({call, std::move(task)});
      ++call->waiting_;
    }
    added_.notify_one();
  }

  size_t Waiting(const Beside& call) {
    const std::lock_guard lock(mu_);
    return call.waiting_;
  }

  bool RunOne(Beside* call) {
    std::unique_lock lock(mu_);
    auto task = Take(call);
    if (!task) return false;
    Run(&lock, *task, 0);
    return true;
  }

  void Wait(Beside* call) {
    std::unique_lock lock(mu_);
    ended_.wait(lock, [call] { return call->running_ == 0; });
  }

  void Forget(Beside* call) {
    {
      const std::lock_guard lock(mu_);
      while (Take(call)) --call->running_;
    }
    Wait(call);
  }

 private:
  struct Item {
    Beside* call;
    Beside::Task task;
  };

  Helper() = default;
  ~Helper() {
    {
      const std::lock_guard lock(mu_);
      stop_ = true;
    }
    added_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  void Start() {
    started_ = true;
    if (std::thread::hardware_concurrency() == 1) return;
    try {
      thread_ = std::thread([this] { Serve(); });
    } catch (const std::system_error&) {
      // Without a thread the callers do everything.
    }
  }

  void Serve() {
    std::unique_lock lock(mu_);
    while (!stop_) {
      if (auto item = Take(nullptr)) {
        Run(&lock, *item, 1);
      } else {
        added_.wait(lock);
      }
    }
  }

  // The oldest task of `call`, of any if that is null.
  std::optional<Item> Take(const Beside* call) {
    auto at = queue_.begin();
    while (at != queue_.end() && call != nullptr && at->call != call) ++at;
    if (at == queue_.end()) return std::nullopt;
    Item item = std::move(*at);
    queue_.erase(at);
    --item.call->waiting_;
    ++item.call->running_;
    return item;
  }

  void Run(std::unique_lock<std::mutex>* lock, const Item& item, size_t lane) {
    lock->unlock();
    std::exception_ptr error;
    try {
      item.task(lane);
    } catch (...) {
      error = std::current_exception();
    }
    lock->lock();
    if (error && !item.call->error_) item.call->error_ = error;
    --item.call->running_;
    ended_.notify_all();
  }

  std::mutex mu_;
  std::condition_variable added_;
  std::condition_variable ended_;
  std::deque<Item> queue_;
  std::thread thread_;
  bool started_ = false;
  bool stop_ = false;
};

Beside::~Beside() { Helper::Get().Forget(this); }

void Beside::Add(Task task) { Helper::Get().Add(this, std::move(task)); }

size_t Beside::waiting() const { return Helper::Get().Waiting(*this); }

bool Beside::RunOne() { return Helper::Get().RunOne(this); }

void Beside::Finish() {
  while (RunOne()) {
  }
  Helper::Get().Wait(this);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace rowfs::plugin
