#include "storage/read/disk_cache.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "storage/base/thread_pool.h"
#include "storage/read/block_cache.h"
#include "tests/support/fake_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

namespace fs = std::filesystem;

// Bytes of an object: byte i is a function of i and the key.
Bytes ContentOf(const std::string& key, ByteRange range) {
  Bytes bytes(range.size());
  for (uint64_t i = range.begin; i < range.end; ++i) {
    bytes[i - range.begin] =
        static_cast<std::byte>(i * 7 + i / 251 + key.size());
  }
  return bytes;
}

class DiskCacheTest : public ::testing::Test {
 protected:
  std::string directory() const { return folder_ / "cache"; }
  DiskCache Make(uint64_t bytes_max = 64 << 20) {
    return {directory(), bytes_max, clock_};
  }
  static void Put(DiskCache& cache, const std::string& key, ByteRange range) {
    cache.Put(key, range.begin, ContentOf(key, range));
  }
  // What is missing of `range`; checks the bytes that are not.
  static ByteRange Missing(DiskCache& cache, const std::string& key,
                           ByteRange range) {
    Bytes out(range.size());
    const ByteRange rest = cache.Read(key, range, out);
    const Bytes expected = ContentOf(key, range);
    for (uint64_t i = range.begin; i < range.end; ++i) {
      if (i >= rest.begin && i < rest.end) continue;
      EXPECT_EQ(out[i - range.begin], expected[i - range.begin]) << i;
    }
    return rest;
  }
  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    if (!fs::exists(directory())) return files;
    for (const auto& entry : fs::recursive_directory_iterator(directory())) {
      if (entry.is_regular_file() && entry.path().filename() != ".lock") {
        files.push_back(entry.path());
      }
    }
    return files;
  }

  const TempDir folder_;
  FakeClock clock_;
};

