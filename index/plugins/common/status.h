// How the code of a plugin reports failure: a ROWFS_E_ code and a message. The
// plugin interface turns it into a rowfs_error. Plugins may not see
// storage/base, so this is their own, smaller twin of rowfs::Status.
//
// Values: copies are independent.
#ifndef ROWFS_INDEX_PLUGINS_COMMON_STATUS_H_
#define ROWFS_INDEX_PLUGINS_COMMON_STATUS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "index/abi/rowfs_plugin.h"

namespace rowfs::plugin {

class [[nodiscard]] Status {
 public:
  Status() = default;  // ROWFS_OK
  Status(int32_t code, std::string message)
      : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == ROWFS_OK; }
  int32_t code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  int32_t code_ = ROWFS_OK;
  std::string message_;
};

inline Status Invalid(std::string m) {
  return Status(ROWFS_E_INVALID, std::move(m));
}
inline Status Corrupt(std::string m) {
  return Status(ROWFS_E_CORRUPT, std::move(m));
}
inline Status Unsupported(std::string m) {
  return Status(ROWFS_E_UNSUPPORTED, std::move(m));
}
inline Status NotFound(std::string m) {
  return Status(ROWFS_E_NOT_FOUND, std::move(m));
}
inline Status Limit(std::string m) {
  return Status(ROWFS_E_LIMIT, std::move(m));
}
inline Status Internal(std::string m) {
  return Status(ROWFS_E_INTERNAL, std::move(m));
}

template <typename T>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): `return value;` is the point.
  Result(T value) : value_(std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): so is `return status;`.
  Result(Status error) : error_(std::move(error)) {}

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return error_; }
  const T& value() const& { return *value_; }
  T& value() & { return *value_; }
  T&& value() && { return *std::move(value_); }

 private:
  std::optional<T> value_;
  Status error_;
};

#define PLUGIN_CONCAT_(a, b) a##b
#define PLUGIN_CONCAT(a, b) PLUGIN_CONCAT_(a, b)
#define PLUGIN_RETURN_IF_ERROR(expr)                              \
  do {                                                            \
    if (::rowfs::plugin::Status s_ = (expr); !s_.ok()) return s_; \
  } while (false)
#define PLUGIN_ASSIGN_OR_RETURN(lhs, expr) \
  PLUGIN_ASSIGN_OR_RETURN_(PLUGIN_CONCAT(result_, __COUNTER__), lhs, expr)
#define PLUGIN_ASSIGN_OR_RETURN_(r, lhs, expr) \
  auto r = (expr);                             \
  if (!r.ok()) return r.status();              \
  lhs = std::move(r).value()

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_COMMON_STATUS_H_
