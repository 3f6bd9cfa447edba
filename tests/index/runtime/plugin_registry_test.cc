#include "index/runtime/plugin_registry.h"

#include <filesystem>
#include <fstream>

#include "tests/index/runtime/toy.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PluginRegistryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "rowfs_registry_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    options_.directory = folder_;
    options_.in_process = true;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
  PluginOptions options_;
};

TEST_F(PluginRegistryTest, FindsPluginsInTheFolder) {
  fs::copy_file(ToyPath(), folder_ / "rowfs_toy.so");
  std::ofstream(folder_ / "notes.so") << "x";

  ASSERT_OK_AND_ASSIGN(const auto registry, OpenPlugins(options_));

  EXPECT_THAT(registry->Names(), ElementsAre("toy"));
  EXPECT_THAT(registry->Problems(), IsEmpty());
  Plugin* toy = registry->FindByName("toy");
  ASSERT_NE(toy, nullptr);
  EXPECT_EQ(registry->FindByMagic(AsBytes("TOY1 and more")), toy);
  EXPECT_EQ(registry->FindByMagic(AsBytes("TO")), nullptr);
  ASSERT_OK_AND_ASSIGN(auto found,
                       registry->RankByContent(AsBytes("TOY1 ok\n"), "a"));
  EXPECT_THAT(found, ElementsAre(toy));
  ASSERT_OK_AND_ASSIGN(found, registry->RankByContent(AsBytes("GIF"), "a"));
  EXPECT_THAT(found, IsEmpty());
}

TEST_F(PluginRegistryTest, RunsPluginsInWorkersUnlessAskedOtherwise) {
  fs::copy_file(ToyPath(), folder_ / "rowfs_toy.so");
  fs::create_symlink(fs::path(ROWFS_BUILD_DIR) / "rowfs-worker",
                     folder_ / "rowfs-worker");
  std::ofstream(folder_ / "rowfs_broken.so") << "not a library";
  options_.in_process = false;

  ASSERT_OK_AND_ASSIGN(const auto registry, OpenPlugins(options_));

  EXPECT_THAT(registry->Names(), ElementsAre("toy"));
  EXPECT_THAT(registry->Problems(), SizeIs(1));
  Plugin* toy = registry->FindByName("toy");
  ASSERT_NE(toy, nullptr);
  EXPECT_THAT(IngestToy(*toy, "TOY1 crash\nx"), HasCode(Code::kInternal));
  EXPECT_OK(IngestToy(*toy, "TOY1 ok\nx"));
}

TEST_F(PluginRegistryTest, WithoutTheWorkerProgramThereAreNoPlugins) {
  fs::copy_file(ToyPath(), folder_ / "rowfs_toy.so");
  options_.in_process = false;

  EXPECT_THAT(OpenPlugins(options_), HasCode(Code::kNotFound));
}

TEST_F(PluginRegistryTest, OneUnusablePluginLeavesTheOthers) {
  fs::copy_file(ToyPath(), folder_ / "rowfs_toy.so");
  std::ofstream(folder_ / "rowfs_broken.so") << "not a library";

  ASSERT_OK_AND_ASSIGN(const auto registry, OpenPlugins(options_));

  EXPECT_THAT(registry->Names(), ElementsAre("toy"));
  EXPECT_THAT(registry->Problems(), SizeIs(1));
}

TEST_F(PluginRegistryTest, AnExtraPathMustWork) {
  options_.extra_paths = {(folder_ / "none.so").string()};
  EXPECT_THAT(OpenPlugins(options_), HasCode(Code::kNotFound));

  std::ofstream(folder_ / "broken.so") << "not a library";
  options_.extra_paths = {(folder_ / "broken.so").string()};
  EXPECT_THAT(OpenPlugins(options_), HasCode(Code::kUnsupported));

  options_.in_process = false;
  fs::create_symlink(fs::path(ROWFS_BUILD_DIR) / "rowfs-worker",
                     folder_ / "rowfs-worker");
  EXPECT_THAT(OpenPlugins(options_), HasCode(Code::kUnsupported));
  options_.extra_paths = {(folder_ / "none.so").string()};
  EXPECT_THAT(OpenPlugins(options_), HasCode(Code::kNotFound));
  options_.extra_paths = {ToyPath()};
  EXPECT_OK(OpenPlugins(options_));
}

TEST_F(PluginRegistryTest, OfTwoWithOneNameTheFirstWins) {
  fs::copy_file(ToyPath(), folder_ / "rowfs_a.so");
  fs::copy_file(ToyPath(), folder_ / "rowfs_b.so");

  ASSERT_OK_AND_ASSIGN(const auto registry, OpenPlugins(options_));

  EXPECT_THAT(registry->Names(), ElementsAre("toy"));
  EXPECT_THAT(registry->Problems(), SizeIs(1));
}

TEST(PluginFolders, AreBesideTheProgramAndInTheLibraryFolder) {
  const auto folders = PluginFolders("");

  ASSERT_THAT(folders, SizeIs(2));
  EXPECT_EQ(folders[0], ROWFS_BUILD_DIR);
  EXPECT_EQ(folders[1],
            fs::path(ROWFS_BUILD_DIR).parent_path().string() + "/lib/rowfs");
}

TEST(FindPluginFiles, SortsByNameAndPrefersTheEarlierFolder) {
  std::string pattern = ::testing::TempDir() + "rowfs_files_XXXXXX";
  const fs::path folder = mkdtemp(pattern.data());
  fs::create_directories(folder / "1");
  fs::create_directories(folder / "2");
  for (const char* name : {"1/rowfs_b.so", "2/rowfs_a.so", "2/rowfs_b.so"}) {
    std::ofstream(folder / name) << "x";
  }

  const auto files =
      FindPluginFiles({(folder / "1").string(), (folder / "none").string(),
                       (folder / "2").string()});

  EXPECT_THAT(files, ElementsAre((folder / "2/rowfs_a.so").string(),
                                 (folder / "1/rowfs_b.so").string()));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace rowfs
