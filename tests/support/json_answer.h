// Answers of commands as JSON.
//
// One thread.
#ifndef ROWFS_TESTS_SUPPORT_JSON_ANSWER_H_
#define ROWFS_TESTS_SUPPORT_JSON_ANSWER_H_

#include <gtest/gtest.h>

#include "storage/base/json.h"
#include "tests/support/run_command.h"

namespace rowfs {

// What a command that has to succeed printed.
inline Json Parsed(const CommandResult& result) {
  EXPECT_EQ(result.code, kExitDone) << result.err;
  const auto json = ParseJson(result.out);
  EXPECT_TRUE(json.ok()) << result.out;
  return json.ok() ? json.value() : Json();
}

// UINT64_MAX where there is none.
inline uint64_t Number(const Json& json, std::string_view key) {
  const Json* value = json.Find(key);
  return value == nullptr ? UINT64_MAX : value->AsUint().value_or(UINT64_MAX);
}

}  // namespace rowfs
#endif  // ROWFS_TESTS_SUPPORT_JSON_ANSWER_H_
