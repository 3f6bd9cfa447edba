#include "index/runtime/plugin_host.h"

#include "tests/index/runtime/toy.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PluginHostTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(auto library, PluginLibrary::Open(ToyPath()));
    host_ = std::make_unique<PluginHost>(std::move(library));
    ASSERT_OK_AND_ASSIGN(toy_, IngestToy(*host_, "TOY1 ok\nab?c"));
  }

  std::unique_ptr<PluginHost> host_;
  Toy toy_;
};

TEST_F(PluginHostTest, DescribesThePlugin) {
  EXPECT_EQ(host_->name(), "toy");
  EXPECT_EQ(host_->version(), "1.0");
  EXPECT_EQ(host_->magic(), (std::array<char, 4>{'T', 'O', 'Y', '1'}));
}

TEST_F(PluginHostTest, ProbesAFileByItsHead) {
  ASSERT_OK_AND_ASSIGN(const int toy, host_->Probe(AsBytes("TOY1 ok"), "a"));
  ASSERT_OK_AND_ASSIGN(const int other, host_->Probe(AsBytes("GIF89a"), "a"));

  EXPECT_EQ(toy, 90);
  EXPECT_EQ(other, 0);
}

TEST_F(PluginHostTest, ForeseesViewsByTheExtension) {
  ASSERT_OK_AND_ASSIGN(const auto toy, host_->Foresee("blob.toy"));
  ASSERT_OK_AND_ASSIGN(const auto other, host_->Foresee("blob.gif"));

  ASSERT_EQ(toy.size(), 1U);
  EXPECT_EQ(toy[0].name, ".letters");
  EXPECT_TRUE(toy[0].is_directory);
  EXPECT_EQ(other.size(), 0U);
}

TEST_F(PluginHostTest, IngestStoresThePayloadInThePluginsOrder) {
  EXPECT_EQ(AsText(toy_.blob), "ab?c");
  EXPECT_EQ(AsText(*toy_.index.entries), "E");
}

TEST_F(PluginHostTest, IngestOfAContainerWritesNoPayload) {
  IngestOptions options;
  options.layout = IngestOptions::Layout::kContainer;

  ASSERT_OK_AND_ASSIGN(const Toy toy,
                       IngestToy(*host_, "TOY1 ok\nab", "", options));

  EXPECT_EQ(AsText(toy.blob), "TOY1 ok\nab");
  EXPECT_THAT(Render(*host_, toy, ".upper.txt"), HasText("AB"));
}

TEST_F(PluginHostTest, IngestFailsWithTheReadersOwnError) {
  IngestInput input;
  input.size = 100;
  input.read_at = [](uint64_t, MutableByteSpan) {
    return Status(Code::kUnavailable, "store is down");
  };

  const auto result =
      host_->Ingest(input, {}, [](ByteSpan) { return Status(); });

  EXPECT_THAT(result, HasCode(Code::kUnavailable));
}

TEST_F(PluginHostTest, IngestFailsWithTheWritersOwnError) {
  const std::string file = "TOY1 ok\nab";

  const auto result = host_->Ingest(InputOf(file), {}, [](ByteSpan) {
    return Status(Code::kPermissionDenied, "disk is sealed");
  });

  EXPECT_THAT(result, HasCode(Code::kPermissionDenied));
}

TEST_F(PluginHostTest, IngestRefusesABlobTypeNobodyKnows) {
  EXPECT_THAT(IngestToy(*host_, "TOY1 badtype\nab"), HasCode(Code::kInternal));
}

TEST_F(PluginHostTest, ListsFromANumberUpToALimit) {
  ASSERT_OK_AND_ASSIGN(const auto entries,
                       host_->List(toy_.index, ".letters", 1, 2));

  EXPECT_THAT(NamesOf(entries), ElementsAre("000001.txt", "000002.txt"));
}

TEST_F(PluginHostTest, ListsTheTopWithTheHeadAlone) {
  const PluginIndex head =
      MakePluginIndex(*host_, toy_.index.stream_info, nullptr, 4, "");

  ASSERT_OK_AND_ASSIGN(const auto entries, host_->List(head, "", 0, 2));

  EXPECT_THAT(NamesOf(entries), ElementsAre(".toy", ".upper.txt"));
  EXPECT_TRUE(entries[0].is_whole);
  EXPECT_TRUE(entries[0].size_exact);
  EXPECT_EQ(entries[0].size, 4u);
  EXPECT_EQ(entries[0].media_type, "text/plain");
  EXPECT_EQ(entries[0].attributes[0].first, "toy");
  EXPECT_THAT(host_->List(head, ".letters", 0, 9), HasCode(Code::kOutOfRange));
}

TEST_F(PluginHostTest, MapsErrorsToTheirCodes) {
  EXPECT_THAT(host_->Lookup(toy_.index, ".none"), HasCode(Code::kNotFound));
  EXPECT_THAT(host_->Lookup(toy_.index, ".none").status().message(),
              std::string("toy: no such file"));
  PluginIndex past = MakePluginIndex(*host_, toy_.index.stream_info,
                                     toy_.index.entries, 2, "");
  EXPECT_THAT(host_->List(past, "", 0, 1), HasCode(Code::kCorruption));
}

