#include "storage/lance/external.h"

#include <filesystem>
#include <fstream>

#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

namespace fs = std::filesystem;
namespace pb = lance::pb;

// Local paths as they are; http and s3 as empty remote stores.
class TestRegistry final : public StoreRegistry {
 public:
  Result<Location> Resolve(std::string_view uri) override {
    if (uri.starts_with("file://")) return real_->Resolve(uri);
    if (uri.find("://") == std::string_view::npos) return real_->Resolve(uri);
    return Location{std::make_shared<NamedStore>(), std::string(uri)};
  }

 private:
  // A remote store whose paths are whole URIs.
  class NamedStore final : public ObjectStore {
   public:
    StoreCapabilities capabilities() const override {
      return {.list = false, .write = false, .remote = true};
    }
    std::string Uri(const std::string& path) const override { return path; }
    Result<ObjectMeta> Stat(const std::string& path) override {
      return memory_.Stat(path);
    }
    Status ReadAt(const ObjectRef& object, uint64_t offset,
                  MutableByteSpan out) override {
      return memory_.ReadAt(object, offset, out);
    }
    Result<Tail> ReadTail(const std::string& path, uint64_t wanted) override {
      return memory_.ReadTail(path, wanted);
    }
    Result<std::vector<ListEntry>> List(const std::string& path) override {
      return memory_.List(path);
    }
    Result<std::unique_ptr<ObjectWriter>> Create(const std::string& path,
                                                 PutMode mode) override {
      return memory_.Create(path, mode);
    }
    Status Remove(const std::string& path) override {
      return memory_.Remove(path);
    }

   private:
    MemoryStore memory_;
  };

  std::unique_ptr<StoreRegistry> real_ = MakeStoreRegistry();
};

class ExternalTest : public ::testing::Test {
 protected:
  ExternalTest() {
    for (const char* folder :
         {"ds/data", "base/sub", "base-not", "allowed", "outside"}) {
      fs::create_directories(dir_ / folder);
    }
    for (const char* file :
         {"ds/data/a", "base/sub/b", "base-not/n", "allowed/c", "outside/d"}) {
      std::ofstream(dir_ / file) << "bytes";
    }
    fs::create_symlink(dir_ / "outside/d", dir_ / "ds/data/link");
    fs::create_symlink(dir_ / "ds/data/a", dir_ / "outside/back");
    AddBase(3, dir_ / "base");
  }

  void AddBase(uint32_t id, const std::string& path, bool dataset = false) {
    pb::BasePath* base = manifest_.add_base_paths();
    base->set_id(id);
    base->set_path(path);
    base->set_is_dataset_root(dataset);
  }

  Code Resolve(const std::string& object, std::optional<uint32_t> base = {},
               const std::string& dataset = "") {
    const auto root =
        registry_.Resolve(dataset.empty() ? dir_ / "ds" : dataset).value();
    const BasePaths bases(root, root, manifest_, &registry_);
    const ExternalPolicy policy(bases, &registry_, allowed_);
    BlobCell cell;
    cell.kind = BlobKind::kExternal;
    cell.object = object;
    cell.base_id = base;
    const auto location = policy.Resolve(cell);
    found_ = location.ok() ? location.value().path : std::string();
    return location.status().code();
  }

  TempDir dir_;
  TestRegistry registry_;
  pb::Manifest manifest_;
  std::vector<std::string> allowed_;
  std::string found_;
};

TEST_F(ExternalTest, ServesWhatLiesUnderTheDatasetOrABase) {
  EXPECT_EQ(Resolve(dir_ / "ds/data/a"), Code::kOk);
  EXPECT_EQ(found_, dir_ / "ds/data/a");
  EXPECT_EQ(Resolve("file://" + (dir_ / "base/sub/b")), Code::kOk);
  EXPECT_EQ(Resolve("sub/b", 3), Code::kOk);
  EXPECT_EQ(found_, dir_ / "base/sub/b");
  EXPECT_EQ(Resolve(dir_ / "outside/back"), Code::kOk);
}

