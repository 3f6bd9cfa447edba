#include "storage/folder/folder_source.h"

#include "storage/folder/folder_listing.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

class FolderSourceTest : public ::testing::Test {
 protected:
  void Put(const std::string& path, std::string_view bytes) {
    ASSERT_OK(
        WriteWhole({store_, "d/" + path}, AsBytes(bytes), PutMode::kOverwrite));
  }
  Result<std::unique_ptr<TableSource>> Open(const std::string& path = "d") {
    OpenContext context;
    context.read.stats = &stats_;
    return FolderFormat().open({store_, path}, "", context);
  }
  static std::vector<std::string> Names(const TableSource& table) {
    std::vector<std::string> names;
    for (const Field& field : table.schema().fields) {
      names.push_back(field.name);
    }
    return names;
  }
  static std::string Text(TableSource& table, size_t column, uint64_t row) {
    const size_t columns[] = {column};
    const uint64_t rows[] = {row};
    const auto batch = table.Take(rows, columns, BlobDetail::kHead);
    if (!batch.ok() || batch.value().columns[0].IsNull(0)) return "null";
    return std::string(AsText(batch.value().columns[0].BytesAt(0)));
  }

  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  ReadStats stats_;
};

TEST_F(FolderSourceTest, GivesARowAFileAndAColumnAKind) {
  Put("b.mp4", "video");
  Put("a.txt", "text");
  Put("c.JPG", "picture");
  Put(".hidden", "x");

  ASSERT_OK_AND_ASSIGN(const auto table, Open());

  EXPECT_EQ(Names(*table),
            (std::vector<std::string>{"file_name", "video", "image", "file"}));
  ASSERT_EQ(table->row_count(), 3U);
  EXPECT_EQ(Text(*table, 0, 0), "a.txt");
  EXPECT_EQ(stats_.data.requests, 0U);
}

TEST_F(FolderSourceTest, ReadsAFilesBytesAsItsBlob) {
  Put("b.mp4", "video");
  ASSERT_OK_AND_ASSIGN(const auto table, Open());
  const uint64_t rows[] = {0};
  const size_t columns[] = {1};
  ASSERT_OK_AND_ASSIGN(const RecordBatch batch,
                       table->Take(rows, columns, BlobDetail::kFull));

  ASSERT_OK_AND_ASSIGN(const BlobSource source,
                       table->OpenBlob(batch.columns[0].blobs[0]));

  ASSERT_OK_AND_ASSIGN(const Bytes bytes,
                       source.reader->Read(source.range, ReadKind::kData));
  EXPECT_EQ(AsText(bytes), "video");
}

TEST_F(FolderSourceTest, TakesClassFoldersAsLabels) {
  Put("cat/1.png", "x");
  Put("dog/1.png", "y");

  ASSERT_OK_AND_ASSIGN(const auto table, Open());

  EXPECT_EQ(Names(*table),
            (std::vector<std::string>{"file_name", "label", "image"}));
  EXPECT_EQ(Text(*table, 1, 1), "dog");
}

TEST_F(FolderSourceTest, AddsTheColumnsOfTheMetadataFile) {
  Put("1.png", "x");
  Put("sub/2.png", "y");
  Put("metadata.jsonl",
      "{\"file_name\": \"sub/2.png\", \"n\": 5, \"tags\": [\"a\"]}\n");

  ASSERT_OK_AND_ASSIGN(const auto table, Open());

  EXPECT_EQ(Names(*table),
            (std::vector<std::string>{"file_name", "image", "n", "tags"}));
  EXPECT_EQ(table->row_count(), 2U);
  EXPECT_EQ(table->schema().fields[2].type->id, TypeId::kInt64);
  EXPECT_EQ(table->schema().fields[3].type->id, TypeId::kList);
}

TEST_F(FolderSourceTest, OpensASingleFile) {
  Put("b.mp4", "video");

  ASSERT_OK_AND_ASSIGN(const auto table, Open("d/b.mp4"));

  EXPECT_EQ(table->row_count(), 1U);
  EXPECT_EQ(Text(*table, 0, 0), "b.mp4");
}

