#include "storage/lance/dataset_writer.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "storage/lance/dataset.h"
#include "storage/object/open_store.h"
#include "tests/storage/lance/same_values.h"
#include "tests/storage/lance/table_file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

class LanceDatasetWriterTest : public testing::Test {
 protected:
  void SetUp() override {
    if (FindPython().empty()) {
      GTEST_SKIP() << "no Python with pylance; set ROWFS_PYTHON";
    }
  }

  Location Place(const std::string& path) {
    return stores_->Resolve(path).value();
  }

  // SEED.table as SEED.lance, in batches of `batch_rows`.
  void Write(uint64_t seed, const LanceWriteOptions& options,
             uint64_t batch_rows) {
    const std::string base = dir_ / std::to_string(seed);
    ASSERT_OK_AND_ASSIGN(const RecordBatch all, ReadTableFile(base + ".table"));
    ASSERT_OK_AND_ASSIGN(auto writer,
                         LanceDatasetWriter::Create(Place(base + ".lance"),
                                                    all.schema, options));
    for (uint64_t at = 0; at < all.row_count; at += batch_rows) {
      RecordBatch part{.schema = all.schema,
                       .row_count = std::min(batch_rows, all.row_count - at)};
      for (const Array& column : all.columns) {
        part.columns.push_back(SliceArray(column, at, part.row_count));
      }
      ASSERT_OK(writer->Append(part));
    }
    ASSERT_OK_AND_ASSIGN(const uint64_t version, writer->Commit());
    EXPECT_EQ(version, 1U);
    ExpectRead(base + ".lance", all);
  }

  // Our own reader gives the values back.
  void ExpectRead(const std::string& path, const RecordBatch& wanted) {
    OpenContext context;
    context.stores = stores_.get();
    ASSERT_OK_AND_ASSIGN(const auto table,
                         LanceFormat().open(Place(path), "", context));
    ASSERT_EQ(table->row_count(), wanted.row_count);
    for (size_t i = 0; i < wanted.columns.size(); ++i) {
      if (wanted.columns[i].type->id == TypeId::kBlob) continue;
      const std::vector<size_t> columns = {i};
      ASSERT_OK_AND_ASSIGN(
          const auto scan,
          table->Scan(columns, 0, wanted.row_count, wanted.row_count,
                      BlobDetail::kDescriptor));
      uint64_t at = 0;
      while (at < wanted.row_count) {
        ASSERT_OK_AND_ASSIGN(const RecordBatch batch, scan->Next());
        ASSERT_GT(batch.row_count, 0U);
        EXPECT_EQ(
            FirstDifference(batch.columns[0],
                            SliceArray(wanted.columns[i], at, batch.row_count)),
            -1)
            << wanted.schema.fields[i].name << " from row " << at;
        at += batch.row_count;
      }
    }
  }

  // Tables of seeds [first, last], written, read by pylance.
  void RoundTrip(uint64_t first, uint64_t last, LanceFileVersion version,
                 const std::string& flags) {
    const std::string seeds = dir_.path() + " --seeds " +
                              std::to_string(first) + "-" +
                              std::to_string(last) + " " + flags;
    ASSERT_TRUE(RunScript("tables.py", "make " + seeds));
    for (uint64_t seed = first; seed <= last; ++seed) {
      LanceWriteOptions options{.version = version};
      if (seed % 3 == 1 && std::getenv("ROWFS_PRINT_SIZES") == nullptr)
        options.rows_per_file_max = 700;
      SCOPED_TRACE("seed " + std::to_string(seed));
      Write(seed, options, seed % 2 == 0 ? 1000 : 1u << 20);
      if (HasFatalFailure()) return;
    }
    EXPECT_TRUE(RunScript("tables.py", "check " + seeds));
    if (std::getenv("ROWFS_PRINT_SIZES") != nullptr) {
      RunScript("tables.py", "sizes " + seeds + " --version 2." +
                                 std::to_string(version.minor));
    }
  }

  TempDir dir_;
  std::unique_ptr<StoreRegistry> stores_ = MakeStoreRegistry();
};

uint64_t SeedCount() {
  const char* text = std::getenv("ROWFS_SEEDS");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 12;
}

TEST_F(LanceDatasetWriterTest, PylanceReadsAndChangesRandomTablesOf22) {
  RoundTrip(0, SeedCount() - 1, {2, 2}, "");
}

TEST_F(LanceDatasetWriterTest, PylanceReadsRandomTablesOf23) {
  RoundTrip(1000, 1000 + SeedCount() - 1, {2, 3}, "--no-changes");
}

TEST_F(LanceDatasetWriterTest, PylanceReadsColumnsOfSeveralPages) {
  RoundTrip(1, 1, {2, 2}, "--big --no-changes");
}

