#include "storage/pack/pack_source.h"

#include <gtest/gtest.h>

#include "storage/pack/member_rows.h"
#include "storage/pack/shard_list.h"
#include "storage/table/file_rows.h"
#include "tests/storage/pack/pack_reads.h"
#include "tests/storage/pack/tar_builder.h"
#include "tests/storage/pack/zip_builder.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Table = std::unique_ptr<TableSource>;

const TableFormat& FormatCalled(std::string_view name) {
  static const std::vector<TableFormat> formats = PackFormats();
  for (const TableFormat& format : formats) {
    if (format.name == name) return format;
  }
  std::abort();
}

Table OpenTable(const std::shared_ptr<MemoryStore>& store,
                const std::string& path, std::string_view format) {
  auto table = FormatCalled(format).open({store, path}, "", {});
  EXPECT_OK(table);
  return table.ok() ? std::move(table).value() : nullptr;
}

std::vector<std::string> ColumnNames(const TableSource& table) {
  std::vector<std::string> names;
  for (const Field& field : table.schema().fields) names.push_back(field.name);
  return names;
}

// The cell as text: a blob's content, a string, "-" for null.
std::string Cell(TableSource& table, uint64_t row, std::string_view column) {
  const auto at = table.schema().Find(column);
  if (!at) return "no such column";
  const size_t columns[] = {*at};
  const auto batch =
      table.Take(std::span(&row, 1), columns, BlobDetail::kDescriptor);
  if (!batch.ok()) return "error: " + std::string(batch.status().message());
  const Array& array = batch.value().columns[0];
  if (array.IsNull(0)) return "-";
  if (array.type->id != TypeId::kBlob) {
    return std::string(AsText(array.BytesAt(0)));
  }
  return TextOfSource(table.OpenBlob(array.blobs[0]));
}

std::shared_ptr<MemoryStore> StoreOf(
    const std::vector<std::pair<std::string, std::string>>& objects) {
  auto store = std::make_shared<MemoryStore>();
  for (const auto& [path, bytes] : objects) store->Put(path, bytes);
  return store;
}

std::string TarOf(
    const std::vector<std::pair<std::string, std::string>>& members) {
  TarBuilder tar;
  for (const auto& [name, data] : members) tar.Add(name, data);
  return tar.Finish();
}

std::string ZipOf(
    const std::vector<std::pair<std::string, std::string>>& members) {
  ZipBuilder zip;
  for (const auto& [name, data] : members) zip.Add(name, data);
  return zip.Finish();
}

TEST(PackSourceTest, SamplesAreRunsOfOneKey) {
  const auto store = StoreOf({{"x.tar", TarOf({{"train.v1/2.0/1.1.png", "png"},
                                               {"train.v1/2.0/1.json", "{}"},
                                               {"./b/003.TXT", "caption"},
                                               {"./b/003.jpeg", "pic"},
                                               {"README", "no sample"},
                                               {".hidden.jpg", "hidden"},
                                               {"c/9.tar.gz", "two dots"},
                                               {"c/9.cls", "4"}})}});
  const Table table = OpenTable(store, "x.tar", "webdataset");
  ASSERT_EQ(table->row_count(), 3u);
  EXPECT_THAT(ColumnNames(*table), ElementsAre("__key__", "1.png", "json",
                                               "txt", "jpeg", "tar.gz", "cls"));
  EXPECT_EQ(Cell(*table, 0, "__key__"), "train.v1/2.0/1");
  EXPECT_EQ(Cell(*table, 0, "1.png"), "png");
  EXPECT_EQ(Cell(*table, 0, "json"), "{}");
  EXPECT_EQ(Cell(*table, 0, "txt"), "-");
  EXPECT_EQ(Cell(*table, 1, "__key__"), "./b/003");
  EXPECT_EQ(Cell(*table, 1, "txt"), "caption");
  EXPECT_EQ(Cell(*table, 1, "jpeg"), "pic");
  EXPECT_EQ(Cell(*table, 2, "tar.gz"), "two dots");
  EXPECT_EQ(Cell(*table, 2, "cls"), "4");
  EXPECT_THAT(WriteJson(table->Describe()), HasSubstr("README"));
  EXPECT_EQ(table->schema().fields[3].type->id, TypeId::kString);
}