TEST_F(DiskCacheTest, KeepsBytesBetweenRuns) {
  {
    DiskCache cache = Make();
    Put(cache, "o", {1000, 700'000});
  }
  DiskCache cache = Make();

  EXPECT_TRUE(Missing(cache, "o", {1000, 700'000}).empty());
  EXPECT_TRUE(Missing(cache, "o", {262'000, 263'000}).empty());
  EXPECT_EQ(Missing(cache, "o", {0, 2000}), (ByteRange{0, 1000}));
  EXPECT_EQ(Missing(cache, "o", {699'999, 700'010}),
            (ByteRange{700'000, 700'010}));
  EXPECT_EQ(Missing(cache, "other", {1000, 1001}), (ByteRange{1000, 1001}));
}

TEST_F(DiskCacheTest, IsOnlyForItsOwner) {
  DiskCache cache = Make();
  ::umask(0);
  Put(cache, "o", {0, 10});
  ::umask(022);

  EXPECT_EQ(fs::status(directory()).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(Files().at(0)).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  fs::permissions(directory(), fs::perms::all);
  EXPECT_FALSE(Missing(cache, "o", {0, 10}).empty());
}

TEST_F(DiskCacheTest, NoFlippedByteIsEverServed) {
  DiskCache cache = Make();
  Put(cache, "o", {0, 100});
  const fs::path file = Files().at(0);
  std::string sound(fs::file_size(file), '\0');
  std::ifstream(file, std::ios::binary)
      .read(sound.data(), static_cast<std::streamsize>(sound.size()));

  for (size_t i = 0; i < sound.size(); ++i) {
    std::string bad = sound;
    bad[i] = static_cast<char>(bad[i] ^ 0x20);
    std::ofstream(file, std::ios::binary) << bad;
    Missing(cache, "o", {0, 100});
    std::ofstream(file, std::ios::binary) << sound.substr(0, i);
    EXPECT_FALSE(Missing(cache, "o", {0, 100}).empty()) << i;
  }
}

TEST_F(DiskCacheTest, AFileInAnotherObjectsPlaceIsAMiss) {
  DiskCache cache = Make();
  Put(cache, "a", {0, 100});
  const fs::path a = Files().at(0);
  Put(cache, "bb", {0, 100});
  for (const fs::path& file : Files()) {
    if (file != a) fs::copy_file(a, file, fs::copy_options::overwrite_existing);
  }

  EXPECT_FALSE(Missing(cache, "bb", {0, 100}).empty());
}

TEST_F(DiskCacheTest, MayBeDeletedAtAnyTime) {
  DiskCache cache = Make();
  Put(cache, "o", {0, 1000});
  fs::remove_all(directory());

  EXPECT_FALSE(Missing(cache, "o", {0, 1000}).empty());
  Put(cache, "o", {0, 1000});
  EXPECT_TRUE(Missing(cache, "o", {0, 1000}).empty());
}

TEST_F(DiskCacheTest, HealsAfterATornRecord) {
  DiskCache cache = Make();
  Put(cache, "o", {0, 1000});
  fs::resize_file(Files().at(0), 500);

  for (int i = 0; i < 1000 && !Missing(cache, "o", {0, 1000}).empty(); ++i) {
    Put(cache, "o", {0, 1000});
  }

  EXPECT_TRUE(Missing(cache, "o", {0, 1000}).empty());
}

TEST_F(DiskCacheTest, StaysNearItsLimitAndDropsTheOldest) {
  constexpr uint64_t kLimit = 4 << 20;
  DiskCache cache = Make(kLimit);
  for (int i = 0; i < 100; ++i) {
    Put(cache, "o" + std::to_string(i), {0, 100'000});
  }
  uint64_t total = 0;
  for (const fs::path& file : Files()) total += fs::file_size(file);

  EXPECT_LE(total, kLimit + kLimit / 10);
  EXPECT_TRUE(Missing(cache, "o99", {0, 100'000}).empty());
  EXPECT_FALSE(Missing(cache, "o0", {0, 100'000}).empty());
}

TEST_F(DiskCacheTest, ADirectoryThatCannotBeMadeIsNoError) {
  std::ofstream(directory()) << "a file is in the way";
  DiskCache cache = Make();

  Put(cache, "o", {0, 1000});

  EXPECT_FALSE(Missing(cache, "o", {0, 1000}).empty());
}

TEST_F(DiskCacheTest, ALinkInAFilesPlaceIsNotFollowed) {
  DiskCache cache = Make();
  Put(cache, "o", {0, 1000});
  const fs::path file = Files().at(0);
  fs::rename(file, folder_ / "elsewhere");
  fs::create_symlink(folder_ / "elsewhere", file);

  Put(cache, "o", {0, 1000});

  EXPECT_FALSE(Missing(cache, "o", {0, 1000}).empty());
  EXPECT_EQ(fs::file_size(folder_ / "elsewhere"), 1056U);
}

TEST_F(DiskCacheTest, ManyWritersOnOneDirectoryNeverMixBytes) {
  ThreadPool pool(8, 64);
  std::vector<std::function<Status()>> tasks;
  for (unsigned seed = 0; seed < 8; ++seed) {
    tasks.emplace_back([this, seed]() -> Status {
      std::mt19937 random(seed);
      DiskCache cache = Make(2 << 20);  // as a process of its own would
      for (int i = 0; i < 150; ++i) {
        const std::string key(1 + random() % 5, 'k');
        const uint64_t begin = random() % 600'000;
        const ByteRange range{begin, begin + 1 + random() % 30'000};
        Missing(cache, key, range);
        Put(cache, key, range);
      }
      return {};
    });
  }

  EXPECT_OK(RunAll(pool, tasks));
}

TEST_F(DiskCacheTest, StandsBehindTheMemoryCache) {
  std::vector<ByteRange> fetched;
  const auto fetch = [&](ByteRange range, MutableByteSpan out) -> Status {
    fetched.push_back(range);
    const Bytes bytes = ContentOf("key", range);
    std::copy(bytes.begin(), bytes.end(), out.begin());
    return {};
  };
  const auto read = [&](const std::string& key, ByteRange range) {
    DiskCache disk = Make();
    BlockCache memory(1 << 20, &disk);
    Bytes out(range.size());
    EXPECT_OK(memory.Read(key, range, ReadKind::kData, out, fetch));
    EXPECT_EQ(out, ContentOf("key", range));
  };

  read("key", {100, 200});
  read("key", {100, 200});
  read("key", {150, 300});
  read("?key", {100, 200});
  read("?key", {100, 200});

  EXPECT_EQ(fetched, (std::vector<ByteRange>{
                         {100, 200}, {200, 300}, {100, 200}, {100, 200}}));
}

}  // namespace
}  // namespace rowfs
