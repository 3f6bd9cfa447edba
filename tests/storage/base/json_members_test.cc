#include "storage/base/json_members.h"

#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

TEST(JsonMembers, WhatIsNoStringIsAnEmptyOne) {
  ASSERT_OK_AND_ASSIGN(const Json json,
                       ParseJson(R"({"a": "text", "b": 7, "c": null})"));
  EXPECT_EQ(StringMember(json, "a"), "text");
  EXPECT_EQ(StringMember(json, "b"), "");
  EXPECT_EQ(StringMember(json, "c"), "");
  EXPECT_EQ(StringMember(json, "d"), "");
  EXPECT_EQ(StringMember(Json::Int(3), "a"), "");
}

}  // namespace
}  // namespace rowfs
