#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/run_command.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Usage, EveryCommandExplainsItself) {
  for (const Command& command : Commands()) {
    const CommandResult result =
        RunRowfs({std::string(command.name), "--help"});

    EXPECT_EQ(result.code, kExitDone);
    EXPECT_THAT(result.out, HasSubstr(std::string(command.operands)));
    for (const Flag& flag : command.flags) {
      EXPECT_THAT(result.out, HasSubstr(std::string(flag.name)));
    }
  }
}

TEST(Usage, SuggestsTheNearestCommandAndOption) {
  const CommandResult command = RunRowfs({"muont"});
  EXPECT_EQ(command.code, kExitUsage);
  EXPECT_THAT(command.err, HasSubstr("did you mean mount?"));

  const CommandResult option = RunRowfs({"info", "x", "--jsn"});
  EXPECT_EQ(option.code, kExitUsage);
  EXPECT_THAT(option.err, HasSubstr("did you mean --json?"));
}

TEST(Usage, ReportsAFailureInOneLineOnStderrAlone) {
  const CommandResult result = RunRowfs({"info", "/nowhere/at\nall"});

  EXPECT_EQ(result.code, kExitFailure);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
  EXPECT_THAT(result.err, HasSubstr("rowfs: "));
}

TEST(Usage, TakesOptionsBehindOperands) {
  const Flag flags[] = {{"--a", "", ""}, {"--b", "X", ""}};
  const std::string words[] = {"one", "--b=1", "two", "--a", "--", "--b"};

  ASSERT_OK_AND_ASSIGN(const Args args, ParseArgs(flags, words));

  EXPECT_EQ(args.operands, (std::vector<std::string>{"one", "two", "--b"}));
  EXPECT_EQ(args.Get("--b"), "1");
  EXPECT_TRUE(args.Has("--a"));
}

TEST(Usage, RefusesAnOptionGivenTwiceOrWithoutItsValue) {
  const Flag flags[] = {{"--b", "X", ""}};
  const std::string twice[] = {"--b", "1", "--b", "2"};
  const std::string missing[] = {"--b"};

  EXPECT_THAT(ParseArgs(flags, twice), HasCode(Code::kInvalidArgument));
  EXPECT_THAT(ParseArgs(flags, missing), HasCode(Code::kInvalidArgument));
}

TEST(Usage, AValueThatAnOptionRulesOutIsUsageAndNamesTheOption) {
  const std::vector<std::vector<std::string>> calls = {
      {"ls", "x", "--rows", "wide"},
      {"ls", "x", "--frames", "tga"},
      {"ls", "x", "--memory", "many"},
      {"ls", "x", "--memory", "-1"},
      {"ls", "x", "--memory", "18446744073709551616"},
      {"ls", "/", "--format", "zzz"},
      {"mount", "x", "y", "--exact-stat", "guess"},
      {"mount", "x", "y", "--follow", "soon"},
      {"mount", "x", "y", "--umask", "999"},
      {"ingest", "x", "--output", "y", "--layout", "both"},
      {"ingest", "x"},
      {"read-blob", "x", "--column", "c"},
      {"scan", "x"},
      {"extract-frame", "x", "--column", "c", "--row", "0", "--time", "abc",
       "--output", "f.jpg"},
      {"extract-frame", "x", "--column", "c", "--row", "0", "--frame", "0",
       "--output", "f.tga"},
      {"extract-frame", "x", "--column", "c", "--row", "0", "--frame", "0",
       "--format", "gif", "--output", "f"},
  };
  for (const std::vector<std::string>& words : calls) {
    const CommandResult result = RunRowfs(words);

    EXPECT_EQ(result.code, kExitUsage) << words[0] << ": " << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr("--"));
  }
}

TEST(Usage, EmptyOperandsAreErrorsAsOthers) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"umount", ""},
        {"info", ""},
        {"index", "build", ""},
        {"verify", ""},
        {"ingest", "", "--output", "x"},
        {"scan", "", "--output", "x.jsonl"}}) {
    const CommandResult result = RunRowfs(words);

    EXPECT_EQ(result.code, kExitFailure) << words[0];
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
    EXPECT_THAT(result.err, Not(HasSubstr("internal"))) << words[0];
  }
}

TEST(Usage, HelpWithACommandExplainsIt) {
  const CommandResult all = RunRowfs({"help"});
  const CommandResult one = RunRowfs({"help", "mount"});

  EXPECT_EQ(all.out, RunRowfs({"--help"}).out);
  EXPECT_EQ(one.code, kExitDone);
  EXPECT_EQ(one.out, RunRowfs({"mount", "--help"}).out);
}

TEST(Usage, EveryCommandThatReadsASourceTakesTheSameStoreOptions) {
  for (const Command& command : Commands()) {
    const auto has = [&](std::string_view name) {
      return std::any_of(command.flags.begin(), command.flags.end(),
                         [&](const Flag& flag) { return flag.name == name; });
    };
    if (!has("--allow-external")) continue;

    for (const char* name : {"--cache-dir", "--memory", "--offline", "--trace",
                             "--ca-file", "--hedge"}) {
      EXPECT_TRUE(has(name)) << command.name << " " << name;
    }
  }
}

}  // namespace
}  // namespace rowfs
