// The index of a sound from untrusted bytes: parse it as a head and as a whole,
// and use everything that parses. The checksums are made right first, or
// nothing behind them would ever be reached.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "index/plugins/audio/info_json.h"
#include "index/plugins/audio/sound_file.h"
#include "index/plugins/audio/sound_index.h"
#include "index/plugins/audio/views.h"
#include "index/plugins/audio/waveform.h"
#include "index/plugins/audio/window.h"

namespace {

using rowfs::plugin::Bytes;
using rowfs::plugin::ByteSpan;

constexpr size_t kSumsAt = 70;  // of the body in the head

void Put32(Bytes* bytes, size_t at, uint32_t v) {
  for (size_t i = 0; i < 4; ++i) {
    (*bytes)[at + i] = static_cast<uint8_t>(v >> (8 * i));
  }
}

int32_t Ignore(void*, const rowfs_entry*) { return 0; }

void Use(const rowfs::plugin::SoundIndex& index) {
  const rowfs::plugin::SoundViews views(index, index.segment_ns);
  const rowfs_entry_sink sink = {nullptr, Ignore};
  (void)views.List("", 0, 100, sink);
  (void)views.List(".segments", 0, 20, sink);
  for (const char* path : {".at/0-1.wav", ".at/0-1s.wav", ".at/1-2.5.wav",
                           ".segments/000000.wav", ".info.json"}) {
    (void)views.Lookup(path);
  }
  (void)rowfs::plugin::SoundInfoJson(index);
  (void)rowfs::plugin::PlanSoundFile(index);
  (void)rowfs::plugin::WaveformWindows(index);
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
  (void)rowfs::plugin::ParseSoundHead(info);
  if (info.size() < rowfs::plugin::kSoundHeadSize) return 0;
  std::memcpy(info.data(), rowfs::plugin::kSoundMagic, 4);
  info[4] = 1;
  const ByteSpan body = ByteSpan(info).subspan(rowfs::plugin::kSoundHeadSize);
  Put32(&info, kSumsAt, static_cast<uint32_t>(body.size()));
  Put32(&info, kSumsAt + 4, 0);
  Put32(&info, kSumsAt + 8, rowfs::plugin::Crc32(body));
  Put32(&info, kSumsAt + 12, static_cast<uint32_t>(entries.size()));
  Put32(&info, kSumsAt + 16, 0);
  Put32(&info, kSumsAt + 20, rowfs::plugin::Crc32(entries));
  const size_t crc_at = rowfs::plugin::kSoundHeadSize - 4;
  Put32(&info, crc_at, rowfs::plugin::Crc32(ByteSpan(info).first(crc_at)));
  uint64_t blob_size = 0;
  std::memcpy(&blob_size, info.data() + 8, 8);
  auto index = rowfs::plugin::ParseSoundIndex(info, entries, blob_size);
  if (index.ok()) Use(index.value());
  return 0;
}