TEST_F(ExternalTest, RefusesWhatLiesElsewhere) {
  EXPECT_EQ(Resolve(dir_ / "outside/d"), Code::kPermissionDenied);
  EXPECT_EQ(Resolve("file:///etc/passwd"), Code::kPermissionDenied);
  EXPECT_EQ(Resolve(dir_ / "base-not/n"), Code::kPermissionDenied);
  EXPECT_EQ(Resolve("https://example.com/x"), Code::kPermissionDenied);
}

TEST_F(ExternalTest, SeesThroughLinksAndParents) {
  EXPECT_EQ(Resolve(dir_ / "ds/data/link"), Code::kPermissionDenied);
  EXPECT_EQ(Resolve(dir_ / "ds/../outside/d"), Code::kPermissionDenied);
  EXPECT_EQ(Resolve(dir_ / "outside/../ds/data/a"), Code::kOk);
  EXPECT_EQ(Resolve("../outside/d", 3), Code::kPermissionDenied);
  EXPECT_EQ(Resolve(dir_ / "outside/d", 3), Code::kPermissionDenied);
}

TEST_F(ExternalTest, AllowsPrefixesAtAFolderBoundary) {
  allowed_ = {dir_ / "allow", dir_ / "gone", "https://example.com/data/"};
  EXPECT_EQ(Resolve(dir_ / "allowed/c"), Code::kPermissionDenied);
  EXPECT_EQ(Resolve("https://example.com/data/x"), Code::kOk);
  EXPECT_EQ(Resolve("https://example.com/database/x"), Code::kPermissionDenied);
  EXPECT_EQ(Resolve("https://example.com/data/../x"), Code::kPermissionDenied);
  EXPECT_EQ(Resolve("https://example.com/data/%2e%2E/x"),
            Code::kPermissionDenied);

  allowed_ = {dir_ / "allowed"};
  EXPECT_EQ(Resolve(dir_ / "allowed/c"), Code::kOk);
  allowed_ = {"/"};
  EXPECT_EQ(Resolve(dir_ / "outside/d"), Code::kOk);
}

TEST_F(ExternalTest, ABaseOfEverythingAllowsNothing) {
  AddBase(4, "/");
  EXPECT_EQ(Resolve("/etc/passwd"), Code::kPermissionDenied);
}

TEST_F(ExternalTest, AMissingFileIsNotFoundWhereOneMayLook) {
  EXPECT_EQ(Resolve(dir_ / "ds/data/none"), Code::kNotFound);
  EXPECT_EQ(Resolve(dir_ / "outside/none"), Code::kPermissionDenied);
}

TEST_F(ExternalTest, RefusesRelativeBasesAndPaths) {
  AddBase(5, "elsewhere");
  EXPECT_EQ(Resolve("b", 5), Code::kCorruption);
  EXPECT_EQ(Resolve("b", 6), Code::kCorruption);
  EXPECT_EQ(Resolve("sub/b"), Code::kPermissionDenied);
  EXPECT_EQ(Resolve(""), Code::kCorruption);
}

TEST_F(ExternalTest, ARemoteDatasetNeverReachesThisMachine) {
  AddBase(7, "http://169.254.169.254/latest");
  allowed_ = {"/", "http://127.0.0.1/"};
  const std::string remote = "https://example.com/ds";
  for (const char* uri :
       {"/etc/passwd", "file:///etc/passwd", "http://127.0.0.1/x",
        "http://localhost/x", "http://a.localhost:80/x", "http://2130706433/x",
        "http://0x7f.1/x", "http://[::1]/x", "http://[::ffff:127.0.0.1]/x",
        "http://169.254.169.254/x", "http://[fe80::1%25eth0]/x",
        "http://user@127.0.0.1:8/x", "http://0.0.0.0/x",
        "http://LOCALHOST./x"}) {
    EXPECT_EQ(Resolve(uri, {}, remote), Code::kPermissionDenied) << uri;
  }
  EXPECT_EQ(Resolve("x", 7, remote), Code::kPermissionDenied);
  EXPECT_EQ(Resolve("sub/b", 3, remote), Code::kPermissionDenied);
  EXPECT_EQ(Resolve("https://example.com/ds/x", {}, remote), Code::kOk);
  EXPECT_EQ(Resolve("http://127.0.0.1:9/d/x", {}, "http://127.0.0.1:9/d"),
            Code::kOk);
}

}  // namespace
}  // namespace rowfs
