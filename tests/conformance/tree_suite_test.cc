#include "tests/conformance/tree_suite.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <set>

#include "storage/base/json.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

INSTANTIATE_TEST_SUITE_P(
    , TreeSuite, ::testing::Values(DriverKind::kDirect, DriverKind::kMounted),
    [](const auto& param) {
      return param.param == DriverKind::kDirect ? "Direct" : "Mounted";
    });

TEST_P(TreeSuite, RootListsWhatThereIs) {
  ROWFS_OPEN_TREE({"view"});

  EXPECT_THAT(ListFolder(""),
              ElementsAre("rows", "by", "select", "views", "metadata.jsonl",
                          ".versions", ".tags", ".rowfs"));
}

TEST_P(TreeSuite, RowsAreFoldersInOrderWithSixDigits) {
  ROWFS_OPEN_TREE({"rows=12"});

  const auto rows = ListFolder("rows");

  ASSERT_EQ(rows.size(), 12u);
  EXPECT_EQ(rows[0], "000000");
  EXPECT_EQ(rows[11], "000011");
  EXPECT_EQ(StatFile("rows/000011").type, 'd');
  EXPECT_EQ(tree().Stat("rows/000012").error, ENOENT);
}

TEST_P(TreeSuite, AnyNumberOfARowIsALinkToItsFolder) {
  ROWFS_OPEN_TREE();

  EXPECT_EQ(tree().ReadLink("rows/7").value, "000007");
  EXPECT_EQ(tree().ReadLink("rows/0007").value, "000007");
  EXPECT_EQ(StatFile("rows/7").type, 'l');
  EXPECT_EQ(StatFile("rows/7").size, 6u);
  EXPECT_EQ(tree().Stat("rows/20").error, ENOENT);
  EXPECT_EQ(tree().Stat("rows/x").error, ENOENT);
}

TEST_P(TreeSuite, MoreThanTenThousandRowsComeInShards) {
  ROWFS_OPEN_TREE({"rows=10001", "narrow"});

  EXPECT_EQ(ListFolder("rows").size(), 11u);
  EXPECT_EQ(ListFolder("rows/000").size(), 1000u);
  EXPECT_THAT(ListFolder("rows/010"), ElementsAre("010000"));
  EXPECT_EQ(ReadFile("rows/010/010000/id"), "10000\n");
}

TEST_P(TreeSuite, InShardsAShardNameIsTheShardAndOtherNumbersAreLinks) {
  ROWFS_OPEN_TREE({"rows=8000", "narrow", "sharded"});

  EXPECT_EQ(StatFile("rows/007").type, 'd');
  EXPECT_EQ(tree().ReadLink("rows/7123").value, "007/007123");
  EXPECT_EQ(tree().ReadLink("rows/07123").value, "007/007123");
  EXPECT_EQ(tree().ReadLink("rows/007123").value, "007/007123");
  EXPECT_EQ(tree().ReadLink("rows/8").value, "000/000008");
  EXPECT_EQ(tree().Stat("rows/008").value.type, 'l');
  EXPECT_EQ(tree().Stat("rows/000/007123").error, ENOENT);
}

TEST_P(TreeSuite, ARowFolderHoldsAFileForEachColumn) {
  ROWFS_OPEN_TREE();

  EXPECT_THAT(
      ListFolder("rows/000001"),
      ElementsAre("row.json", "id", "label.txt", "name.txt", "score",
                  "point.npy", "tags.json", "photo.png", "notes.txt",
                  "video.frames", "video.at", "video.broken", "video.mp4",
                  "video.info.json", "images", "images.json", "gated.txt"));
}

TEST_P(TreeSuite, ValuesAreFilesThatSayTheValue) {
  ROWFS_OPEN_TREE();

  EXPECT_EQ(ReadFile("rows/000003/id"), "3\n");
  EXPECT_EQ(ReadFile("rows/000003/label.txt"), "odd");
  EXPECT_EQ(ReadFile("rows/000003/score"), "0.3\n");
  EXPECT_EQ(ReadFile("rows/000003/tags.json"),
            "[\"tag\", \"\\\"quoted\\\"\"]\n");
  EXPECT_THAT(ReadFile("rows/000003/point.npy"), HasSubstr("NUMPY"));
}