TEST(PackSourceTest, RowsAreFilesWithoutBeingMade) {
  const auto store = StoreOf({{"x.tar", TarOf({{"a/1.JPG", "picture"},
                                               {"a/1.cls", "4"},
                                               {"a/2.bin", "bytes"},
                                               {"a/3.mp4", "film"}})}});
  const Table table = OpenTable(store, "x.tar", "webdataset");
  const auto* rows = dynamic_cast<const FileRows*>(table.get());
  ASSERT_NE(rows, nullptr);

  const auto first = rows->FilesOf(0);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->key, "a/1");
  ASSERT_EQ(first->files.size(), 2u);
  EXPECT_EQ(first->files[0].name, "1.jpg");
  EXPECT_EQ(first->files[0].size, 7u);
  EXPECT_EQ(first->files[1].name, "1.cls");
  EXPECT_EQ(TextOfSource(rows->OpenFile(first->files[1])), "4");
  EXPECT_EQ(TextOfSource(rows->OpenFile(rows->FilesOf(1)->files[0])), "bytes");
  // There is more to say about a film than its name.
  EXPECT_FALSE(rows->FilesOf(2).has_value());
}

TEST(PackSourceTest, NothingOfRepeatedKeysAndSuffixesIsLost) {
  const auto store = StoreOf({{"src/s-0.tar", TarOf({{"000.jpg", "A0"},
                                                     {"000.json", "J0"},
                                                     {"000.jpg", "A0 again"},
                                                     {"001.jpg", "A1"},
                                                     {"002.jpg", "A2"},
                                                     {"001.json", "late"}})},
                              {"src/s-1.tar", TarOf({{"000.jpg", "B0"},
                                                     {"003.JPG", "upper"},
                                                     {"003.jpg", "lower"}})}});
  const Table table = OpenTable(store, "src", "webdataset");
  ASSERT_EQ(table->row_count(), 6u);
  EXPECT_EQ(Cell(*table, 0, "jpg"), "A0");
  EXPECT_EQ(Cell(*table, 0, "jpg~2"), "A0 again");
  EXPECT_EQ(Cell(*table, 3, "__key__"), "001");
  EXPECT_EQ(Cell(*table, 3, "json"), "late");
  EXPECT_EQ(Cell(*table, 4, "jpg"), "B0");
  EXPECT_EQ(Cell(*table, 5, "jpg"), "upper");
  EXPECT_EQ(Cell(*table, 5, "jpg~2"), "lower");
}

