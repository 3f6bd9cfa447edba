#include "index/runtime/plugin_checks.h"

#include "index/abi/rowfs_plugin.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

ViewEntry Entry(const std::string& name) {
  ViewEntry entry;
  entry.name = name;
  entry.size = 1;
  return entry;
}

TEST(StatusFromPlugin, MapsEveryCode) {
  EXPECT_OK(StatusFromPlugin(ROWFS_OK, "ignored"));
  const std::pair<int32_t, Code> kCodes[] = {
      {ROWFS_E_INVALID, Code::kInvalidArgument},
      {ROWFS_E_CORRUPT, Code::kCorruption},
      {ROWFS_E_UNSUPPORTED, Code::kUnsupported},
      {ROWFS_E_NOT_FOUND, Code::kNotFound},
      {ROWFS_E_LIMIT, Code::kResourceExhausted},
      {ROWFS_E_IO, Code::kInternal},
      {ROWFS_E_INTERNAL, Code::kInternal},
      {ROWFS_E_NEED_ENTRIES, Code::kOutOfRange},
      {-1, Code::kInternal},
      {99, Code::kInternal}};
  for (const auto& [plugin, code] : kCodes) {
    EXPECT_THAT(StatusFromPlugin(plugin, "why"), HasCode(code));
  }
}

TEST(StatusFromPlugin, KeepsMessagesInOneLine) {
  EXPECT_EQ(StatusFromPlugin(ROWFS_E_CORRUPT, "a\n\x1b[31mb").message(),
            "a??[31mb");
  EXPECT_EQ(StatusFromPlugin(ROWFS_E_CORRUPT, "").message(),
            "failed without a reason");
  EXPECT_EQ(OneLine(std::string(10'000, 'x')).size(), 512u);
}

TEST(CheckDescription, RefusesNamesThatAreNoWords) {
  EXPECT_OK(CheckDescription("video-2", "1.0 (lib 3)", "VID1"));
  for (const char* name : {"", "a/b", "Video", "a b"}) {
    EXPECT_THAT(CheckDescription(name, "1", "VID1"), HasCode(Code::kInternal));
  }
  EXPECT_THAT(CheckDescription("v", "1\n", "VID1"), HasCode(Code::kInternal));
  EXPECT_THAT(CheckDescription("v", "1", "VID"), HasCode(Code::kInternal));
}

TEST(CheckEntry, RefusesWhatCannotBeShown) {
  EXPECT_OK(CheckEntry(Entry("a")));
  EXPECT_OK(CheckEntry(Entry(std::string(255, 'a'))));
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a/b"),
        std::string("a\0b", 3), std::string(256, 'a')}) {
    EXPECT_THAT(CheckEntry(Entry(name)), HasCode(Code::kInternal));
  }
  ViewEntry no_size = Entry("a");
  no_size.size = 0;
  EXPECT_THAT(CheckEntry(no_size), HasCode(Code::kInternal));
  no_size.size_exact = true;
  EXPECT_OK(CheckEntry(no_size));
  ViewEntry many = Entry("a");
  many.attributes.assign(kEntryAttributesMax + 1, {"k", "v"});
  EXPECT_THAT(CheckEntry(many), HasCode(Code::kInternal));
}

TEST(CheckIngestOutput, WantsAKnownTypeAndTheMagic) {
  IngestOutput output;
  output.blob_type = 1;
  output.stream_info = ToBytes("TOY1 and more");
  EXPECT_OK(CheckIngestOutput(output, "TOY1"));
  EXPECT_THAT(CheckIngestOutput(output, "VID1"), HasCode(Code::kInternal));
  output.blob_type = 4;
  EXPECT_THAT(CheckIngestOutput(output, "TOY1"), HasCode(Code::kInternal));
}

}  // namespace
}  // namespace rowfs
