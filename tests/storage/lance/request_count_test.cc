// What opening and random reads cost: requests, bytes, and memory kept between
// them. The figures of storage/README.md come from here and from
// tests/oracle/costs.py.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "storage/lance/column_reader.h"
#include "storage/lance/dataset.h"
#include "storage/lance/dataset_writer.h"
#include "storage/table/struct_fields.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

constexpr uint64_t kRows = 20'000;
constexpr const char* kRoot = "d.lance";

using Requests = std::vector<MemoryStore::Request>;

Requests ReadsOf(const Requests& log) {
  Requests reads;
  for (const auto& request : log) {
    if (request.method.starts_with("Read")) reads.push_back(request);
  }
  return reads;
}

uint64_t BytesOf(const Requests& reads) {
  uint64_t bytes = 0;
  for (const auto& request : reads) bytes += request.range.size();
  return bytes;
}

TypePtr ListOf(TypePtr item) {
  return MakeType(DataType{.id = TypeId::kList,
                           .children = {{.name = "item", .type = item}}});
}

TypePtr PairType() {
  return MakeType(
      DataType{.id = TypeId::kStruct,
               .children = {{.name = "a", .type = MakeType(TypeId::kInt64)},
                            {.name = "b", .type = MakeType(TypeId::kDouble)}}});
}

Bytes RandomBytes(std::mt19937_64* random, size_t size) {
  Bytes out;
  while (out.size() < size) AppendU64(&out, (*random)());
  out.resize(size);
  return out;
}