TEST_F(PluginHostTest, RefusesEntriesThatEscape) {
  const Toy bad = WithConfig(*host_, toy_, "list=badname");
  EXPECT_THAT(host_->List(bad.index, ".bad", 0, 1), HasCode(Code::kInternal));

  const Toy kind = WithConfig(*host_, toy_, "list=badkind");
  EXPECT_THAT(host_->List(kind.index, ".bad", 0, 1), HasCode(Code::kInternal));
}

TEST_F(PluginHostTest, SelectsAWindowOfTime) {
  ASSERT_OK_AND_ASSIGN(const auto entries,
                       host_->Select(toy_.index, ".letters", "1", "3"));

  EXPECT_THAT(NamesOf(entries), ElementsAre("000001.txt", "000002.txt"));
}

TEST_F(PluginHostTest, PlansSegmentsAndDecodes) {
  const std::string paths[] = {".letters/000000.txt", ".toy",
                               ".letters/000003.txt"};

  ASSERT_OK_AND_ASSIGN(const ViewPlan plan, host_->Plan(toy_.index, paths));

  ASSERT_EQ(plan.groups.size(), 1u);
  EXPECT_THAT(plan.groups[0].items, ElementsAre(0, 2));
  EXPECT_THAT(plan.groups[0].ranges, ElementsAre(ByteRange{0, 4}));
  ASSERT_EQ(plan.segments[1].size(), 2u);
  EXPECT_EQ(plan.segments[1][0].range, (ByteRange{0, 4}));
  EXPECT_EQ(AsText(*plan.segments[1][1].literal), "!");
}

TEST_F(PluginHostTest, DecodesAndFailsItemsAlone) {
  const std::string paths[] = {".letters/000001.txt", ".letters/000002.txt",
                               ".letters/000003.txt"};
  ASSERT_OK_AND_ASSIGN(const ViewPlan plan, host_->Plan(toy_.index, paths));
  const ByteSpan ranges[] = {toy_.blob};

  ASSERT_OK_AND_ASSIGN(const auto outputs,
                       host_->Decode(toy_.index, plan.groups[0], ranges));

  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_THAT(outputs[0], HasText("b"));
  EXPECT_THAT(outputs[1], HasCode(Code::kCorruption));
  EXPECT_THAT(outputs[2], HasText("c"));
}

TEST_F(PluginHostTest, RefusesOutputsThatWereNotAskedFor) {
  EXPECT_THAT(Render(*host_, toy_, ".bad/baditem"), HasCode(Code::kInternal));
  EXPECT_THAT(Render(*host_, toy_, ".bad/badnull"), HasCode(Code::kInternal));
  EXPECT_THAT(Render(*host_, toy_, ".bad/partial"), HasCode(Code::kInternal));
  EXPECT_THAT(Render(*host_, toy_, ".bad/badlength"),
              HasCode(Code::kResourceExhausted));
  EXPECT_THAT(Render(*host_, toy_, ".upper.txt"), HasText("AB?C"));
}

TEST_F(PluginHostTest, KeepsFewIndexesOpen) {
  for (int i = 0; i < 10; ++i) {
    const Toy toy = WithConfig(*host_, toy_, "size=" + std::to_string(i));
    EXPECT_OK(host_->Lookup(toy.index, ".toy"));
  }

  EXPECT_FALSE(host_->IsOpen(toy_.index.key));
  EXPECT_OK(host_->Lookup(toy_.index, ".toy"));
  EXPECT_TRUE(host_->IsOpen(toy_.index.key));
}

TEST(PluginLibrary, SaysWhatIsWrongWithAFile) {
  EXPECT_THAT(PluginLibrary::Open("/nowhere/rowfs_x.so"),
              HasCode(Code::kNotFound));
  EXPECT_THAT(PluginLibrary::Open("/etc/passwd"), HasCode(Code::kUnsupported));
}

TEST(MakePluginIndex, GivesOtherKeysToOtherContents) {
  ASSERT_OK_AND_ASSIGN(auto library, PluginLibrary::Open(ToyPath()));
  const PluginHost host(std::move(library));
  const auto info = std::make_shared<const Bytes>(ToBytes("TOY1"));
  const auto none = std::make_shared<const Bytes>();

  const uint64_t key = MakePluginIndex(host, info, none, 1, "a").key;

  EXPECT_EQ(MakePluginIndex(host, info, none, 1, "a").key, key);
  EXPECT_NE(MakePluginIndex(host, info, nullptr, 1, "a").key, key);
  EXPECT_NE(MakePluginIndex(host, info, info, 1, "a").key, key);
  EXPECT_NE(MakePluginIndex(host, info, none, 2, "a").key, key);
  EXPECT_NE(MakePluginIndex(host, info, none, 1, "b").key, key);
}

}  // namespace
}  // namespace rowfs
