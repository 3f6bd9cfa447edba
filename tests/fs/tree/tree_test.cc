// What the tree promises beyond what a mount can show: when it waits, what it
// costs, who holds what.
#include "fs/tree/tree.h"

#include <gmock/gmock.h>

#include <set>
#include <string>

#include "fs/tree/prefetcher.h"
#include "storage/base/clock.h"
#include "tests/support/sample_tree.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

using ::testing::HasSubstr;

NodeId NodeAt(Tree& tree, const std::string& path) {
  const auto entry = tree.Resolve(path, false);
  EXPECT_OK(entry);
  return entry.ok() ? entry.value().node : 0;
}

TEST(Tree, AnswersAboutRowsFromMemoryAndReadsNothing) {
  SampleTree sample({.row_count = 1000});
  Tree& tree = sample.tree();

  ASSERT_OK_AND_ASSIGN(const Entry rows,
                       tree.Lookup(kRootNode, "rows", Wait::kNo));
  ASSERT_OK_AND_ASSIGN(const Entry row,
                       tree.Lookup(rows.node, "000999", Wait::kNo));
  ASSERT_OK_AND_ASSIGN(const Entry link,
                       tree.Lookup(rows.node, "999", Wait::kNo));
  uint64_t count = 0;
  EXPECT_OK(
      tree.ReadDir(rows.node, 0, true, Wait::kNo, [&](const DirectoryEntry&) {
        ++count;
        return true;
      }));

  EXPECT_OK(tree.GetAttr(row.node, Wait::kNo));
  EXPECT_OK(tree.ReadLink(link.node, Wait::kNo));
  EXPECT_EQ(count, 1000u);
  EXPECT_EQ(sample.table().take_count(), 0u);
  EXPECT_THAT(tree.Lookup(rows.node, "nothing", Wait::kNo),
              HasCode(Code::kNotFound));
}

TEST(Tree, SaysWhenItWouldHaveToWait) {
  SampleTree sample({});
  Tree& tree = sample.tree();
  const NodeId row = NodeAt(tree, "rows/000001");

  EXPECT_THAT(tree.Lookup(row, "id", Wait::kNo), HasCode(Code::kUnavailable));
  EXPECT_EQ(sample.table().take_count(), 0u);
  ASSERT_OK_AND_ASSIGN(const Entry id, tree.Lookup(row, "id", Wait::kYes));
  EXPECT_OK(tree.Lookup(row, "id", Wait::kNo));
  EXPECT_OK(tree.Open(id.node, Wait::kNo));
  const NodeId photo = NodeAt(tree, "rows/000001/gated.txt");
  EXPECT_THAT(tree.Open(photo, Wait::kNo), HasCode(Code::kUnavailable));
  const NodeId frames = NodeAt(tree, "rows/000001/video.frames");
  EXPECT_THAT(tree.Lookup(frames, "000001.jpg", Wait::kNo),
              HasCode(Code::kUnavailable));
  EXPECT_THAT(tree.OpenDir(frames, Wait::kNo), HasCode(Code::kUnavailable));
}

TEST(Tree, ARowIsTakenOnceWhateverIsAskedAboutIt) {
  SampleTree sample({});
  Tree& tree = sample.tree();

  for (const char* path :
       {"rows/3/id", "rows/3/row.json", "rows/3/photo.png", "rows/3/video.mp4",
        "rows/3/images/0.png", "rows/3/video.frames"}) {
    EXPECT_OK(tree.Resolve(path));
  }

  EXPECT_EQ(sample.table().take_count(), 1u);
  EXPECT_EQ(sample.plugin().decode_count(), 0u);
}

TEST(Tree, AWalkOverRowsTakesManyAtATime) {
  SampleTree sample({.row_count = 500});

  for (int row = 0; row < 500; ++row) {
    EXPECT_OK(
        sample.tree().Resolve("rows/" + std::to_string(row) + "/name.txt"));
  }

  EXPECT_LT(sample.table().take_count(), 30u);
}

TEST(Tree, ViewNodesLiveAsLongAsTheyAreReferenced) {
  SampleTree sample({});
  Tree& tree = sample.tree();
  const NodeId frames = NodeAt(tree, "rows/000001/video.frames");
  ASSERT_OK_AND_ASSIGN(const Entry frame,
                       tree.Lookup(frames, "000001.jpg", Wait::kYes));
  ASSERT_OK_AND_ASSIGN(const Entry again,
                       tree.Lookup(frames, "000001.jpg", Wait::kNo));
  EXPECT_EQ(frame.node, again.node);
  EXPECT_EQ(tree.Stats().table_nodes, 2u);

  tree.Forget(frame.node, 1);
  EXPECT_OK(tree.GetAttr(frame.node, Wait::kNo));
  tree.Forget(frame.node, 1);

  EXPECT_THAT(tree.GetAttr(frame.node, Wait::kNo), HasCode(Code::kNotFound));
  tree.Forget(frames, 1);
  EXPECT_EQ(tree.Stats().table_nodes, 0u);
}

