#include "index/plugins/audio/wav.h"

#include <string_view>

namespace rowfs::plugin {
namespace {

constexpr uint16_t kFloat = 3;
constexpr uint16_t kExtensible = 0xfffe;
// Of a 32-bit RIFF file behind its first eight bytes.
constexpr uint64_t kRiffMax = UINT32_MAX;
constexpr std::string_view kGuidTail =
    "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71";

Bytes FormatChunk(const WavFormat& f) {
  const bool extensible = f.channels > 2;
  const uint32_t frame = uint32_t{f.channels} * f.bits / 8;
  ByteWriter out;
  out.Text("fmt ");
  out.U32(extensible ? 40 : f.tag == 1 ? 16 : 18);
  out.U16(extensible ? kExtensible : f.tag);
  out.U16(f.channels);
  out.U32(f.sample_rate);
  out.U32(f.sample_rate * frame);
  out.U16(static_cast<uint16_t>(frame));
  out.U16(f.bits);
  if (extensible) {
    out.U16(22);
    out.U16(f.bits);
    out.U32(static_cast<uint32_t>(f.channel_mask));
    out.U16(f.tag);
    out.Text(std::string_view(kGuidTail.data(), 14));
  } else if (f.tag != 1) {
    out.U16(0);
  }
  return std::move(out.bytes());
}

// Every form but whole numbers names its length in samples.
Bytes FactChunk(const WavFormat& f, uint64_t samples) {
  ByteWriter out;
  if (f.tag == 1) return {};
  out.Text("fact");
  out.U32(4);
  out.U32(samples > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(samples));
  return std::move(out.bytes());
}

// Ten bytes, IEEE 754 extended, of a whole number.
void PutExtended(uint32_t v, ByteWriter* out) {
  int shift = 0;
  while (((uint64_t{v} << shift) & (uint64_t{1} << 63)) == 0) ++shift;
  out->Big16(static_cast<uint16_t>(16383 + 63 - shift));
  out->Big64(uint64_t{v} << shift);
}

}  // namespace

WavFormat WavFormatOf(SampleType type, const SoundIndex& index) {
  const bool floating = type == SampleType::kF32 || type == SampleType::kF64;
  WavFormat format;
  format.tag = floating ? kFloat : 1;
  format.channels = index.head.channels;
  format.sample_rate = index.head.sample_rate;
  format.bits = static_cast<uint16_t>(8 * BytesOf(type));
  format.channel_mask = index.channel_mask;
  return format;
}

Bytes WavHeader(const WavFormat& format, uint64_t data_bytes) {
  const uint64_t frame = uint64_t{format.channels} * format.bits / 8;
  const uint64_t samples = frame == 0 ? 0 : data_bytes / frame;
  const Bytes about = FormatChunk(format);
  const Bytes fact = FactChunk(format, samples);
  const uint64_t body =
      4 + about.size() + fact.size() + 8 + data_bytes + data_bytes % 2;
  const bool big = body > kRiffMax;
  ByteWriter out;
  out.Text(big ? "RF64" : "RIFF");
  out.U32(big ? UINT32_MAX : static_cast<uint32_t>(body));
  out.Text("WAVE");
  if (big) {
    out.Text("ds64");
    out.U32(28);
    out.U64(body + 36);
    out.U64(data_bytes);
    out.U64(samples);
    out.U32(0);
  }
  out.Raw(about);
  out.Raw(fact);
  out.Text("data");
  out.U32(big ? UINT32_MAX : static_cast<uint32_t>(data_bytes));
  return std::move(out.bytes());
}

uint64_t WavSize(const WavFormat& format, uint64_t data_bytes) {
  return WavHeader(format, data_bytes).size() + data_bytes + data_bytes % 2;
}

Bytes AiffHeader(const SoundIndex& index, bool floating, uint64_t data_bytes) {
  const uint32_t frame = index.block_align;
  const uint32_t bits = frame * 8 / index.head.channels;
  ByteWriter common;
  common.Big16(index.head.channels);
  common.Big32(static_cast<uint32_t>(data_bytes / frame));
  common.Big16(static_cast<uint16_t>(bits));
  PutExtended(index.head.sample_rate, &common);
  if (floating) {
    common.Text(bits == 64 ? "fl64" : "fl32");
    common.Big16(0);  // a name without letters
  }
  ByteWriter out;
  out.Text("FORM");
  const uint64_t pad = data_bytes % 2;
  const uint64_t version = floating ? 12 : 0;
  out.Big32(static_cast<uint32_t>(4 + version + 8 + common.size() + 16 +
                                  data_bytes + pad));
  out.Text(floating ? "AIFC" : "AIFF");
  if (floating) {
    out.Text("FVER");
    out.Big32(4);
    out.Big32(0xA2805140);
  }
  out.Text("COMM");
  out.Big32(static_cast<uint32_t>(common.size()));
  out.Raw(common.bytes());
  out.Text("SSND");
  out.Big32(static_cast<uint32_t>(8 + data_bytes));
  out.Big64(0);
  return std::move(out.bytes());
}

}  // namespace rowfs::plugin
