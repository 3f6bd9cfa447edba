// Matchers and macros for Status and Result in tests.
#ifndef ROWFS_TESTS_SUPPORT_STATUS_MATCHERS_H_
#define ROWFS_TESTS_SUPPORT_STATUS_MATCHERS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "storage/base/status.h"

namespace rowfs {

inline const Status& StatusOf(const Status& status) { return status; }
template <typename T>
Status StatusOf(const Result<T>& result) {
  return result.status();
}

MATCHER(IsOk, "is OK") {
  const Status status = StatusOf(arg);
  if (!status.ok()) *result_listener << status.message();
  return status.ok();
}

MATCHER_P(HasCode, code, "has the code " + ::testing::PrintToString(code)) {
  const Status status = StatusOf(arg);
  *result_listener << status.message();
  return status.code() == code;
}

#define ASSERT_OK(expr) ASSERT_THAT((expr), ::rowfs::IsOk())
#define EXPECT_OK(expr) EXPECT_THAT((expr), ::rowfs::IsOk())
#define ASSERT_OK_AND_ASSIGN(lhs, expr) \
  ASSERT_OK_AND_ASSIGN_(ROWFS_CONCAT(result_, __COUNTER__), lhs, expr)
#define ASSERT_OK_AND_ASSIGN_(r, lhs, expr)    \
  auto r = (expr);                             \
  ASSERT_TRUE(r.ok()) << r.status().message(); \
  lhs = std::move(r).value()

}  // namespace rowfs
#endif  // ROWFS_TESTS_SUPPORT_STATUS_MATCHERS_H_
