// The table of commands: options and help texts.
#include "fs/cli/commands.h"

#include <array>

#include "fs/cli/session.h"
#include "fs/cli/tree_session.h"

namespace rowfs {
namespace {

constexpr std::string_view kSourceText =
    "SOURCE is a path or URL of a Lance dataset (@vN, @TAG or @BRANCH behind "
    "it "
    "picks a\nversion), of Parquet or Arrow files, of a pack or a folder of "
    "files.";

template <size_t... N>
constexpr auto Join(const Flag (&... groups)[N]) {
  std::array<Flag, (N + ...)> all;
  size_t at = 0;
  const auto add = [&](std::span<const Flag> group) {
    for (const Flag& flag : group) all[at++] = flag;
  };
  (add(groups), ...);
  return all;
}

// Of every command that reads a source.
constexpr Flag kSourceFlags[] = {
    kAllowExternalFlag, kCacheDirFlag, kMemoryFlag, kOfflineFlag,
    kTraceFlag,         kCaFileFlag,   kHedgeFlag,
};

// Of those that decode.
constexpr Flag kPluginFlags[] = {kInProcessFlag};

constexpr Flag kKindFlags[] = {kFormatFlag};

constexpr Flag kJsonFlags[] = {kJsonFlag};

// What the tree looks like.
constexpr Flag kLookFlags[] = {
    kRowsFlag, kFramesFlag, kNameColumnFlag, kViewFlag, kIndexFlag,
};

constexpr auto kTreeFlags =
    Join(kLookFlags, kSourceFlags, kPluginFlags, kKindFlags);

constexpr Flag kForegroundFlags[] = {
    {"--foreground", "", "stay in the foreground; Ctrl-C unmounts"},
};
constexpr Flag kMountOnlyFlags[] = {
    kExactStatFlag,
    {"--follow", "SECONDS",
     "look for new versions so often; they appear in .versions/"},
    {"--allow-other", "", "let other users read the mount"},
    {"--uid", "N", "owner of all files"},
    {"--gid", "N", "group of all files"},
    {"--umask", "OCTAL", "permissions to take away (022)"},
    {"-o", "OPTION", "passed on to FUSE", true},
};
constexpr auto kMountFlags = Join(kForegroundFlags, kLookFlags, kMountOnlyFlags,
                                  kSourceFlags, kPluginFlags, kKindFlags);

constexpr Flag kLsOnlyFlags[] = {
    {"-l", "", "with kind and size; ~ marks an estimate"},
};
constexpr auto kLsFlags =
    Join(kLsOnlyFlags, kLookFlags, kSourceFlags, kPluginFlags, kKindFlags);

constexpr Flag kIndexOnlyFlags[] = {
    {"--output", "FILE", "write the index here instead of the cache"},
    kNameColumnFlag,
    kJsonFlag,
};
constexpr auto kIndexFlags =
    Join(kIndexOnlyFlags, kSourceFlags, kPluginFlags, kKindFlags);

constexpr Flag kIngestOnlyFlags[] = {
    {"--output", "DATASET", "the dataset to write"},
    {"--fragments", "FILE",
     "write data files, and FILE, by which `rowfs commit` publishes them"},
    {"--media", "COLUMN=PLUGIN[:CONFIG]",
     "plugin (name, auto, none or PATH.so) for a blob column", true},
    {"--layout", "descriptor|column",
     "index in the blob descriptor, or in a column beside"},
    {"--verify", "off|keys|full",
     "decode what was stored and compare (keys: every GOP start)"},
    {"--keep-container", "",
     "also store what rebuilds the source files byte for byte"},
    kJsonFlag,
};
constexpr auto kIngestFlags =
    Join(kIngestOnlyFlags, kSourceFlags, kPluginFlags, kKindFlags);

constexpr Flag kDeleteFlags[] = {
    {"--where", "ROWS|@FILE",
     "rows like 0,5-6,100- (0-based, ends included), or a file of such lines"},
    kJsonFlag,
};

constexpr Flag kCompactFlags[] = {
    {"--rows-per-fragment", "N",
     "join fragments until they have N rows (1048576)"},
    {"--deleted-percent", "P",
     "rewrite a fragment with more deleted rows than this (10)"},
    kJsonFlag,
};

constexpr Flag kGcFlags[] = {
    {"--grace", "TIME", "keep what is younger: 7d (default), 12h, 30m, 0"},
    {"--dry-run", "", "say what would go, remove nothing"},
    kJsonFlag,
};

constexpr Flag kVerifyOnlyFlags[] = {
    {"--quick", "", "files, counts and where blobs lie; do not read values"},
    {"--decode", "", "decode the key frames of every media blob too"},
    kJsonFlag,
};
constexpr auto kVerifyFlags = Join(kVerifyOnlyFlags, kSourceFlags, kKindFlags);

constexpr Flag kExtractOnlyFlags[] = {
    {"--column", "C", "the blob column"},
    {"--row", "N", "the row, 0-based"},
    {"--frame", "K", "the frame by number, 0-based, in display order"},
    {"--time", "T", "the frame shown at T: seconds or hh:mm:ss.mmm"},
    {"--from", "A", "a window of time, A included ..."},
    {"--to", "B", "... B not"},
    {"--keyframes", "", "of a window, key frames only"},
    {"--output", "PATH", "the file; for a window the folder"},
    {"--format", kFrameFormats, "of the pictures (what PATH ends in, jpg)"},
    {"--stats", "", "print requests, bytes, ranges and times as JSON"},
};
constexpr auto kExtractFlags =
    Join(kExtractOnlyFlags, kSourceFlags, kPluginFlags);

constexpr Flag kReadBlobOnlyFlags[] = {
    {"--column", "C", "the blob column"},
    {"--row", "N", "the row, 0-based"},
    {"--offset", "O", "start at this byte (0)"},
    {"--length", "L", "this many bytes (to the end)"},
    {"--output", "FILE", "write here instead of standard output"},
};
constexpr auto kReadBlobFlags =
    Join(kReadBlobOnlyFlags, kSourceFlags, kKindFlags);

constexpr Flag kScanOnlyFlags[] = {
    {"--columns", "A,B.C", "these columns or fields of structs, in this order",
     true},
    {"--rows", "ROWS", "these rows: 0,5-6,100- (all)"},
    {"--blobs", "", "blobs as bytes, not as paths in a mount"},
    {"--output", "FILE", "FILE.arrow, FILE.parquet or FILE.jsonl"},
};
constexpr auto kScanFlags =
    Join(kScanOnlyFlags, kSourceFlags, kPluginFlags, kKindFlags);

constexpr auto kInfoFlags =
    Join(kJsonFlags, kSourceFlags, kPluginFlags, kKindFlags);

constexpr Flag kPreviewOnlyFlags[] = {
    {"--column", "C", "only pictures of this column"},
    {"--rows", "ROWS", "these rows: 0,5-6,100- (the first 1000)"},
    {"--output", "FILE", "FILE.html or FILE.png"},
    kJsonFlag,
};
constexpr auto kPreviewFlags =
    Join(kPreviewOnlyFlags, kSourceFlags, kPluginFlags, kKindFlags);

constexpr Flag kBenchFlags[] = {
    {"--smoke", "", "small inputs: does it run at all"},
    {"--markdown", "", "encodings: the tables of storage/README.md"},
};

constexpr Command kCommands[] = {
    {"mount", "SOURCE MOUNTPOINT", "mount a dataset as a directory tree",
     "Returns when the mount answers, or says why not. A missing mount point "
     "is\n"
     "made. Try:\n"
     "  rowfs mount videos.lance /tmp/v\n"
     "  ffplay /tmp/v/rows/000000/video.mp4\n"
     "  rowfs umount /tmp/v",
     kMountFlags, 2, 2, CmdMount},
    {"umount",
     "MOUNTPOINT",
     "unmount, and wait for the daemon to end",
     "Also cleans up a mount whose daemon died.",
     {},
     1,
     1,
     CmdUmount},
    {"ingest", "INPUT...",
     "write files or tables as a Lance dataset with views",
     "INPUT is a folder (one row a file, metadata.jsonl or .csv as columns), a "
     "file or\na table. Media are demuxed, never re-encoded; a file that "
     "cannot "
     "be stored\nsoundly keeps its bytes and is named at the end. Try:\n"
     "  rowfs ingest videos/ --output videos.lance\n"
     "  rowfs ingest videos/ --output v.lance --layout column",
     kIngestFlags, 1, 10'000, CmdIngest},
    {"append", "INPUT...", "add rows to a Lance dataset",
     "The rows take the dataset's schema, layout and file version. With "
     "--fragments\nthey wait for `rowfs commit`, beside those of other "
     "workers.",
     kIngestFlags, 1, 10'000, CmdAppend},
    {"commit", "DATASET FILE...",
     "publish what ingest or append wrote with --fragments",
     "The rows of all FILEs, in their order, become one version: the first of "
     "a new\nDATASET, or rows added to one whose columns are the same. A FILE "
     "is published\nonce. DATASET is unchanged after an error. Three workers, "
     "anywhere, and then one\ncommit:\n"
     "  rowfs ingest videos/a --output v.lance --fragments a.json\n"
     "  rowfs ingest videos/b --output v.lance --fragments b.json\n"
     "  rowfs ingest videos/c --output v.lance --fragments c.json\n"
     "  rowfs commit v.lance a.json b.json c.json\n"
     "Later rows come by `rowfs append --fragments`. Commit within the grace "
     "time of\n`rowfs gc` (7 days): until then it leaves the files alone.",
     kJsonFlags, 2, 100'000, CmdCommit},
    {"delete", "DATASET", "delete rows of a Lance dataset",
     "A new version is without the rows; older ones keep them, and no file "
     "goes before\n`rowfs compact` and `rowfs gc`. Row numbers are those of "
     "DATASET as it is now, or\nof version N with DATASET@vN. Try:\n"
     "  rowfs delete v.lance --where 0,5-6,100-\n"
     "  rowfs delete v.lance --where @bad_rows.txt",
     kDeleteFlags, 1, 1, CmdDelete},
    {"compact", "DATASET", "join small fragments, drop deleted rows for good",
     "Rows keep their order, values, row ids and views (nothing is ingested "
     "again).\nOld versions stay as they are. DATASET@BRANCH compacts a "
     "branch. Try:\n"
     "  rowfs compact v.lance && rowfs gc v.lance",
     kCompactFlags, 1, 1, CmdCompact},
    {"gc", "DATASET", "remove files that no version refers to",
     "Such files are left by writers that were killed or lost a race. "
     "Versions, tags\nand branches stay, and so does what is younger than the "
     "grace time: it may belong\nto a commit on its way, or to fragments "
     "that wait for `rowfs commit`. Try:\n"
     "  rowfs gc v.lance --dry-run\n"
     "  rowfs gc v.lance --grace 1h",
     kGcFlags, 1, 1, CmdGc},
    {"verify", "SOURCE", "check that a dataset is whole",
     "Every file is there and says what the version says, every value can be "
     "read, the\nbytes of every blob are where its cell points, every "
     "blob_info "
     "fits its blob, tags\nand branches lead to versions. Prints a line a "
     "finding; exit code 1 if "
     "there are any. Try:\n"
     "  rowfs verify v.lance\n"
     "  rowfs verify v.lance@v3 --json",
     kVerifyFlags, 1, 1, CmdVerify},
    {"tag", "list|create|update|delete DATASET [NAME]",
     "name versions of a Lance dataset",
     "A tag is a name for a version: DATASET@NAME opens it, and a mount has it "
     "under\n.tags/NAME. `create` and `update` name the newest version, or the "
     "one behind '@'.\n`delete` removes the name; the version stays. Try:\n"
     "  rowfs tag create v.lance@v3 train-2024\n"
     "  rowfs tag update v.lance train-2024\n"
     "  rowfs tag list v.lance --json",
     kJsonFlags, 2, 3, CmdTag},
    {"extract-frame", "DATASET", "read frames of one video",
     "Reads exactly the bytes from the key frame to the frame, in one "
     "request.\n"
     "Try:\n"
     "  rowfs extract-frame v.lance --column video --row 0 --frame 25 "
     "--output f.png\n"
     "  rowfs extract-frame v.lance --column video --row 0 --from 1 --to 2 "
     "\\\n      --format jpg --output frames/",
     kExtractFlags, 1, 1, CmdExtractFrame},
    {"read-blob", "DATASET", "read the stored bytes of one blob",
     "A null cell, and a cell with blob_info (whose bytes are no file), are "
     "errors.",
     kReadBlobFlags, 1, 1, CmdReadBlob},
    {"scan", "SOURCE", "write the table as an Arrow, Parquet or JSON file",
     "Values as the source has them; JSON lines as row.json in a mount. A blob "
     "is the\npath a mount shows it at, or with --blobs its bytes. A "
     "column s.a.b is field b\nof field a of struct s; the rest of it is not "
     "read. The file appears whole or not\nat all. Try:\n"
     "  rowfs scan v.lance --columns caption,stars --output v.parquet\n"
     "  rowfs scan pack/ --rows 0-99 --blobs --output head.arrow",
     kScanFlags, 1, 1, CmdScan},
    {"info", "SOURCE", "say what a dataset is and holds", kSourceText,
     kInfoFlags, 1, 1, CmdInfo},
    {"ls", "SOURCE [PATH]", "list the tree without mounting", kSourceText,
     kLsFlags, 1, 2, CmdLs},
    {"cat", "SOURCE PATH", "print a file of the tree without mounting",
     kSourceText, kTreeFlags, 2, 2, CmdCat},
    {"preview", "SOURCE", "a contact sheet of a dataset",
     "Key frames, waveforms, pages and the values of each row, with its "
     "number, out\nof key frames and thumbnails alone. The HTML is one file "
     "without scripts. Says\nhow many requests and how long it took.\n"
     "  rowfs preview videos.lance --rows 0-99 --output sheet.html",
     kPreviewFlags, 1, 1, CmdPreview},
    {"index", "build SOURCE", "make the indexes of a dataset ahead of time",
     "Media that were never ingested are indexed and verified (a mount "
     "verifies small\nones only), and columns for by/ (and for mount "
     "--name-column). --output writes one\nfile that other mounts use: they "
     "find SOURCE.rowfs-index beside SOURCE by\nthemselves, others by --index "
     "FILE. Try:\n"
     "  rowfs index build videos/\n"
     "  rowfs index build /data/set.lance --output /data/set.lance.rowfs-index",
     kIndexFlags, 2, 2, CmdIndex},
    {"prefetch", "SOURCE PATH|ROWS...",
     "bring files or rows into the cache on disk",
     "PATH is a file or folder of the tree, ROWS is 0,5-6,100-. What was "
     "brought is\nserved without a request by a later mount of the same "
     "version, also with --offline.\nTry:\n"
     "  rowfs prefetch s3://bucket/v.lance 0-99\n"
     "  rowfs prefetch s3://bucket/v.lance rows/000007/video.mp4",
     kTreeFlags, 2, 100'000, CmdPrefetch},
    {"bench", "NAME", "measure against peers in the same run",
     "Prints one JSON object a figure: ours, the peer's, the ratio. NAME: "
     "audio,\nbigfile, blobs, documents, encodings, frames, images, layouts, "
     "million,\nmounts, packs, remote_packs, windows.",
     kBenchFlags, 1, 1, CmdBench},
};

}  // namespace

std::span<const Command> Commands() { return kCommands; }

}  // namespace rowfs
