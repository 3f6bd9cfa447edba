// The index of a video from untrusted bytes: parse it as a head and as a
// whole, and use everything that parses. The checksums are made right first,
// or nothing behind them would ever be reached.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "index/plugins/video/container.h"
#include "index/plugins/video/media_index.h"
#include "index/plugins/video/planner.h"

namespace {

using rowfs::plugin::Bytes;
using rowfs::plugin::ByteSpan;

void Put32(Bytes* bytes, size_t at, uint32_t v) {
  for (size_t i = 0; i < 4; ++i) {
    (*bytes)[at + i] = static_cast<uint8_t>(v >> (8 * i));
  }
}

void Use(const rowfs::plugin::MediaIndex& index) {
  for (uint32_t frame = 0; frame < index.shown.size() && frame < 50; ++frame) {
    (void)rowfs::plugin::PlanFrames(index, {&frame, 1});
    (void)index.FrameAt(index.FrameTime(frame));
  }
  (void)rowfs::plugin::WholeSize(index);
  (void)rowfs::plugin::InfoJson(index);
  for (uint32_t gop = 0; gop < index.gops.size() && gop < 20; ++gop) {
    (void)rowfs::plugin::PlanGop(index, gop);
  }
  if (!index.shown.empty()) {
    (void)rowfs::plugin::PlanClip(index, index.FrameTime(0), index.EndTime());
  }
}

}  // namespace

// Two bytes: the size of stream_info; then both parts.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const size_t cut = data[0] | size_t{data[1]} << 8;
  const ByteSpan all(data + 2, size - 2);
  Bytes info(all.begin(),
             all.begin() + static_cast<long>(std::min(cut, all.size())));
  const ByteSpan entries = all.subspan(info.size());
  (void)rowfs::plugin::ParseHead(info);
  if (info.size() < rowfs::plugin::kHeadSize) return 0;
  std::memcpy(info.data(), rowfs::plugin::kMagic, 4);
  const ByteSpan body = ByteSpan(info).subspan(rowfs::plugin::kHeadSize);
  Put32(&info, 101, static_cast<uint32_t>(body.size()));
  Put32(&info, 105, 0);
  Put32(&info, 109, rowfs::plugin::Crc32(body));
  Put32(&info, 113, static_cast<uint32_t>(entries.size()));
  Put32(&info, 117, 0);
  Put32(&info, 121, rowfs::plugin::Crc32(entries));
  Put32(
      &info, rowfs::plugin::kHeadSize - 4,
      rowfs::plugin::Crc32(ByteSpan(info).first(rowfs::plugin::kHeadSize - 4)));
  uint64_t blob_size = 0;
  std::memcpy(&blob_size, info.data() + 8, 8);
  auto index = rowfs::plugin::ParseIndex(info, entries, blob_size);
  if (index.ok()) Use(index.value());
  return 0;
}
