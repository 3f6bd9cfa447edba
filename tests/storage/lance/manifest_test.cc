#include "storage/lance/manifest.h"

#include "storage/object/local_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/shared_folder.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

Manifest Small() {
  Manifest manifest;
  manifest.message.set_version(3);
  pb::Field* field = manifest.message.add_fields();
  field->set_parent_id(-1);
  field->set_name("n");
  field->set_logical_type("int64");
  (*manifest.message.mutable_config())["a"] = "1";
  (*manifest.message.mutable_config())["b"] = "2";
  pb::DataFragment* fragment = manifest.message.add_fragments();
  fragment->set_physical_rows(5);
  pb::DataFile* file = fragment->add_files();
  file->set_path("x.lance");
  file->set_file_major_version(2);
  file->set_file_minor_version(2);
  file->add_fields(0);
  file->add_column_indices(0);
  return manifest;
}

TEST(ManifestName, CountsDownInTheNewForm) {
  EXPECT_EQ(FormatManifestName(1, ManifestNaming::kInverted),
            "18446744073709551614.manifest");
  EXPECT_EQ(FormatManifestName(12, ManifestNaming::kDecimal), "12.manifest");
  EXPECT_EQ(ParseManifestName("18446744073709551614.manifest")->version, 1U);
  EXPECT_EQ(ParseManifestName("12.manifest")->version, 12U);
}

TEST(ManifestName, IsNotThatOfStagingOrDetachedFiles) {
  for (const char* name :
       {"d9223372036854775809.manifest", "1.manifest-5e4d", ".tmp_1.manifest",
        "latest_version_hint.json", ".manifest", "+1.manifest",
        "99999999999999999999.manifest"}) {
    EXPECT_FALSE(ParseManifestName(name)) << name;
  }
}

TEST(Manifest, ReadsBackWhatWasWritten) {
  Manifest manifest = Small();
  manifest.index_section = ToBytes("index");
  manifest.transaction = Bytes();

  const Bytes bytes = EncodeManifest(manifest);
  ASSERT_OK_AND_ASSIGN(const Manifest read, DecodeManifest(bytes, "m"));

  ASSERT_TRUE(read.index_section.has_value());
  EXPECT_EQ(AsText(*read.index_section), "index");
  EXPECT_EQ(read.transaction, manifest.transaction);
  EXPECT_EQ(read.message.fragments(0).files(0).path(), "x.lance");
  EXPECT_EQ(EncodeManifest(read), bytes);
}

TEST(Manifest, KeepsFieldsItDoesNotKnow) {
  Manifest manifest = Small();
  // Field 26, a varint: a message of a newer release.
  std::string text = manifest.message.SerializeAsString() + "\xd0\x01\x07";
  ASSERT_TRUE(manifest.message.ParseFromString(text));

  ASSERT_OK_AND_ASSIGN(const Manifest read,
                       DecodeManifest(EncodeManifest(manifest), "m"));

  EXPECT_NE(read.message.SerializeAsString().find("\xd0\x01\x07"),
            std::string::npos);
}

TEST(Manifest, IsAnErrorCutAnywhere) {
  Manifest manifest = Small();
  manifest.transaction = ToBytes("txn");
  const Bytes bytes = EncodeManifest(manifest);

  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto read = DecodeManifest(ByteSpan(bytes).first(size), "m");
    EXPECT_THAT(read, HasCode(Code::kCorruption)) << size;
  }
}

TEST(Manifest, SurvivesEveryFlippedBit) {
  Manifest manifest = Small();
  manifest.transaction = ToBytes("txn");
  const Bytes bytes = EncodeManifest(manifest);

  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    Bytes broken = bytes;
    broken[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto read = DecodeManifest(broken, "m");
    EXPECT_TRUE(read.ok() || read.status().code() == Code::kCorruption ||
                read.status().code() == Code::kUnsupported);
  }
}

TEST(Manifest, OfAnotherVersionThanItsNameIsRefused) {
  auto store = std::make_shared<MemoryStore>();
  store->Put("/d/_versions/4.manifest", EncodeManifest(Small()));

  const auto read =
      ReadManifest({store, "/d/_versions"}, {4, ManifestNaming::kDecimal},
                   ManifestParts::kMessage);

  EXPECT_THAT(read, HasCode(Code::kCorruption));
  EXPECT_NE(read.status().message().find("holds version 3"), std::string::npos);
}

TEST(Manifest, CostsOneRequestWhenSmallAndTwoWhenLarge) {
  auto store = std::make_shared<MemoryStore>();
  Manifest manifest = Small();
  store->Put("/d/_versions/3.manifest", EncodeManifest(manifest));
  const ManifestName name{3, ManifestNaming::kDecimal};
  const Location folder{store, "/d/_versions"};

  ASSERT_OK(ReadManifest(folder, name, ManifestParts::kAll));
  EXPECT_EQ(store->TakeLog().size(), 1U);

  manifest.index_section = Bytes(100000);
  store->Put("/d/_versions/3.manifest", EncodeManifest(manifest));
  store->TakeLog();
  ASSERT_OK(ReadManifest(folder, name, ManifestParts::kMessage));
  EXPECT_EQ(store->TakeLog().size(), 1U);
  ASSERT_OK_AND_ASSIGN(const Manifest all,
                       ReadManifest(folder, name, ManifestParts::kAll));
  EXPECT_EQ(store->TakeLog().size(), 2U);
  EXPECT_EQ(all.index_section, manifest.index_section);
}

TEST(Manifest, OfEveryGoldenDatasetDecodes) {
  ROWFS_SKIP_WITHOUT_SHARED(golden, "data/lance-golden");
  auto store = std::make_shared<LocalStore>();
  size_t count = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(golden)) {
    const auto name = ParseManifestName(entry.path().filename().string());
    if (!name ||
        entry.path().string().find("refuse_legacy") != std::string::npos) {
      continue;
    }
    const auto read = ReadManifest({store, entry.path().parent_path().string()},
                                   *name, ManifestParts::kAll);
    EXPECT_OK(read) << entry.path();
    if (!read.ok()) continue;
    EXPECT_OK(ManifestSchema(read.value().message)) << entry.path();
    ++count;
  }
  EXPECT_GT(count, 100U);
}

}  // namespace
}  // namespace rowfs