TEST(Tree, AnEntryThatWasNotTakenHoldsNothing) {
  SampleTree sample({});
  Tree& tree = sample.tree();
  const NodeId frames = NodeAt(tree, "rows/000001/video.frames");

  int taken = 0;
  EXPECT_OK(tree.ReadDir(frames, 0, true, Wait::kYes,
                         [&](const DirectoryEntry&) { return taken++ < 4; }));

  EXPECT_EQ(tree.Stats().table_nodes, 5u);  // the folder and four frames
}

TEST(Tree, AnOpenTellsTheExactSizeFromThenOn) {
  SampleTree sample({});
  Tree& tree = sample.tree();
  const NodeId frame = NodeAt(tree, "rows/000001/video.frames/000004.jpg");
  EXPECT_FALSE(tree.GetAttr(frame, Wait::kNo).value().size_exact);

  ASSERT_OK_AND_ASSIGN(const OpenedFile opened, tree.Open(frame, Wait::kYes));

  const uint64_t size = FakePlugin::FrameText(4).size();
  EXPECT_EQ(opened.attributes.size, size);
  EXPECT_EQ(tree.GetAttr(frame, Wait::kNo).value().size, size);
  EXPECT_TRUE(tree.GetAttr(frame, Wait::kNo).value().size_exact);
  EXPECT_EQ(tree.Stats().open_handles, 1u);
  tree.Release(opened.handle);
  EXPECT_EQ(tree.Stats().open_handles, 0u);
}

TEST(Tree, ErrorsNameTheRowAndTheFile) {
  SampleTree sample({});
  const NodeId frame =
      NodeAt(sample.tree(), "rows/000001/video.frames/000003.jpg");

  const Status status = sample.tree().Open(frame, Wait::kYes).status();

  EXPECT_THAT(status, HasCode(Code::kCorruption));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("row 1 column video view .frames/000003.jpg: frame 3"));
}

TEST(Tree, ResolveFollowsLinksAndDots) {
  SampleTree sample({});
  Tree& tree = sample.tree();

  EXPECT_EQ(NodeAt(tree, "/rows/./1/../000002"), NodeAt(tree, "rows/000002"));
  EXPECT_EQ(NodeAt(tree, "../.."), kRootNode);
  EXPECT_EQ(NodeAt(tree, "by/label/odd/000003/id"),
            NodeAt(tree, "rows/000003/id"));
  EXPECT_THAT(tree.Resolve("rows/1/nothing/x"), HasCode(Code::kNotFound));
  EXPECT_THAT(tree.Resolve("rows/1/id/x"), HasCode(Code::kInvalidArgument));
}

TEST(Tree, PrefetchRendersAFolderAndReadsBlobs) {
  SampleTree sample({});

  EXPECT_OK(sample.tree().Prefetch("rows/000001/video.frames"));
  EXPECT_OK(sample.tree().Prefetch("2,4-5"));
  EXPECT_THAT(sample.tree().Prefetch("99"), HasCode(Code::kOutOfRange));
  EXPECT_THAT(sample.tree().Prefetch("nothing"), HasCode(Code::kNotFound));

  EXPECT_GE(sample.plugin().decode_count(), 9u);
  EXPECT_EQ(sample.tree().Stats().table_nodes, 0u);
  EXPECT_EQ(sample.tree().Stats().open_handles, 0u);
}

TEST(Tree, RefusesOptionsThatNameNothing) {
  FakeRegistry registry;
  Renderer renderer(RenderLimits(), nullptr, nullptr);
  const auto make = [&](TreeOptions options) {
    Schema schema;
    schema.fields = {MakeField("photo", MakeType(TypeId::kBlob))};
    auto table = std::make_unique<GeneratedTable>(
        schema, 3,
        [](uint64_t, size_t, ArrayBuilder& out) { out.AppendNull(); }, nullptr);
    return Tree::Make(Dataset::Make("d", std::move(table), {}).value(),
                      registry, renderer, std::move(options))
        .status();
  };
  TreeOptions missing;
  missing.name_column = "nothing";
  TreeOptions blob;
  blob.name_column = "photo";
  TreeOptions view;
  view.views = {{"best", {3}}};

  EXPECT_OK(make({}));
  EXPECT_THAT(make(missing), HasCode(Code::kInvalidArgument));
  EXPECT_THAT(make(blob), HasCode(Code::kInvalidArgument));
  EXPECT_THAT(make(view), HasCode(Code::kInvalidArgument));
}

TEST(Prefetcher, WorksOffLinesInOrderAcrossWrites) {
  ThreadPool pool(1, 1);
  std::vector<std::string> lines;  // of the pool's thread until the end
  {
    Prefetcher prefetcher(
        &pool, [&](const std::string& line) { lines.push_back(line); });
    EXPECT_OK(prefetcher.Write(AsBytes("one\ntw")));
    EXPECT_OK(prefetcher.Write(AsBytes("o\n\nthree")));
    prefetcher.Flush();
    while (prefetcher.Text() != "pending 0\ndone 3\n") RealClock().SleepMs(1);
    EXPECT_THAT(prefetcher.Write(AsBytes(std::string(5000, 'x'))),
                HasCode(Code::kInvalidArgument));
  }

  EXPECT_THAT(lines, ::testing::ElementsAre("one", "two", "three"));
  EXPECT_THAT(Prefetcher(nullptr, nullptr).Write(AsBytes("x\n")),
              HasCode(Code::kUnsupported));
}

}  // namespace
}  // namespace rowfs
