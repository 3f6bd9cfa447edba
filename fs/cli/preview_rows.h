// What a contact sheet shows of a row: small pictures out of the row's own
// files and views, and its scalar values. Knows no kind of media: of the view
// folders of a blob that hold pictures, the one with the fewest is shown (key
// frames rather than frames), scaled by an IIIF request where the folder takes
// them; else pictures among the row's files.
//
// One thread at a time.
#ifndef ROWFS_FS_CLI_PREVIEW_ROWS_H_
#define ROWFS_FS_CLI_PREVIEW_ROWS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fs/tree/tree.h"
#include "storage/base/bytes.h"

namespace rowfs {

struct PreviewOptions {
  std::string column;             // only pictures of this column; empty: of all
  std::string extension = "jpg";  // what rendered pictures are asked for as
};

struct PreviewPicture {
  std::string name;  // path in the row folder
  Bytes bytes;
};

struct PreviewRow {
  uint64_t number = 0;
  std::vector<PreviewPicture> pictures;
  std::vector<std::pair<std::string, std::string>> captions;
  std::vector<std::string> errors;  // pictures that cannot be made, and why
};

class PreviewReader {
 public:
  // `tree` outlives the reader.
  PreviewReader(Tree& tree, PreviewOptions options)
      : tree_(tree), options_(std::move(options)) {}

  // Row `row` of the dataset. What fails is in `errors`.
  PreviewRow Read(uint64_t row);

 private:
  struct Name {
    std::string text;
    NodeType type;
  };

  Result<std::vector<Name>> ListFolder(const std::string& path, size_t limit);
  Result<Bytes> ReadFile(const std::string& path, uint64_t bytes_max);
  bool IsWanted(const std::string& path);
  void AddCaptions(const std::string& folder, PreviewRow* row);
  // Pictures of view folders; the stems of their blobs.
  std::vector<std::string> AddViews(const std::string& folder,
                                    const std::vector<Name>& names,
                                    PreviewRow* row);
  void AddView(const std::string& folder, const std::string& view,
               const std::vector<std::string>& pictures, PreviewRow* row);
  void AddFiles(const std::string& folder, const std::vector<Name>& names,
                const std::vector<std::string>& shown, PreviewRow* row);

  Tree& tree_;
  const PreviewOptions options_;
};

// "image/jpeg" for the name of a picture browsers show; empty for others.
std::string PictureType(const std::string& name);

}  // namespace rowfs
#endif  // ROWFS_FS_CLI_PREVIEW_ROWS_H_
