// The text of the files in .rowfs/.
//
// Thread-safe.
#ifndef ROWFS_FS_TREE_CONTROL_FILES_H_
#define ROWFS_FS_TREE_CONTROL_FILES_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "fs/tree/tree_options.h"
#include "index/dataset/dataset.h"
#include "storage/base/log.h"
#include "storage/base/sync.h"

namespace rowfs {

enum class ControlFile : uint32_t {
  kSchema,
  kDataset,
  kConfig,
  kStats,
  kLog,
  kPrefetch,
};
inline constexpr std::array<std::string_view, 6> kControlNames = {
    "schema.json", "dataset.json", "config", "stats", "log", "prefetch"};

std::optional<ControlFile> FindControlFile(std::string_view name);
// Whether the text is another at every look.
bool IsChanging(ControlFile file);

// Columns with type, role and how they show, as JSON.
std::string SchemaText(const Dataset& dataset);
// What the dataset is: source, format, version, rows, as JSON.
std::string DatasetText(const Dataset& dataset);

// The last lines of the log.
std::string LogText(const Logger& log);

// Errors as programs saw them, by errno name.
class ErrorCounters {
 public:
  void Count(std::string_view errno_name) EXCLUDES(mu_);
  // rowfs_errors_total{errno="..."} lines.
  std::string Text() const EXCLUDES(mu_);

 private:
  mutable Mutex mu_;
  std::map<std::string, uint64_t, std::less<>> counts_ GUARDED_BY(mu_);
};

}  // namespace rowfs
#endif  // ROWFS_FS_TREE_CONTROL_FILES_H_
