#include "index/catalog/catalog.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>

#include "index/catalog/index_writer.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

constexpr fs::perms kReadable =
    fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read;
constexpr fs::perms kSearchable =
    fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
constexpr char kFingerprint[] = "s3://bucket/data etag-1";

class CatalogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "rowfs_catalog_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    path_ = CatalogPath((folder_ / "cache").string(), kFingerprint);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::unique_ptr<Catalog> Open() { return Catalog::Open(path_, kFingerprint); }

  // Runs `body` in another process; what it ended with.
  static int InProcess(const std::function<int()>& body) {
    const pid_t child = fork();
    if (child == 0) _exit(body());
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }

  void Overwrite(std::streamoff at, std::string_view bytes) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  void Execute(const char* sql) {
    ASSERT_OK_AND_ASSIGN(const auto db,
                         Database::Open(path_, Database::Mode::kReadWrite));
    ASSERT_OK(db->Execute(sql));
  }

  fs::path folder_;
  std::string path_;
};

IndexedMedia SomeMedia() {
  IndexedMedia media;
  media.plugin = "video";
  media.plugin_version = "1 libx 5";
  media.blob_type = 1;
  media.stream_info = ToBytes("VID1 and more");
  media.entries = Bytes(100'000, std::byte{7});
  return media;
}

TEST_F(CatalogTest, KeepsSizesBetweenRuns) {
  {
    const auto catalog = Open();
    EXPECT_EQ(catalog->problem(), "");
    EXPECT_EQ(catalog->FindSize(1), std::nullopt);
    catalog->PutSize(1, 100);
    catalog->PutSize(UINT64_MAX, UINT64_MAX);
    EXPECT_THAT(catalog->FindSize(1), Optional(100u));
  }

  const auto catalog = Open();

  EXPECT_THAT(catalog->FindSize(1), Optional(100u));
  EXPECT_THAT(catalog->FindSize(UINT64_MAX), Optional(UINT64_MAX));
  EXPECT_EQ(catalog->FindSize(2), std::nullopt);
}

TEST_F(CatalogTest, WritesSizesInGroups) {
  const auto catalog = Open();
  for (uint64_t i = 0; i < 300; ++i) catalog->PutSize(i, i * 2);

  const auto other = Open();

  EXPECT_THAT(other->FindSize(0), Optional(0u));
  EXPECT_THAT(other->FindSize(255), Optional(510u));
  EXPECT_EQ(other->FindSize(299), std::nullopt);
  EXPECT_THAT(catalog->FindSize(299), Optional(598u));
}

TEST_F(CatalogTest, KeepsIndexesOfMedia) {
  const auto catalog = Open();
  const IndexedMedia media = SomeMedia();
  IndexedMedia refused;
  refused.code = Code::kCorruption;
  refused.message = "no key frame";

  catalog->PutMedia("7/video", media);
  catalog->PutMedia("8/video", refused);
  catalog->PutMedia("9/video", IndexedMedia());

  EXPECT_THAT(Open()->FindMedia("7/video"), Optional(media));
  EXPECT_THAT(Open()->FindMedia("8/video"), Optional(refused));
  EXPECT_THAT(Open()->FindMedia("9/video"), Optional(IndexedMedia()));
  EXPECT_EQ(Open()->FindMedia("10/video"), std::nullopt);
}

TEST_F(CatalogTest, KeepsBytesOfAnySize) {
  const auto catalog = Open();
  const size_t part = size_t{16} << 20;
  for (const size_t size : {size_t{0}, size_t{5}, part, part + 1}) {
    Bytes bytes(size, std::byte{3});
    if (size != 0) bytes.back() = std::byte{4};

    catalog->PutBytes("members", bytes);

    EXPECT_THAT(catalog->FindBytes("members"), Optional(bytes)) << size;
  }
  EXPECT_EQ(catalog->FindBytes("other"), std::nullopt);
  EXPECT_EQ(catalog->problem(), "");
}

TEST_F(CatalogTest, IndexesRowsByValue) {
  const auto catalog = Open();
  EXPECT_EQ(catalog->CountValues("label"), std::nullopt);
  {
    ASSERT_OK_AND_ASSIGN(auto writer,
                         ValueIndexWriter::Start(catalog.get(), "label"));
    for (uint64_t row = 0; row < 5000; ++row) {
      ASSERT_OK(writer.Add(row, row % 2 == 0 ? "even" : "odd"));
    }
    ASSERT_OK(writer.Add(5000, "Zebra"));
    EXPECT_EQ(catalog->CountValues("label"), std::nullopt);
    ASSERT_OK(writer.Finish());
  }

  EXPECT_THAT(catalog->CountValues("label"), Optional(3u));
  EXPECT_THAT(catalog->FindValue("label", 0),
              Optional(IndexedValue{"Zebra", 1}));
  EXPECT_THAT(catalog->FindValue("label", 2),
              Optional(IndexedValue{"odd", 2500}));
  EXPECT_EQ(catalog->FindValue("label", 3), std::nullopt);
  EXPECT_THAT(catalog->FindValueNumber("label", "even"), Optional(1u));
  EXPECT_EQ(catalog->FindValueNumber("label", "none"), std::nullopt);
  EXPECT_THAT(catalog->FindRows("label", 1, 0, 3),
              Optional(ElementsAre(0, 2, 4)));
  EXPECT_THAT(catalog->FindRows("label", 2, 1023, 3),
              Optional(ElementsAre(2047, 2049, 2051)));
  EXPECT_THAT(catalog->FindRows("label", 2, 2499, 9),
              Optional(ElementsAre(4999)));
  EXPECT_THAT(catalog->FindRows("label", 2, 2500, 9), Optional(IsEmpty()));
  EXPECT_EQ(catalog->FindRows("label", 3, 0, 9), std::nullopt);
  EXPECT_EQ(catalog->problem(), "");
}

TEST_F(CatalogTest, IndexesAreWhatASortInMemorySays) {
  const auto catalog = Open();
  std::map<std::string, std::vector<uint64_t>> model;
  uint64_t state = 42;
  {
    ASSERT_OK_AND_ASSIGN(auto writer,
                         ValueIndexWriter::Start(catalog.get(), "c"));
    for (uint64_t row = 0; row < 20'000; ++row) {
      state = state * 6364136223846793005 + 1442695040888963407;
      // Few values with many rows and many with few.
      const uint64_t pick =
          (state >> 33) % 3 == 0 ? (state >> 40) % 5000 : (state >> 40) % 4;
      const std::string name = "v" + std::to_string(pick);
      model[name].push_back(row);
      ASSERT_OK(writer.Add(row, name));
    }
    ASSERT_OK(writer.Finish());
  }

  ASSERT_THAT(catalog->CountValues("c"), Optional(model.size()));
  uint64_t number = 0;
  for (const auto& [name, rows] : model) {
    ASSERT_THAT(catalog->FindValue("c", number),
                Optional(IndexedValue{name, rows.size()}));
    ASSERT_THAT(catalog->FindValueNumber("c", name), Optional(number));
    ASSERT_THAT(catalog->FindRows("c", number, 0, UINT64_MAX), Optional(rows));
    ++number;
  }
}

TEST_F(CatalogTest, AnUnfinishedIndexLeavesNothing) {
  const auto catalog = Open();
  {
    ASSERT_OK_AND_ASSIGN(auto writer,
                         ValueIndexWriter::Start(catalog.get(), "label"));
    ASSERT_OK(writer.Add(0, "a"));
  }

  EXPECT_EQ(catalog->CountValues("label"), std::nullopt);
  ASSERT_OK_AND_ASSIGN(auto writer,
                       ValueIndexWriter::Start(catalog.get(), "label"));
  ASSERT_OK(writer.Finish());
  EXPECT_THAT(catalog->CountValues("label"), Optional(0u));
}

TEST_F(CatalogTest, OfTwoBuildersTheFirstWins) {
  const auto catalog = Open();
  ASSERT_OK_AND_ASSIGN(auto first,
                       ValueIndexWriter::Start(catalog.get(), "label"));
  ASSERT_OK_AND_ASSIGN(auto second,
                       ValueIndexWriter::Start(catalog.get(), "label"));
  ASSERT_OK(first.Add(0, "a"));
  ASSERT_OK(second.Add(0, "b"));

  ASSERT_OK(first.Finish());
  ASSERT_OK(second.Finish());

  EXPECT_THAT(catalog->FindValue("label", 0), Optional(IndexedValue{"a", 1}));
}

TEST_F(CatalogTest, IndexesNamesOfRows) {
  const auto catalog = Open();
  ASSERT_OK_AND_ASSIGN(auto writer,
                       NameIndexWriter::Start(catalog.get(), "id"));
  for (const auto& [row, name] :
       std::map<uint64_t, std::string>{{0, "zoe"}, {1, "adam"}, {2, "eve"}}) {
    ASSERT_OK(writer.Add(row, name));
  }
  ASSERT_OK(writer.Finish());

  EXPECT_THAT(catalog->CountNames("id"), Optional(3u));
  EXPECT_THAT(catalog->FindRow("id", "adam"), Optional(1u));
  EXPECT_EQ(catalog->FindRow("id", "nobody"), std::nullopt);
  EXPECT_THAT(catalog->FindNames("id", 1, 9),
              Optional(ElementsAre("adam", "eve")));
  EXPECT_EQ(catalog->FindNames("other", 0, 9), std::nullopt);
}

TEST_F(CatalogTest, TwoRowsOfOneNameAreAnError) {
  const auto catalog = Open();
  ASSERT_OK_AND_ASSIGN(auto writer,
                       NameIndexWriter::Start(catalog.get(), "id"));
  ASSERT_OK(writer.Add(0, "a"));
  ASSERT_OK(writer.Add(1, "a"));

  EXPECT_THAT(writer.Finish(), HasCode(Code::kAlreadyExists));
  EXPECT_EQ(catalog->CountNames("id"), std::nullopt);
}

TEST_F(CatalogTest, FilesAreForTheirOwnerAlone) {
  const auto catalog = Open();
  catalog->PutBytes("a", AsBytes("b"));

  EXPECT_EQ(fs::status(path_).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(fs::status(path_ + "-wal").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(fs::status(fs::path(path_).parent_path()).permissions(),
            fs::perms::owner_all);
}

TEST_F(CatalogTest, AFolderThatOthersMayWriteIsNotUsed) {
  const fs::path shared = folder_ / "shared";
  fs::create_directories(shared);
  fs::permissions(shared, fs::perms::all);

  const auto catalog = Catalog::Open(CatalogPath(shared.string(), "x"), "x");
  catalog->PutSize(1, 2);

  EXPECT_THAT(catalog->problem(), HasSubstr("writable by others"));
  EXPECT_EQ(catalog->FindSize(1), std::nullopt);
  EXPECT_TRUE(fs::is_empty(shared));
}

TEST_F(CatalogTest, ADamagedHeaderIsSetAsideAndBegunAnew) {
  Open()->PutSize(1, 2);
  Overwrite(0, "not a database at all, not even nearly");

  const auto catalog = Open();

  EXPECT_THAT(catalog->problem(), HasSubstr("set aside"));
  EXPECT_EQ(catalog->FindSize(1), std::nullopt);
  EXPECT_TRUE(fs::exists(path_ + ".damaged"));
  catalog->PutBytes("a", AsBytes("b"));
  EXPECT_THAT(Open()->FindBytes("a"), Optional(ToBytes("b")));
}

TEST_F(CatalogTest, DamageFoundLaterIsSetAsideByTheNextProcess) {
  Open()->PutMedia("a", SomeMedia());
  const auto size = static_cast<std::streamoff>(fs::file_size(path_));
  for (std::streamoff at = 4096; at < size; at += 64) Overwrite(at, "garbage!");
  {
    const auto catalog = Open();
    EXPECT_EQ(catalog->FindMedia("a"), std::nullopt);
    EXPECT_NE(catalog->problem(), "");
  }

  const auto catalog = Open();
  catalog->PutMedia("a", SomeMedia());

  EXPECT_THAT(Open()->FindMedia("a"), Optional(SomeMedia()));
}

TEST_F(CatalogTest, AWrongValueIsNotBelieved) {
  Open()->PutSize(1, 100);
  Execute("UPDATE rendered_size SET size=101");
  {
    const auto catalog = Open();
    EXPECT_EQ(catalog->FindSize(1), std::nullopt);
    EXPECT_THAT(catalog->problem(), HasSubstr("checksum"));
  }

  EXPECT_THAT(Open()->problem(), HasSubstr("set aside"));
}

TEST_F(CatalogTest, ADamagedFileInUseElsewhereIsLeftAlone) {
  const auto first = Open();
  first->PutBytes("a", AsBytes("b"));
  const auto second = Open();
  Execute("UPDATE part SET bytes='x'");
  EXPECT_EQ(first->FindBytes("a"), std::nullopt);

  const auto third = Open();

  EXPECT_THAT(third->problem(), HasSubstr("in use by another process"));
  EXPECT_FALSE(fs::exists(path_ + ".damaged"));
}

TEST_F(CatalogTest, ACatalogOfAnotherSnapshotIsNotBelieved) {
  Open()->PutSize(1, 100);

  const auto catalog = Catalog::Open(path_, "another");

  EXPECT_THAT(catalog->problem(), HasSubstr("another snapshot"));
  EXPECT_EQ(catalog->FindSize(1), std::nullopt);
}

TEST_F(CatalogTest, ANewerSchemaIsLeftAlone) {
  Open()->PutSize(1, 100);
  Execute("PRAGMA user_version=99");
  Execute("PRAGMA wal_checkpoint(TRUNCATE)");
  const auto size = fs::file_size(path_);

  const auto catalog = Open();
  catalog->PutSize(2, 200);
  catalog->PutBytes("a", AsBytes("b"));

  EXPECT_THAT(catalog->problem(), HasSubstr("schema 99"));
  EXPECT_EQ(catalog->FindSize(1), std::nullopt);
  EXPECT_EQ(fs::file_size(path_), size);
  EXPECT_FALSE(fs::exists(path_ + ".damaged"));
}

TEST_F(CatalogTest, AnEmptyFileBecomesACatalog) {
  fs::create_directories(fs::path(path_).parent_path());
  fs::permissions(fs::path(path_).parent_path(), fs::perms::owner_all);
  std::ofstream(path_).close();

  const auto catalog = Open();

  EXPECT_EQ(catalog->problem(), "");
}

TEST_F(CatalogTest, SurvivesBeingKilledWhileWriting) {
  for (uint64_t round = 0; round < 10; ++round) {
    const int status = InProcess([&] {
      const auto catalog = Open();
      if (!catalog->problem().empty()) return 1;
      // Killed in the middle of one of these.
      const Bytes bytes(200'000, std::byte{1});
      for (uint64_t i = 0;; ++i) {
        catalog->PutBytes("k" + std::to_string(i % 7), bytes);
        if (i == 5 + round) kill(getpid(), SIGKILL);
        for (uint64_t j = 0; j < 50; ++j) catalog->PutSize(i * 50 + j, j);
      }
      return 0;
    });
    ASSERT_TRUE(WIFSIGNALED(status));

    const auto catalog = Open();

    ASSERT_EQ(catalog->problem(), "");
    ASSERT_THAT(catalog->FindBytes("k0"),
                Optional(Bytes(200'000, std::byte{1})));
  }
}

TEST_F(CatalogTest, ProcessesShareIt) {
  std::vector<pid_t> children;
  for (uint64_t child = 0; child < 4; ++child) {
    const pid_t pid = fork();
    if (pid == 0) {
      const auto catalog = Open();
      for (uint64_t i = 0; i < 300; ++i) catalog->PutSize(child * 1000 + i, i);
      for (uint64_t i = 0; i < 20; ++i) {
        catalog->PutBytes(std::to_string(child * 100 + i), AsBytes("x"));
      }
      _exit(catalog->problem().empty() ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }

  const auto catalog = Open();

  for (uint64_t child = 0; child < 4; ++child) {
    EXPECT_THAT(catalog->FindSize(child * 1000 + 255), Optional(255u));
    EXPECT_THAT(catalog->FindBytes(std::to_string(child * 100 + 19)),
                Optional(ToBytes("x")));
  }
}

TEST_F(CatalogTest, WorksWithoutWhenTheFolderIsReadOnly) {
  const fs::path locked = folder_ / "locked";
  fs::create_directories(locked);
  fs::permissions(locked, fs::perms::owner_read | fs::perms::owner_exec);
  fs::permissions(folder_, fs::perms::owner_all | kSearchable);

  const int status = InProcess([&] {
    // Root may write anything.
    if (geteuid() == 0 && setuid(65534) != 0) return 2;
    const auto catalog = Catalog::Open(CatalogPath(locked.string(), "x"), "x");
    catalog->PutSize(1, 2);
    if (catalog->FindSize(1)) return 3;
    return catalog->problem().empty() ? 1 : 0;
  });

  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(CatalogTest, AFileThatCannotBeWrittenIsRead) {
  // As `index build --output` leaves it on a medium that is then read-only.
  Open()->PutMedia("a", SomeMedia());
  const fs::path folder = fs::path(path_).parent_path();
  fs::remove(path_ + ".lock");
  fs::permissions(path_, kReadable);
  fs::permissions(folder, kReadable | kSearchable);
  fs::permissions(folder_, fs::perms::owner_all | kSearchable);

  const int status = InProcess([&] {
    if (geteuid() == 0 && setuid(65534) != 0) return 2;
    const auto catalog = Open();
    if (catalog->FindMedia("a") != SomeMedia()) return 3;
    catalog->PutSize(1, 2);
    return catalog->FindSize(1) ? 4 : 0;
  });

  EXPECT_EQ(WEXITSTATUS(status), 0);
  fs::permissions(folder, fs::perms::owner_all);
}

TEST_F(CatalogTest, AFullDiskLosesTheWriteAlone) {
  const int status = InProcess([&] {
    const auto catalog = Open();
    catalog->PutBytes("small", AsBytes("kept"));
    // As a full disk: no file may grow past this.
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    catalog->PutBytes("large", Bytes(4 << 20, std::byte{1}));
    if (catalog->problem().empty()) return 1;
    if (catalog->FindBytes("large")) return 2;
    return catalog->FindBytes("small") == ToBytes("kept") ? 0 : 3;
  });

  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_THAT(Open()->FindBytes("small"), Optional(ToBytes("kept")));
}

TEST(CatalogDirectory, IsTheUsersCache) {
  const std::string old =
      getenv("XDG_CACHE_HOME") ? getenv("XDG_CACHE_HOME") : "";
  EXPECT_EQ(CatalogDirectory("/x"), "/x");
  setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_EQ(CatalogDirectory(""), "/cache/rowfs");
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(CatalogDirectory(""),
            std::string(getenv("HOME")) + "/.cache/rowfs");
  setenv("XDG_CACHE_HOME", old.c_str(), 1);
}

}  // namespace
}  // namespace rowfs
