// The name of the object that lies in the folder of a dataset until its first
// version is complete: who writes datasets puts it there, who reads folders
// must not take what lies beside it for data.
#ifndef ROWFS_STORAGE_TABLE_UNFINISHED_H_
#define ROWFS_STORAGE_TABLE_UNFINISHED_H_

#include <string_view>

namespace rowfs {

inline constexpr std::string_view kUnfinishedMarker = "_unfinished_ingest";

}  // namespace rowfs
#endif  // ROWFS_STORAGE_TABLE_UNFINISHED_H_
