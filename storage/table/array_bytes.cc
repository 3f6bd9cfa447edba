#include "storage/table/array_bytes.h"

namespace rowfs {
namespace {

uint64_t SizeOf(const SharedBytes& bytes) { return bytes ? bytes->size() : 0; }

uint64_t Count(const Array& array, bool dictionaries) {
  uint64_t bytes = sizeof(Array) + SizeOf(array.validity) +
                   SizeOf(array.offsets) + SizeOf(array.data);
  for (const BlobCell& cell : array.blobs) {
    bytes += sizeof(BlobCell) + cell.object.size() + SizeOf(cell.bytes);
    if (cell.info) {
      bytes += SizeOf(cell.info->stream_info) + SizeOf(cell.info->entries);
    }
  }
  for (const Array& child : array.children) bytes += Count(child, dictionaries);
  if (array.dictionary && dictionaries) bytes += Count(*array.dictionary, true);
  return bytes;
}

}  // namespace

uint64_t ArrayBytes(const Array& array) { return Count(array, true); }

uint64_t RowBytes(const Array& array) { return Count(array, false); }

}  // namespace rowfs
