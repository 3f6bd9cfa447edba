// Data files with bits flipped, ends cut off and lies in their metadata: an
// error or values, never a crash, a hang or memory without bound.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "tests/support/lance_files.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

constexpr std::string_view kPath = "data/x.lance";

// Small files that between them hold every layout and encoding.
constexpr std::string_view kSubjects[] = {
    "blob1_21",    "blob2_22_nest",   "blob2_23",       "enc_packed_22",
    "enc_runs_23", "nested_21",       "nested_23",      "nested_fz_22",
    "nested_20",   "nested_holes_22", "sparse_23",      "types_20_old",
    "types_22",    "types_23",        "enc_strings_23", "enc_general_22"};

Bytes ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return ToBytes(text);
}

// The first data file of a golden dataset.
Bytes SubjectBytes(const std::string& folder, std::string_view name) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(
           folder + "/" + std::string(name) + ".lance/data")) {
    if (entry.path().extension() == ".lance") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return ReadFile(files.at(0));
}

// Open and read everything; the first error.
Status ReadAll(ByteSpan bytes) {
  auto store = std::make_shared<MemoryStore>();
  store->Put(std::string(kPath), bytes);
  ROWFS_ASSIGN_OR_RETURN(
      const auto object,
      ObjectReader::Open({store, std::string(kPath)}, 64 << 10, {}));
  ROWFS_ASSIGN_OR_RETURN(const auto file,
                         LanceFileReader::Open(object, std::string(kPath)));
  const auto columns = NaturalColumns(file->schema(), file->version());
  const uint64_t count = std::min<uint64_t>(file->row_count(), 4000);
  Status first;
  for (const LanceField& field : file->schema().fields) {
    const auto read = file->Read(field, columns, 0, count, BlobDetail::kFull);
    if (read.ok()) {
      EXPECT_TRUE(Validate(read.value(), field.field.name).ok());
    } else if (first.ok()) {
      first = read.status();
    }
    if (count == 0) continue;
    const uint64_t rows[] = {count / 2, 0, count - 1};
    const auto taken = file->Take(field, columns, rows, BlobDetail::kHead);
    if (taken.ok()) {
      EXPECT_TRUE(Validate(taken.value(), field.field.name).ok());
    } else if (first.ok()) {
      first = taken.status();
    }
  }
  return first;
}

// What a reader may answer about bytes that are wrong.
bool IsHonest(const Status& status) {
  return status.ok() || status.code() == Code::kCorruption ||
         status.code() == Code::kUnsupported ||
         status.code() == Code::kResourceExhausted ||
         status.code() == Code::kInvalidArgument;
}

class HostileFile : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    const auto folder = GoldenFolder();
    if (!folder) GTEST_SKIP() << "no golden datasets beside the repository";
    bytes_ = SubjectBytes(*folder, GetParam());
  }
  // Where the schema and column metadata begin.
  size_t MetadataBegin() const { return LoadU64(ByteSpan(bytes_).last(40)); }

  Bytes bytes_;
};

TEST_P(HostileFile, UndamagedReads) {
  const Status status = ReadAll(bytes_);

  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_P(HostileFile, EveryTruncationIsAnError) {
  std::minstd_rand random(1);
  for (int i = 0; i < 60; ++i) {
    const size_t size = random() % bytes_.size();

    const Status status = ReadAll(ByteSpan(bytes_).first(size));

    EXPECT_FALSE(status.ok()) << size;
    EXPECT_TRUE(IsHonest(status)) << status.message();
  }
}

TEST_P(HostileFile, FlippedBitsAnywhereGiveValuesOrAnError) {
  std::minstd_rand random(2);
  for (int i = 0; i < 60; ++i) {
    Bytes mutant = bytes_;
    for (int k = 0; k < 1 + i % 4; ++k) {
      mutant[random() % mutant.size()] ^= std::byte{1} << (random() % 8);
    }

    const Status status = ReadAll(mutant);

    EXPECT_TRUE(IsHonest(status)) << status.message();
  }
}

TEST_P(HostileFile, LiesInTheMetadataGiveValuesOrAnError) {
  std::minstd_rand random(3);
  const size_t begin = MetadataBegin();
  for (int i = 0; i < 120; ++i) {
    Bytes mutant = bytes_;
    const size_t at = begin + random() % (mutant.size() - begin);
    switch (i % 3) {
      case 0:
        mutant[at] ^= std::byte{1} << (random() % 8);
        break;
      case 1:
        mutant[at] = std::byte{0xff};
        break;
      default:
        mutant[at] = static_cast<std::byte>(random() % 256);
        break;
    }

    const Status status = ReadAll(mutant);

    EXPECT_TRUE(IsHonest(status)) << status.message();
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, HostileFile, testing::ValuesIn(kSubjects),
                         [](const auto& subject) {
                           return std::string(subject.param);
                         });

TEST(ForeignFile, WhatIsNoLanceFileIsNamed) {
  const Status empty = ReadAll(Bytes());
  const Status text = ReadAll(Bytes(100, std::byte{'x'}));

  EXPECT_EQ(empty.code(), Code::kCorruption);
  EXPECT_EQ(text.code(), Code::kCorruption);
  EXPECT_THAT(std::string(text.message()), testing::HasSubstr("x.lance"));
}

TEST(ForeignFile, LegacyAndUnknownVersionsAreUnsupported) {
  for (const auto& [major, minor] :
       {std::pair<uint16_t, uint16_t>{0, 2}, {2, 4}, {3, 0}}) {
    Bytes footer(32);
    AppendU16(&footer, major);
    AppendU16(&footer, minor);
    AppendText(&footer, "LANC");

    EXPECT_EQ(ReadAll(footer).code(), Code::kUnsupported) << major << minor;
  }
}

}  // namespace
}  // namespace rowfs
