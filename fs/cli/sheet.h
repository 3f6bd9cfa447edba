// The text of a contact sheet, row by row.
//
// One thread at a time.
#ifndef ROWFS_FS_CLI_SHEET_H_
#define ROWFS_FS_CLI_SHEET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "fs/cli/preview_rows.h"

namespace rowfs {

struct SheetCounts {
  uint64_t rows = 0;
  uint64_t pictures = 0;
  uint64_t failed = 0;
};

class Sheet {
 public:
  virtual ~Sheet() = default;
  // Bytes of the file: what comes first, what a row adds, what comes last.
  virtual std::string Begin() = 0;
  virtual std::string Add(const PreviewRow& row) = 0;
  // The dataset has `row_count` rows, shown or not.
  virtual std::string End(uint64_t row_count) = 0;
};

// One HTML file: pictures inside it, no script, nothing loaded from elsewhere.
std::unique_ptr<Sheet> MakeHtmlSheet(std::string_view title);

// A PNG of one cell a row: pictures (P6 files), row number, first caption.
inline constexpr uint64_t kPngSheetRowsMax = 1000;
// Requires: rows <= kPngSheetRowsMax.
std::unique_ptr<Sheet> MakePngSheet(uint64_t rows);

}  // namespace rowfs
#endif  // ROWFS_FS_CLI_SHEET_H_
