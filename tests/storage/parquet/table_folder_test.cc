#include "storage/parquet/table_folder.h"

#include "storage/parquet/table_writer.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

using ::testing::HasSubstr;

Field MakeField(std::string name, TypePtr type) {
  Field field;
  field.name = std::move(name);
  field.type = std::move(type);
  return field;
}

TypePtr MediaStruct() {
  DataType type{.id = TypeId::kStruct};
  type.children = {MakeField("bytes", MakeType(TypeId::kBinary)),
                   MakeField("path", MakeType(TypeId::kString))};
  return MakeType(std::move(type));
}

// Rows {number, name, doc} from `begin` on; doc is null in every seventh row.
RecordBatch MakeRows(uint64_t begin, uint64_t count) {
  RecordBatch batch;
  batch.row_count = count;
  batch.schema.fields = {MakeField("number", MakeType(TypeId::kInt64)),
                         MakeField("name", MakeType(TypeId::kString)),
                         MakeField("doc", MakeType(TypeId::kBinary))};
  std::vector<ArrayBuilder> builders;
  for (const Field& field : batch.schema.fields) {
    builders.emplace_back(field.type);
  }
  for (uint64_t i = begin; i < begin + count; ++i) {
    builders[0].AppendInt(static_cast<int64_t>(i));
    builders[1].AppendBytes(AsBytes("row " + std::to_string(i)));
    if (i % 7 == 6) {
      builders[2].AppendNull();
    } else {
      builders[2].AppendBytes(Bytes(1000 + i, static_cast<std::byte>(i)));
    }
  }
  for (ArrayBuilder& builder : builders) {
    batch.columns.push_back(builder.Finish());
  }
  return batch;
}

class TableFolderTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const RecordBatch& batch) {
    Bytes bytes;
    const ByteSink sink = [&](ByteSpan part) -> Status {
      AppendBytes(&bytes, part);
      return {};
    };
    auto writer = path.ends_with(".parquet")
                      ? MakeParquetWriter(batch.schema, sink)
                      : MakeArrowWriter(batch.schema, sink);
    ASSERT_OK(writer);
    ASSERT_OK(writer.value()->Write(batch));
    ASSERT_OK(writer.value()->Finish());
    store_->Put(path, bytes);
  }

  Result<std::unique_ptr<TableSource>> Open(const std::string& path,
                                            const TableFormat& format) {
    OpenContext context;
    context.read.stats = &stats_;
    ROWFS_ASSIGN_OR_RETURN(const bool detected,
                           format.detect({store_, path}, context));
    if (!detected) return Status(Code::kUnsupported, "not detected");
    return format.open({store_, path}, "", context);
  }

  static Result<RecordBatch> Take(TableSource& table,
                                  std::vector<uint64_t> rows,
                                  std::vector<size_t> columns) {
    return table.Take(rows, columns, BlobDetail::kFull);
  }

  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  ReadStats stats_;
};

TEST_F(TableFolderTest, TakesRowsInAnyOrderAndAgain) {
  for (const char* path : {"t.parquet", "t.arrow"}) {
    Write(path, MakeRows(0, 500));
    ASSERT_OK_AND_ASSIGN(
        const auto table,
        Open(path, std::string_view(path).ends_with("t") ? ParquetFormat()
                                                         : ArrowFormat()));

    ASSERT_OK_AND_ASSIGN(const RecordBatch batch,
                         Take(*table, {499, 0, 6, 499}, {1, 2}));

    ASSERT_EQ(batch.row_count, 4U);
    EXPECT_EQ(AsText(batch.columns[0].BytesAt(0)), "row 499");
    EXPECT_EQ(AsText(batch.columns[0].BytesAt(1)), "row 0");
    EXPECT_TRUE(batch.columns[1].IsNull(2));
    EXPECT_EQ(batch.columns[1].BytesAt(3).size(), 1499U);
    EXPECT_THAT(Take(*table, {500}, {0}), HasCode(Code::kOutOfRange));
  }
}

