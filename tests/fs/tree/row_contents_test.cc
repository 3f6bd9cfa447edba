#include "fs/tree/row_contents.h"

#include <gmock/gmock.h>

#include <set>

#include "tests/support/fake_plugin.h"
#include "tests/support/fault_store.h"
#include "tests/support/generated_table.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A dataset of one row, and what lies in its folder.
class RowContentsTest : public ::testing::Test {
 protected:
  void Column(std::string name, TypePtr type,
              std::function<void(ArrayBuilder&)> fill, Metadata metadata = {}) {
    schema_.fields.push_back(
        MakeField(std::move(name), std::move(type), std::move(metadata)));
    fills_.push_back(std::move(fill));
  }
  void Text(std::string name, std::string value) {
    Column(std::move(name), MakeType(TypeId::kString),
           [value](ArrayBuilder& out) { out.AppendBytes(AsBytes(value)); });
  }
  void Int(std::string name, int64_t value) {
    Column(std::move(name), MakeType(TypeId::kInt64),
           [value](ArrayBuilder& out) { out.AppendInt(value); });
  }
  void Blob(std::string name, BlobCell cell, Metadata metadata = {}) {
    Column(
        std::move(name), MakeType(TypeId::kBlob),
        [cell](ArrayBuilder& out) { out.AppendBlob(cell); },
        std::move(metadata));
  }
  static BlobCell Video() {
    BlobCell cell;
    cell.kind = BlobKind::kPacked;
    cell.object = "video";
    cell.size = 100;
    cell.info = FakePlugin::MakeInfo(4);
    return cell;
  }
  static BlobCell Inline(std::string_view text) {
    BlobCell cell;
    cell.bytes = std::make_shared<const Bytes>(ToBytes(text));
    cell.size = text.size();
    return cell;
  }

  RowContents Read() {
    auto table = std::make_unique<GeneratedTable>(
        schema_, 1,
        [this](uint64_t, size_t field, ArrayBuilder& out) {
          fills_[field](out);
        },
        blob_store_ == nullptr ? store_ : blob_store_);
    table_ = table.get();
    dataset_ = Dataset::Make("one", std::move(table), {}).value();
    row_ = dataset_->ReadRow(0).value();
    return ReadRowContents({*dataset_, registry_, options_}, *row_, &texts_);
  }
  static std::vector<std::string> Paths(const RowContents& contents) {
    std::vector<std::string> paths;
    for (const RowItem& item : contents.items) paths.push_back(item.path);
    return paths;
  }

  Schema schema_;
  std::vector<std::function<void(ArrayBuilder&)>> fills_;
  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  std::shared_ptr<ObjectStore> blob_store_;  // null: store_
  GeneratedTable* table_ = nullptr;
  FakeRegistry registry_;
  TreeOptions options_;
  std::shared_ptr<Dataset> dataset_;
  std::shared_ptr<const Row> row_;
  std::vector<std::string> texts_;
};

TEST_F(RowContentsTest, ALaterColumnMakesRoomForDerivedNames) {
  Blob("video", Video());
  Int("video.frames", 1);
  Text("video.info", "x");
  Int("video.mp4", 2);

  EXPECT_THAT(Paths(Read()),
              ElementsAre("row.json", "video.frames", "video.at",
                          "video.broken", "video.mp4", "video.info.json",
                          "video.frames~2", "video.info.txt", "video.mp4~2"));
}

TEST_F(RowContentsTest, AwkwardColumnNamesHaveAFileEach) {
  const std::string longest(300, 'y');
  for (const std::string name : {"plain", "a.b", "sla/sh", "UP", "up",
                                 "row.json", "..", "", "plain.txt"}) {
    Text(name, name);
  }
  Text(longest, longest);
  Int("row.json", 4);

  const RowContents contents = Read();

  std::set<std::string> names;
  for (const RowItem& item : contents.items) {
    EXPECT_LE(item.name.size(), 255u);
    EXPECT_EQ(item.name.find('/'), std::string::npos);
    names.insert(item.name);
  }
  EXPECT_EQ(names.size(), 12u);
  EXPECT_TRUE(names.contains("%2E%2E.txt"));
  EXPECT_TRUE(names.contains("%.txt"));
  EXPECT_TRUE(names.contains("sla%2Fsh.txt"));
  EXPECT_TRUE(names.contains("row.json.txt"));
  EXPECT_TRUE(names.contains("row.json~2"));
  for (const RowItem& item : contents.items) {
    if (item.kind != RowItem::Kind::kText) continue;
    ASSERT_OK_AND_ASSIGN(const std::string text, ValueFileText(item, *row_));
    EXPECT_EQ(text.size(), item.size);
    EXPECT_EQ(text, dataset_->columns()[item.cell.column].name);
  }
}

TEST_F(RowContentsTest, NamesABlobWithBlobInfoWithoutReadingIt) {
  Blob("video", Video());

  const RowContents contents = Read();

  EXPECT_EQ(table_->open_count(), 0u);
  EXPECT_THAT(store_->TakeLog(), ElementsAre());
  ASSERT_EQ(contents.blobs.size(), 1u);
  EXPECT_EQ(contents.items[contents.blobs[0].second].path, "video.mp4");
}

