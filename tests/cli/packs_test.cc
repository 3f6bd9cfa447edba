// Packs and WebDatasets as the tools that people have already make and read
// them.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "storage/base/json.h"
#include "tests/support/run_command.h"
#include "tests/support/shared_folder.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What `command` prints, and how it ends.
std::pair<int, std::string> Shell(const std::string& command) {
  std::string out;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return {-1, out};
  char buffer[4096];
  while (const size_t got = std::fread(buffer, 1, sizeof(buffer), pipe)) {
    out.append(buffer, got);
  }
  return {::pclose(pipe), out};
}

void Must(const std::string& command) {
  ASSERT_EQ(Shell(command).first, 0) << command;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != text.npos;
       begin = end + 1) {
    lines.push_back(text.substr(begin, end - begin));
  }
  return lines;
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

// A source mounted as nothing but commands.
class Source {
 public:
  Source(std::string path, std::string format, const std::string& cache)
      : path_(std::move(path)), format_(std::move(format)), cache_(cache) {}

  CommandResult Run(const std::string& verb, const std::string& inside) const {
    std::vector<std::string> words = {verb, path_, inside, "--cache-dir",
                                      cache_};
    if (!format_.empty()) words.insert(words.end(), {"--format", format_});
    return RunRowfs(words);
  }
  std::vector<std::string> List(const std::string& inside) const {
    std::vector<std::string> names = Lines(Run("ls", inside).out);
    for (std::string& name : names) {
      if (name.ends_with('/')) name.pop_back();
    }
    return names;
  }
  std::string Cat(const std::string& inside) const {
    const CommandResult result = Run("cat", inside);
    return result.code == kExitDone ? result.out : "error: " + result.err;
  }
  std::string Key(const std::string& row) const {
    const Result<Json> json = ParseJson(Cat("rows/" + row + "/row.json"));
    const Json* key = json.ok() ? json.value().Find("__key__") : nullptr;
    return key == nullptr ? "no key" : key->text;
  }

 private:
  const std::string path_;
  const std::string format_;
  const std::string cache_;
};

std::string Wild(const std::string& name) {
  std::string escaped;
  for (const char c : name) {
    if (std::string_view("[]*?\\").find(c) != std::string_view::npos) {
      escaped += '\\';
    }
    escaped += c;
  }
  return escaped;
}

