// Views of blobs that were never ingested: what a folder shows before anything
// is indexed, and what it costs.
#include <gmock/gmock.h>

#include <map>
#include <string>

#include "fs/tree/metadata_file.h"
#include "fs/tree/tree.h"
#include "tests/support/fake_plugin.h"
#include "tests/support/generated_table.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kBrokenRow = 2;

// Knows the blobs of column 1; those of kBrokenRow are damaged.
class CountingIndexer final : public MediaIndexer {
 public:
  explicit CountingIndexer(Plugin* plugin) : plugin_(plugin) {}

  std::optional<Result<std::optional<Index>>> Known(
      const Place& place) override {
    const auto found = known_.find({place.row, place.path});
    if (found == known_.end()) return {};
    return found->second;
  }
  Result<std::optional<Index>> Find(const Place& place,
                                    const std::shared_ptr<const Blob>&,
                                    FileType) override {
    ++finds;
    Result<std::optional<Index>> made =
        std::optional<Index>(Index{plugin_, FakePlugin::MakeInfo(3)});
    if (place.row == kBrokenRow) made = Status(Code::kUnsupported, "it is cut");
    known_.try_emplace({place.row, place.path}, made);
    return made;
  }

  int finds = 0;

 private:
  Plugin* plugin_;
  std::map<std::pair<uint64_t, CellPath>, Result<std::optional<Index>>> known_;
};

// Rows of "name" (string), "clip" and "photo", whose files are called as name
// says with .mp4, and photo.jpg.
class LateViews : public ::testing::Test {
 protected:
  LateViews() : indexer_(&registry_.plugin()), renderer_({}, nullptr, nullptr) {
    store_->Put("clip", std::string("\0\0\0\x14"
                                    "ftypisom",
                                    12) +
                            std::string(5000, 'v'));
    store_->Put("photo", "\xFF\xD8\xFF" + std::string(5000, 'p'));
    store_->Put("sound", std::string(5000, 's'));
    const TypePtr blob = MakeType(TypeId::kBlob);
    Schema schema;
    schema.fields = {
        MakeField("name", MakeType(TypeId::kString)),
        MakeField("clip", blob, {{"rowfs:name_column", "name"}}),
        MakeField("photo", blob),
        // Its own name is free although the views of the clip have its stem.
        MakeField("sound", blob, {{"rowfs:file_name", "v.wav"}})};
    auto table = std::make_unique<GeneratedTable>(
        schema, 4,
        [](uint64_t, size_t field, ArrayBuilder& out) {
          if (field == 0) return out.AppendBytes(AsBytes("some/v.mp4"));
          BlobCell cell;
          cell.kind = BlobKind::kExternal;
          cell.object = field == 1 ? "clip" : field == 2 ? "photo" : "sound";
          out.AppendBlob(std::move(cell));
        },
        store_);
    auto dataset = Dataset::Make("generated", std::move(table), {});
    dataset_ = dataset.value();
  }

  Tree& tree() {
    if (!tree_) {
      options_.indexer = &indexer_;
      options_.mtime_ns = 1;
      tree_ = std::move(Tree::Make(dataset_, registry_, renderer_, options_))
                  .value();
    }
    return *tree_;
  }

  std::vector<std::string> List(const std::string& path) {
    std::vector<std::string> names;
    const auto folder = tree().Resolve(path);
    EXPECT_OK(folder);
    if (!folder.ok()) return names;
    EXPECT_OK(tree().OpenDir(folder.value().node, Wait::kYes));
    EXPECT_OK(tree().ReadDir(folder.value().node, 0, true, Wait::kYes,
                             [&](const DirectoryEntry& entry) {
                               names.emplace_back(entry.name);
                               return true;
                             }));
    return names;
  }
  uint64_t BytesRead() {
    uint64_t bytes = 0;
    for (const MemoryStore::Request& request : store_->TakeLog()) {
      bytes += request.range.size();
    }
    return bytes;
  }

  const std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  FakeRegistry registry_;
  CountingIndexer indexer_;
  Renderer renderer_;
  TreeOptions options_;
  std::shared_ptr<Dataset> dataset_;
  std::unique_ptr<Tree> tree_;
};

TEST_F(LateViews, ARowListsWhatSuchFilesHaveWithoutIndexingThem) {
  const auto names = List("rows/000001");

  EXPECT_THAT(names,
              ElementsAre("row.json", "name.txt", "v.mp4", "v.frames", "v.at",
                          "v.info.json", "v.sound", "photo.jpg", "v.wav"));
  EXPECT_EQ(indexer_.finds, 0);
  // The heads that tell the types, and no more.
  EXPECT_LE(BytesRead(), 3 * kFileTypeHeadBytes);
}