TEST_F(TableFolderTest, ReadsOfAPageIndexedFileThePagesOfARowAlone) {
  RecordBatch rows = MakeRows(0, 3000);
  Write("t.parquet", rows);
  ASSERT_OK_AND_ASSIGN(const auto table, Open("t.parquet", ParquetFormat()));
  store_->TakeLog();

  ASSERT_OK(Take(*table, {1500}, {2}));

  uint64_t bytes = 0;
  const auto log = store_->TakeLog();
  for (const auto& request : log) bytes += request.range.size();
  // Its index, and one page of about 1 MiB of the 7 MB.
  EXPECT_LE(log.size(), 3U);
  EXPECT_LT(bytes, 1'200'000U);
}

TEST_F(TableFolderTest, AnswersTheNeighboursOfARowFromMemory) {
  Write("t.parquet", MakeRows(0, 3000));
  ASSERT_OK_AND_ASSIGN(const auto table, Open("t.parquet", ParquetFormat()));
  ASSERT_OK(Take(*table, {1500}, {0, 1, 2}));
  store_->TakeLog();

  ASSERT_OK(Take(*table, {1501}, {0, 1, 2}));

  EXPECT_TRUE(store_->TakeLog().empty());
}

TEST_F(TableFolderTest, OpensAFileWithItsFooterAlone) {
  for (const bool remote : {false, true}) {
    StoreCapabilities capabilities;
    capabilities.remote = remote;
    store_ = std::make_shared<MemoryStore>(capabilities);
    Write("t.parquet", MakeRows(0, 3000));
    store_->TakeLog();

    ASSERT_OK(Open("t.parquet", ParquetFormat()));

    uint64_t reads = 0;
    uint64_t bytes = 0;
    for (const auto& request : store_->TakeLog()) {
      if (request.method == "Stat") continue;
      ++reads;
      bytes += request.range.size();
    }
    EXPECT_EQ(reads, remote ? 1U : 2U);
    EXPECT_LE(bytes, remote ? 65536U : 8192U);
  }
}

TEST_F(TableFolderTest, PutsFilesAndPartitionsBehindEachOther) {
  Write("d/year=2001/a.parquet", MakeRows(0, 10));
  Write("d/year=2002/b.parquet", MakeRows(10, 5));
  store_->Put("d/_SUCCESS", "");

  ASSERT_OK_AND_ASSIGN(const auto table, Open("d", ParquetFormat()));

  ASSERT_EQ(table->row_count(), 15U);
  ASSERT_EQ(table->schema().fields.size(), 4U);
  EXPECT_EQ(table->schema().fields[3].name, "year");
  ASSERT_OK_AND_ASSIGN(const RecordBatch batch, Take(*table, {12, 3}, {3, 0}));
  EXPECT_EQ(batch.columns[0].IntAt(0), 2002);
  EXPECT_EQ(batch.columns[0].IntAt(1), 2001);
  EXPECT_EQ(batch.columns[1].IntAt(0), 12);
}

TEST_F(TableFolderTest, ScansAcrossFilesFromAnyRowToAnyRow) {
  Write("d/a.arrow", MakeRows(0, 100));
  Write("d/b.arrow", MakeRows(100, 100));
  ASSERT_OK_AND_ASSIGN(const auto table, Open("d", ArrowFormat()));
  const size_t columns[] = {1, 0};

  ASSERT_OK_AND_ASSIGN(const auto reader,
                       table->Scan(columns, 90, 113, 10, BlobDetail::kFull));

  int64_t next = 90;
  for (;;) {
    ASSERT_OK_AND_ASSIGN(const RecordBatch batch, reader->Next());
    if (batch.row_count == 0) break;
    ASSERT_LE(batch.row_count, 10U);
    for (uint64_t i = 0; i < batch.row_count; ++i) {
      EXPECT_EQ(batch.columns[1].IntAt(i), next++);
    }
  }
  EXPECT_EQ(next, 113);
}

