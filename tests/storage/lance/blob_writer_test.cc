#include "storage/lance/blob_writer.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "storage/lance/dataset.h"
#include "storage/lance/dataset_writer.h"
#include "storage/lance/manifest.h"
#include "storage/lance/versions.h"
#include "storage/object/open_store.h"
#include "tests/storage/lance/table_file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

using testing::HasSubstr;

Bytes Pattern(uint64_t size, uint64_t seed) {
  Bytes out(size);
  uint64_t state = seed * 0x9E3779B97F4A7C15 + 1;
  for (std::byte& byte : out) {
    state = state * 6364136223846793005 + 1442695040888963407;
    byte = static_cast<std::byte>(state >> 56);
  }
  return out;
}

SharedBytes Share(Bytes bytes) {
  return std::make_shared<const Bytes>(std::move(bytes));
}

Schema BlobSchema(Metadata metadata = {}) {
  Schema schema;
  schema.fields.push_back({.name = "id", .type = MakeType(TypeId::kInt64)});
  schema.fields.push_back({.name = "blob",
                           .type = MakeType(TypeId::kBlob),
                           .metadata = std::move(metadata)});
  return schema;
}

class LanceBlobWriterTest : public testing::Test {
 protected:
  Location Place() { return stores_->Resolve(dir_ / "t.lance").value(); }

  std::unique_ptr<LanceDatasetWriter> Create(const LanceWriteOptions& options,
                                             Metadata metadata = {}) {
    auto writer = LanceDatasetWriter::Create(
        Place(), BlobSchema(std::move(metadata)), options);
    EXPECT_OK(writer);
    return std::move(writer).value();
  }

  // A batch of these cells; absent ones are null.
  static RecordBatch Batch(const Schema& schema,
                           const std::vector<std::optional<BlobCell>>& cells) {
    ArrayBuilder ids(schema.fields[0].type);
    ArrayBuilder blobs(schema.fields[1].type);
    for (size_t i = 0; i < cells.size(); ++i) {
      ids.AppendInt(static_cast<int64_t>(i));
      if (cells[i]) {
        blobs.AppendBlob(*cells[i]);
      } else {
        blobs.AppendNull();
      }
    }
    return {.schema = schema,
            .row_count = cells.size(),
            .columns = {ids.Finish(), blobs.Finish()}};
  }

  static BlobCell Cell(ByteSpan bytes) {
    return {.bytes = Share(Bytes(bytes.begin(), bytes.end()))};
  }

  bool PylanceHas(const std::vector<std::optional<Bytes>>& payloads) {
    if (FindPython().empty()) return true;
    Bytes all;
    for (const auto& payload : payloads) {
      AppendU64(&all, payload ? payload->size() : UINT64_MAX);
      if (payload) AppendBytes(&all, *payload);
    }
    std::ofstream(dir_ / "wanted", std::ios::binary) << AsText(all);
    return RunScript("blobs.py",
                     "payloads " + dir_ / "t.lance" + " " + (dir_ / "wanted"));
  }

  // Rows as our own reader has them, with the payload of each.
  void ExpectRead(const std::vector<std::optional<Bytes>>& payloads) {
    OpenContext context;
    context.stores = stores_.get();
    ASSERT_OK_AND_ASSIGN(const auto table,
                         LanceFormat().open(Place(), "", context));
    ASSERT_EQ(table->row_count(), payloads.size());
    std::vector<uint64_t> rows(payloads.size());
    for (uint64_t i = 0; i < rows.size(); ++i) rows[i] = i;
    const std::vector<size_t> columns = {1};
    ASSERT_OK_AND_ASSIGN(const RecordBatch batch,
                         table->Take(rows, columns, BlobDetail::kFull));
    for (size_t i = 0; i < payloads.size(); ++i) {
      ASSERT_EQ(batch.columns[0].IsNull(i), !payloads[i]) << i;
      if (!payloads[i]) continue;
      ASSERT_OK_AND_ASSIGN(const BlobSource source,
                           table->OpenBlob(batch.columns[0].blobs[i]));
      Bytes bytes;
      if (source.bytes != nullptr) {
        bytes = *source.bytes;
      } else if (!source.range.empty()) {
        ASSERT_OK_AND_ASSIGN(
            bytes, source.reader->Read(source.range, ReadKind::kData));
      }
      EXPECT_TRUE(bytes == *payloads[i]) << i;
    }
  }

