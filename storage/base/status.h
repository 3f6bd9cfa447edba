// Status and Result<T>: how every fallible function in this project reports
// failure. There are no exceptions across a function boundary.
//
// Thread-safe: const methods may run concurrently; anything else needs
// external synchronisation.
#ifndef ROWFS_STORAGE_BASE_STATUS_H_
#define ROWFS_STORAGE_BASE_STATUS_H_

#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace rowfs {

// What the caller may do about it decides the code, not where it happened.
enum class Code : uint8_t {
  kOk,
  kInvalidArgument,    // fix the call
  kNotFound,           // there is no such thing
  kAlreadyExists,      // create lost against something that was there
  kOutOfRange,         // the object, table or media ends before that
  kCorruption,         // the bytes are wrong
  kUnsupported,        // the bytes are right, we cannot
  kChanged,            // not what it was when opened: open again
  kPermissionDenied,   // the store, or our own policy, says no
  kUnavailable,        // trying again may help
  kDeadlineExceeded,   // took longer than allowed
  kResourceExhausted,  // would need more memory or time than a limit allows
  kCancelled,          // the caller went away
  kInternal,           // our bug
};

class [[nodiscard]] Status {
 public:
  Status() = default;  // OK
  Status(Code code, std::string message)
      : rep_(std::make_shared<const Rep>(Rep{code, std::move(message)})) {
    assert(code != Code::kOk);
  }

  bool ok() const { return rep_ == nullptr; }
  Code code() const { return ok() ? Code::kOk : rep_->code; }
  std::string_view message() const {
    return ok() ? std::string_view("OK") : std::string_view(rep_->message);
  }
  // Return the same error with `context` in front: "context: message".
  Status With(std::string_view context) const {
    if (ok()) return *this;
    return Status(rep_->code, std::string(context) + ": " + rep_->message);
  }

 private:
  struct Rep {
    Code code;
    std::string message;
  };
  std::shared_ptr<const Rep> rep_;  // null means OK: an OK Status is free
};

template <typename T>
class [[nodiscard]] Result {
  static_assert(!std::is_same_v<T, Status>, "return Status itself");

 public:
  // NOLINTNEXTLINE(google-explicit-constructor): `return value;` is the point.
  Result(T value) : rep_(std::in_place_index<1>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): so is `return status;`.
  Result(Status error) : rep_(std::in_place_index<0>, std::move(error)) {
    assert(!std::get<0>(rep_).ok());
  }

  bool ok() const { return rep_.index() == 1; }
  Status status() const { return ok() ? Status() : std::get<0>(rep_); }
  const T& value() const& { return std::get<1>(rep_); }
  T& value() & { return std::get<1>(rep_); }
  T&& value() && { return std::get<1>(std::move(rep_)); }

 private:
  std::variant<Status, T> rep_;
};

#define ROWFS_CONCAT_(a, b) a##b
#define ROWFS_CONCAT(a, b) ROWFS_CONCAT_(a, b)
#define ROWFS_RETURN_IF_ERROR(expr)                       \
  do {                                                    \
    if (::rowfs::Status s_ = (expr); !s_.ok()) return s_; \
  } while (false)
#define ROWFS_ASSIGN_OR_RETURN(lhs, expr) \
  ROWFS_ASSIGN_OR_RETURN_(ROWFS_CONCAT(result_, __COUNTER__), lhs, expr)
#define ROWFS_ASSIGN_OR_RETURN_(r, lhs, expr) \
  auto r = (expr);                            \
  if (!r.ok()) return r.status();             \
  lhs = std::move(r).value()

}  // namespace rowfs
#endif  // ROWFS_STORAGE_BASE_STATUS_H_
