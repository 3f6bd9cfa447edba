// A second processor for one call: its tasks are done by the caller and by one
// helper thread of the process, whoever comes first. On one processor, or where
// no thread can be had, the caller does them all.
//
// Add, RunOne and Finish are for one thread; tasks run on it and on the helper.
#ifndef ROWFS_INDEX_PLUGINS_COMMON_BESIDE_H_
#define ROWFS_INDEX_PLUGINS_COMMON_BESIDE_H_

#include <cstddef>
#include <exception>
#include <functional>

namespace rowfs::plugin {

class Beside {
 public:
  // `lane` is 0 on the caller's thread and 1 on the helper's.
  using Task = std::function<void(size_t lane)>;
  static constexpr size_t kLanes = 2;

  Beside() = default;
  // Waits for tasks that run; forgets the others.
  ~Beside();
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  void Add(Task task);
  // Tasks nobody has begun.
  size_t waiting() const;
  // Do one of these here; false when there is none.
  bool RunOne();
  // Until all are done. Throws what the first failed task threw.
  void Finish();

 private:
  friend class Helper;
  // Under the helper's lock.
  size_t waiting_ = 0;
  size_t running_ = 0;
  std::exception_ptr error_;
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_COMMON_BESIDE_H_
