#include "storage/lance/garbage.h"

#include <algorithm>

#include "storage/lance/commit.h"
#include "storage/lance/deletions.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

// Hours after the Unix epoch; MemoryStore's objects are from its beginning.
class HourClock final : public Clock {
 public:
  int64_t NowNs() override { return hour * 3600 * 1000000000; }
  int64_t MonotonicNs() override { return 0; }
  void SleepMs(int64_t /*ms*/) override {}
  int64_t hour = 0;
};

// MemoryStore with a time of writing: hour 1.
class DatedStore final : public ObjectStore {
 public:
  StoreCapabilities capabilities() const override {
    return memory.capabilities();
  }
  std::string Uri(const std::string& path) const override {
    return memory.Uri(path);
  }
  Result<ObjectMeta> Stat(const std::string& path) override {
    return memory.Stat(path);
  }
  Status ReadAt(const ObjectRef& object, uint64_t offset,
                MutableByteSpan out) override {
    return memory.ReadAt({object.path, ""}, offset, out);
  }
  Result<Tail> ReadTail(const std::string& path, uint64_t wanted) override {
    return memory.ReadTail(path, wanted);
  }
  Result<std::vector<ListEntry>> List(const std::string& path) override {
    auto entries = memory.List(path);
    if (!entries.ok()) return entries;
    for (ListEntry& entry : entries.value()) {
      entry.meta.mtime_ns = dated ? int64_t{3600} * 1000000000 : 0;
    }
    return entries;
  }
  Result<std::unique_ptr<ObjectWriter>> Create(const std::string& path,
                                               PutMode mode) override {
    return memory.Create(path, mode);
  }
  Status Remove(const std::string& path) override {
    return memory.Remove(path);
  }

  MemoryStore memory;
  bool dated = true;
};

class GarbageTest : public ::testing::Test {
 protected:
  GarbageTest() {
    Manifest manifest;
    manifest.message.set_version(1);
    manifest.message.set_transaction_file("0-used.txn");
    pb::DataFragment* fragment = manifest.message.add_fragments();
    fragment->set_physical_rows(10);
    pb::DataFile* file = fragment->add_files();
    file->set_path("used.lance");
    file->set_file_major_version(2);
    file->set_file_minor_version(2);
    fragment->mutable_deletion_file()->set_id(7);
    Put("_versions/" + FormatManifestName(1, ManifestNaming::kInverted),
        EncodeManifest(manifest));
    manifest.message.set_version(2);
    manifest.message.mutable_fragments(0)->mutable_files(0)->set_path(
        "branch.lance");
    Put("tree/b/_versions/" + FormatManifestName(2, ManifestNaming::kInverted),
        EncodeManifest(manifest));
    for (const char* name : {"data/used.lance",
                             "data/branch.lance",
                             "data/lost.lance",
                             "data/used/10000000000000000000000000000000.blob",
                             "data/lost/10000000000000000000000000000000.blob",
                             "data/lost/readme.txt",
                             "data/notes.md",
                             "data/.rowfs-ab.tmp",
                             "_deletions/0-0-7.arrow",
                             "_deletions/0-0-8.bin",
                             "_deletions/keep.bin",
                             "_transactions/0-used.txn",
                             "_transactions/0-lost.txn",
                             "_versions/.rowfs-cd.tmp",
                             "_versions/latest_version_hint.json",
                             "_blobs/x.blob",
                             "_indices/u/index.idx",
                             "_refs/branches/b.json",
                             "tree/b/data/lost.lance",
                             "tree/b/data/branch.lance"}) {
      Put(name, ToBytes("x"));
    }
    options_.clock = &clock_;
    options_.grace_ms = 3600 * 1000;
  }

  void Put(const std::string& name, const Bytes& bytes) {
    store_->memory.Put("/d/" + name, bytes);
  }
  std::vector<std::string> Collect() {
    const auto garbage = CollectGarbage({store_, "/d"}, options_);
    EXPECT_OK(garbage);
    std::vector<std::string> out;
    if (!garbage.ok()) return out;
    for (const Garbage& file : garbage.value()) out.push_back(file.path);
    std::sort(out.begin(), out.end());
    return out;
  }

  const std::vector<std::string> lost_ = {
      "_deletions/0-0-8.bin",
      "_transactions/0-lost.txn",
      "_versions/.rowfs-cd.tmp",
      "data/.rowfs-ab.tmp",
      "data/lost.lance",
      "data/lost/10000000000000000000000000000000.blob",
      "tree/b/data/lost.lance"};
  HourClock clock_;
  std::shared_ptr<DatedStore> store_ = std::make_shared<DatedStore>();
  GarbageOptions options_;
};

TEST_F(GarbageTest, IsWhatNoVersionRefersToAndNobodyElseMade) {
  clock_.hour = 3;

  EXPECT_EQ(Collect(), lost_);
  for (const std::string& path : lost_) {
    EXPECT_THAT(store_->Stat("/d/" + path), HasCode(Code::kNotFound)) << path;
  }
  EXPECT_OK(store_->Stat("/d/data/used.lance"));
  EXPECT_OK(store_->Stat("/d/data/lost/readme.txt"));
  EXPECT_OK(store_->Stat("/d/_indices/u/index.idx"));
  EXPECT_TRUE(Collect().empty());
}

TEST_F(GarbageTest, StaysForTheGraceTimeAndInADryRun) {
  clock_.hour = 1;
  EXPECT_TRUE(Collect().empty());

  clock_.hour = 3;
  options_.dry_run = true;
  EXPECT_EQ(Collect(), lost_);
  EXPECT_OK(store_->Stat("/d/data/lost.lance"));
}

TEST_F(GarbageTest, OfUnknownAgeIsLeftAlone) {
  clock_.hour = 1000;
  store_->dated = false;

  EXPECT_TRUE(Collect().empty());
}

TEST_F(GarbageTest, IsNotCollectedWhenAVersionCannotBeRead) {
  clock_.hour = 3;
  Put("_versions/d9223372036854775809.manifest", ToBytes("damaged"));

  EXPECT_THAT(CollectGarbage({store_, "/d"}, options_),
              HasCode(Code::kCorruption));
  EXPECT_OK(store_->Stat("/d/data/lost.lance"));
  EXPECT_THAT(CollectGarbage({store_, "/none"}, options_),
              HasCode(Code::kNotFound));
}

}  // namespace
}  // namespace rowfs