TEST_F(LanceDatasetWriterTest, TheSameRowsGiveTheSameBytes) {
  ASSERT_TRUE(RunScript("tables.py", "make " + dir_.path() + " --seeds 5-5"));
  const auto write = [&](const std::string& name) {
    const RecordBatch batch = ReadTableFile(dir_ / "5.table").value();
    auto writer =
        LanceDatasetWriter::Create(Place(dir_ / name), batch.schema, {});
    EXPECT_OK(writer);
    EXPECT_OK(writer.value()->Append(batch));
    EXPECT_OK(writer.value()->Commit());
    std::string bytes;
    for (const auto& entry :
         std::filesystem::directory_iterator(dir_ / name + "/data")) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      bytes.append(std::istreambuf_iterator<char>(in), {});
    }
    return bytes;
  };

  const std::string first = write("a.lance");

  EXPECT_FALSE(first.empty());
  EXPECT_TRUE(first == write("b.lance"));
}

Schema OneColumn(DataType type) {
  Schema schema;
  schema.fields.push_back({.name = "a", .type = MakeType(std::move(type))});
  return schema;
}

TEST_F(LanceDatasetWriterTest, RefusesWhatItCannotStore) {
  const Location place = Place(dir_ / "t.lance");
  const auto create = [&](const Schema& schema, LanceFileVersion version) {
    return LanceDatasetWriter::Create(place, schema, {.version = version});
  };
  const Schema good = OneColumn({.id = TypeId::kInt32});

  EXPECT_THAT(create({}, {2, 2}), HasCode(Code::kInvalidArgument));
  EXPECT_THAT(create(good, {2, 1}), HasCode(Code::kUnsupported));
  const TypePtr empty = MakeType(TypeId::kStruct);
  EXPECT_THAT(create(OneColumn({.id = TypeId::kStruct,
                                .children = {{.name = "e", .type = empty}}}),
                     {2, 2}),
              HasCode(Code::kUnsupported));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "t.lance"));
}

TEST_F(LanceDatasetWriterTest, AStructWithoutFieldsIsAValueAndNeverNull) {
  const Schema schema = OneColumn({.id = TypeId::kStruct});
  ASSERT_OK_AND_ASSIGN(auto writer, LanceDatasetWriter::Create(
                                        Place(dir_ / "t.lance"), schema, {}));
  ASSERT_OK_AND_ASSIGN(auto refused, LanceDatasetWriter::Create(
                                         Place(dir_ / "u.lance"), schema, {}));
  const Array values{.type = schema.fields[0].type, .length = 3};

  ASSERT_OK(writer->Append({.row_count = 3, .columns = {values}}));
  ASSERT_OK(writer->Commit());
  EXPECT_THAT(
      refused->Append({.row_count = 3, .columns = {NullArray(values.type, 3)}}),
      HasCode(Code::kUnsupported));

  ExpectRead(dir_ / "t.lance",
             {.schema = schema, .row_count = 3, .columns = {values}});
}

TEST_F(LanceDatasetWriterTest, ABatchOfAnotherShapeIsRefusedAndHarmless) {
  const Schema schema = OneColumn({.id = TypeId::kInt32});
  ASSERT_OK_AND_ASSIGN(auto writer, LanceDatasetWriter::Create(
                                        Place(dir_ / "t.lance"), schema, {}));
  ArrayBuilder longs(MakeType(TypeId::kInt64));
  longs.AppendInt(1);
  ArrayBuilder ints(MakeType(TypeId::kInt32));
  ints.AppendInt(1);
  const Array good = ints.Finish();

  EXPECT_THAT(writer->Append({.row_count = 1, .columns = {longs.Finish()}}),
              HasCode(Code::kInvalidArgument));
  EXPECT_THAT(writer->Append({.row_count = 2, .columns = {good}}),
              HasCode(Code::kInvalidArgument));
  EXPECT_THAT(writer->Append({.row_count = 1}),
              HasCode(Code::kInvalidArgument));

  EXPECT_OK(writer->Append({.row_count = 1, .columns = {good}}));
  EXPECT_OK(writer->Commit());
  EXPECT_THAT(writer->Append({.row_count = 1, .columns = {good}}),
              HasCode(Code::kInvalidArgument));
}

TEST_F(LanceDatasetWriterTest, ATableWithoutRowsIsATable) {
  const Schema schema = OneColumn({.id = TypeId::kInt32});
  const Location place = Place(dir_ / "t.lance");
  ASSERT_OK_AND_ASSIGN(auto writer,
                       LanceDatasetWriter::Create(place, schema, {}));
  ASSERT_OK(writer->Commit());

  ASSERT_OK_AND_ASSIGN(auto append, LanceDatasetWriter::Append(place, {}));
  ASSERT_OK_AND_ASSIGN(const uint64_t same, append->Commit());
  EXPECT_EQ(same, 1U);
  EXPECT_TRUE(RunScript("blobs.py", "columns " + (dir_ / "t.lance") + " a"));
}

}  // namespace
}  // namespace rowfs
