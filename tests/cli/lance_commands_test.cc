// Changing and looking after Lance datasets, with the commands a person types.
#include <filesystem>
#include <fstream>

#include "tests/support/json_answer.h"
#include "tests/support/run_command.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

using ::testing::HasSubstr;
namespace path = std::filesystem;

// Ten rows, file_name "0.txt" to "9.txt", written as two fragments.
class LanceCommands : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* half : {"a", "b"}) {
      const std::string folder = dir_ / half;
      path::create_directory(folder);
      for (int i = 0; i < 5; ++i) {
        const int number = half[0] == 'a' ? i : 5 + i;
        std::ofstream(folder + "/" + std::to_string(number) + ".txt") << number;
      }
      const CommandResult written =
          RunRowfs({half[0] == 'a' ? "ingest" : "append", folder, "--output",
                    dataset()});
      ASSERT_EQ(written.code, kExitDone) << written.err;
    }
  }

  std::string dataset() const { return dir_ / "d.lance"; }
  // The names of all rows, one character each.
  std::string Names(const std::string& version = "") const {
    const Json info = Parsed(RunRowfs({"info", dataset() + version, "--json"}));
    std::string names;
    for (uint64_t row = 0; row < Number(info, "rows"); ++row) {
      names += RunRowfs({"cat", dataset() + version,
                         "rows/" + std::to_string(row) + "/file_name.txt"})
                   .out.substr(0, 1);
    }
    return names;
  }

  TempDir dir_;
};

TEST_F(LanceCommands, DeleteMakesAVersionWithoutTheRows) {
  const Json json =
      Parsed(RunRowfs({"delete", dataset(), "--where", "0,3-4,8-", "--json"}));

  EXPECT_EQ(Number(json, "deleted"), 5U);
  EXPECT_EQ(Number(json, "version"), 3U);
  EXPECT_EQ(Names(), "12567");
  EXPECT_EQ(Names("@v2"), "0123456789");
}

TEST_F(LanceCommands, DeleteTakesRowsFromAFile) {
  std::ofstream(dir_ / "rows") << "1\n\n7-8\r\n";

  const CommandResult result =
      RunRowfs({"delete", dataset(), "--where", "@" + (dir_ / "rows")});

  EXPECT_EQ(result.code, kExitDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("deleted 3 rows"));
  EXPECT_EQ(Names(), "0234569");
}

TEST_F(LanceCommands, DeleteChangesNothingWhenARowIsNotThere) {
  std::ofstream(dir_ / "rows") << "1\n10\n";

  const CommandResult result =
      RunRowfs({"delete", dataset(), "--where", "@" + (dir_ / "rows")});

  EXPECT_EQ(result.code, kExitFailure);
  EXPECT_THAT(result.err, HasSubstr("line 2: row 10: there are 10 rows"));
  EXPECT_EQ(Names(), "0123456789");
  EXPECT_EQ(RunRowfs({"delete", dataset(), "--where", "1-x"}).code, kExitUsage);
  EXPECT_EQ(RunRowfs({"delete", dataset()}).code, kExitUsage);
}

TEST_F(LanceCommands, DeleteMeansTheRowNumbersOfTheVersionNamed) {
  ASSERT_EQ(RunRowfs({"delete", dataset(), "--where", "0"}).code, kExitDone);

  const CommandResult result =
      RunRowfs({"delete", dataset() + "@v2", "--where", "7"});

  EXPECT_EQ(result.code, kExitDone) << result.err;
  EXPECT_EQ(Names(), "12345689");
}

TEST_F(LanceCommands, CompactJoinsFragmentsAndDropsDeletedRows) {
  ASSERT_EQ(RunRowfs({"delete", dataset(), "--where", "2,6"}).code, kExitDone);

  const Json json = Parsed(RunRowfs({"compact", dataset(), "--json"}));

  EXPECT_EQ(Number(json, "version"), 4U);
  EXPECT_EQ(Number(json, "fragments_before"), 2U);
  EXPECT_EQ(Number(json, "fragments_after"), 1U);
  EXPECT_EQ(Number(json, "rows"), 8U);
  EXPECT_EQ(Names(), "01345789");
  EXPECT_THAT(RunRowfs({"compact", dataset()}).out, HasSubstr("nothing to do"));
  const CommandResult old = RunRowfs({"compact", dataset() + "@v1"});
  EXPECT_EQ(old.code, kExitUsage);
  EXPECT_THAT(old.err, HasSubstr("the newest is 4"));
}

TEST_F(LanceCommands, GcRemovesOnlyWhatNoVersionNeedsAfterTheGraceTime) {
  const std::string stray = dataset() + "/data/stray.lance";
  std::ofstream(stray) << "left by a killed writer";

  EXPECT_EQ(Number(Parsed(RunRowfs({"gc", dataset(), "--json"})), "files"), 0U);
  const Json dry = Parsed(
      RunRowfs({"gc", dataset(), "--grace", "0", "--dry-run", "--json"}));
  EXPECT_EQ(Number(dry, "files"), 1U);
  EXPECT_TRUE(path::exists(stray));

  const CommandResult result = RunRowfs({"gc", dataset(), "--grace", "0s"});

  EXPECT_EQ(result.code, kExitDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("data/stray.lance\nremoved 1 files, 23 B"));
  EXPECT_FALSE(path::exists(stray));
  EXPECT_EQ(Names(), "0123456789");
  EXPECT_EQ(RunRowfs({"gc", dataset(), "--grace", "soon"}).code, kExitUsage);
}

