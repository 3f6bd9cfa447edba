#include "index/view/extract_frame.h"

namespace rowfs {
namespace {

constexpr size_t kFrameDigits = 6;

std::string Numbered(uint64_t number) {
  std::string text = std::to_string(number);
  if (text.size() < kFrameDigits)
    text.insert(0, kFrameDigits - text.size(), '0');
  return text;
}

// Paths of the wanted frames below the blob, and the names they get.
Result<std::vector<std::string>> PathsOf(const Media& media,
                                         const FrameRequest& request) {
  const std::string extension = "." + request.format;
  if (request.frame) {
    return std::vector<std::string>{".frames/" + Numbered(*request.frame) +
                                    extension};
  }
  if (request.time) {
    return std::vector<std::string>{".at/" + *request.time + extension};
  }
  const std::string view = request.keyframes ? ".keyframes" : ".frames";
  ROWFS_ASSIGN_OR_RETURN(
      const std::vector<ViewEntry> entries,
      media.Select(view, request.from.value_or(""), request.to.value_or("")));
  std::vector<std::string> paths;
  for (const ViewEntry& entry : entries)
    paths.push_back(view + "/" + entry.name);
  return paths;
}

}  // namespace

Result<ExtractedFrames> ExtractFrame(Dataset& dataset, PluginRegistry& plugins,
                                     const FrameRequest& request) {
  const Column& column = dataset.columns()[request.column];
  if (column.role != ColumnRole::kBlob) {
    return Status(Code::kInvalidArgument,
                  "column " + column.name + " holds no blobs");
  }
  ROWFS_ASSIGN_OR_RETURN(
      const auto blob,
      dataset.OpenBlob(request.row, {request.column, {}}, BlobDetail::kFull));
  const std::string cell =
      column.name + " of row " + std::to_string(request.row);
  if (!blob) return Status(Code::kInvalidArgument, cell + " is null");
  const auto opened = Media::Open(blob, plugins, "frames=" + request.format);
  if (!opened.ok()) return opened.status().With(cell);
  const Media& media = *opened.value();
  const auto paths = PathsOf(media, request);
  if (!paths.ok()) return paths.status().With(cell);
  ExtractedFrames result;
  const auto files = media.OpenFiles(paths.value(), &result.times);
  for (size_t i = 0; i < files.size(); ++i) {
    if (!files[i].ok()) return files[i].status().With(cell);
    const std::string& path = paths.value()[i];
    result.frames.push_back(
        {path.substr(path.rfind('/') + 1), files[i].value()});
  }
  return result;
}

}  // namespace rowfs