TEST_F(FolderSourceTest, SaysWhichRowIsNotThere) {
  Put("b.mp4", "video");
  ASSERT_OK_AND_ASSIGN(const auto table, Open());
  const uint64_t rows[] = {1};
  const size_t columns[] = {0};

  EXPECT_THAT(table->Take(rows, columns, BlobDetail::kHead),
              HasCode(Code::kOutOfRange));
}

TEST(KindOfFile, LooksAtTheExtensionAlone) {
  EXPECT_EQ(KindOfFile("a.MP4"), "video");
  EXPECT_EQ(KindOfFile("a.tar.gz"), "file");
  EXPECT_EQ(KindOfFile("noextension"), "file");
  EXPECT_EQ(KindOfFile("x.pdf"), "document");
}

TEST_F(FolderSourceTest, TakesMetadataOfFoldersBelow) {
  Put("train/a.jpg", "picture");
  Put("train/metadata.jsonl", R"({"file_name": "a.jpg", "caption": "cat"})");
  Put("test/b.jpg", "picture");
  Put("test/metadata.csv", "file_name,caption\nb.jpg,dog\n");

  ASSERT_OK_AND_ASSIGN(const auto table, Open());

  EXPECT_EQ(Names(*table),
            (std::vector<std::string>{"file_name", "image", "caption"}));
  ASSERT_EQ(table->row_count(), 2U);
  EXPECT_EQ(Text(*table, 2, 0), "dog");
  EXPECT_EQ(Text(*table, 2, 1), "cat");
}

// A table of two columns that names files; stands for metadata.parquet.
class NamesTable final : public TableSource {
 public:
  NamesTable() {
    for (const char* name : {"file_name", "score"}) {
      Field field;
      field.name = name;
      field.type = MakeType(TypeId::kString);
      schema_.fields.push_back(std::move(field));
    }
  }
  std::string_view format() const override { return "names"; }
  const Schema& schema() const override { return schema_; }
  uint64_t row_count() const override { return 1; }
  std::string fingerprint() const override { return "1"; }
  Json Describe() const override { return {}; }
  Result<RecordBatch> Take(std::span<const uint64_t>, std::span<const size_t>,
                           BlobDetail) override {
    return Status(Code::kInternal, "not needed");
  }
  Result<std::unique_ptr<BatchReader>> Scan(std::span<const size_t>, uint64_t,
                                            uint64_t, uint64_t,
                                            BlobDetail) override {
    class Reader final : public BatchReader {
     public:
      Result<RecordBatch> Next() override {
        RecordBatch batch;
        if (done_) return batch;
        done_ = true;
        batch.row_count = 1;
        for (const char* text : {"a.jpg", "good"}) {
          ArrayBuilder builder(MakeType(TypeId::kString));
          builder.AppendBytes(AsBytes(text));
          batch.columns.push_back(builder.Finish());
        }
        return batch;
      }

     private:
      bool done_ = false;
    };
    return std::unique_ptr<BatchReader>(std::make_unique<Reader>());
  }
  Result<uint64_t> RowId(uint64_t row) override { return row; }
  Result<BlobSource> OpenBlob(const BlobCell&) override {
    return Status(Code::kInternal, "not needed");
  }
  Result<std::vector<TableVersion>> Versions() override {
    return std::vector<TableVersion>();
  }

 private:
  Schema schema_;
};

TEST_F(FolderSourceTest, TakesColumnsOfAMetadataTable) {
  Put("train/a.jpg", "picture");
  Put("train/b.jpg", "picture");
  Put("train/metadata.parquet", "opened by the format below");
  TableFormat format;
  format.open = [](const Location&, std::string_view,
                   const OpenContext&) -> Result<std::unique_ptr<TableSource>> {
    return std::unique_ptr<TableSource>(std::make_unique<NamesTable>());
  };

  ASSERT_OK_AND_ASSIGN(const auto table,
                       FolderFormat(&format).open({store_, "d"}, "", {}));

  ASSERT_EQ(table->row_count(), 2U);
  EXPECT_EQ(Names(*table),
            (std::vector<std::string>{"file_name", "image", "score"}));
  EXPECT_EQ(Text(*table, 2, 0), "good");
  EXPECT_EQ(Text(*table, 2, 1), "null");
}

}  // namespace
}  // namespace rowfs