TEST_F(RowContentsTest, ADeclaredMediaTypeNeedsNoRead) {
  BlobCell cell;
  cell.kind = BlobKind::kDedicated;
  cell.object = "somewhere";
  cell.size = 7;
  Blob("photo", cell, {{"media_type", "image/png"}});

  const RowContents contents = Read();

  EXPECT_EQ(contents.items[1].path, "photo.png");
  EXPECT_EQ(contents.items[1].size, 7u);
  EXPECT_EQ(table_->open_count(), 0u);
}

TEST_F(RowContentsTest, ABlobThatIsGoneStaysAFileThatSaysSo) {
  BlobCell cell;
  cell.kind = BlobKind::kExternal;
  cell.object = "gone";
  Blob("photo", cell);
  Int("id", 1);

  const RowContents contents = Read();

  EXPECT_EQ(contents.items[1].path, "photo.bin");
  EXPECT_NE(contents.items[1].error, "");
  EXPECT_EQ(contents.items[2].path, "id");
}

TEST_F(RowContentsTest, WhatAStoreDidNotTellIsNoNameToKeep) {
  store_->Put("data", ToBytes("\x89PNG\r\n\x1a\n..."));
  BlobCell cell;
  cell.kind = BlobKind::kDedicated;
  cell.object = "data";
  cell.size = 11;
  Blob("photo", cell);
  Faults faults;
  faults.fail_from = faults.fail_to = 1;
  const auto flaky = std::make_shared<FaultStore>(store_, faults);
  blob_store_ = flaky;

  const RowContents first = Read();
  EXPECT_TRUE(flaky->fired());
  EXPECT_THAT(first.failure, HasCode(Code::kUnavailable));

  blob_store_ = store_;
  const RowContents second = Read();
  EXPECT_THAT(second.failure, IsOk());
  EXPECT_EQ(second.items[1].path, "photo.png");
}

TEST_F(RowContentsTest, AFieldMaySayHowItsBlobIsCalled) {
  Text("key", "shard/000123.jpg");
  Blob("member", Inline("bytes"), {{"rowfs:name_column", "key"}});
  Blob("cls", Inline("7"), {{"rowfs:file_name", "cls"}});

  EXPECT_THAT(Paths(Read()),
              ElementsAre("row.json", "key.txt", "000123.jpg", "cls"));
}

TEST_F(RowContentsTest, NestedBlobsAreNamedByFieldNumberAndKey) {
  DataType entry;
  entry.id = TypeId::kStruct;
  entry.children = {MakeField("key", MakeType(TypeId::kString)),
                    MakeField("value", MakeType(TypeId::kBlob))};
  DataType map;
  map.id = TypeId::kMap;
  map.children = {MakeField("entries", MakeType(std::move(entry)))};
  Column("files", MakeType(std::move(map)), [](ArrayBuilder& out) {
    out.child(0).child(0).AppendBytes(AsBytes("a/b"));
    out.child(0).child(1).AppendBlob(Inline("%PDF-1.4"));
    out.child(0).AppendValid();
    out.child(0).child(0).AppendBytes(AsBytes(".."));
    out.child(0).child(1).AppendBlob(Inline("x"));
    out.child(0).AppendValid();
    out.AppendValid();
  });

  const RowContents contents = Read();

  EXPECT_THAT(Paths(contents),
              ElementsAre("row.json", "files", "files/a%2Fb.pdf",
                          "files/%2E%2E.bin", "files.json"));
  EXPECT_THAT(contents.items[0].text, HasSubstr("files/a%2Fb.pdf"));
  EXPECT_EQ(contents.FindPath("files/%2E%2E.bin"), 3u);
  EXPECT_EQ(contents.Find(1, "a%2Fb.pdf"), 2u);
}

TEST_F(RowContentsTest, AnIntegerTensorWithANullItemIsJson) {
  DataType type;
  type.id = TypeId::kFixedSizeList;
  type.width = 2;
  type.children = {MakeField("item", MakeType(TypeId::kInt32))};
  Column("point", MakeType(std::move(type)), [](ArrayBuilder& out) {
    out.child(0).AppendInt(1);
    out.child(0).AppendNull();
    out.AppendValid();
  });

  const RowContents contents = Read();

  EXPECT_THAT(Paths(contents), ElementsAre("row.json", "point.json"));
  EXPECT_EQ(contents.items[1].text, "[1, null]\n");
}

TEST_F(RowContentsTest, CodesAreOfColumnsAndTheSameForAllRows) {
  Int("a", 1);
  Blob("video", Video());

  const RowContents contents = Read();

  ASSERT_TRUE(contents.FindCode(2).has_value());
  EXPECT_EQ(contents.items[*contents.FindCode(2)].path, "a");
  EXPECT_EQ(contents.items[*contents.FindCode(4)].path, "video.mp4");
  EXPECT_EQ(contents.items[*contents.FindCode(1)].path, "row.json");
  EXPECT_FALSE(contents.FindCode(3).has_value());
}

}  // namespace
}  // namespace rowfs