TEST(PacksTest, EveryZipThatUnzipListsIsListedAndReadsTheSame) {
  ROWFS_SKIP_WITHOUT_SHARED(folder, "data/zip");
  // unzip takes the zip that stands inside the comment.
  const std::set<std::string> others = {"zip-in-archive-comment.zip",
                                        "zip64-in-archive-comment.zip"};
  // What unzip reads although directory and local header disagree, or decodes
  // and we do not. Each is refused by name.
  const std::set<std::string> refused = {
      "incons-central-compsize-larger-toolarge.zip",
      "incons-central-compsize-smaller.zip", "incons-central-size-larger.zip",
      "incons-local-filename-missing.zip", "incons-local-filename.zip"};
  const TempDir cache;
  size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string file = entry.path().filename();
    const std::string path = entry.path();
    if (others.contains(file)) continue;
    std::vector<std::string> names;
    for (const std::string& name :
         Lines(Shell("unzip -Z1 " + Quoted(path) + " 2>/dev/null").second)) {
      if (!name.empty() && !name.ends_with('/')) names.push_back(name);
    }
    if (names.empty()) continue;
    const Source source(path, "blobpack-members", cache.path());
    const std::vector<std::string> rows = source.List("rows");
    ASSERT_EQ(rows.size(), names.size()) << file;
    for (size_t i = 0; i < std::min<size_t>(rows.size(), 20); ++i) {
      const auto [code, wanted] =
          Shell("unzip -P '' -p " + Quoted(path) + " " +
                Quoted(Wild(names[i])) + " 2>/dev/null");
      if (code != 0 && wanted.empty()) continue;  // unzip refuses it too
      std::string content = "error: no file";
      for (const std::string& name : source.List("rows/" + rows[i])) {
        if (name != "row.json") {
          content = source.Cat("rows/" + rows[i] + "/" + name);
        }
      }
      if (refused.contains(file)) {
        EXPECT_THAT(content, HasSubstr(file));
      } else if (code == 0) {
        EXPECT_EQ(content, wanted) << file << " " << names[i];
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 50u);
}

TEST(PacksTest, TarsOfEveryKindReadAsTarExtractsThem) {
  const TempDir dir;
  const std::string in = dir / "in";
  Must("mkdir -p " + in + "/deep/" + std::string(120, 'n') + " " + in + "/p");
  std::ofstream(in + "/deep/" + std::string(120, 'n') + "/" +
                std::string(90, 'm') + ".txt")
      << "long name";
  std::ofstream(in + "/p/a.bin") << "target of links";
  std::ofstream(in + "/p/e.bin");
  Must("ln " + in + "/p/a.bin " + in + "/p/b.bin");
  Must("ln -s a.bin " + in + "/p/c.bin");
  Must("truncate -s 1000000 " + in + "/p/s.bin");
  std::ofstream(in + "/p/s.bin", std::ios::app) << "behind the hole";
  for (const char* kind :
       {"--format=gnu -S -cf x.tar", "--format=posix -S -cf x.tar",
        "--format=posix -S --sparse-version=0.1 -cf x.tar",
        "--format=posix -S --sparse-version=0.0 -cf x.tar",
        "--format=gnu -czf x.tar.gz", "--format=posix -S --zstd -cf x.tar.zst",
        "--format=pax -czf x.tar"}) {
    const std::string file =
        dir / std::string(kind).substr(std::string(kind).rfind(' ') + 1);
    Must("cd " + dir.path() + " && rm -rf x.* out && tar -C in --sort=name " +
         kind + " . && mkdir out && tar -C out -xf " + file);
    const Source source(file, "webdataset", dir / "cache");
    const std::vector<std::string> rows = source.List("rows");
    EXPECT_EQ(rows.size(), 6u) << kind;
    for (const std::string& row : rows) {
      const std::string key = source.Key(row);
      for (const std::string& name : source.List("rows/" + row)) {
        if (name == "row.json") continue;
        const std::string path =
            dir / ("out/" + key + name.substr(name.rfind('.')));
        ASSERT_TRUE(std::filesystem::exists(path)) << kind << " " << path;
        EXPECT_TRUE(source.Cat("rows/" + row + "/" + name) == ReadFile(path))
            << kind << " " << path;
      }
    }
  }
}

TEST(PacksTest, ALinkOutOfATarIsAnErrorAndNeverTheHostsFile) {
  const TempDir dir;
  std::ofstream(dir / "secret.txt") << "the host's own";
  Must("cd " + dir.path() + " && mkdir in && echo good > in/a.txt && ln -s " +
       (dir / "secret.txt") + " in/b.txt && ln -s ../secret.txt in/c.txt && " +
       "tar -C in --sort=name -cf x.tar a.txt b.txt c.txt");
  const Source source(dir / "x.tar", "", dir / "cache");
  EXPECT_EQ(source.Cat("rows/000000/a.txt"), "good\n");
  EXPECT_THAT(source.Cat("rows/000001/b.txt"), HasSubstr("is a link"));
  EXPECT_THAT(source.Cat("rows/000002/c.txt"), HasSubstr("is a link"));
}

TEST(PacksTest, SamplesAreFilesWithTheirOwnSuffixes) {
  const TempDir dir;
  Must("cd " + dir.path() +
       " && mkdir -p in/t.v1 && cd in/t.v1 && echo -n l > 2.left.JPG && "
       "echo -n r > 2.right.jpg && echo -n '[]' > 2.Json && echo -n 4 > 2.cls "
       "&& cd .. && tar -cf ../s-000000.tar t.v1/2.left.JPG t.v1/2.right.jpg "
       "t.v1/2.Json t.v1/2.cls");
  const Source source(dir / "s-000000.tar", "", dir / "cache");
  EXPECT_THAT(source.List("rows"), ElementsAre("000000"));
  EXPECT_THAT(
      source.List("rows/000000"),
      ElementsAre("row.json", "2.left.jpg", "2.right.jpg", "2.json", "2.cls"));
  EXPECT_EQ(source.Cat("rows/000000/2.left.jpg"), "l");
  EXPECT_EQ(source.Cat("rows/000000/2.json"), "[]");
  const std::string row = source.Cat("rows/000000/row.json");
  EXPECT_THAT(row, HasSubstr("\"__key__\": \"t.v1/2\""));
  EXPECT_THAT(row, HasSubstr("\"cls\": \"4\""));
  EXPECT_THAT(row, HasSubstr("\"media_type\": \"image/jpeg\""));
  EXPECT_THAT(source.List("by/cls"), ElementsAre("4"));
}

TEST(PacksTest, AZipOfPicturesIsRowsOfPictures) {
  const TempDir dir;
  Must("cd " + dir.path() +
       " && mkdir in && for i in 1 2; do printf 'P6 1 1 255\\nabc' > "
       "in/$i.ppm; echo $i > in/$i.txt; done && cd in && zip -q ../c.cbz *");
  const Source source(dir / "c.cbz", "", dir / "cache");
  EXPECT_THAT(source.List("rows"), ElementsAre("000000", "000001"));
  const std::vector<std::string> names = source.List("rows/000001");
  EXPECT_THAT(names, ::testing::IsSupersetOf({"row.json", "2.ppm", "2.txt"}));
  EXPECT_EQ(source.Cat("rows/000001/2.txt"), "2\n");
}

TEST(PacksTest, VerifyFindsATarThatIsCutOff) {
  const TempDir dir;
  Must("cd " + dir.path() +
       " && echo 1 > a.txt && echo 2 > b.txt && tar cf whole.tar a.txt b.txt"
       " && head -c 1024 whole.tar > cut.tar");
  EXPECT_EQ(RunRowfs({"verify", dir / "whole.tar"}).code, kExitDone);
  const CommandResult cut = RunRowfs({"verify", dir / "cut.tar"});
  EXPECT_EQ(cut.code, kExitFailure);
  EXPECT_THAT(cut.out, HasSubstr("cut.tar: the tar has no end mark"));
}

TEST(PacksTest, AWrongKindIsOneLineThatNamesTheFile) {
  const TempDir dir;
  std::ofstream(dir / "x.zip") << std::string(100, 'x');
  std::ofstream(dir / "x.tar") << std::string(2000, 'x');
  for (const char* name : {"x.zip", "x.tar"}) {
    const Source source(dir / name, "", dir / "cache");
    const CommandResult result = source.Run("ls", "rows");
    EXPECT_EQ(result.code, kExitFailure);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(dir / name));
    EXPECT_EQ(Lines(result.err).size(), 1u) << result.err;
  }
}

}  // namespace
}  // namespace rowfs
