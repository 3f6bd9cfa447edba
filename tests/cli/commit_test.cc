// Workers that write fragments, and the commit that publishes them.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/json_answer.h"
#include "tests/support/run_command.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

using ::testing::HasSubstr;
namespace path = std::filesystem;

std::string Slurp(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Commit : public ::testing::Test {
 protected:
  // A worker whose two files have one letter and a number as names; the second
  // is large enough for a sidecar. Returns its file of fragments.
  std::string Work(const std::string& letter, const std::string& verb) {
    const std::string folder = dir_ / letter;
    path::create_directory(folder);
    std::ofstream(folder + "/" + letter + "0.txt") << letter;
    std::ofstream(folder + "/" + letter + "1.txt")
        << std::string(100'000, letter[0]);
    const std::string file = dir_ / letter + ".json";
    const CommandResult result =
        RunRowfs({verb, folder, "--output", dataset(), "--fragments", file});
    EXPECT_EQ(result.code, kExitDone) << result.err;
    EXPECT_THAT(result.out, HasSubstr("`rowfs commit"));
    return file;
  }

  std::string dataset() const { return dir_ / "d.lance"; }
  CommandResult Publish(std::vector<std::string> files) const {
    files.insert(files.begin(), {"commit", dataset()});
    return RunRowfs(std::move(files));
  }
  // The first letter of every row's file.
  std::string Names() const {
    const Json info = Parsed(RunRowfs({"info", dataset(), "--json"}));
    std::string names;
    for (uint64_t row = 0; row < Number(info, "rows"); ++row) {
      names += RunRowfs({"cat", dataset(),
                         "rows/" + std::to_string(row) + "/file_name.txt"})
                   .out.substr(0, 1);
    }
    return names;
  }
  // `result` is one line with `text`, exit code 1, and no version more than
  // `versions`.
  void ExpectRefused(const CommandResult& result, const std::string& text,
                     size_t versions) const {
    EXPECT_EQ(result.code, kExitFailure);
    EXPECT_THAT(result.err, HasSubstr(text));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
    size_t there = 0;
    if (path::exists(dataset() + "/_versions")) {
      for (const auto& e : path::directory_iterator(dataset() + "/_versions")) {
        there += e.path().extension() == ".manifest" ? 1 : 0;
      }
    }
    EXPECT_EQ(there, versions);
  }

  TempDir dir_;
};

TEST_F(Commit, ThreeWorkersBecomeOneVersionInTheOrderOfTheFiles) {
  const std::string a = Work("a", "ingest");
  const std::string b = Work("b", "ingest");
  const std::string c = Work("c", "ingest");
  const CommandResult early = RunRowfs({"info", dataset()});
  EXPECT_EQ(early.code, kExitFailure);
  EXPECT_THAT(early.err, HasSubstr("`rowfs commit`"));

  const Json json = Parsed(Publish({c, a, b, "--json"}));

  EXPECT_EQ(Number(json, "version"), 1U);
  EXPECT_EQ(Number(json, "rows"), 6U);
  EXPECT_EQ(Number(json, "fragments"), 3U);
  EXPECT_EQ(Number(json, "files"), 3U);
  EXPECT_EQ(Names(), "ccaabb");
  EXPECT_EQ(RunRowfs({"verify", dataset()}).code, kExitDone);
  EXPECT_FALSE(path::is_empty(dataset() + "/_transactions"));
  const CommandResult text =
      RunRowfs({"read-blob", dataset(), "--column", "file", "--row", "3"});
  EXPECT_EQ(text.out, std::string(100'000, 'a'));
}

TEST_F(Commit, RowsAreAddedToADatasetThatIsThere) {
  ASSERT_EQ(Publish({Work("a", "ingest")}).code, kExitDone);
  const std::string b = Work("b", "append");
  const std::string c = Work("c", "append");
  EXPECT_EQ(Names(), "aa");

  EXPECT_THAT(Publish({b, c}).out, HasSubstr("wrote version 2 of"));

  EXPECT_EQ(Names(), "aabbcc");
  EXPECT_EQ(RunRowfs({"verify", dataset()}).code, kExitDone);
  const CommandResult late = RunRowfs(
      {"ingest", dir_ / "a", "--output", dataset(), "--fragments", dir_ / "x"});
  ExpectRefused(late, "`rowfs append` adds rows to it", 2);
  EXPECT_FALSE(path::exists(dir_ / "x"));
}

TEST_F(Commit, CommitsAtTheSameTimeBothLand) {
  const std::string a = Work("a", "ingest");
  const std::string b = Work("b", "ingest");
  std::vector<CommandResult> results(2);
  {
    std::jthread other([&] { results[0] = Publish({a}); });
    results[1] = Publish({b});
  }

  EXPECT_EQ(results[0].code, kExitDone) << results[0].err;
  EXPECT_EQ(results[1].code, kExitDone) << results[1].err;
  const std::string names = Names();
  EXPECT_TRUE(names == "aabb" || names == "bbaa") << names;
}

TEST_F(Commit, AFileIsPublishedOnce) {
  const std::string a = Work("a", "ingest");
  ExpectRefused(Publish({a, a}), "commit each file of fragments once", 0);
  ASSERT_EQ(Publish({a}).code, kExitDone);
  ExpectRefused(Publish({a}), "it was committed before", 1);

  const std::string b = Work("b", "append");
  ASSERT_EQ(Publish({b}).code, kExitDone);
  ASSERT_EQ(RunRowfs({"compact", dataset()}).code, kExitDone);

  ExpectRefused(Publish({b}), "are in version 2 of", 3);
  EXPECT_EQ(Names(), "aabb");
}

TEST_F(Commit, WhatIsNotAWholeFileOfFragmentsIsRefused) {
  const std::string whole = Slurp(Work("a", "ingest"));
  const std::string file = dir_ / "bad.json";
  const std::string swapped = [&] {
    std::string text = whole;
    text.replace(text.find("\"rows\": 2"), 9, "\"rows\": 3");
    return text;
  }();
  for (const std::string& text :
       {std::string(), std::string("{\"a\":1}"), std::string("[1]"),
        whole.substr(0, whole.size() / 2), whole.substr(0, whole.size() - 3),
        swapped}) {
    std::ofstream(file) << text;
    ExpectRefused(Publish({file}), "bad.json: not a file that --fragments", 0);
  }
  ExpectRefused(Publish({dir_ / "none"}), "none", 0);
  EXPECT_EQ(Publish({}).code, kExitUsage);
}

TEST_F(Commit, FilesThatAreMissingOrOfAnotherSizeAreNamed) {
  const std::string a = Work("a", "ingest");
  std::vector<std::string> files;
  for (const auto& e :
       path::recursive_directory_iterator(dataset() + "/data")) {
    if (e.is_regular_file()) files.push_back(e.path());
  }
  ASSERT_EQ(files.size(), 2U);  // a data file and a sidecar
  for (const std::string& file : files) {
    const std::string below = file.substr(dataset().size() + 1);
    path::rename(file, dir_ / "away");
    ExpectRefused(Publish({a}), below + " of " + a + " is missing", 0);
    std::ofstream(file) << "short";
    ExpectRefused(Publish({a}), below + " of " + a + " has 5 bytes", 0);
    path::rename(dir_ / "away", file);
  }
  EXPECT_EQ(Publish({a}).code, kExitDone);
}

TEST_F(Commit, OtherColumnsAreRefused) {
  const std::string a = Work("a", "ingest");
  path::create_directory(dir_ / "m");
  std::ofstream(dir_ / "m/m0.txt") << "m";
  std::ofstream(dir_ / "m/metadata.jsonl")
      << R"({"file_name": "m0.txt", "stars": 3})"
      << "\n";
  const std::string m = dir_ / "m.json";
  ASSERT_EQ(
      RunRowfs({"ingest", dir_ / "m", "--output", dataset(), "--fragments", m})
          .code,
      kExitDone);
  ExpectRefused(Publish({a, m}), "m.json are not those of " + a, 0);
  ASSERT_EQ(Publish({a}).code, kExitDone);
  ExpectRefused(Publish({m}), "field 4 is stars int64, there none", 1);
}

TEST_F(Commit, GcLeavesYoungFragmentsAlone) {
  ASSERT_EQ(Publish({Work("a", "ingest")}).code, kExitDone);
  const std::string b = Work("b", "append");

  EXPECT_EQ(RunRowfs({"gc", dataset()}).code, kExitDone);
  EXPECT_EQ(Publish({b}).code, kExitDone);
  EXPECT_EQ(Names(), "aabb");
}

}  // namespace
}  // namespace rowfs
