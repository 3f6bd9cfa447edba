#include "storage/lance/deletions.h"

#include <random>

#include "storage/lance/arrow_deletions.h"

namespace rowfs {
namespace {

namespace pb = lance::pb;

// All 2^32 offsets of a fragment as a bitmap.
constexpr uint64_t kDeletionBytesMax = uint64_t{513} << 20;

Result<RoaringBitmap> Decode(ByteSpan bytes, const pb::DeletionFile& file,
                             uint64_t physical_rows, std::string_view what) {
  if (file.file_type() == pb::DeletionFile::BITMAP) {
    return RoaringBitmap::Decode(bytes, physical_rows, what);
  }
  ROWFS_ASSIGN_OR_RETURN(const std::vector<uint32_t> rows,
                         DecodeArrowDeletions(bytes, physical_rows, what));
  return RoaringBitmap::FromSorted(rows);
}

}  // namespace

std::string DeletionFileName(uint64_t fragment_id,
                             const pb::DeletionFile& file) {
  const bool bitmap = file.file_type() == pb::DeletionFile::BITMAP;
  return std::to_string(fragment_id) + "-" +
         std::to_string(file.read_version()) + "-" + std::to_string(file.id()) +
         (bitmap ? ".bin" : ".arrow");
}

Result<RoaringBitmap> ReadDeletions(const Location& location,
                                    const pb::DeletionFile& file,
                                    uint64_t physical_rows) {
  const std::string what = location.uri();
  ROWFS_ASSIGN_OR_RETURN(const Bytes bytes,
                         ReadWhole(location, kDeletionBytesMax));
  ROWFS_ASSIGN_OR_RETURN(RoaringBitmap rows,
                         Decode(bytes, file, physical_rows, what));
  if (file.num_deleted_rows() != 0 && rows.size() != file.num_deleted_rows()) {
    return Status(Code::kCorruption,
                  what + ": deletes " + std::to_string(rows.size()) +
                      " rows, the manifest says " +
                      std::to_string(file.num_deleted_rows()));
  }
  return rows;
}

Result<pb::DeletionFile> WriteDeletions(const Location& root,
                                        uint64_t fragment_id,
                                        uint64_t read_version,
                                        const RoaringBitmap& rows) {
  std::random_device device;
  pb::DeletionFile file;
  file.set_file_type(pb::DeletionFile::BITMAP);
  file.set_read_version(read_version);
  file.set_id(uint64_t{device()} << 32 | device());
  file.set_num_deleted_rows(rows.size());
  ROWFS_RETURN_IF_ERROR(WriteWhole(
      root.Join("_deletions").Join(DeletionFileName(fragment_id, file)),
      rows.Encode(), PutMode::kIfAbsent));
  return file;
}

}  // namespace rowfs
