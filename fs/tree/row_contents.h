// What lies in a row's folder: every file and folder with its name, size and
// what it is made from, down to the roots of views and into nested columns.
// Names never collide and are a function of the row alone.
//
// Immutable once made; thread-safe.
#ifndef ROWFS_FS_TREE_ROW_CONTENTS_H_
#define ROWFS_FS_TREE_ROW_CONTENTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/tree/tree_options.h"
#include "index/dataset/dataset.h"
#include "index/runtime/plugin.h"
#include "storage/base/json.h"

namespace rowfs {

// Fields may say how their blobs and texts are called, instead of NAME.EXT: one
// name for all rows, or the string column that has it (its last path part).
inline constexpr std::string_view kFileNameKey = "rowfs:file_name";
inline constexpr std::string_view kNameColumnKey = "rowfs:name_column";
// What the names of blobs say about their views. "none": nothing is to be seen
// in them, so they are not even looked at; "by_magic": a plugin is asked only
// where the first bytes are of a type that is known; "by_name": they have views
// for who asks for them, and no folder lists any.
inline constexpr std::string_view kViewsKey = "rowfs:views";
// A column of any value: in row.json alone, without a file of its own.
inline constexpr std::string_view kNoFileKey = "rowfs:no_file";
// A table (its first field says so) whose rows are in memory, and whose blobs
// are at most one read of a local file away: worth trying without waiting.
inline constexpr std::string_view kQuickKey = "rowfs:quick";
// Of a blob in a struct: which number beside it is a time in it (nanoseconds),
// what file shows it then, and in which folder of its views by time that is:
// "pts_ns frame.jpg .at".
inline constexpr std::string_view kTimeViewKey = "rowfs:time_view";
// What is put behind the name from that column: ".seg.png".
inline constexpr std::string_view kNameSuffixKey = "rowfs:name_suffix";

inline constexpr std::string_view kRowJsonName = "row.json";

// RowItem::code of row.json, and of what `column` is called after.
inline constexpr uint32_t kRowJsonCode = 1;
constexpr uint32_t CodeOfColumn(size_t column) {
  return 2 + 2 * static_cast<uint32_t>(column);
}

constexpr size_t FieldOfCode(uint32_t code) { return (code - 2) / 2; }

struct RowItem {
  enum class Kind : uint8_t {
    kRowJson,
    kNumber,
    kText,
    kTensor,
    kJson,
    kBlob,        // stored bytes as they are
    kBroken,      // stored bytes nobody can make sense of: `error`
    kFolder,      // nested blobs
    kViewFolder,  // `view` is the plugin's path
    kViewFile,
  };
  static constexpr uint32_t kTop = UINT32_MAX;

  Kind kind = Kind::kRowJson;
  std::string name;
  std::string path;        // from the row folder
  uint32_t parent = kTop;  // index of the folder it lies in
  // Below kNodeItemsMax and the same for all rows: row.json and what columns
  // are called after. 0: none.
  uint32_t code = 0;
  bool size_exact = true;
  // A view that such files usually have, of one that was not indexed yet: its
  // size is not known, nor whether it is really there.
  bool foreseen = false;
  uint64_t size = 0;
  CellPath cell;
  std::string view;
  std::string media_type;
  // kBlob: how the views begin that its bytes may have beside those in `items`;
  // they are found by looking them up. Empty: none.
  std::string view_stem;
  std::string text;   // kJson, kRowJson: the whole file
  std::string error;  // why there are no views, or no bytes
  std::vector<std::pair<std::string, std::string>> attributes;

  bool is_directory() const {
    return kind == Kind::kFolder || kind == Kind::kViewFolder;
  }
};

struct RowContents {
  uint64_t row = 0;
  std::vector<RowItem> items;  // in the order they are listed; [0] = row.json
  // Top-level blobs in column order: the column, the item that is its file.
  std::vector<std::pair<size_t, uint32_t>> blobs;
  // Names, sizes and views of blobs are wrong: a store did not say what they
  // are, and another time it will.
  Status failure;
  // The same, by a refusal that may last: to be shown, not to be kept.
  bool unsure = false;

  // Absent when there is none.
  std::optional<uint32_t> Find(uint32_t parent, std::string_view name) const;
  std::optional<uint32_t> FindPath(std::string_view path) const;
  std::optional<uint32_t> FindCode(uint32_t code) const;

  // Sorted indices for the calls above; set by ReadRowContents.
  std::vector<uint32_t> by_path;
};

// What ReadRowContents needs to know beside the row.
struct RowReader {
  const Dataset& dataset;
  PluginRegistry& plugins;
  const TreeOptions& options;
  // Only paths matter: sizes, types and views of stored files are not looked
  // up where their names do not depend on them.
  bool paths_only = false;
  // MediaIndexer::Place::snapshot.
  uint64_t snapshot = 0;
};

// The contents of `row`. Does not fail: what is wrong with a cell is its item's
// `error`, what a store did not tell just now is `failure`. For each blob:
// nothing when blob_info came along (its head answers); else the first bytes of
// it unless its media type is declared, and its size where the descriptor does
// not say. Nothing is indexed here. `column_texts`, unless null, gets each
// column's value as JSON.
RowContents ReadRowContents(const RowReader& reader, const Row& row,
                            std::vector<std::string>* column_texts = nullptr);

// The bytes of a value file: kRowJson, kNumber, kText, kTensor, kJson.
// kInternal for other kinds.
Result<std::string> ValueFileText(const RowItem& item, const Row& row);

// `name` as a file's: escaped, with room for what is put behind it.
std::string StemOf(std::string_view name);

// A blob column's cell, whatever type carries it. Requires: not null.
BlobCell BlobCellAt(const Array& array, uint64_t index);

}  // namespace rowfs
#endif  // ROWFS_FS_TREE_ROW_CONTENTS_H_
