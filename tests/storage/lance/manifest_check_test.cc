#include "storage/lance/manifest_check.h"

#include <functional>

#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

pb::Manifest Good() {
  pb::Manifest manifest;
  manifest.set_version(1);
  manifest.mutable_data_format()->set_file_format("lance");
  manifest.mutable_data_format()->set_version("2.2");
  manifest.set_reader_feature_flags(kFlagBasePaths);
  pb::BasePath* base = manifest.add_base_paths();
  base->set_id(0);
  base->set_path("/elsewhere");
  for (uint64_t id = 0; id < 2; ++id) {
    pb::DataFragment* fragment = manifest.add_fragments();
    fragment->set_id(id);
    fragment->set_physical_rows(10);
    for (int32_t field = 0; field < 2; ++field) {
      pb::DataFile* file = fragment->add_files();
      file->set_path("f" + std::to_string(id) + std::to_string(field));
      file->set_file_major_version(2);
      file->set_file_minor_version(2);
      file->add_fields(field);
      file->add_column_indices(0);
    }
  }
  return manifest;
}

struct Case {
  const char* name;
  Code code;
  std::function<void(pb::Manifest*)> change;
};

pb::DataFragment* Fragment0(pb::Manifest* m) { return m->mutable_fragments(0); }
pb::DataFile* File0(pb::Manifest* m) { return Fragment0(m)->mutable_files(0); }

const Case kCases[] = {
    {"fragment id twice", Code::kCorruption,
     [](auto* m) { Fragment0(m)->set_id(1); }},
    {"fragment id above 32 bits", Code::kCorruption,
     [](auto* m) { Fragment0(m)->set_id(uint64_t{1} << 32); }},
    {"row count above 32 bits", Code::kCorruption,
     [](auto* m) { Fragment0(m)->set_physical_rows(UINT64_MAX); }},
    {"no file", Code::kCorruption,
     [](auto* m) { Fragment0(m)->clear_files(); }},
    {"field in two files", Code::kCorruption,
     [](auto* m) { File0(m)->set_fields(0, 1); }},
    {"column for two fields", Code::kCorruption,
     [](auto* m) {
       File0(m)->add_fields(7);
       File0(m)->add_column_indices(0);
     }},
    {"lists of different length", Code::kCorruption,
     [](auto* m) { File0(m)->add_fields(7); }},
    {"column below -1", Code::kCorruption,
     [](auto* m) { File0(m)->set_column_indices(0, -2); }},
    {"path out of data/", Code::kCorruption,
     [](auto* m) { File0(m)->set_path("../../etc/passwd"); }},
    {"absolute path", Code::kCorruption,
     [](auto* m) { File0(m)->set_path("/etc/passwd"); }},
    {"no path", Code::kCorruption, [](auto* m) { File0(m)->clear_path(); }},
    {"unregistered base", Code::kCorruption,
     [](auto* m) { File0(m)->set_base_id(5); }},
    {"base registered twice", Code::kCorruption,
     [](auto* m) { m->add_base_paths()->set_id(0); }},
    {"another file version", Code::kCorruption,
     [](auto* m) { File0(m)->set_file_minor_version(1); }},
    {"unknown file version", Code::kUnsupported,
     [](auto* m) { File0(m)->set_file_minor_version(9); }},
    {"legacy file", Code::kUnsupported,
     [](auto* m) { File0(m)->set_file_major_version(0); }},
    {"legacy format", Code::kUnsupported,
     [](auto* m) { m->mutable_data_format()->set_version("0.1"); }},
    {"unknown format version", Code::kUnsupported,
     [](auto* m) { m->mutable_data_format()->set_version("02.2"); }},
    {"another format", Code::kUnsupported,
     [](auto* m) { m->mutable_data_format()->set_file_format("parquet"); }},
    {"more deleted than there", Code::kCorruption,
     [](auto* m) {
       Fragment0(m)->mutable_deletion_file()->set_num_deleted_rows(11);
     }},
    {"overlays", Code::kUnsupported,
     [](auto* m) { Fragment0(m)->add_overlays(); }},
    {"stable ids promised, none there", Code::kCorruption,
     [](auto* m) {
       m->set_reader_feature_flags(kFlagBasePaths | kFlagStableRowIds);
     }},
};

TEST(CheckManifest, AcceptsTheManifestTheCasesStartFrom) {
  EXPECT_OK(CheckManifest(Good()));
}

TEST(CheckManifest, RefusesWhatContradictsItself) {
  for (const Case& test : kCases) {
    pb::Manifest manifest = Good();
    test.change(&manifest);

    EXPECT_THAT(CheckManifest(manifest), HasCode(test.code)) << test.name;
  }
}

TEST(CheckManifest, MixesFileVersionsOnlyWithTheFlag) {
  pb::Manifest manifest = Good();
  File0(&manifest)->set_file_minor_version(1);
  manifest.set_reader_feature_flags(kFlagBasePaths | kFlagMixedFileVersions);
  manifest.set_writer_feature_flags(kFlagMixedFileVersions);

  EXPECT_OK(CheckManifest(manifest));
}

TEST(FeatureFlags, UnknownReaderBitsRefuseReadingAndWriterBitsWriting) {
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t flag = uint64_t{1} << bit;
    const bool known = flag <= 32 || flag == 128 || flag == 256 ||
                       flag == 2048 || flag == 16384 ||
                       flag == kFlagSixFieldBlobs;
    pb::Manifest both;
    both.set_reader_feature_flags(flag);
    both.set_writer_feature_flags(flag);
    pb::Manifest writer;
    writer.set_writer_feature_flags(flag);

    EXPECT_EQ(CheckReadable(both).ok(), known) << bit;
    EXPECT_EQ(CheckWritable(both).ok(), known) << bit;
    const bool paired =
        flag == 256 || flag == 1024 || flag == 16384 || flag == 65536;
    EXPECT_EQ(CheckReadable(writer).ok(), !paired) << bit;
    EXPECT_EQ(CheckWritable(writer).ok(), known && !paired) << bit;
  }
}

TEST(ConfinedPath, StaysBelowItsFolder) {
  for (const char* good : {"a", "a/b.lance", "..a", "a..", "a/...", "a b"}) {
    EXPECT_TRUE(IsConfinedPath(good)) << good;
  }
  for (const char* bad : {"", "/", "/a", "a/", "a//b", ".", "..", "a/../b",
                          "a/..", "./a", "a\\b", "s3://b/k"}) {
    EXPECT_FALSE(IsConfinedPath(bad)) << bad;
  }
}

}  // namespace
}  // namespace rowfs