TEST_F(TableFolderTest, ShowsAMediaStructAsABlob) {
  RecordBatch batch;
  batch.row_count = 4;
  batch.schema.fields = {MakeField("image", MediaStruct())};
  ArrayBuilder builder(MediaStruct());
  builder.child(0).AppendBytes(AsBytes("bytes"));
  builder.child(1).AppendBytes(AsBytes("../evil.png"));
  builder.AppendValid();
  builder.AppendNull();
  builder.child(0).AppendNull();
  builder.child(1).AppendNull();
  builder.AppendValid();
  builder.child(0).AppendNull();
  builder.child(1).AppendBytes(AsBytes("files/a.png"));
  builder.AppendValid();
  batch.columns = {builder.Finish()};
  Write("d/t.parquet", batch);
  store_->Put("d/files/a.png", "outside the table");
  ASSERT_OK_AND_ASSIGN(const auto table, Open("d", ParquetFormat()));

  ASSERT_OK_AND_ASSIGN(const RecordBatch taken,
                       Take(*table, {0, 1, 2, 3}, {0}));

  const Array& image = taken.columns[0];
  ASSERT_EQ(image.type->id, TypeId::kBlob);
  EXPECT_EQ(AsText(*image.blobs[0].bytes), "bytes");
  EXPECT_TRUE(image.IsNull(1));
  EXPECT_TRUE(image.IsNull(2));
  EXPECT_EQ(image.blobs[3].object, "files/a.png");
  ASSERT_OK_AND_ASSIGN(const BlobSource source,
                       table->OpenBlob(image.blobs[3]));
  EXPECT_EQ(source.range.size(), 17U);
}

TEST_F(TableFolderTest, SaysWhatIsWrongWithAFile) {
  Write("t.parquet", MakeRows(0, 10));
  store_->Put("short.parquet", "PAR1");
  store_->Put("page.parquet", "<html>please log in</html>");
  store_->Put("locked.parquet", "PAR1 some bytes PARE");
  store_->Put("text.arrow", "this is no arrow file at all");

  for (const char* path : {"short.parquet", "page.parquet"}) {
    const auto table = Open(path, ParquetFormat());
    EXPECT_THAT(table, HasCode(Code::kCorruption));
    EXPECT_THAT(std::string(table.status().message()), HasSubstr(path));
  }
  EXPECT_THAT(Open("locked.parquet", ParquetFormat()),
              HasCode(Code::kUnsupported));
  EXPECT_THAT(Open("text.arrow", ArrowFormat()), HasCode(Code::kCorruption));
}

TEST_F(TableFolderTest, RefusesColumnsThatDoNotGoTogether) {
  RecordBatch other = MakeRows(0, 1);
  other.schema.fields[0].name = "doc";
  other.schema.fields[2].name = "number";
  Write("d/a.parquet", MakeRows(0, 1));
  Write("d/b.parquet", other);

  const auto table = Open("d", ParquetFormat());

  EXPECT_THAT(table, HasCode(Code::kInvalidArgument));
  EXPECT_THAT(std::string(table.status().message()), HasSubstr("b.parquet"));
}

// Every prefix and every flipped byte gives an answer or an error, in bounded
// time.
TEST_F(TableFolderTest, SurvivesDamage) {
  for (const char* path : {"t.parquet", "t.arrow"}) {
    const TableFormat format =
        std::string_view(path) == "t.arrow" ? ArrowFormat() : ParquetFormat();
    Write(path, MakeRows(0, 9));
    ASSERT_OK_AND_ASSIGN(const Bytes whole, ReadWhole({store_, path}, 1 << 20));
    const auto try_bytes = [&](const Bytes& bytes) {
      store_->Put(path, bytes);
      const auto table = Open(path, format);
      if (table.ok() && table.value()->row_count() > 5 &&
          table.value()->schema().fields.size() == 3) {
        (void)Take(*table.value(), {5, 0}, {0, 1, 2});
      }
    };
    for (size_t size = 0; size < whole.size(); size += 97) {
      try_bytes(
          Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)));
    }
    for (size_t i = 0; i<whole.size(); i += i> 200 ? 31 : 3) {
      Bytes bytes = whole;
      bytes[i] ^= std::byte{0x55};
      try_bytes(bytes);
      // The footer of either is at the end: all of its bytes.
      const size_t at = whole.size() - 1 - i % 1500;
      bytes[at] ^= std::byte{0x41};
      try_bytes(bytes);
    }
  }
}

}  // namespace
}  // namespace rowfs