TEST(PackSourceTest, ATextThatIsNoTextStaysAFile) {
  TarBuilder tar;
  tar.Add("1.txt", "short");
  tar.Add("2.txt", std::string(100'000, 'x'));
  const auto store = StoreOf({{"x.tar", tar.Finish()}});
  const Table table = OpenTable(store, "x.tar", "webdataset");
  EXPECT_EQ(table->schema().fields[1].type->id, TypeId::kBlob);
  EXPECT_EQ(Cell(*table, 0, "txt"), "short");
  EXPECT_EQ(Cell(*table, 1, "txt"), std::string(100'000, 'x'));
}

TEST(PackSourceTest, ATarWithoutKeysIsAPackOfFiles) {
  const auto store = StoreOf({{"x.tar", TarOf({{"a", "aa"}, {"d/b", "bb"}})}});
  const Table table = OpenTable(store, "x.tar", "webdataset");
  ASSERT_EQ(table->row_count(), 2u);
  EXPECT_EQ(Cell(*table, 1, "__key__"), "d/b");
  EXPECT_EQ(Cell(*table, 1, "file"), "bb");
}

TEST(PackSourceTest, MembersThatShareAStemAreARowOverAllShards) {
  const auto store = StoreOf(
      {{"p/0.zip",
        ZipOf({{"d/1.jpg", "one"}, {"d/2.jpg", "two"}, {"d/1.txt", "text"}})},
       {"p/1.zip", ZipOf({{"d/2.JPG", "TWO"}, {"e/1.jpg", "e"}})}});
  const Table table = OpenTable(store, "p", "blobpack");
  ASSERT_EQ(table->row_count(), 3u);
  EXPECT_THAT(ColumnNames(*table), ElementsAre("__key__", "jpg", "txt", "JPG"));
  EXPECT_EQ(Cell(*table, 0, "jpg"), "one");
  EXPECT_EQ(Cell(*table, 0, "txt"), "text");
  EXPECT_EQ(Cell(*table, 1, "jpg"), "two");
  EXPECT_EQ(Cell(*table, 1, "JPG"), "TWO");
  EXPECT_EQ(Cell(*table, 2, "__key__"), "e/1");
  EXPECT_EQ(table
                ->Take(std::vector<uint64_t>{3}, std::vector<size_t>{0},
                       BlobDetail::kFull)
                .status()
                .code(),
            Code::kOutOfRange);
}

TEST(PackSourceTest, NamesFullOfDotsAreRowsOfOneMember) {
  ZipBuilder zip;
  for (int i = 0; i < 100; ++i) {
    zip.Add("IMG." + std::to_string(i) + ".jpg", std::to_string(i));
  }
  const auto store = StoreOf({{"x.zip", zip.Finish()}});
  const Table table = OpenTable(store, "x.zip", "blobpack");
  ASSERT_EQ(table->row_count(), 100u);
  EXPECT_THAT(ColumnNames(*table), ElementsAre("file_name", "file"));
  EXPECT_EQ(Cell(*table, 42, "file_name"), "IMG.42.jpg");
  EXPECT_EQ(Cell(*table, 42, "file"), "42");
}

TEST(PackSourceTest, EveryMemberIsARowWhenAskedFor) {
  const auto store =
      StoreOf({{"x.zip", ZipOf({{"1.jpg", "a"}, {"1.txt", "b"}})}});
  const Table table = OpenTable(store, "x.zip", "blobpack-members");
  ASSERT_EQ(table->row_count(), 2u);
  EXPECT_EQ(Cell(*table, 1, "file_name"), "1.txt");
}

TEST(PackSourceTest, AFolderIsAPackWhenAskedFor) {
  const auto store = StoreOf(
      {{"d/a/1.jpg", "one"}, {"d/a/1.txt", "text"}, {"d/.hidden", "no"}});
  const Table table = OpenTable(store, "d", "blobpack");
  ASSERT_EQ(table->row_count(), 1u);
  EXPECT_EQ(Cell(*table, 0, "__key__"), "a/1");
  EXPECT_EQ(Cell(*table, 0, "txt"), "text");
}

TEST(PackSourceTest, ABadMemberIsACellWithoutSize) {
  ZipBuilder zip;
  zip.Add("1.jpg", "good");
  ZipFile bad{"1.txt", "bad"};
  bad.flags = 1;
  zip.Add(bad);
  const auto store = StoreOf({{"x.zip", zip.Finish()}});
  const Table table = OpenTable(store, "x.zip", "blobpack");
  EXPECT_EQ(Cell(*table, 0, "jpg"), "good");
  EXPECT_THAT(Cell(*table, 0, "txt"), HasSubstr("is encrypted"));
}

TEST(PackSourceTest, ABadShardCostsItselfAlone) {
  const auto store = StoreOf({{"p/0.zip", ZipOf({{"1.jpg", "one"}})},
                              {"p/1.zip", "no zip at all"},
                              {"p/2.zip", ZipOf({{"2.jpg", "two"}})}});
  const Table table = OpenTable(store, "p", "blobpack");
  ASSERT_EQ(table->row_count(), 2u);
  EXPECT_EQ(Cell(*table, 1, "jpg"), "two");
  EXPECT_THAT(WriteJson(table->Describe()), HasSubstr("p/1.zip"));
  const auto alone = FormatCalled("blobpack").open({store, "p/1.zip"}, "", {});
  EXPECT_EQ(alone.status().code(), Code::kCorruption);
}

TEST(PackSourceTest, KindsAreToldByNamesAndMagic) {
  const std::string zip = ZipOf({{"a", "a"}});
  const std::string tar = TarOf({{"a.x", "a"}});
  const auto store = StoreOf({{"zips/0.zip", zip},
                              {"zips/README.md", "about"},
                              {"zips/pack.manifest.json", "{}"},
                              {"tars/deep/0.tar", tar},
                              {"tars/deep/1.tar.gz", tar},
                              {"mixed/0.zip", zip},
                              {"mixed/photo.jpg", "jpg"},
                              {"comic.CBZ", zip},
                              {"no-ending", zip},
                              {"blob", tar},
                              {"text", "just a text that is long enough"}});
  const auto is = [&](std::string_view format, const std::string& path) {
    const auto found = FormatCalled(format).detect({store, path}, {});
    return found.ok() && found.value();
  };
  EXPECT_TRUE(is("blobpack", "zips"));
  EXPECT_FALSE(is("webdataset", "zips"));
  EXPECT_TRUE(is("webdataset", "tars"));
  EXPECT_FALSE(is("blobpack", "mixed"));
  EXPECT_TRUE(is("blobpack", "comic.CBZ"));
  EXPECT_TRUE(is("blobpack", "no-ending"));
  EXPECT_TRUE(is("webdataset", "blob"));
  EXPECT_FALSE(is("blobpack", "text"));
  EXPECT_FALSE(is("webdataset", "text"));
  EXPECT_FALSE(is("blobpack", "nothing"));
}

TEST(PackSourceTest, BracesNameShardsWithoutListing) {
  ASSERT_OK_AND_ASSIGN(const auto names, ExpandBraces("x-{08..10}.{tar,zip}"));
  EXPECT_THAT(names, ElementsAre("x-08.tar", "x-08.zip", "x-09.tar", "x-09.zip",
                                 "x-10.tar", "x-10.zip"));
  ASSERT_OK_AND_ASSIGN(const auto plain, ExpandBraces("a{b}c{"));
  EXPECT_THAT(plain, ElementsAre("a{b}c{"));
  EXPECT_THAT(ExpandBraces("{0..999999}{0..999999}"),
              HasCode(Code::kInvalidArgument));
  const auto store = StoreOf(
      {{"x-0.tar", TarOf({{"a.t", "a"}})}, {"x-1.tar", TarOf({{"b.t", "b"}})}});
  const Table table = OpenTable(store, "x-{0..1}.tar", "webdataset");
  EXPECT_EQ(table->row_count(), 2u);
}

TEST(PackSourceTest, TheFingerprintFollowsTheBytes) {
  const auto store = StoreOf({{"x.zip", ZipOf({{"a.jpg", "a"}})}});
  const std::string first =
      OpenTable(store, "x.zip", "blobpack")->fingerprint();
  EXPECT_EQ(OpenTable(store, "x.zip", "blobpack")->fingerprint(), first);
  store->Put("x.zip", ZipOf({{"a.jpg", "b"}}));
  EXPECT_NE(OpenTable(store, "x.zip", "blobpack")->fingerprint(), first);
}

TEST(MemberRowsTest, NamesSplitAtTheFirstDotOfTheBase) {
  const auto split = [](std::string_view name) {
    const MemberKey key = SplitMemberName(name);
    return std::string(key.key) + "|" + std::string(key.suffix);
  };
  EXPECT_EQ(split("a.b/c.seg.png"), "a.b/c|seg.png");
  EXPECT_EQ(split("a/b"), "a/b|");
  EXPECT_EQ(split("a/.hidden.x"), "a/.hidden.x|");
  EXPECT_TRUE(IsSampleMember("a/b.c"));
  EXPECT_FALSE(IsSampleMember("a/b"));
  EXPECT_FALSE(IsSampleMember("__meta__/b.c"));
  EXPECT_FALSE(IsSampleMember("d/._x.jpg"));
}

TEST(MemberRowsTest, AMemberTakesFewBytes) {
  ZipBuilder zip;
  for (int i = 0; i < 20'000; ++i) {
    zip.Add("images/" + std::to_string(1'000'000 + i) + ".jpg", "0123456789");
  }
  const auto store = StoreOf({{"x.zip", zip.Finish()}});
  ASSERT_OK_AND_ASSIGN(const auto pack, OpenPack({store, "x.zip"}, {}));
  ASSERT_OK_AND_ASSIGN(const auto rows,
                       MemberRows::Make({pack}, RowRule::kStem));
  EXPECT_EQ(rows.row_count(), 20'000u);
  EXPECT_LT(rows.bytes(), 20'000u * 20);
}

TEST(MemberTableTest, KeepsWhatIsPutIn) {
  MemberTableBuilder builder(1);
  std::vector<Member> members;
  for (uint64_t i = 0; i < 100; ++i) {
    Member member;
    member.name = std::string(i % 7, 'x') + std::to_string(i);
    if (i % 5 == 0) member.raw_name = "raw";
    member.offset = i % 3 == 0 ? ~i : i * 1000;
    member.stored = i * i;
    member.size = i % 4 == 0 ? i : i * i;
    member.slack = i % 6;
    member.detail = i % 8;
    member.coding = static_cast<MemberCoding>(i % 4);
    if (member.coding != MemberCoding::kStored) {
      member.crc = static_cast<uint32_t>(i * 77);
    }
    member.fault = static_cast<MemberFault>(i % 8);
    builder.Add(member);
    members.push_back(member);
  }
  const MemberTable table = builder.Finish();
  Bytes bytes;
  table.Encode(&bytes);
  ASSERT_OK_AND_ASSIGN(const MemberTable again,
                       MemberTable::Decode(bytes, "test"));
  for (uint64_t i = 0; i < members.size(); ++i) {
    const Member got = again.Get(i);
    EXPECT_EQ(got.name, members[i].name);
    EXPECT_EQ(got.raw_name, members[i].raw_name);
    EXPECT_EQ(got.offset, members[i].offset);
    EXPECT_EQ(got.stored, members[i].stored);
    EXPECT_EQ(got.size, members[i].size);
    EXPECT_EQ(got.slack, members[i].slack);
    EXPECT_EQ(got.detail, members[i].detail);
    EXPECT_EQ(got.crc, members[i].crc);
    EXPECT_EQ(got.coding, members[i].coding);
    EXPECT_EQ(got.fault, members[i].fault);
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(MemberTable::Decode(ByteSpan(bytes).first(size), "test").ok());
  }
}

}  // namespace
}  // namespace rowfs
