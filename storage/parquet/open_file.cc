#include "storage/parquet/open_file.h"

#include "storage/parquet/arrow_file.h"
#include "storage/parquet/parquet_file.h"

namespace rowfs {
namespace {

// Where a round trip costs more than bytes: footers are longer only in files of
// thousands of columns or row groups. Elsewhere what says how long it is.
constexpr uint64_t kRemoteTailBytes = 64 << 10;
constexpr uint64_t kLocalTailBytes = 10;

}  // namespace

Result<std::unique_ptr<RowFile>> OpenRowFile(
    const Location& location, const ObjectMeta& meta, FileKind kind,
    const ReadContext& context, ArrayCache* cache, uint32_t number) {
  const bool remote = location.store->capabilities().remote;
  ROWFS_ASSIGN_OR_RETURN(
      auto reader,
      ObjectReader::Open(location, remote ? kRemoteTailBytes : kLocalTailBytes,
                         context));
  if (reader->meta().etag != meta.etag || reader->size() != meta.size) {
    return Status(Code::kChanged, location.uri() + ": changed while opened");
  }
  if (kind == FileKind::kArrow) {
    return ArrowFile::Open(std::move(reader), cache, number);
  }
  return ParquetFile::Open(std::move(reader), cache, number);
}

}  // namespace rowfs