TEST_F(LateViews, ViewsAreIndexedWhenTheyAreLookedInto) {
  EXPECT_THAT(List("rows/000001/v.frames"),
              ElementsAre("000000.jpg", "000001.jpg", "000002.jpg"));
  EXPECT_EQ(indexer_.finds, 1);

  EXPECT_OK(tree().Resolve("rows/000001/v.info.json"));
  // From now on the folder lists what there really is.
  EXPECT_THAT(List("rows/000001"),
              AllOf(Contains("v.broken"), Contains("v.frames")));
  EXPECT_EQ(indexer_.finds, 1);
}

TEST_F(LateViews, ViewsOfAPictureAreThereByNameAlone) {
  EXPECT_THAT(List("rows/000000"), Not(Contains("photo.frames")));

  EXPECT_THAT(List("rows/000000/photo.frames"),
              ElementsAre("000000.jpg", "000001.jpg", "000002.jpg"));
  EXPECT_EQ(indexer_.finds, 1);
  EXPECT_THAT(tree().Resolve("rows/000000/photo.xmp"),
              HasCode(Code::kNotFound));
  EXPECT_THAT(tree().Resolve("rows/000000/foto.xmp"), HasCode(Code::kNotFound));
  EXPECT_EQ(indexer_.finds, 1);
}

TEST_F(LateViews, AFolderOfViewsThatCannotBeMadeStaysAndSaysWhy) {
  ASSERT_OK_AND_ASSIGN(const Entry frames,
                       tree().Resolve("rows/000002/v.frames"));

  EXPECT_THAT(tree().OpenDir(frames.node, Wait::kYes),
              HasCode(Code::kCorruption));
  ASSERT_OK_AND_ASSIGN(
      const std::string why,
      tree().GetXattr(frames.node, "user.rowfs.error", Wait::kYes));
  EXPECT_THAT(why, HasSubstr("it is cut"));
  // Whoever walks through the row meets no error before opening something.
  ASSERT_OK_AND_ASSIGN(const Entry info,
                       tree().Resolve("rows/000002/v.info.json"));
  EXPECT_EQ(info.attributes.size, 1U);
  EXPECT_FALSE(info.attributes.size_exact);
  EXPECT_THAT(tree().Open(info.node, Wait::kYes), HasCode(Code::kCorruption));
  ASSERT_OK_AND_ASSIGN(const Entry own, tree().Resolve("rows/000002/v.mp4"));
  EXPECT_OK(tree().Open(own.node, Wait::kYes));
  ASSERT_OK_AND_ASSIGN(
      const std::string same,
      tree().GetXattr(own.node, "user.rowfs.error", Wait::kYes));
  EXPECT_EQ(same, "it is cut");
}

TEST_F(LateViews, AFolderThatWasPromisedAndIsNotThereIsEmpty) {
  EXPECT_THAT(List("rows/000001/v.sound"), ElementsAre());
  // Of a file that does not open it is as broken as the others.
  ASSERT_OK_AND_ASSIGN(const Entry sound,
                       tree().Resolve("rows/000002/v.sound"));
  EXPECT_THAT(tree().OpenDir(sound.node, Wait::kYes),
              HasCode(Code::kCorruption));
}

TEST_F(LateViews, FarAwayOnlyKnownViewsAreListed) {
  options_.list_unindexed = false;

  EXPECT_THAT(List("rows/000001"), ElementsAre("row.json", "name.txt", "v.mp4",
                                               "photo.jpg", "v.wav"));
  EXPECT_THAT(List("rows/000001/v.frames"), Contains("000002.jpg"));
  EXPECT_THAT(List("rows/000001"), Contains("v.frames"));
}

TEST_F(LateViews, MetadataIndexesNothing) {
  ASSERT_OK_AND_ASSIGN(const Entry file, tree().Resolve("metadata.jsonl"));
  ASSERT_OK_AND_ASSIGN(const OpenedFile opened,
                       tree().Open(file.node, Wait::kYes));
  Bytes text(opened.attributes.size);
  ASSERT_OK(tree().Read(file.node, opened.handle, 0, text, Wait::kYes));
  tree().Release(opened.handle);

  EXPECT_THAT(std::string(AsText(text)),
              HasSubstr("{\"file_name\": \"rows/000003/v.mp4\", "
                        "\"photo_file_name\": \"rows/000003/photo.jpg\", "
                        "\"sound_file_name\": \"rows/000003/v.wav\""));
  EXPECT_EQ(indexer_.finds, 0);
  for (const MemoryStore::Request& request : store_->TakeLog()) {
    EXPECT_EQ(request.path, "photo");  // the others say their names
    EXPECT_LE(request.range.size(), kFileTypeHeadBytes);
  }
}

}  // namespace
}  // namespace rowfs
