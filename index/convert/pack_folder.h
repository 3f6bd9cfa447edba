// Packs the files of a folder into a blob pack.
//
// One thread.
#ifndef ROWFS_INDEX_CONVERT_PACK_FOLDER_H_
#define ROWFS_INDEX_CONVERT_PACK_FOLDER_H_

#include <string>
#include <vector>

#include "index/convert/unpack.h"
#include "storage/pack/pack_writer.h"

namespace rowfs {

// Paths, relative to `folder`, of its files at any depth: hidden ones and links
// to files too, links to folders not followed; sorted part by part. Folders
// that cannot be read are passed over.
std::vector<std::string> ListFilesBelow(const std::string& folder);

// Whether path `a` sorts before `b`, part by part: "a/b" before "a-b".
bool ComesBefore(const std::string& a, const std::string& b);

// Add `files` of `folder` to `pack`, each under its relative path. All keys are
// checked before the first byte is read. Does not call Finish. kCorruption when
// a file is not as long as it was at first.
Status PackFiles(const std::string& folder,
                 const std::vector<std::string>& files, PackWriter& pack,
                 const ConvertProgress& progress);

}  // namespace rowfs
#endif  // ROWFS_INDEX_CONVERT_PACK_FOLDER_H_
