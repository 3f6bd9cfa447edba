// A picture file from untrusted bytes, as a mount meets it: indexed, listed,
// its first page and one region decoded.
#include <cstdint>
#include <cstring>
#include <vector>

#include "index/plugins/image/composer.h"
#include "index/plugins/image/image_index.h"
#include "index/plugins/image/ingest.h"
#include "index/plugins/image/plan.h"
#include "index/plugins/image/views.h"

namespace {

using rowfs::plugin::Bytes;
using rowfs::plugin::ByteSpan;

int32_t ReadAt(void* ctx, uint64_t offset, uint8_t* out, size_t size) {
  const auto& file = *static_cast<const ByteSpan*>(ctx);
  if (offset > file.size() || size > file.size() - offset) return ROWFS_E_IO;
  std::memcpy(out, file.data() + offset, size);
  return 0;
}

int32_t Append(void* ctx, const uint8_t* data, size_t size) {
  auto* out = static_cast<Bytes*>(ctx);
  out->insert(out->end(), data, data + size);
  return 0;
}

void Decode(const rowfs::plugin::ImageIndex& index, ByteSpan file,
            const char* path) {
  const rowfs::plugin::ImageViews views(index, {});
  const auto item = views.Resolve(path);
  if (!item.ok() || item.value().geometry.width > 4096 ||
      item.value().geometry.height > 4096) {
    return;
  }
  const auto ranges = rowfs::plugin::RangesOf(index, item.value());
  std::vector<rowfs_bytes> bytes;
  for (const rowfs_range& r : ranges) {
    bytes.push_back(
        {file.data() + r.begin, static_cast<size_t>(r.end - r.begin)});
  }
  rowfs::plugin::Composer composer;
  (void)rowfs::plugin::MakePicture(index, item.value(), {}, {ranges, bytes},
                                   &composer);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ByteSpan file(data, size);
  Bytes info, entries;
  rowfs_ingest_request request = {};
  request.struct_size = sizeof(request);
  request.layout = ROWFS_LAYOUT_CONTAINER;
  request.input = {&file, size, ReadAt};
  request.stream_info = {&info, Append};
  request.entries = {&entries, Append};
  if (!rowfs::plugin::IngestImage(request).ok()) return 0;
  const auto index = rowfs::plugin::ParseImageIndex(info, entries, size);
  if (!index.ok()) __builtin_trap();
  Decode(index.value(), file, ".pages/0001.png");
  Decode(index.value(), file, ".pages/0001/1,1,9,9/max/0/default.npy");
  Decode(index.value(), file, ".frames/000001.npy");
  return 0;
}
