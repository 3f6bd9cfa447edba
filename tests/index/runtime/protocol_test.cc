#include "index/runtime/protocol.h"

#include "index/runtime/plugin_checks.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

using ::testing::ElementsAre;

ViewEntry SomeEntry(const std::string& name) {
  ViewEntry entry;
  entry.name = name;
  entry.size = 300;
  entry.size_exact = true;
  entry.media_type = "image/jpeg";
  entry.attributes = {{"pts", "12"}, {"key", ""}};
  entry.canonical_path = ".frames/000001.jpg";
  return entry;
}

ViewPlan SomePlan() {
  ViewPlan plan;
  plan.segments.resize(3);
  ViewSegment literal;
  literal.literal = std::make_shared<const Bytes>(ToBytes("moov"));
  ViewSegment range;
  range.range = {10, 20};
  plan.segments[1] = {literal, range};
  DecodeGroup group;
  group.items = {2, 0};
  group.ranges = {{0, 5}, {7, 100}};
  group.recipe = ToBytes("recipe");
  plan.groups = {group};
  return plan;
}

// A request laid out as the parent does it.
struct Region {
  Bytes bytes;
  uint64_t head_size = 0;
};

Region LayOut(const WorkerRequest& request) {
  Region region;
  region.bytes = EncodeRequestHead(request);
  region.head_size = region.bytes.size();
  std::vector<uint64_t> sizes;
  for (const ByteSpan part : request.parts) sizes.push_back(part.size());
  const auto offsets = PartOffsets(region.head_size, sizes).value();
  for (size_t i = 0; i < sizes.size(); ++i) {
    region.bytes.resize(offsets[i]);
    AppendBytes(&region.bytes, request.parts[i]);
  }
  return region;
}

WorkerRequest SomeRequest(const Bytes& recipe, const Bytes& range) {
  WorkerRequest request;
  request.op = WorkerOp::kDecode;
  request.key = UINT64_MAX;
  request.has_index = true;
  request.blob_size = 1000;
  request.config = "frames=png";
  request.numbers = {1, UINT64_MAX};
  request.texts = {"", "a"};
  request.parts = {recipe, range};
  return request;
}

TEST(Protocol, RequestsReadBackWithAlignedParts) {
  const Bytes recipe = ToBytes("recipe");
  const Bytes range(100, std::byte{9});
  const Region region = LayOut(SomeRequest(recipe, range));

  ASSERT_OK_AND_ASSIGN(const WorkerRequest request,
                       DecodeRequest(region.bytes, region.head_size));

  EXPECT_EQ(request.op, WorkerOp::kDecode);
  EXPECT_EQ(request.key, UINT64_MAX);
  EXPECT_TRUE(request.has_index);
  EXPECT_FALSE(request.has_entries);
  EXPECT_EQ(request.blob_size, 1000u);
  EXPECT_EQ(request.config, "frames=png");
  EXPECT_THAT(request.numbers, ElementsAre(1, UINT64_MAX));
  EXPECT_THAT(request.texts, ElementsAre("", "a"));
  ASSERT_EQ(request.parts.size(), 2u);
  EXPECT_EQ(AsText(request.parts[0]), "recipe");
  EXPECT_EQ((request.parts[1].data() - region.bytes.data()) % 16, 0);
}

TEST(Protocol, CutRequestsAreRefused) {
  const Bytes recipe = ToBytes("recipe");
  const Region region = LayOut(SomeRequest(recipe, recipe));

  for (size_t size = 0; size < region.bytes.size(); ++size) {
    const ByteSpan cut = ByteSpan(region.bytes).first(size);
    EXPECT_THAT(DecodeRequest(cut, region.head_size),
                HasCode(Code::kCorruption));
    if (size < region.head_size) {
      EXPECT_THAT(DecodeRequest(region.bytes, size),
                  HasCode(Code::kCorruption));
    }
  }
}

