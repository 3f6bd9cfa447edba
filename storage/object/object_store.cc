#include "storage/object/object_store.h"

namespace rowfs {

Location Location::Join(std::string_view part) const {
  std::string joined = path;
  if (!joined.empty() && joined.back() != '/') joined += '/';
  return {store, joined + std::string(part)};
}

Result<ObjectMeta> ObjectStore::ReadFirst(const std::string& path,
                                          uint64_t offset,
                                          MutableByteSpan out) {
  ROWFS_ASSIGN_OR_RETURN(ObjectMeta meta, Stat(path));
  ROWFS_RETURN_IF_ERROR(ReadAt({path, meta.etag}, offset, out));
  return meta;
}

Result<Bytes> ReadWhole(const Location& location, uint64_t size_max) {
  constexpr uint64_t kFirst = 64 << 10;
  ROWFS_ASSIGN_OR_RETURN(ObjectStore::Tail tail,
                         location.store->ReadTail(location.path, kFirst));
  if (tail.meta.size > size_max) {
    return Status(Code::kResourceExhausted,
                  location.uri() + ": " + std::to_string(tail.meta.size) +
                      " bytes, more than the limit of " +
                      std::to_string(size_max));
  }
  const uint64_t missing = tail.meta.size - tail.bytes.size();
  if (missing == 0) return std::move(tail.bytes);
  Bytes all(missing);
  ROWFS_RETURN_IF_ERROR(
      location.store->ReadAt({location.path, tail.meta.etag}, 0, all));
  AppendBytes(&all, tail.bytes);
  return all;
}

Status WriteWhole(const Location& location, ByteSpan bytes, PutMode mode) {
  ROWFS_ASSIGN_OR_RETURN(auto writer,
                         location.store->Create(location.path, mode));
  ROWFS_RETURN_IF_ERROR(writer->Write(bytes));
  return writer->Finish();
}

}  // namespace rowfs
