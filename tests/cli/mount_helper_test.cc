#include "fs/cli/mount_helper.h"

#include <gmock/gmock.h>

#include "fs/cli/command.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Flag kFlags[] = {{"--rows", "flat|sharded|auto", ""},
                           {"--name-column", "C", ""},
                           {"--allow-other", "", ""},
                           {"--view", "NAME=FILE", "", true}};

Result<std::vector<std::string>> Translate(std::vector<std::string> words) {
  return TranslateMountHelper(kFlags, words);
}

TEST(MountHelper, OptionsOfFstabBecomeFlags) {
  ASSERT_OK_AND_ASSIGN(
      const auto words,
      Translate({"/data/a.lance@v2", "/mnt", "-o",
                 "rw,noauto,rows=flat,allow_other,name_column=id,"
                 "x-systemd.automount,nosuid,view=best=/b\\,c.txt"}));

  EXPECT_THAT(words, ElementsAre("/data/a.lance@v2", "/mnt", "--rows=flat",
                                 "--allow-other", "--name-column=id", "-o",
                                 "nosuid", "--view=best=/b,c.txt"));
}

TEST(MountHelper, LettersOfMountAreTaken) {
  ASSERT_OK_AND_ASSIGN(
      const auto words,
      Translate({"a", "/mnt", "-sfnv", "-t", "rowfs", "-norows=flat,nodev"}));

  EXPECT_THAT(words, ElementsAre("a", "/mnt", "--rows=flat", "-o", "nodev"));
}

TEST(MountHelper, UnknownOptionsAreNamed) {
  const auto unknown = Translate({"a", "/mnt", "-o", "rosw=flat"});
  const auto no_value = Translate({"a", "/mnt", "-o", "rows"});
  const auto a_value = Translate({"a", "/mnt", "-o", "allow_other=1"});

  EXPECT_THAT(unknown, HasCode(Code::kInvalidArgument));
  EXPECT_THAT(std::string(unknown.status().message()), HasSubstr("rosw=flat"));
  EXPECT_THAT(no_value, HasCode(Code::kInvalidArgument));
  EXPECT_THAT(a_value, HasCode(Code::kInvalidArgument));
}

}  // namespace
}  // namespace rowfs
