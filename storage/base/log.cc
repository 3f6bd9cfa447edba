#include "storage/base/log.h"

#include <cstdlib>

namespace rowfs {
namespace {

std::string_view Name(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return "error";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kDebug:
      return "debug";
  }
  return "?";
}

// A message may quote a name from a dataset: keep it on one line.
std::string OneLine(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return line;
}

}  // namespace

LogLevel LogLevelFromEnvironment() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read once, before threads start.
  const char* value = std::getenv("ROWFS_LOG");
  const std::string_view name = value == nullptr ? "" : value;
  for (const LogLevel level :
       {LogLevel::kError, LogLevel::kInfo, LogLevel::kDebug}) {
    if (name == Name(level)) return level;
  }
  return LogLevel::kWarn;
}

void Logger::Log(LogLevel level, std::string_view component,
                 std::string_view message) {
  if (level > level_) return;
  const std::string line = std::string(Name(level)) + " " +
                           std::string(component) + ": " + OneLine(message);
  {
    const MutexLock lock(mu_);
    recent_.push_back(line);
    if (recent_.size() > kRecentLinesMax) recent_.pop_front();
  }
  if (sink_) sink_(line);
}

std::vector<std::string> Logger::Recent() const {
  const MutexLock lock(mu_);
  return {recent_.begin(), recent_.end()};
}

}  // namespace rowfs