TEST_P(TreeSuite, RowJsonHasEveryColumnInSchemaOrder) {
  ROWFS_OPEN_TREE();

  const std::string text = ReadFile("rows/000003/row.json");
  ASSERT_OK_AND_ASSIGN(const Json row, ParseJson(text));

  EXPECT_EQ(text.back(), '\n');
  std::vector<std::string> keys;
  for (const auto& [key, value] : row.members) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("id", "label", "name", "score", "point", "tags",
                                "photo", "notes", "video", "images", "gated"));
  EXPECT_EQ(row.Find("id")->text, "3");
  const Json& video = *row.Find("video");
  EXPECT_EQ(video.Find("path")->text, "video.mp4");
  EXPECT_EQ(video.Find("size")->AsUint(), 108u);
  EXPECT_EQ(video.Find("media_type")->text, "video/mp4");
  EXPECT_EQ(row.Find("images")->items[1].Find("path")->text, "images/1.png");
}

TEST_P(TreeSuite, ANullHasNoFileAndAnEmptyBlobIsAnEmptyFile) {
  ROWFS_OPEN_TREE();

  const auto null_row = ListFolder("rows/000005");
  EXPECT_THAT(null_row, Not(Contains("id")));
  EXPECT_THAT(null_row, Not(Contains("label.txt")));
  EXPECT_THAT(null_row, Not(Contains("photo.png")));
  EXPECT_THAT(ReadFile("rows/000005/row.json"), HasSubstr("\"id\": null"));
  EXPECT_EQ(StatFile("rows/000006/photo.bin").size, 0u);
  EXPECT_EQ(ReadFile("rows/000006/photo.bin"), "");
}

