// The files below a folder, and what their paths say about them.
#ifndef ROWFS_STORAGE_FOLDER_FOLDER_LISTING_H_
#define ROWFS_STORAGE_FOLDER_FOLDER_LISTING_H_

#include <string>
#include <string_view>
#include <vector>

#include "storage/base/log.h"
#include "storage/object/object_store.h"

namespace rowfs {

struct FolderFile {
  std::string path;  // below the folder
  ObjectMeta meta;
};

// All files below `root` but hidden ones, sorted by path; a listing a folder.
// kNotFound where an ingest was not finished, kResourceExhausted beyond 64
// levels or 10 million files. `log` (may be null) is told what is hidden.
Result<std::vector<FolderFile>> ListFolder(const Location& root, Logger* log);

// The name of the folder that a file lies in; empty on top.
std::string_view ParentName(std::string_view path);

// Hugging Face ImageFolder: the folder's name is the class when every file lies
// equally deep, in more than one folder.
bool AreClasses(const std::vector<FolderFile>& files);

// The kind of a file by its extension: "video", "audio", "image", "document" or
// "file".
std::string_view KindOfFile(std::string_view file_name);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_FOLDER_FOLDER_LISTING_H_