TEST(Protocol, InputLargerThanTheRegionIsRefused) {
  const uint64_t sizes[] = {kInputRegionBytes, 1};
  EXPECT_THAT(PartOffsets(0, sizes), HasCode(Code::kResourceExhausted));
  const uint64_t huge[] = {UINT64_MAX};
  EXPECT_THAT(PartOffsets(10, huge), HasCode(Code::kResourceExhausted));
  const uint64_t fits[] = {kInputRegionBytes - 16};
  EXPECT_OK(PartOffsets(10, fits));
}

TEST(Protocol, ParentMessagesReadBackAndAreChecked) {
  ParentMessage message;
  message.kind = ParentFrame::kRequest;
  message.head_size = 10;
  message.size = 20;
  const Bytes frame = EncodeParentMessage(message);

  ASSERT_OK_AND_ASSIGN(const ParentMessage read, DecodeParentMessage(frame));
  EXPECT_EQ(read.head_size, 10u);
  EXPECT_EQ(read.size, 20u);

  message.head_size = 21;
  EXPECT_THAT(DecodeParentMessage(EncodeParentMessage(message)),
              HasCode(Code::kCorruption));
  message.size = kInputRegionBytes + 1;
  EXPECT_THAT(DecodeParentMessage(EncodeParentMessage(message)),
              HasCode(Code::kCorruption));
  EXPECT_THAT(DecodeParentMessage(AsBytes("\xff")), HasCode(Code::kCorruption));
}

WorkerMessage SomeChunks() {
  WorkerMessage message;
  message.kind = WorkerFrame::kChunks;
  message.last = true;
  message.status = Status(Code::kNotFound, "no such\nframe");
  message.chunks = {{0, Code::kOk, 100}, {7, Code::kCorruption, 3}};
  return message;
}

TEST(Protocol, WorkerMessagesReadBackInOneLine) {
  ASSERT_OK_AND_ASSIGN(const WorkerMessage read,
                       DecodeWorkerMessage(EncodeWorkerMessage(SomeChunks())));

  EXPECT_TRUE(read.last);
  EXPECT_EQ(read.status.code(), Code::kNotFound);
  EXPECT_EQ(read.status.message(), "no such?frame");
  ASSERT_EQ(read.chunks.size(), 2u);
  EXPECT_EQ(read.chunks[1].item, 7u);
  EXPECT_EQ(read.chunks[1].code, Code::kCorruption);
  EXPECT_EQ(read.chunks[1].size, 3u);
}

TEST(Protocol, CutWorkerMessagesAreRefused) {
  WorkerMessage hello;
  hello.kind = WorkerFrame::kHello;
  hello.name = "toy";
  hello.magic = "TOY1";
  WorkerMessage ask;
  ask.kind = WorkerFrame::kReadInput;
  ask.size = 10;
  for (const WorkerMessage& message : {hello, ask, SomeChunks()}) {
    const Bytes frame = EncodeWorkerMessage(message);
    EXPECT_OK(DecodeWorkerMessage(frame));
    for (size_t size = 0; size < frame.size(); ++size) {
      EXPECT_THAT(DecodeWorkerMessage(ByteSpan(frame).first(size)),
                  HasCode(Code::kCorruption));
    }
    Bytes longer = frame;
    longer.push_back(std::byte{0});
    EXPECT_THAT(DecodeWorkerMessage(longer), HasCode(Code::kCorruption));
  }
}

TEST(Protocol, ChunksBeyondTheRegionAreRefused) {
  WorkerMessage message = SomeChunks();
  message.chunks = {{0, Code::kOk, 16 << 20}};
  EXPECT_OK(DecodeWorkerMessage(EncodeWorkerMessage(message)));
  message.chunks = {{0, Code::kOk, 16 << 20}, {1, Code::kOk, 1}};
  EXPECT_THAT(DecodeWorkerMessage(EncodeWorkerMessage(message)),
              HasCode(Code::kCorruption));
  message.chunks.assign(kChunksMax + 1, {});
  EXPECT_THAT(DecodeWorkerMessage(EncodeWorkerMessage(message)),
              HasCode(Code::kCorruption));
}

