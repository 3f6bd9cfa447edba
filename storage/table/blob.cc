#include "storage/table/blob.h"

#include <algorithm>

namespace rowfs {
namespace {

SharedBytes Share(ByteSpan bytes) {
  return std::make_shared<const Bytes>(bytes.begin(), bytes.end());
}

}  // namespace

Bytes EncodeBlobInfo(const BlobInfo& info) {
  Bytes out;
  AppendU8(&out, info.blob_type);
  for (const SharedBytes& part : {info.stream_info, info.entries}) {
    const ByteSpan bytes = part ? ByteSpan(*part) : ByteSpan();
    AppendU32(&out, static_cast<uint32_t>(bytes.size()));
    AppendBytes(&out, bytes);
  }
  return out;
}

Result<BlobInfo> DecodeBlobInfo(ByteSpan bytes) {
  Cursor cursor(bytes, "blob_info");
  BlobInfo info;
  ROWFS_ASSIGN_OR_RETURN(info.blob_type, cursor.U8());
  for (SharedBytes* part : {&info.stream_info, &info.entries}) {
    ROWFS_ASSIGN_OR_RETURN(const uint32_t size, cursor.U32());
    ROWFS_ASSIGN_OR_RETURN(const ByteSpan value, cursor.Take(size));
    *part = Share(value);
  }
  if (!cursor.AtEnd()) return cursor.Error("bytes behind the entries");
  return info;
}

Result<BlobInfo> DecodeBlobInfoHead(ByteSpan prefix) {
  Cursor cursor(prefix, "blob_info");
  BlobInfo info;
  ROWFS_ASSIGN_OR_RETURN(info.blob_type, cursor.U8());
  ROWFS_ASSIGN_OR_RETURN(const uint32_t size, cursor.U32());
  const uint64_t there = std::min<uint64_t>(size, cursor.remaining());
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan value, cursor.Take(there));
  info.stream_info = Share(value);
  info.head_only = true;
  return info;
}

}  // namespace rowfs
