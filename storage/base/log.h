// Leveled log lines to one sink: "level component: message". Libraries return
// errors; only an edge (a command, a FUSE operation, a worker pool) logs them.
// Never log a header value, a signed URL or a credential.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_BASE_LOG_H_
#define ROWFS_STORAGE_BASE_LOG_H_

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/sync.h"

namespace rowfs {

enum class LogLevel { kError, kWarn, kInfo, kDebug };

// The level named by ROWFS_LOG ("error", "warn", "info", "debug"); kWarn when
// it is unset or something else.
LogLevel LogLevelFromEnvironment();

class Logger {
 public:
  using Sink = std::function<void(std::string_view line)>;  // no newline

  Logger(LogLevel level, Sink sink) : level_(level), sink_(std::move(sink)) {}

  void Log(LogLevel level, std::string_view component, std::string_view message)
      EXCLUDES(mu_);
  // The newest lines, oldest first: what `.rowfs/log` shows.
  std::vector<std::string> Recent() const EXCLUDES(mu_);

 private:
  static constexpr size_t kRecentLinesMax = 1000;

  const LogLevel level_;
  const Sink sink_;
  mutable Mutex mu_;
  std::deque<std::string> recent_ GUARDED_BY(mu_);
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_BASE_LOG_H_