  std::set<std::string> Files(const std::string& ending) {
    std::set<std::string> out;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(dir_.path())) {
      const std::string path = entry.path().string();
      if (entry.is_regular_file() && path.ends_with(ending)) {
        out.insert(entry.path().filename().string());
      }
    }
    return out;
  }

  TempDir dir_;
  std::unique_ptr<StoreRegistry> stores_ = MakeStoreRegistry();
};

TEST_F(LanceBlobWriterTest, SizesDecideBetweenTheKindsInclusively) {
  auto writer = Create({.inline_bytes_max = 100, .packed_bytes_max = 1000});
  const std::vector<std::optional<Bytes>> payloads = {
      Pattern(100, 1),  Pattern(101, 2),  std::nullopt, Bytes(),
      Pattern(1000, 3), Pattern(1001, 4), Pattern(1, 5)};
  std::vector<std::optional<BlobCell>> cells;
  for (const auto& payload : payloads) {
    cells.push_back(payload ? std::optional(Cell(*payload)) : std::nullopt);
  }

  ASSERT_OK(writer->Append(Batch(writer->schema(), cells)));
  ASSERT_OK(writer->Commit());

  EXPECT_TRUE(PylanceHas(payloads));
  ExpectRead(payloads);
  EXPECT_EQ(Files(".blob"),
            (std::set<std::string>{"10000000000000000000000000000000.blob",
                                   "01000000000000000000000000000000.blob"}));
  if (!FindPython().empty()) {
    EXPECT_TRUE(RunScript("blobs.py",
                          "kinds " + (dir_ / "t.lance") + " 0,1,-,0,1,2,0"));
  }
}

TEST_F(LanceBlobWriterTest, FieldMetadataMovesTheThresholds) {
  auto writer =
      Create({}, {{"lance-encoding:blob-inline-size-threshold", "10"},
                  {"lance-encoding:blob-dedicated-size-threshold", "20"},
                  {"lance-encoding:blob-pack-file-size-threshold", "30"}});
  const std::vector<std::optional<Bytes>> payloads = {
      Pattern(10, 1), Pattern(15, 2), Pattern(15, 3), Pattern(15, 4),
      Pattern(21, 5)};
  std::vector<std::optional<BlobCell>> cells;
  for (const auto& payload : payloads) cells.push_back(Cell(*payload));

  ASSERT_OK(writer->Append(Batch(writer->schema(), cells)));
  ASSERT_OK(writer->Commit());

  EXPECT_TRUE(PylanceHas(payloads));
  ExpectRead(payloads);
  EXPECT_EQ(Files(".blob").size(), 3U);  // two packs, one dedicated
}

TEST_F(LanceBlobWriterTest, AThresholdThatIsNoNumberIsRefused) {
  EXPECT_THAT(
      LanceDatasetWriter::Create(
          Place(),
          BlobSchema({{"lance-encoding:blob-inline-size-threshold", "1k"}}),
          {}),
      HasCode(Code::kInvalidArgument));
}