TEST_P(TreeSuite, StoredBlobsHaveTheirBytesAndTheExtensionOfTheirType) {
  ROWFS_OPEN_TREE();

  EXPECT_EQ(ReadFile("rows/000004/photo.png"), SamplePhoto(4));
  EXPECT_EQ(ReadFile("rows/000004/notes.txt"), SampleNotes(4));
  EXPECT_EQ(StatFile("rows/000004/photo.png").size, SamplePhoto(4).size());
  EXPECT_EQ(tree().ReadAt("rows/000004/gated.txt", 299'998, 100).value, "gg");
  EXPECT_EQ(tree().ReadAt("rows/000004/gated.txt", 300'000, 100).value, "");
}

TEST_P(TreeSuite, ABlobWithBlobInfoShowsOnlyItsPlayableFile) {
  ROWFS_OPEN_TREE();

  EXPECT_EQ(StatFile("rows/000004/video.mp4").size, 108u);
  EXPECT_EQ(ReadFile("rows/000004/video.mp4"), "PLAYABLE" + SampleVideo(4));
  EXPECT_THAT(ListFolder("rows/000004"), Not(Contains("video.bin")));
}

TEST_P(TreeSuite, FramesAreListedAndRendered) {
  ROWFS_OPEN_TREE();

  const auto frames = ListFolder("rows/000004/video.frames");

  ASSERT_EQ(frames.size(), 10u);
  EXPECT_EQ(frames[9], "000009.jpg");
  EXPECT_EQ(ReadFile("rows/000004/video.frames/000009.jpg"),
            FakePlugin::FrameText(9));
}

TEST_P(TreeSuite, ARenderedFileHasANonZeroSizeBeforeAndItsOwnAfterAnOpen) {
  ROWFS_OPEN_TREE();

  for (const uint64_t frame : {4u, 5u}) {
    const std::string path =
        "rows/000004/video.frames/00000" + std::to_string(frame) + ".jpg";
    EXPECT_GT(StatFile(path).size, 0u);
    const std::string text = ReadFile(path);
    EXPECT_EQ(text, FakePlugin::FrameText(frame));
    if (GetParam() == DriverKind::kMounted) {
      EXPECT_EQ(StatFile(path).size, text.size());
    }
  }
}

TEST_P(TreeSuite, WithExactStatRenderedFilesAreExactBeforeAnyOpen) {
  ROWFS_OPEN_TREE({"exact"});

  EXPECT_EQ(ListFolder("rows/000004/video.frames").size(), 10u);
  EXPECT_EQ(StatFile("rows/000004/video.frames/000004.jpg").size,
            FakePlugin::FrameText(4).size());
  EXPECT_EQ(ReadFile("rows/000004/video.frames/000005.jpg"),
            FakePlugin::FrameText(5));
}

TEST_P(TreeSuite, ALookupOnlyFolderIsEmptyAndItsFilesAreThere) {
  ROWFS_OPEN_TREE();

  EXPECT_THAT(ListFolder("rows/000004/video.at"), ElementsAre());
  EXPECT_EQ(ReadFile("rows/000004/video.at/6.jpg"), FakePlugin::FrameText(6));
  EXPECT_EQ(tree().Read("rows/000004/video.at/66.jpg").error, ENOENT);
}

TEST_P(TreeSuite, EqualContentUnderTwoNamesIsOneFile) {
  ROWFS_OPEN_TREE();

  EXPECT_EQ(StatFile("rows/000004/video.at/6.jpg").inode,
            StatFile("rows/000004/video.frames/000006.jpg").inode);
}

TEST_P(TreeSuite, AFailedDecodeIsEioAtOpenAndSaysWhy) {
  ROWFS_OPEN_TREE();
  const std::string path = "rows/000004/video.frames/000003.jpg";

  EXPECT_EQ(tree().Read(path).error, EIO);

  EXPECT_EQ(tree().Xattr(path, "user.rowfs.error").value, "frame 3 is damaged");
  EXPECT_EQ(ReadFile("rows/000004/video.frames/000002.jpg"),
            FakePlugin::FrameText(2));
}

TEST_P(TreeSuite, AViewFolderThatCannotBeMadeIsEioAndSaysWhy) {
  ROWFS_OPEN_TREE();

  EXPECT_EQ(tree().List("rows/000004/video.broken").error, EIO);

  EXPECT_EQ(tree().Xattr("rows/000004/video.broken", "user.rowfs.error").value,
            "this view is broken");
}

TEST_P(TreeSuite, BytesNobodyCanReadAreAFileThatFailsAndSaysWhy) {
  ROWFS_OPEN_TREE();

  EXPECT_THAT(ListFolder("rows/000007"), Contains("video.bin"));
  EXPECT_EQ(tree().Read("rows/000007/video.bin").error, EIO);
  EXPECT_THAT(tree().Xattr("rows/000007/video.bin", "user.rowfs.error").value,
              HasSubstr("no plugin"));
  EXPECT_EQ(ReadFile("rows/000007/photo.png"), SamplePhoto(7));
}

TEST_P(TreeSuite, NestedBlobsLieInAFolderOfTheirColumn) {
  ROWFS_OPEN_TREE();

  EXPECT_THAT(ListFolder("rows/000002/images"), ElementsAre("0.png", "1.png"));
  EXPECT_EQ(ReadFile("rows/000002/images/1.png"), SampleImage(2, 1));
  EXPECT_THAT(ReadFile("rows/000002/images.json"), HasSubstr("images/0.png"));
}

TEST_P(TreeSuite, FilesSayWhereTheirBytesAre) {
  ROWFS_OPEN_TREE();
  const std::string path = "rows/000004/video.frames/000006.jpg";
  const auto get = [&](const std::string& name) {
    return tree().Xattr(path, "user.rowfs." + name).value;
  };

  EXPECT_THAT(
      tree().Xattrs(path).value,
      ElementsAre("user.rowfs.column", "user.rowfs.etag", "user.rowfs.key",
                  "user.rowfs.length", "user.rowfs.media_type",
                  "user.rowfs.object", "user.rowfs.offset", "user.rowfs.pts",
                  "user.rowfs.row", "user.rowfs.row_id", "user.rowfs.source",
                  "user.rowfs.version"));
  EXPECT_EQ(get("source"), "generated");
  EXPECT_EQ(get("object"), "memory://video");
  EXPECT_EQ(get("offset"), "400");
  EXPECT_EQ(get("length"), "100");
  EXPECT_EQ(get("row"), "4");
  EXPECT_EQ(get("row_id"), "1004");
  EXPECT_EQ(get("column"), "video");
  EXPECT_EQ(get("pts"), "6");
  EXPECT_EQ(get("media_type"), "image/jpeg");
  EXPECT_EQ(tree().Xattr(path, "user.rowfs.nothing").error, ENODATA);
  EXPECT_EQ(tree().Xattr("rows/000004/label.txt", "user.rowfs.column").value,
            "label");
}

TEST_P(TreeSuite, ByAValueLinksToTheRowsThatHaveIt) {
  ROWFS_OPEN_TREE({"rows=8"});

  EXPECT_THAT(ListFolder("by"), ElementsAre("id", "label", "name", "score"));
  EXPECT_THAT(ListFolder("by/label"), ElementsAre("even", "odd"));
  EXPECT_THAT(ListFolder("by/label/odd"),
              ElementsAre("000001", "000003", "000007"));
  EXPECT_EQ(tree().ReadLink("by/label/odd/000003").value,
            "../../../rows/000003");
  EXPECT_EQ(ReadFile("by/label/odd/000003/id"), "3\n");
  EXPECT_EQ(tree().Stat("by/label/odd/000002").error, ENOENT);
  EXPECT_EQ(tree().Stat("by/label/none").error, ENOENT);
}

TEST_P(TreeSuite, ValuesBecomeNamesThatCanBeTurnedBack) {
  ROWFS_OPEN_TREE({"rows=8"});

  // In the order of the names as bytes.
  EXPECT_THAT(ListFolder("by/name"), ElementsAre("%", "%2E%2E", "a%2Fb", "dup",
                                                 "dup~2", "line%0Abreak"));
  EXPECT_EQ(ReadFile("by/name/a%2Fb/000000/name.txt"), "a/b");
}

TEST_P(TreeSuite, SelectShowsJustTheRowsNamed) {
  ROWFS_OPEN_TREE();

  EXPECT_THAT(ListFolder("select"), ElementsAre());
  EXPECT_THAT(ListFolder("select/9,1,3-5"),
              ElementsAre("000009", "000001", "000003", "000004", "000005"));
  EXPECT_EQ(ReadFile("select/9,1,3-5/000004/id"), "4\n");
  EXPECT_EQ(tree().Stat("select/9,1/000004").error, ENOENT);
  EXPECT_EQ(tree().Stat("select/9,99").error, ENOENT);
  EXPECT_EQ(tree().Stat("select/x").error, ENOENT);
}

TEST_P(TreeSuite, AViewOfTheMountListsItsRowsInOrderOnce) {
  ROWFS_OPEN_TREE({"view"});

  EXPECT_THAT(ListFolder("views"), ElementsAre("best"));
  EXPECT_THAT(ListFolder("views/best"),
              ElementsAre("000003", "000001", "000002"));
  EXPECT_EQ(ReadFile("views/best/000002/id"), "2\n");
}

TEST_P(TreeSuite, RowsCanBeNamedByAColumn) {
  ROWFS_OPEN_TREE({"names=name", "rows=9"});

  EXPECT_THAT(ListFolder("rows"),
              ElementsAre("a%2Fb", "%2E%2E", "%", "dup", "dup~2", "dup~2~2",
                          "line%0Abreak", "dup~3", "row 8"));
  EXPECT_EQ(ReadFile("rows/dup~2~2/name.txt"), "dup~2");
  EXPECT_EQ(ReadFile("rows/dup~3/score"), "0.7\n");
  EXPECT_EQ(tree().ReadLink("rows/4").value, "dup~2");
}

TEST_P(TreeSuite, ARowWithoutANameKeepsItsNumber) {
  ROWFS_OPEN_TREE({"names=label", "rows=8", "sharded"});

  EXPECT_THAT(ListFolder("rows/000"),
              ElementsAre("even", "odd", "even~2", "odd~2", "even~3", "000005",
                          "even~4", "odd~3"));
  EXPECT_EQ(tree().ReadLink("rows/odd~2").value, "000/odd~2");
}

TEST_P(TreeSuite, MetadataIsOneObjectARowAndItsSizeIsExact) {
  ROWFS_OPEN_TREE({"rows=300"});
  const FileStat before = StatFile("metadata.jsonl");

  const std::string text = ReadFile("metadata.jsonl");

  EXPECT_EQ(before.size, text.size());
  size_t begin = 0;
  for (uint64_t row = 0; row < 300; ++row) {
    const size_t end = text.find('\n', begin);
    ASSERT_NE(end, std::string::npos);
    ASSERT_OK_AND_ASSIGN(const Json line,
                         ParseJson(text.substr(begin, end - begin)));
    begin = end + 1;
    if (row != 5 && row != 6) {
      const std::string photo = line.Find("file_name")->text;
      EXPECT_EQ(ReadFile(photo), SamplePhoto(row)) << photo;
    }
    if (row != 7) {
      EXPECT_THAT(line.Find("video_file_name")->text, HasSubstr("video.mp4"));
    }
  }
  EXPECT_EQ(begin, text.size());
}

TEST_P(TreeSuite, OtherVersionsAreTreesOfTheirOwn) {
  ROWFS_OPEN_TREE();

  EXPECT_THAT(ListFolder(".versions"), ElementsAre("2", "7"));
  EXPECT_THAT(ListFolder(".versions/2/rows"), ElementsAre("000000", "000001"));
  EXPECT_EQ(ReadFile(".versions/2/rows/000001/id"), "1\n");
  EXPECT_NE(StatFile(".versions/2/rows/000001/id").inode,
            StatFile("rows/000001/id").inode);
  EXPECT_NE(StatFile(".versions/2/rows/000001").inode,
            StatFile(".versions/7/rows/000001").inode);
  EXPECT_EQ(tree().Stat(".versions/3").error, ENOENT);
  EXPECT_EQ(tree().ReadLink(".tags/old%2Ftag").value, "../.versions/2");
}

TEST_P(TreeSuite, EveryFileHasAnInodeOfItsOwnThatStays) {
  std::vector<uint64_t> seen;
  for (int round = 0; round < 2; ++round) {
    ROWFS_OPEN_TREE();
    std::vector<uint64_t> inodes;
    for (const std::string row : {"rows/000001", "rows/000002"}) {
      inodes.push_back(StatFile(row).inode);
      for (const std::string& name : ListFolder(row)) {
        inodes.push_back(StatFile(row + "/" + name).inode);
      }
      for (const std::string& name : ListFolder(row + "/video.frames")) {
        inodes.push_back(StatFile(row + "/video.frames/" + name).inode);
      }
    }
    EXPECT_EQ(std::set<uint64_t>(inodes.begin(), inodes.end()).size(),
              inodes.size());
    if (round == 1) {
      EXPECT_EQ(inodes, seen);
    }
    seen = inodes;
  }
}

TEST_P(TreeSuite, ControlFilesSayWhatIsGoingOn) {
  ROWFS_OPEN_TREE();
  tree().Read("rows/000004/video.frames/000003.jpg");

  EXPECT_THAT(ListFolder(".rowfs"),
              ElementsAre("schema.json", "dataset.json", "config", "stats",
                          "log", "prefetch"));
  EXPECT_OK(ParseJson(ReadFile(".rowfs/schema.json")));
  ASSERT_OK_AND_ASSIGN(const Json dataset,
                       ParseJson(ReadFile(".rowfs/dataset.json")));
  EXPECT_EQ(dataset.Find("rows")->AsUint(), 20u);
  EXPECT_THAT(ReadFile(".rowfs/stats"), HasSubstr("rowfs_open_handles "));
  if (GetParam() == DriverKind::kMounted) {
    EXPECT_THAT(ReadFile(".rowfs/stats"),
                HasSubstr("rowfs_errors_total{errno=\"EIO\"} 1"));
    EXPECT_THAT(ReadFile(".rowfs/log"), HasSubstr("frame 3 is damaged"));
  }
}

TEST_P(TreeSuite, PrefetchTakesLinesAndNothingElseTakesWrites) {
  ROWFS_OPEN_TREE();

  EXPECT_EQ(tree().Write(".rowfs/prefetch", "1-2\nrows/000003/video.frames\n"),
            0);
  EXPECT_EQ(tree().Write("rows/000001/id", "x"), EROFS);
  EXPECT_EQ(tree().Write("metadata.jsonl", "x"), EROFS);
}

TEST_P(TreeSuite, WhatIsNotThereIsNotThere) {
  ROWFS_OPEN_TREE();

  EXPECT_EQ(tree().Stat("nothing").error, ENOENT);
  EXPECT_EQ(tree().Stat("rows/000001/nothing").error, ENOENT);
  EXPECT_EQ(tree().Stat("rows/000001/video.frames/000010.jpg").error, ENOENT);
  EXPECT_EQ(tree().Stat("rows/000001/id/nothing").error, ENOTDIR);
  EXPECT_EQ(tree().List("rows/000001/id").error, ENOTDIR);
  EXPECT_EQ(tree().Read("rows").error, EISDIR);
  EXPECT_EQ(tree().Stat("rows/" + std::string(300, 'x')).error != 0, true);
}

TEST_P(TreeSuite, FilesCanBeReadWithoutAnOpenWhenAllAreStored) {
  ROWFS_OPEN_TREE({"no-open"});

  EXPECT_EQ(ReadFile("rows/000004/photo.png"), SamplePhoto(4));
  EXPECT_EQ(ReadFile("rows/000004/id"), "4\n");
  EXPECT_EQ(ReadFile("rows/000004/photo.png"), SamplePhoto(4));
  EXPECT_EQ(StatFile("metadata.jsonl").size, ReadFile("metadata.jsonl").size());
  EXPECT_THAT(ReadFile(".rowfs/stats"), HasSubstr("rowfs_open_handles 0"));
}

}  // namespace
}  // namespace rowfs