void AppendRandom(const DataType& type, uint64_t row, std::mt19937_64* random,
                  ArrayBuilder* out) {
  const TypeId id = type.id;
  if (id == TypeId::kInt64) {
    return out->AppendInt(static_cast<int64_t>((*random)() >> 8));
  }
  if (id == TypeId::kDouble || id == TypeId::kFloat) {
    return out->AppendDouble(static_cast<double>((*random)() % 100'000));
  }
  if (id == TypeId::kString) {
    return out->AppendBytes(
        AsBytes(std::to_string((*random)() % 100'000'000'000)));
  }
  if (id == TypeId::kInt32)
    return out->AppendInt(static_cast<int64_t>(row / 50));
  if (id == TypeId::kBool) return out->AppendBool((*random)() % 2 == 0);
  if (id == TypeId::kLargeString) {
    return out->AppendBytes(AsBytes("word " + std::to_string(row * 7 % 40)));
  }
  if (id == TypeId::kLargeBinary) {
    return out->AppendBytes(RandomBytes(random, 1000 + row % 7));
  }
  if (id == TypeId::kStruct) {
    for (size_t i = 0; i < type.children.size(); ++i) {
      AppendRandom(*type.children[i].type, row, random, &out->child(i));
    }
  } else {
    const uint64_t items = id == TypeId::kFixedSizeList ? type.width : row % 5;
    for (uint64_t i = 0; i < items; ++i) {
      AppendRandom(*type.children[0].type, row + i, random, &out->child(0));
    }
  }
  out->AppendValid();
}

// One table in memory, as 2.2 or 2.3.
class RequestCount : public testing::TestWithParam<uint16_t> {
 protected:
  void SetUp() override {
    schema_.fields = {
        {.name = "int64", .type = MakeType(TypeId::kInt64)},
        {.name = "string", .type = MakeType(TypeId::kString)},
        {.name = "list", .type = ListOf(MakeType(TypeId::kInt64))},
        {.name = "deep", .type = ListOf(ListOf(MakeType(TypeId::kString)))},
        {.name = "struct", .type = PairType()},
        {.name = "packed",
         .type = PairType(),
         .metadata = {{"lance-encoding:packed", "true"}}},
        {.name = "vector",
         .type = MakeType(
             DataType{.id = TypeId::kFixedSizeList,
                      .width = 100,
                      .children = {{.name = "item",
                                    .type = MakeType(TypeId::kFloat)}}})},
        {.name = "binary", .type = MakeType(TypeId::kLargeBinary)},
        {.name = "runs", .type = MakeType(TypeId::kInt32)},
        {.name = "words", .type = MakeType(TypeId::kLargeString)},
        {.name = "bool", .type = MakeType(TypeId::kBool)},
    };
    LanceWriteOptions options;
    options.version = {2, GetParam()};
    ASSERT_OK_AND_ASSIGN(
        const auto writer,
        LanceDatasetWriter::Create({store_, kRoot}, schema_, options));
    std::mt19937_64 random(7);
    RecordBatch batch{.schema = schema_, .row_count = kRows};
    for (const Field& field : schema_.fields) {
      ArrayBuilder column(field.type);
      for (uint64_t row = 0; row < kRows; ++row) {
        AppendRandom(*field.type, row, &random, &column);
      }
      batch.columns.push_back(column.Finish());
    }
    ASSERT_OK(writer->Append(batch));
    ASSERT_OK(writer->Commit());
    store_->TakeLog();
  }

  std::unique_ptr<TableSource> Open() {
    auto table = LanceFormat().open({store_, kRoot}, "", OpenContext());
    EXPECT_TRUE(table.ok()) << table.status().message();
    return std::move(table).value();
  }

  size_t Find(const std::string& name) { return schema_.Find(name).value(); }

  // The reads of one row of one column.
  Requests TakeOne(TableSource* table, const std::string& name, uint64_t row) {
    store_->TakeLog();
    const uint64_t rows[] = {row};
    const size_t columns[] = {Find(name)};
    const auto batch = table->Take(rows, columns, BlobDetail::kFull);
    EXPECT_TRUE(batch.ok()) << batch.status().message();
    return ReadsOf(store_->TakeLog());
  }

  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  Schema schema_;
};

TEST_P(RequestCount, OpeningADatasetIsAListingAndAManifest) {
  const auto table = Open();

  EXPECT_LE(store_->TakeLog().size(), 3U);
}

TEST_P(RequestCount, OpeningADataFileIsAtMostTwoReads) {
  const auto table = Open();
  const Requests first = TakeOne(table.get(), "int64", 5);
  const Requests again = TakeOne(table.get(), "int64", 6);

  // File, tables and chunk of the page; then the chunk alone.
  EXPECT_LE(first.size(), 2U + 2U);
  EXPECT_EQ(again.size(), 1U);
}

TEST_P(RequestCount, AValueIsAtMostTheReadsPromised) {
  const auto table = Open();
  const std::pair<const char*, size_t> promised[] = {
      {"int64", 1},  {"string", 1}, {"list", 2},   {"deep", 2},
      {"struct", 2}, {"packed", 1}, {"vector", 1}, {"binary", 2}};
  for (const auto& [name, reads_max] : promised) {
    TakeOne(table.get(), name, 0);
    for (uint64_t row = 17; row < kRows; row += 1999) {
      EXPECT_LE(TakeOne(table.get(), name, row).size(),
                // Another page of the column is touched first.
                reads_max + (std::string(name) == "binary" ? 1 : 0))
          << name << " row " << row;
    }
  }
}

TEST_P(RequestCount, AValueReadsItsChunkAndNoMore) {
  const auto table = Open();
  const std::pair<const char*, uint64_t> promised[] = {
      {"int64", 16 << 10},  {"string", 16 << 10}, {"list", 32 << 10},
      {"packed", 16 << 10}, {"vector", 400},      {"binary", 1100}};
  for (const auto& [name, bytes_max] : promised) {
    TakeOne(table.get(), name, 3);
    EXPECT_LE(BytesOf(TakeOne(table.get(), name, 11)), bytes_max) << name;
  }
}

TEST_P(RequestCount, AFirstTouchReadsTablesOfThePagesAskedForOnly) {
  const auto table = Open();
  TakeOne(table.get(), "int64", 0);  // opens the file

  // 20 MB in pages of 8 MiB: the first value needs two offsets and itself.
  EXPECT_LE(BytesOf(TakeOne(table.get(), "binary", 4)), 1100U);
  EXPECT_LE(BytesOf(TakeOne(table.get(), "binary", kRows - 1)), 1100U);
}

TEST_P(RequestCount, RowsOfOneCallAreReadTogether) {
  const auto table = Open();
  TakeOne(table.get(), "int64", 0);
  store_->TakeLog();
  const uint64_t rows[] = {0, 1, 2, 3};
  const size_t columns[] = {Find("int64"), Find("packed")};

  ASSERT_OK(table->Take(rows, columns, BlobDetail::kFull));
  store_->TakeLog();
  ASSERT_OK(table->Take(rows, columns, BlobDetail::kFull));

  EXPECT_EQ(ReadsOf(store_->TakeLog()).size(), 2U);  // one a column
}

TEST_P(RequestCount, AFieldOfAStructCostsWhatItsLeafCosts) {
  const auto whole = Open();
  for (const auto& [name, reads, all_reads] :
       {std::tuple("struct.b", 1U, 2U), std::tuple("packed.b", 1U, 1U)}) {
    ASSERT_OK_AND_ASSIGN(const FieldPath path, FindField(schema_, name));
    const auto table = SelectFields(*whole, std::span(&path, 1));
    const size_t columns[] = {0};
    const uint64_t first[] = {1};
    const uint64_t rows[] = {kRows - 1};
    ASSERT_OK(table->Take(first, columns, BlobDetail::kFull));
    store_->TakeLog();

    ASSERT_OK_AND_ASSIGN(const RecordBatch batch,
                         table->Take(rows, columns, BlobDetail::kFull));
    const Requests one = ReadsOf(store_->TakeLog());
    const size_t all[] = {path.column};
    ASSERT_OK(whole->Take(first, all, BlobDetail::kFull));
    store_->TakeLog();
    ASSERT_OK_AND_ASSIGN(const RecordBatch structs,
                         whole->Take(rows, all, BlobDetail::kFull));
    const Requests every = ReadsOf(store_->TakeLog());

    EXPECT_EQ(one.size(), reads) << name;
    EXPECT_EQ(every.size(), all_reads) << name;
    EXPECT_LE(BytesOf(one) * all_reads, BytesOf(every) * 11 / 10) << name;
    EXPECT_EQ(batch.schema.fields[0].name, name);
    const Array& want = structs.columns[0].children[1];
    EXPECT_TRUE(
        std::ranges::equal(batch.columns[0].FixedAt(0), want.FixedAt(0)));
  }
}

TEST_P(RequestCount, WhatIsKeptOfAPageIsSmall) {
  ASSERT_OK_AND_ASSIGN(const auto entries, store_->List("d.lance/data"));
  const std::string path = "d.lance/data/" + entries[0].name;
  ASSERT_OK_AND_ASSIGN(const auto object,
                       ObjectReader::Open({store_, path}, 64 << 10, {}));
  ASSERT_OK_AND_ASSIGN(const FileMetadata metadata, ReadFileMetadata(*object));
  std::map<int32_t, uint32_t> columns;
  uint32_t next = 0;
  for (const LanceField& field : metadata.schema.fields) {
    const uint32_t first = next;
    PageStateCache cache(uint64_t{1} << 30);
    const auto number = [&](const LanceField& leaf) {
      columns[leaf.id] = next++;
    };
    const std::function<void(const LanceField&)> visit =
        [&](const LanceField& at) {
          if (IsLeaf(at)) return number(at);
          for (const LanceField& child : at.children) visit(child);
        };
    visit(field);
    const FileContext context{object.get(), &metadata, &path, &cache};
    ASSERT_OK(
        ReadField(context, field, columns, {{0, kRows}}, BlobDetail::kFull));
    uint64_t bytes = 0;
    for (uint32_t column = first; column < next; ++column) {
      const size_t pages = metadata.columns[column].pages.size();
      for (uint32_t page = 0; page < pages; ++page) {
        const auto state = cache.Find({column, page});
        if (state != nullptr) bytes += state->memory_bytes();
      }
    }
    RecordProperty(field.field.name + "_bytes_per_million_rows",
                   static_cast<int>(bytes * 1'000'000 / kRows));
    // pylance keeps about 4 bytes a row of a list or a wide column.
    EXPECT_LT(bytes, kRows) << field.field.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, RequestCount, testing::Values(2, 3));

}  // namespace
}  // namespace rowfs
