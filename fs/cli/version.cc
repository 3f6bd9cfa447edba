#include "fs/cli/version.h"

namespace rowfs {

std::string VersionText() {
  std::string text = "rowfs " ROWFS_VERSION;
  const std::string commit = ROWFS_COMMIT;
  if (!commit.empty()) text += " (" + commit + ")";
  text += "\nparquet: ";
  text += ROWFS_WITH_PARQUET ? "built in" : "not built (no Arrow C++)";
  text += "\ndocument plugin: ";
  text += ROWFS_WITH_DOCUMENT ? "built" : "not built (no poppler or qpdf)";
  return text + "\n";
}

}  // namespace rowfs
