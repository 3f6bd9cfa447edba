#include "storage/folder/folder_listing.h"

#include <algorithm>
#include <set>

#include "storage/table/unfinished.h"

namespace rowfs {
namespace {

constexpr size_t kFilesMax = 10'000'000;
constexpr size_t kDepthMax = 64;

class Lister {
 public:
  Lister(Location root, Logger* log) : root_(std::move(root)), log_(log) {}

  Result<std::vector<FolderFile>> Run() {
    ROWFS_RETURN_IF_ERROR(Walk("", 0));
    std::sort(files_.begin(), files_.end(),
              [](const FolderFile& a, const FolderFile& b) {
                return a.path < b.path;
              });
    return std::move(files_);
  }

 private:
  Status Walk(const std::string& below, size_t depth) {
    if (depth > kDepthMax) {
      return {Code::kResourceExhausted, root_.uri() +
                                            ": folders nested deeper than " +
                                            std::to_string(kDepthMax)};
    }
    const Location here = below.empty() ? root_ : root_.Join(below);
    ROWFS_ASSIGN_OR_RETURN(const std::vector<ListEntry> entries,
                           here.store->List(here.path));
    for (const ListEntry& entry : entries) {
      const std::string path =
          below.empty() ? entry.name : below + "/" + entry.name;
      if (entry.name.starts_with('.')) {
        NoteHidden(path);
        continue;
      }
      if (path == kUnfinishedMarker) {
        return {Code::kNotFound,
                root_.uri() +
                    ": no dataset yet: an ingest into it was not "
                    "finished; the same command again completes it, or `rowfs "
                    "commit` if it was with --fragments"};
      }
      if (entry.is_directory) {
        ROWFS_RETURN_IF_ERROR(Walk(path, depth + 1));
      } else if (files_.size() < kFilesMax) {
        files_.push_back({path, entry.meta});
      } else {
        return {Code::kResourceExhausted, root_.uri() + ": too many files"};
      }
    }
    return {};
  }

  // On a store of objects a leading dot means nothing, so their owner is told.
  void NoteHidden(const std::string& path) const {
    if (log_ == nullptr) return;
    const bool remote = root_.store->capabilities().remote;
    log_->Log(remote ? LogLevel::kWarn : LogLevel::kInfo, "folder",
              root_.Join(path).uri() + ": hidden, so it is no row");
  }

  const Location root_;
  Logger* const log_;
  std::vector<FolderFile> files_;
};

constexpr struct {
  std::string_view kind;
  std::string_view extensions;  // each between blanks
} kExtensions[] = {
    {"video",
     " mp4 m4v mov mkv webm avi ts m2ts mts mpg mpeg flv ogv 3gp mxf wmv "
     "h264 264 hevc 265 asf nut dv ivf obu 3g2 vob f4v m2v mj2 "},
    {"audio",
     " wav wave bwf rf64 w64 flac mp3 mp2 m4a m4b mka weba aac latm loas ogg "
     "oga opus spx aif aiff aifc caf au snd ac3 eac3 dts thd wma amr wv tta "
     "ape "},
    {"image",
     " jpg jpeg png gif webp tif tiff btf tf8 svs bmp dib ppm pgm pam avif "
     "heic heif jp2 j2k j2c jpc jpx jfif jpe pbm pnm jxl exr psd apng dcm "
     "dicom "},
    {"document", " pdf cbz "},
};

}  // namespace

Result<std::vector<FolderFile>> ListFolder(const Location& root, Logger* log) {
  return Lister(root, log).Run();
}

std::string_view ParentName(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == path.npos) return "";
  const std::string_view parent = path.substr(0, slash);
  return parent.substr(parent.rfind('/') + 1);  // npos + 1 == 0
}

bool AreClasses(const std::vector<FolderFile>& files) {
  std::set<std::string_view> names;
  std::set<ptrdiff_t> depths;
  for (const FolderFile& file : files) {
    names.insert(ParentName(file.path));
    depths.insert(std::count(file.path.begin(), file.path.end(), '/'));
  }
  return depths.size() == 1 && *depths.begin() > 0 && names.size() > 1;
}

std::string_view KindOfFile(std::string_view file_name) {
  const size_t dot = file_name.rfind('.');
  if (dot == file_name.npos) return "file";
  std::string key = " " + std::string(file_name.substr(dot + 1)) + " ";
  std::transform(key.begin(), key.end(), key.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  for (const auto& [kind, extensions] : kExtensions) {
    if (extensions.find(key) != extensions.npos) return kind;
  }
  return "file";
}

}  // namespace rowfs
