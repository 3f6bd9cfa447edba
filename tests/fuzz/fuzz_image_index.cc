// The index of a picture from untrusted bytes: parse it as a head and as a
// whole, and use everything that parses. The checksums are made right first,
// or nothing behind them would ever be reached.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "index/plugins/image/image_index.h"
#include "index/plugins/image/plan.h"
#include "index/plugins/image/views.h"

namespace {

using rowfs::plugin::Bytes;
using rowfs::plugin::ByteSpan;
using rowfs::plugin::Crc32;

void Put(Bytes* bytes, size_t at, uint64_t v, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    (*bytes)[at + i] = static_cast<uint8_t>(v >> (8 * i));
  }
}

int32_t Drop(void*, const rowfs_entry*) { return 0; }

void Use(const rowfs::plugin::ImageIndex& index) {
  const rowfs::plugin::ImageViews views(index, {});
  const rowfs_entry_sink sink = {nullptr, Drop};
  for (const char* folder : {"", ".pages", ".frames", ".tiles", ".tiles/0"}) {
    (void)views.List(folder, 0, 20, sink);
  }
  for (const char* path :
       {".pages/0001.png", ".pages/0002/10,10,50,50/20,/90/gray.jpg",
        ".frames/000003.png", ".tiles/1/0_0.png"}) {
    const auto item = views.Resolve(path);
    if (item.ok()) (void)rowfs::plugin::RangesOf(index, item.value());
  }
  (void)rowfs::plugin::ImageInfoJson(index);
}

}  // namespace

// Two bytes: the size of stream_info; then both parts.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kHead = rowfs::plugin::kImageHeadSize;
  if (size < 2) return 0;
  const size_t cut = data[0] | size_t{data[1]} << 8;
  const ByteSpan all(data + 2, size - 2);
  Bytes info(all.begin(),
             all.begin() + static_cast<long>(std::min(cut, all.size())));
  const ByteSpan entries = all.subspan(info.size());
  (void)rowfs::plugin::ParseImageHead(info);
  if (info.size() < kHead) return 0;
  const ByteSpan body = ByteSpan(info).subspan(kHead);
  std::memcpy(info.data(), rowfs::plugin::kImageMagic, 4);
  info[4] = 1;
  Put(&info, 72, body.size(), 8);
  Put(&info, 80, Crc32(body), 4);
  Put(&info, 84, entries.size(), 8);
  Put(&info, 92, Crc32(entries), 4);
  Put(&info, kHead - 4, Crc32(ByteSpan(info).first(kHead - 4)), 4);
  uint64_t blob_size = 0;
  std::memcpy(&blob_size, info.data() + 8, 8);
  const auto index = rowfs::plugin::ParseImageIndex(info, entries, blob_size);
  if (index.ok()) Use(index.value());
  return 0;
}
