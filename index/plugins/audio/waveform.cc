#include "index/plugins/audio/waveform.h"

#include <algorithm>
#include <string>

namespace rowfs::plugin {
namespace {

constexpr uint32_t kRowBytes = kWaveformWidth / 8;
constexpr uint32_t kPixelBytes = (kRowBytes + 1) * kWaveformHeight;
constexpr size_t kChunkFrame = 12;  // length, type, checksum
// zlib's head, a stored block's head, and the sum over the data.
constexpr uint32_t kZlibFrame = 2 + 5 + 4;
constexpr uint64_t kPngBytes = 8 + (kChunkFrame + 13) +
                               (kChunkFrame + kZlibFrame + kPixelBytes) +
                               kChunkFrame;
constexpr std::string_view kPpmHead = "P6\n512 128\n255\n";
// A sound up to this long is looked at in full.
constexpr uint64_t kShortSamples = 1 << 20;
constexpr uint64_t kPieces = 64;
constexpr uint64_t kPieceSamples = 1024;

static_assert(kPixelBytes < 65536, "it must fit one stored block");

void PutChunk(std::string_view type, ByteSpan data, ByteWriter* out) {
  out->Big32(static_cast<uint32_t>(data.size()));
  const size_t begin = out->size();
  out->Text(type);
  out->Raw(data);
  out->Big32(Crc32(ByteSpan(out->bytes()).subspan(begin)));
}

uint32_t Adler32(ByteSpan bytes) {
  uint32_t a = 1;
  uint32_t b = 0;
  for (const uint8_t byte : bytes) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

// One bit a pixel, white is 1; a zero byte (no filter) before each row.
Bytes Pixels(const std::vector<Peaks>& parts) {
  Bytes pixels(kPixelBytes, 0xff);
  for (uint32_t y = 0; y < kWaveformHeight; ++y) {
    pixels[y * (kRowBytes + 1)] = 0;
  }
  for (uint32_t x = 0; x < kWaveformWidth && !parts.empty(); ++x) {
    const Peaks& p = parts[size_t{x} * parts.size() / kWaveformWidth];
    if (p.first > p.second) continue;
    const auto row = [](int v) {
      return static_cast<uint32_t>((32767 - v) * int{kWaveformHeight} / 65536);
    };
    for (uint32_t y = row(p.second); y <= row(p.first); ++y) {
      uint8_t& byte = pixels[y * (kRowBytes + 1) + 1 + x / 8];
      byte = static_cast<uint8_t>(byte & ~(0x80u >> (x % 8)));
    }
  }
  return pixels;
}

Bytes Png(const Bytes& pixels) {
  ByteWriter header;
  header.Big32(kWaveformWidth);
  header.Big32(kWaveformHeight);
  header.U8(1);  // bit
  header.U8(0);  // gray
  header.U8(0);
  header.U8(0);
  header.U8(0);
  ByteWriter data;
  data.U8(0x78);
  data.U8(0x01);
  data.U8(1);  // the last block, stored
  data.U16(static_cast<uint16_t>(pixels.size()));
  data.U16(static_cast<uint16_t>(~pixels.size()));
  data.Raw(pixels);
  data.Big32(Adler32(pixels));
  ByteWriter out;
  out.bytes().reserve(kPngBytes);
  out.Text("\x89PNG\r\n\x1a\n");
  PutChunk("IHDR", header.bytes(), &out);
  PutChunk("IDAT", data.bytes(), &out);
  PutChunk("IEND", {}, &out);
  return std::move(out.bytes());
}

Bytes Ppm(const Bytes& pixels) {
  ByteWriter out;
  out.Text(kPpmHead);
  for (uint32_t y = 0; y < kWaveformHeight; ++y) {
    for (uint32_t x = 0; x < kWaveformWidth; ++x) {
      const uint8_t byte = pixels[y * (kRowBytes + 1) + 1 + x / 8];
      const uint8_t v = (byte & (0x80u >> (x % 8))) != 0 ? 255 : 0;
      for (int c = 0; c < 3; ++c) out.U8(v);
    }
  }
  return std::move(out.bytes());
}

}  // namespace

uint64_t WaveformSize(WaveformFormat format) {
  return format == WaveformFormat::kPng
             ? kPngBytes
             : kPpmHead.size() + uint64_t{3} * kWaveformWidth * kWaveformHeight;
}

Bytes DrawWaveform(const std::vector<Peaks>& parts, WaveformFormat format) {
  const Bytes pixels = Pixels(parts);
  return format == WaveformFormat::kPng ? Png(pixels) : Ppm(pixels);
}

std::vector<Window> WaveformWindows(const SoundIndex& index) {
  const uint64_t samples = index.head.samples;
  std::vector<Window> windows;
  if (samples <= kShortSamples) {
    const uint64_t parts = std::min<uint64_t>(samples, kWaveformWidth);
    for (uint64_t i = 0; i < parts; ++i) {
      windows.push_back({samples * i / parts, samples * (i + 1) / parts});
    }
    return windows;
  }
  for (uint64_t i = 0; i < kPieces; ++i) {
    const uint64_t begin = samples / kPieces * i;
    windows.push_back({begin, begin + kPieceSamples});
  }
  return windows;
}

}  // namespace rowfs::plugin