TEST_F(LanceCommands, VerifyExitsWithOneAndSaysWhatIsWrong) {
  EXPECT_THAT(RunRowfs({"verify", dataset()}).out,
              HasSubstr("d.lance: whole, 10 rows"));
  for (const auto& file : path::directory_iterator(dataset() + "/data")) {
    if (file.is_regular_file()) path::resize_file(file, 60);
  }

  const CommandResult plain = RunRowfs({"verify", dataset()});
  const CommandResult json = RunRowfs({"verify", dataset(), "--json"});

  EXPECT_EQ(plain.code, kExitFailure);
  EXPECT_THAT(plain.out, HasSubstr("fragment 0: "));
  EXPECT_THAT(plain.out, HasSubstr("2 findings"));
  EXPECT_EQ(json.code, kExitFailure);
  ASSERT_OK_AND_ASSIGN(const Json report, ParseJson(json.out));
  EXPECT_EQ(report.Find("findings")->items.size(), 2U);
  EXPECT_NE(report.Find("findings")->items[0].Find("what")->text, "");
}

TEST_F(LanceCommands, VerifyReadsFoldersToo) {
  EXPECT_THAT(RunRowfs({"verify", dir_ / "a"}).out, HasSubstr("whole, 5 rows"));
  EXPECT_EQ(RunRowfs({"verify", dir_ / "nowhere"}).code, kExitFailure);
}

TEST_F(LanceCommands, TagsNameVersions) {
  EXPECT_EQ(RunRowfs({"tag", "create", dataset() + "@v1", "first"}).code,
            kExitDone);
  EXPECT_EQ(RunRowfs({"tag", "create", dataset(), "now"}).code, kExitDone);

  EXPECT_EQ(RunRowfs({"tag", "list", dataset()}).out, "first\tv1\nnow\tv2\n");
  EXPECT_EQ(Names("@first"), "01234");
  const CommandResult again = RunRowfs({"tag", "create", dataset(), "first"});
  EXPECT_EQ(again.code, kExitFailure);
  EXPECT_THAT(again.err, HasSubstr("rowfs tag update"));

  EXPECT_EQ(RunRowfs({"tag", "update", dataset(), "first"}).code, kExitDone);
  EXPECT_EQ(Names("@first"), "0123456789");
  EXPECT_EQ(RunRowfs({"tag", "delete", dataset(), "now"}).code, kExitDone);
  const Json list = Parsed(RunRowfs({"tag", "list", dataset(), "--json"}));
  ASSERT_EQ(list.items.size(), 1U);
  EXPECT_EQ(list.items[0].Find("name")->text, "first");
  EXPECT_EQ(RunRowfs({"tag", "delete", dataset(), "now"}).code, kExitFailure);
  EXPECT_EQ(RunRowfs({"tag", "update", dataset(), "now"}).code, kExitFailure);
}

TEST_F(LanceCommands, TagRefusesVersionsAndNamesThatAreNone) {
  EXPECT_EQ(RunRowfs({"tag", "create", dataset() + "@v9", "x"}).code,
            kExitFailure);
  EXPECT_EQ(RunRowfs({"tag", "create", dataset(), "../x"}).code, kExitUsage);
  EXPECT_EQ(RunRowfs({"tag", "move", dataset(), "x"}).code, kExitUsage);
  EXPECT_EQ(RunRowfs({"tag", "create", dataset()}).code, kExitUsage);
}

TEST_F(LanceCommands, PathsMayHoldWhatMarksAVersion) {
  const std::string odd = dir_ / "a@b";
  path::create_directory(odd);
  path::rename(dataset(), odd + "/d.lance");

  const CommandResult deleted =
      RunRowfs({"delete", odd + "/d.lance@v1", "--where", "0"});

  EXPECT_EQ(deleted.code, kExitDone) << deleted.err;
  EXPECT_THAT(RunRowfs({"verify", odd + "/d.lance"}).out,
              HasSubstr("whole, 9 rows"));
  EXPECT_THAT(RunRowfs({"verify", odd + "/d.lance@dev/x"}).err,
              HasSubstr("no version, tag or branch \"dev/x\""));
}

TEST_F(LanceCommands, OnlyLanceDatasetsCanBeChanged) {
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"delete", dir_ / "a", "--where", "0"},
           {"compact", dir_ / "a"},
           {"gc", dir_ / "a"},
           {"tag", "list", dir_ / "a"}}) {
    const CommandResult result = RunRowfs(words);
    EXPECT_EQ(result.code, kExitFailure);
    EXPECT_THAT(result.err, HasSubstr("no Lance dataset"));
  }
}

}  // namespace
}  // namespace rowfs