TEST_F(LanceBlobWriterTest, StreamsPayloadsOfEverySize) {
  auto writer = Create({.inline_bytes_max = 1000, .packed_bytes_max = 50'000});
  std::vector<std::optional<Bytes>> payloads;
  std::vector<std::optional<BlobCell>> cells;
  for (const uint64_t size :
       std::initializer_list<uint64_t>{0, 999, 20'000, 3'000'000}) {
    payloads.push_back(Pattern(size, size + 1));
    ASSERT_OK_AND_ASSIGN(auto blob, writer->StartBlob(1, false));
    for (uint64_t at = 0; at < size; at += 7000) {
      const ByteSpan bytes(*payloads.back());
      ASSERT_OK(
          blob->Write(bytes.subspan(at, std::min<uint64_t>(7000, size - at))));
    }
    ASSERT_OK_AND_ASSIGN(const BlobCell cell, blob->Finish(std::nullopt));
    cells.push_back(cell);
  }

  ASSERT_OK(writer->Append(Batch(writer->schema(), cells)));
  ASSERT_OK(writer->Commit());

  EXPECT_TRUE(PylanceHas(payloads));
  ExpectRead(payloads);
}

TEST_F(LanceBlobWriterTest, AnAbandonedBlobLeavesNothing) {
  auto writer = Create({});
  ASSERT_OK_AND_ASSIGN(auto blob, writer->StartBlob(1, false));
  ASSERT_OK(blob->Write(Pattern(9'000'000, 1)));
  EXPECT_THAT(writer->StartBlob(1, false), HasCode(Code::kInvalidArgument));

  blob->Abandon();

  EXPECT_OK(writer->StartBlob(1, false));
  EXPECT_THAT(blob->Write(Pattern(1, 1)), HasCode(Code::kInvalidArgument));
  EXPECT_TRUE(Files(".blob").empty());
}

TEST_F(LanceBlobWriterTest, AWriterThatIsNotCommittedLeavesNoFile) {
  {
    auto writer = Create({.rows_per_file_max = 1, .inline_bytes_max = 1});
    const Schema& schema = writer->schema();
    ASSERT_OK(writer->Append(Batch(schema, {Cell(Pattern(50, 1))})));
    ASSERT_OK(writer->Append(Batch(schema, {Cell(Pattern(50, 1))})));
    ASSERT_FALSE(Files(".lance").empty());
  }
  EXPECT_TRUE(Files("").empty());
}

TEST_F(LanceBlobWriterTest, BlobInfoTravelsWithItsBlobAndFencesTheDataset) {
  auto writer = Create({.version = {2, 3}});
  const BlobInfo info{.blob_type = 1,
                      .stream_info = Share(Pattern(700, 7)),
                      .entries = Share(Pattern(3000, 8))};
  ASSERT_OK_AND_ASSIGN(auto small, writer->StartBlob(1, true));
  ASSERT_OK(small->Write(Pattern(10, 1)));
  ASSERT_OK_AND_ASSIGN(const BlobCell packed, small->Finish(info));
  small.reset();
  ASSERT_OK_AND_ASSIGN(auto large, writer->StartBlob(1, true));
  ASSERT_OK(large->Write(Pattern(5'000'000, 2)));
  ASSERT_OK_AND_ASSIGN(const BlobCell dedicated, large->Finish(info));
  EXPECT_EQ(packed.kind, BlobKind::kPacked);
  EXPECT_EQ(dedicated.kind, BlobKind::kDedicated);

  ASSERT_OK(
      writer->Append(Batch(writer->schema(), {packed, std::nullopt, dedicated,
                                              Cell(Pattern(5, 3))})));
  ASSERT_OK(writer->Commit());

  ExpectRead(
      {Pattern(10, 1), std::nullopt, Pattern(5'000'000, 2), Pattern(5, 3)});
  OpenContext context;
  context.stores = stores_.get();
  ASSERT_OK_AND_ASSIGN(const auto table,
                       LanceFormat().open(Place(), "", context));
  const std::vector<uint64_t> rows = {0, 2, 3};
  const std::vector<size_t> columns = {1};
  ASSERT_OK_AND_ASSIGN(const RecordBatch batch,
                       table->Take(rows, columns, BlobDetail::kFull));
  for (const size_t row : {size_t{0}, size_t{1}}) {
    const auto& read = batch.columns[0].blobs[row].info;
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->blob_type, 1);
    EXPECT_TRUE(*read->stream_info == *info.stream_info);
    EXPECT_TRUE(*read->entries == *info.entries);
  }
  EXPECT_FALSE(batch.columns[0].blobs[2].info.has_value());
  if (!FindPython().empty()) {
    EXPECT_TRUE(RunScript("blobs.py", "refused " + (dir_ / "t.lance")));
  }
}

TEST_F(LanceBlobWriterTest, TheFenceStaysWhenPlainRowsAreAppended) {
  {
    auto writer = Create({.version = {2, 3}});
    ASSERT_OK_AND_ASSIGN(auto blob, writer->StartBlob(1, true));
    ASSERT_OK_AND_ASSIGN(
        const BlobCell cell,
        blob->Finish(BlobInfo{.stream_info = Share({}), .entries = Share({})}));
    ASSERT_OK(writer->Append(Batch(writer->schema(), {cell})));
    ASSERT_OK(writer->Commit());
  }

  ASSERT_OK_AND_ASSIGN(auto writer, LanceDatasetWriter::Append(Place(), {}));
  ASSERT_OK(writer->Append(Batch(writer->schema(), {Cell(Pattern(5, 3))})));
  ASSERT_OK_AND_ASSIGN(const uint64_t version, writer->Commit());

  EXPECT_EQ(version, 2U);
  ASSERT_OK_AND_ASSIGN(const ManifestName name, FindLatest(Place()));
  ASSERT_OK_AND_ASSIGN(
      const Manifest manifest,
      ReadManifest(Place().Join("_versions"), name, ManifestParts::kMessage));
  EXPECT_NE(manifest.message.reader_feature_flags() & kFlagSixFieldBlobs, 0U);
  EXPECT_NE(manifest.message.writer_feature_flags() & kFlagSixFieldBlobs, 0U);
}

TEST_F(LanceBlobWriterTest, WithoutBlobInfoATableIsAnOrdinaryOne) {
  auto writer = Create({.version = {2, 3}});
  ASSERT_OK_AND_ASSIGN(auto blob, writer->StartBlob(1, true));
  ASSERT_OK(blob->Write(Pattern(10, 1)));
  ASSERT_OK_AND_ASSIGN(const BlobCell cell, blob->Finish(std::nullopt));

  ASSERT_OK(writer->Append(Batch(writer->schema(), {cell, std::nullopt})));
  ASSERT_OK(writer->Commit());

  EXPECT_TRUE(PylanceHas({Pattern(10, 1), std::nullopt}));
}

TEST_F(LanceBlobWriterTest, BlobInfoNeedsVersion23) {
  auto writer = Create({});

  EXPECT_THAT(writer->StartBlob(1, true), HasCode(Code::kInvalidArgument));
}

TEST_F(LanceBlobWriterTest, ACellOfAnotherFileIsRefused) {
  auto writer = Create({});
  const BlobCell foreign{.kind = BlobKind::kPacked,
                         .object = "data/x/" + std::string(32, '1') + ".blob",
                         .size = 1};

  const Status status = writer->Append(Batch(writer->schema(), {foreign}));

  EXPECT_THAT(status, HasCode(Code::kInvalidArgument));
  EXPECT_THAT(std::string(status.message()), HasSubstr("copy its bytes"));
}

TEST_F(LanceBlobWriterTest, ExternalBlobsKeepTheirRange) {
  std::ofstream(dir_ / "outside.bin", std::ios::binary) << "0123456789";
  auto writer = Create({});
  const BlobCell range{.kind = BlobKind::kExternal,
                       .object = "file://" + (dir_ / "outside.bin"),
                       .offset = 2,
                       .size = 5};
  BlobCell whole = range;
  whole.offset = 0;
  whole.size.reset();

  ASSERT_OK(writer->Append(Batch(writer->schema(), {range, whole})));
  ASSERT_OK(writer->Commit());

  EXPECT_TRUE(PylanceHas({ToBytes("23456"), ToBytes("0123456789")}));
}

TEST_F(LanceBlobWriterTest, BlobsNestedInListsAndStructsAreStored) {
  const TypePtr row = MakeType(
      {.id = TypeId::kStruct,
       .children = {{.name = "name", .type = MakeType(TypeId::kString)},
                    {.name = "blob", .type = MakeType(TypeId::kBlob)}}});
  Schema schema;
  schema.fields.push_back(
      {.name = "items",
       .type = MakeType({.id = TypeId::kList,
                         .children = {{.name = "item", .type = row}}})});
  ASSERT_OK_AND_ASSIGN(auto writer,
                       LanceDatasetWriter::Create(Place(), schema, {}));
  ArrayBuilder list(schema.fields[0].type);
  for (int i = 0; i < 3; ++i) {
    list.child(0).child(0).AppendBytes(AsBytes("x"));
    list.child(0).child(1).AppendBlob(Cell(Pattern(70'000, 1)));
    list.child(0).AppendValid();
    if (i != 1) list.AppendValid();
  }
  list.AppendNull();
  Array array = list.Finish();

  ASSERT_OK(writer->Append(
      {.schema = schema, .row_count = array.length, .columns = {array}}));
  ASSERT_OK(writer->Commit());

  OpenContext context;
  context.stores = stores_.get();
  ASSERT_OK_AND_ASSIGN(const auto table,
                       LanceFormat().open(Place(), "", context));
  const std::vector<uint64_t> rows = {1};
  const std::vector<size_t> columns = {0};
  ASSERT_OK_AND_ASSIGN(const RecordBatch batch,
                       table->Take(rows, columns, BlobDetail::kFull));
  const Array& blobs = batch.columns[0].children[0].children[1];
  ASSERT_EQ(blobs.length, 2U);
  ASSERT_OK_AND_ASSIGN(const BlobSource source,
                       table->OpenBlob(blobs.blobs[1]));
  ASSERT_OK_AND_ASSIGN(const Bytes bytes,
                       source.reader->Read(source.range, ReadKind::kData));
  EXPECT_TRUE(bytes == Pattern(70'000, 1));
}

}  // namespace
}  // namespace rowfs
