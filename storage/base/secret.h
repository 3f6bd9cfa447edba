// A string that must not reach a log, a message or a command line: it has no
// operator<<, does not convert, and is wiped when it goes.
//
// A value; thread-safe to read.
#ifndef ROWFS_STORAGE_BASE_SECRET_H_
#define ROWFS_STORAGE_BASE_SECRET_H_

#include <string.h>

#include <string>
#include <utility>

namespace rowfs {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret() { ::explicit_bzero(value_.data(), value_.size()); }

  bool empty() const { return value_.empty(); }
  // For the one place that sends or signs with it.
  const std::string& Reveal() const { return value_; }

 private:
  std::string value_;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_BASE_SECRET_H_
