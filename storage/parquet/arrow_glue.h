// Between Arrow C++ and us: errors, and our objects as Arrow's files. What
// Arrow throws stops here too.
//
// Included by storage/parquet alone. Thread-safe.
#ifndef ROWFS_STORAGE_PARQUET_ARROW_GLUE_H_
#define ROWFS_STORAGE_PARQUET_ARROW_GLUE_H_

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/status.h>

#include <exception>
#include <functional>
#include <memory>
#include <string_view>

#include "storage/base/bytes.h"
#include "storage/base/status.h"
#include "storage/read/object_reader.h"

namespace rowfs {

// The same error in our words, on one line, `what` in front. Errors that came
// from an ObjectReader keep their code.
Status FromArrow(const arrow::Status& status, std::string_view what);
arrow::Status ToArrow(const Status& status);

// Run `work` (which returns Status or Result) behind a wall: what Arrow throws
// becomes kCorruption, a lack of memory kResourceExhausted, both with `what`.
template <typename Work>
auto Guarded(std::string_view what, Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Status(Code::kResourceExhausted,
                  std::string(what) + ": not enough memory");
  } catch (const std::exception& error) {
    return FromArrow(arrow::Status::Invalid(error.what()), what);
  }
}

#define ROWFS_RETURN_IF_ARROW_ERROR(expr, what)        \
  do {                                                 \
    if (const ::arrow::Status s_ = (expr); !s_.ok()) { \
      return ::rowfs::FromArrow(s_, what);             \
    }                                                  \
  } while (false)
#define ROWFS_ASSIGN_OR_ARROW_ERROR(lhs, expr, what)                         \
  ROWFS_ASSIGN_OR_ARROW_ERROR_(ROWFS_CONCAT(arrow_, __COUNTER__), lhs, expr, \
                               what)
#define ROWFS_ASSIGN_OR_ARROW_ERROR_(r, lhs, expr, what)    \
  auto r = (expr);                                          \
  if (!r.ok()) return ::rowfs::FromArrow(r.status(), what); \
  lhs = std::move(r).ValueUnsafe()

// `reader`'s object as a file that Arrow reads, as ReadKind::kMetadata.
std::shared_ptr<arrow::io::RandomAccessFile> MakeArrowFile(
    std::shared_ptr<const ObjectReader> reader);

// Bytes as a buffer that keeps them alive.
std::shared_ptr<arrow::Buffer> MakeArrowBuffer(SharedBytes bytes);

// A stream that hands everything written to `sink`.
std::shared_ptr<arrow::io::OutputStream> MakeArrowSink(
    std::function<Status(ByteSpan)> sink);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PARQUET_ARROW_GLUE_H_