TEST(Protocol, ReadsOfTooMuchAreRefused) {
  WorkerMessage message;
  message.kind = WorkerFrame::kReadInput;
  message.size = kReadBytesMax + 1;
  EXPECT_THAT(DecodeWorkerMessage(EncodeWorkerMessage(message)),
              HasCode(Code::kCorruption));
  message.size = 0;
  EXPECT_THAT(DecodeWorkerMessage(EncodeWorkerMessage(message)),
              HasCode(Code::kCorruption));
}

TEST(Protocol, AFullFrameOfChunksFitsIntoAFrame) {
  WorkerMessage message = SomeChunks();
  message.chunks.assign(kChunksMax, {UINT32_MAX, Code::kInternal, 0});

  EXPECT_LT(EncodeWorkerMessage(message).size(), kFrameBytesMax);
}

TEST(Protocol, EntriesReadBack) {
  const ViewEntry entries[] = {SomeEntry("a"), SomeEntry("b")};
  const Bytes body = EncodeEntries(entries);

  ASSERT_OK_AND_ASSIGN(const auto read, DecodeEntries(body, 2));

  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].name, "b");
  EXPECT_EQ(read[1].size, 300u);
  EXPECT_TRUE(read[1].size_exact);
  EXPECT_FALSE(read[1].is_directory);
  EXPECT_EQ(read[1].attributes, entries[1].attributes);
  EXPECT_EQ(read[1].canonical_path, ".frames/000001.jpg");
  EXPECT_THAT(DecodeEntries(body, 1), HasCode(Code::kCorruption));
  for (size_t size = 0; size < body.size(); ++size) {
    EXPECT_FALSE(DecodeEntries(ByteSpan(body).first(size), 2).ok());
  }
}

TEST(Protocol, EntriesThatEscapeAreRefused) {
  for (const char* name : {"", "..", "a/b", "a\nb"}) {
    const ViewEntry entry = SomeEntry(name);
    EXPECT_THAT(DecodeEntries(EncodeEntries({&entry, 1}), 1),
                HasCode(Code::kInternal))
        << name;
  }
}

TEST(Protocol, PlansReadBack) {
  const Bytes body = EncodePlan(SomePlan());

  ASSERT_OK_AND_ASSIGN(const ViewPlan plan, DecodePlan(body, 3, 100));

  EXPECT_EQ(EncodePlan(plan), body);
  for (size_t size = 0; size < body.size(); ++size) {
    EXPECT_FALSE(DecodePlan(ByteSpan(body).first(size), 3, 100).ok());
  }
}

TEST(Protocol, PlansOfOtherItemsAndBlobsAreRefused) {
  const Bytes body = EncodePlan(SomePlan());
  EXPECT_THAT(DecodePlan(body, 4, 100), HasCode(Code::kCorruption));
  EXPECT_THAT(DecodePlan(body, 3, 99), HasCode(Code::kCorruption));
  ViewPlan twice = SomePlan();
  twice.groups[0].items = {2, 2};
  EXPECT_THAT(DecodePlan(EncodePlan(twice), 3, 100), HasCode(Code::kInternal));
  ViewPlan unanswered = SomePlan();
  unanswered.groups[0].items = {2};
  EXPECT_THAT(DecodePlan(EncodePlan(unanswered), 3, 100),
              HasCode(Code::kInternal));
  ViewPlan unsorted = SomePlan();
  unsorted.groups[0].ranges = {{7, 100}, {0, 5}};
  EXPECT_THAT(DecodePlan(EncodePlan(unsorted), 3, 100),
              HasCode(Code::kInternal));
  ViewPlan backwards = SomePlan();
  backwards.groups[0].ranges = {{7, 5}};
  EXPECT_THAT(DecodePlan(EncodePlan(backwards), 3, 100),
              HasCode(Code::kCorruption));
}

}  // namespace
}  // namespace rowfs
