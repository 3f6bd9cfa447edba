#include "storage/object/local_store.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "storage/base/no_wait.h"
#include "storage/base/thread_pool.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

namespace fs = std::filesystem;

void WriteFile(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

TEST(LocalStore, RefusesPipesAndDevicesWithoutWaiting) {
  const TempDir folder;
  LocalStore store;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  Bytes out(1);

  EXPECT_THAT(store.Stat(folder / "pipe"), HasCode(Code::kPermissionDenied));
  EXPECT_THAT(store.ReadAt({folder / "pipe", ""}, 0, out),
              HasCode(Code::kPermissionDenied));
  EXPECT_THAT(store.ReadTail("/dev/zero", 1), HasCode(Code::kPermissionDenied));
  EXPECT_TRUE(store.List(folder.path()).value().empty());
}

TEST(LocalStore, AFileThatIsKeptOpenIsSeenToChange) {
  const TempDir folder;
  LocalStore store;
  const std::string path = folder / "file";
  Bytes out(3);
  const auto etag = [&] { return store.Stat(path).value().etag; };
  WriteFile(path, "one");
  std::string seen = etag();
  for (int i = 0; i < 3; ++i) EXPECT_OK(store.ReadAt({path, seen}, 0, out));
  EXPECT_EQ(AsText(out), "one");

  WriteFile(folder / "other", "two");
  fs::rename(folder / "other", path);
  EXPECT_THAT(store.ReadAt({path, seen}, 0, out), HasCode(Code::kChanged));
  seen = etag();
  EXPECT_OK(store.ReadAt({path, seen}, 0, out));
  EXPECT_EQ(AsText(out), "two");

  fs::resize_file(path, 2);
  EXPECT_THAT(store.ReadAt({path, seen}, 0, out), HasCode(Code::kChanged));

  WriteFile(path, "six");
  seen = etag();
  EXPECT_OK(store.ReadAt({path, seen}, 0, out));
  fs::remove(path);
  EXPECT_THAT(store.ReadAt({path, seen}, 0, out), HasCode(Code::kNotFound));
}

TEST(LocalStore, ReadsWithoutWaitingWhatIsOpenAndInMemory) {
  const TempDir folder;
  LocalStore store;
  const std::string path = folder / "file";
  WriteFile(path, std::string(10'000, 'x'));
  const std::string etag = store.Stat(path).value().etag;
  Bytes out(10'000);
  {
    const NoWaitScope scope;  // opening it may wait
    EXPECT_THAT(store.ReadAt({path, etag}, 0, out),
                HasCode(Code::kUnavailable));
    EXPECT_TRUE(scope.refused());
  }
  EXPECT_OK(store.ReadAt({path, etag}, 0, out));
  {
    // A file system that cannot say what is in memory refuses.
    const NoWaitScope scope;
    const Status status = store.ReadAt({path, etag}, 0, out);
    EXPECT_EQ(status.ok(), !scope.refused());
  }
  EXPECT_FALSE(NoWaitScope::Active());
}

TEST(LocalStore, RefusesPathsTheSystemWouldCut) {
  LocalStore store;
  const std::string path("/etc/passwd\0.jpg", 16);

  EXPECT_THAT(store.Stat(path), HasCode(Code::kInvalidArgument));
  EXPECT_THAT(store.ReadTail(path, 1), HasCode(Code::kInvalidArgument));
  EXPECT_THAT(store.Create(path, PutMode::kOverwrite),
              HasCode(Code::kInvalidArgument));
}

TEST(LocalStore, FollowsLinksAndSkipsBrokenOnes) {
  const TempDir folder;
  LocalStore store;
  WriteFile(folder / "file", "hello");
  fs::create_symlink("file", folder / "link");
  fs::create_symlink("nowhere", folder / "broken");

  EXPECT_EQ(store.Stat(folder / "link").value().size, 5U);
  EXPECT_THAT(store.Stat(folder / "broken"), HasCode(Code::kNotFound));
  EXPECT_EQ(store.List(folder.path()).value().size(), 2U);
}

TEST(LocalStore, TheEtagChangesWithTheBytesEvenAtEqualSizeAndTime) {
  const TempDir folder;
  LocalStore store;
  const std::string path = folder / "file";
  WriteFile(path, "hello");
  const auto time = fs::last_write_time(path);
  const ObjectMeta before = store.Stat(path).value();
  WriteFile(path, "world");
  fs::last_write_time(path, time);

  EXPECT_NE(store.Stat(path).value().etag, before.etag);
}

TEST(LocalStore, TemporaryFilesAreHiddenAndNeverLookLikeManifests) {
  const TempDir folder;
  LocalStore store;
  ASSERT_OK_AND_ASSIGN(
      auto writer,
      store.Create(folder / "_versions/1.manifest", PutMode::kIfAbsent));
  ASSERT_OK(writer->Write(AsBytes("x")));

  for (const auto& entry : fs::directory_iterator(folder / "_versions")) {
    EXPECT_TRUE(entry.path().filename().string().starts_with("."));
    EXPECT_NE(entry.path().extension(), ".manifest");
  }
  EXPECT_OK(writer->Finish());
  EXPECT_THAT(writer->Write(AsBytes("x")), HasCode(Code::kInternal));
}

TEST(LocalStore, OneOfManyRacingCreatorsWins) {
  const TempDir folder;
  LocalStore store;
  ThreadPool pool(8, 64);
  std::vector<Code> codes(16);
  std::vector<std::function<Status()>> tasks;
  for (size_t i = 0; i < codes.size(); ++i) {
    tasks.emplace_back([&, i] {
      codes[i] =
          WriteWhole({std::make_shared<LocalStore>(), folder / "v"},
                     AsBytes("writer " + std::to_string(i)), PutMode::kIfAbsent)
              .code();
      return Status();
    });
  }
  ASSERT_OK(RunAll(pool, tasks));

  EXPECT_EQ(std::count(codes.begin(), codes.end(), Code::kOk), 1);
  EXPECT_EQ(std::count(codes.begin(), codes.end(), Code::kAlreadyExists), 15);
  EXPECT_EQ(store.List(folder.path()).value().size(), 1U);
}

TEST(LocalStore, AFileWhereADirectoryHasToBeIsNamed) {
  LocalStore store;
  const TempDir folder;
  WriteFile(folder / "file", "x");

  EXPECT_THAT(store.Create(folder / "file/child", PutMode::kOverwrite),
              HasCode(Code::kAlreadyExists));
  EXPECT_THAT(store.Stat(folder / "file/child"), HasCode(Code::kNotFound));
}

TEST(ObjectStore, ReadWholeStopsAtItsLimit) {
  const TempDir folder;
  const auto store = std::make_shared<LocalStore>();
  const std::string text(100'000, 'x');
  WriteFile(folder / "file", text);

  EXPECT_EQ(AsText(ReadWhole({store, folder / "file"}, 100'000).value()), text);
  EXPECT_THAT(ReadWhole({store, folder / "file"}, 99'999),
              HasCode(Code::kResourceExhausted));
}

}  // namespace
}  // namespace rowfs
