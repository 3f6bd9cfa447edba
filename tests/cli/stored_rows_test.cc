// Rows of packs that are listed without being made: what they say is what the
// contents say.
#include "fs/tree/stored_rows.h"

#include <gtest/gtest.h>

#include "fs/tree/row_contents.h"
#include "storage/pack/pack_source.h"
#include "tests/storage/pack/tar_builder.h"
#include "tests/storage/pack/zip_builder.h"
#include "tests/support/fake_plugin.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

// A pack opened as a dataset.
class Packed {
 public:
  Packed(const Members& members, std::string_view format) {
    std::string bytes;
    if (format == "webdataset") {
      TarBuilder tar;
      for (const auto& [name, data] : members) tar.Add(name, data);
      bytes = tar.Finish();
    } else {
      ZipBuilder zip;
      for (const auto& [name, data] : members) zip.Add(name, data);
      bytes = zip.Finish();
    }
    const std::string path = format == "webdataset" ? "x.tar" : "x.zip";
    store_->Put(path, bytes);
    for (const TableFormat& each : PackFormats()) {
      if (each.name != format) continue;
      auto table = each.open({store_, path}, "", {});
      EXPECT_OK(table);
      dataset = Dataset::Make(path, std::move(table).value(), DatasetOptions())
                    .value();
    }
    rows = std::make_unique<StoredRows>(*dataset, true);
  }

  RowContents Contents(uint64_t row) {
    return ReadRowContents({*dataset, registry_, options_, false, 0},
                           *dataset->ReadRow(row).value());
  }
  std::string Text(uint64_t row, uint32_t code) {
    const auto file = rows->Open(row, code, Wait::kYes);
    EXPECT_OK(file);
    if (!file.ok() || file.value() == nullptr) return "none";
    Bytes bytes(file.value()->size());
    EXPECT_OK(file.value()->ReadAt(0, bytes));
    return std::string(AsText(bytes));
  }

  std::shared_ptr<Dataset> dataset;
  std::unique_ptr<StoredRows> rows;

 private:
  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  FakeRegistry registry_;
  TreeOptions options_;
};

// How many rows were told without their contents, all of them rightly.
size_t CountTold(const Members& members, std::string_view format) {
  Packed packed(members, format);
  size_t told = 0;
  for (uint64_t row = 0; row < packed.dataset->row_count(); ++row) {
    const auto stored = packed.rows->Get(row, Wait::kYes);
    if (stored == nullptr) continue;
    ++told;
    const RowContents contents = packed.Contents(row);
    EXPECT_EQ(stored->json, contents.items[0].text);
    EXPECT_EQ(stored->files.size(), contents.items.size());
    for (size_t i = 0; i < stored->files.size(); ++i) {
      const StoredFile& file = stored->files[i];
      const RowItem& item = contents.items[i];
      EXPECT_EQ(file.name, item.name);
      EXPECT_EQ(file.size, item.size);
      EXPECT_EQ(file.code, item.code);
      EXPECT_EQ(packed.Text(row, file.code).size(), item.size);
      const auto found = packed.rows->Find(row, file.name, Wait::kYes);
      EXPECT_TRUE(found && found->code == file.code &&
                  found->size == file.size);
    }
    EXPECT_FALSE(packed.rows->Find(row, "absent", Wait::kYes).has_value());
  }
  return told;
}

const std::string kPng = std::string("\x89PNG\r\n\x1a\n", 8) + "rest";

TEST(StoredRows, SayWhatTheContentsSay) {
  const Members members = {{"a/1.jpg", "picture"},
                           {"a/1.left.png", kPng},
                           {"a/1.json", "{\"a\": 1}"},
                           {"a/2.bin", "plain"},
                           {"a/2.jpg", ""},
                           {"b/q\"uo\\te.jpg", "x"},
                           {"b/per%cent\n.png", "y"},
                           {"b/\xC3\xA9t\xC3\xA9.jpg", "z"},
                           {"b/" + std::string(300, 'n') + ".jpg", "long"},
                           {"b/\xE2\x80\xA8line.bin", "separator"}};

  EXPECT_EQ(CountTold(members, "blobpack"), 7u);
  EXPECT_EQ(CountTold(members, "blobpack-members"), 9u);
}

TEST(StoredRows, LeaveToTheContentsWhatIsMoreThanBytes) {
  // Texts that are values, two files of one name, a row.json, bytes that turn
  // out to be a picture, media with views.
  EXPECT_EQ(CountTold({{"1.jpg", "a"}, {"1.txt", "text"}}, "webdataset"), 0u);
  EXPECT_EQ(CountTold({{"2.jpg", "a"}, {"2.jpg", "b"}}, "blobpack"), 0u);
  EXPECT_EQ(CountTold({{"row.json", "{}"}, {"3.json", "{}"}}, "blobpack"), 1u);
  EXPECT_EQ(CountTold({{"4.bin", kPng}, {"5.bin", "plain"}}, "blobpack"), 1u);
  EXPECT_EQ(CountTold({{"6.mp4", "film"}, {"7.jpg", "a"}}, "blobpack"), 1u);
}

TEST(StoredRows, LookIntoBytesOnlyWhereTheNameSaysNothing) {
  Packed packed({{"1.jpg", "picture"}, {"2.bin", "plain"}}, "blobpack");
  StoredRows careful(*packed.dataset, false);

  EXPECT_NE(careful.Get(0, Wait::kNo), nullptr);
  EXPECT_EQ(careful.Get(1, Wait::kNo), nullptr);
  EXPECT_NE(careful.Get(1, Wait::kYes), nullptr);
  EXPECT_NE(careful.Get(1, Wait::kNo), nullptr);
  EXPECT_FALSE(careful.Find(2, "1.jpg", Wait::kYes).has_value());
}

}  // namespace
}  // namespace rowfs
