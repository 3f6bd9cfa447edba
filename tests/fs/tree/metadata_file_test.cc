#include "fs/tree/metadata_file.h"

#include <gmock/gmock.h>

#include "storage/base/json.h"
#include "tests/support/fake_plugin.h"
#include "tests/support/generated_table.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

std::shared_ptr<Dataset> MakeDataset(uint64_t row_count) {
  Schema schema;
  schema.fields = {
      MakeField("file_name", MakeType(TypeId::kString)),
      MakeField("image", MakeType(TypeId::kBlob),
                {{"media_type", "image/png"}}),
      MakeField("mask", MakeType(TypeId::kBlob), {{"media_type", "image/png"}}),
      MakeField("mask_file_name", MakeType(TypeId::kInt64))};
  auto table = std::make_unique<GeneratedTable>(
      schema, row_count,
      [](uint64_t row, size_t field, ArrayBuilder& out) {
        BlobCell cell;
        cell.bytes = std::make_shared<const Bytes>(ToBytes("x"));
        cell.size = 1;
        if (field == 0) out.AppendBytes(AsBytes("theirs"));
        if (field == 1 && row % 2 == 1) out.AppendNull();
        if (field == 2 || (field == 1 && row % 2 == 0)) out.AppendBlob(cell);
        if (field == 3) out.AppendInt(static_cast<int64_t>(row));
      },
      nullptr);
  return Dataset::Make("some", std::move(table), {}).value();
}

class MetadataFileTest : public ::testing::Test {
 protected:
  std::shared_ptr<const MetadataFile> Open(uint64_t row_count) {
    dataset_ = MakeDataset(row_count);
    return MetadataFile::Open(*dataset_, registry_, options_,
                              [](uint64_t row) -> Result<std::string> {
                                return "rows/" + std::to_string(row);
                              })
        .value();
  }
  static std::string ReadAll(const MetadataFile& file, size_t step) {
    std::string text;
    for (;;) {
      Bytes buffer(step);
      const auto size = file.ReadAt(text.size(), buffer);
      EXPECT_OK(size);
      if (!size.ok() || size.value() == 0) return text;
      text += AsText(ByteSpan(buffer).first(size.value()));
    }
  }

  FakeRegistry registry_;
  TreeOptions options_;
  std::shared_ptr<Dataset> dataset_;
};

TEST_F(MetadataFileTest, AColumnNamedFileNameMakesRoom) {
  const auto file = Open(2);

  EXPECT_EQ(ReadAll(*file, 4096),
            "{\"file_name\": \"rows/0/image.png\", \"mask_file_name\": "
            "\"rows/0/mask.png\", \"file_name~2\": \"theirs\", "
            "\"mask_file_name~2\": 0}\n"
            "{\"file_name\": \"rows/1/mask.png\", \"file_name~2\": \"theirs\", "
            "\"mask_file_name~2\": 1}\n");
}

TEST_F(MetadataFileTest, AnyPieceReadsTheSame) {
  const auto file = Open(1000);
  const std::string text = ReadAll(*file, 1 << 20);

  EXPECT_EQ(file->size(), text.size());
  EXPECT_EQ(ReadAll(*file, 777), text);
  for (const uint64_t offset :
       {file->size() - 1, uint64_t{0}, uint64_t{30'000}}) {
    Bytes buffer(500);
    ASSERT_OK_AND_ASSIGN(const size_t size, file->ReadAt(offset, buffer));
    EXPECT_EQ(AsText(ByteSpan(buffer).first(size)), text.substr(offset, 500));
  }
  Bytes buffer(1);
  EXPECT_EQ(file->ReadAt(file->size(), buffer).value(), 0u);
}

TEST_F(MetadataFileTest, ATableWithoutRowsIsAnEmptyFile) {
  EXPECT_EQ(Open(0)->size(), 0u);
}

}  // namespace
}  // namespace rowfs
