#include "index/plugins/audio/window_file.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "index/plugins/audio/sound_decoder.h"
#include "index/plugins/audio/wav.h"

namespace rowfs::plugin {
namespace {

ByteRange LinearRange(const SoundIndex& index, const Window& window) {
  const uint64_t begin = index.linear_offset + window.begin * index.block_align;
  return {begin, begin + window.size() * index.block_align};
}

Status DecodeLinear(const SoundIndex& index, ByteSpan bytes, Bytes* samples) {
  constexpr size_t kFrames = 1 << 16;
  PLUGIN_ASSIGN_OR_RETURN(const auto decoder, SoundDecoder::Open(index));
  const size_t step = kFrames * index.block_align;
  for (size_t at = 0; at < bytes.size(); at += step) {
    const ByteSpan part = bytes.subspan(at, std::min(step, bytes.size() - at));
    PLUGIN_RETURN_IF_ERROR(decoder->Decode(part, {samples, nullptr}).status());
  }
  return {};
}

}  // namespace

bool NeedsNoDecoder(const SoundIndex& index) {
  constexpr std::pair<const char*, SampleType> kSame[] = {
      {"pcm_u8", SampleType::kU8},     {"pcm_s16le", SampleType::kS16},
      {"pcm_s24le", SampleType::kS24}, {"pcm_s32le", SampleType::kS32},
      {"pcm_f32le", SampleType::kF32}, {"pcm_f64le", SampleType::kF64}};
  return index.head.linear &&
         std::any_of(std::begin(kSame), std::end(kSame), [&](const auto& s) {
           return index.codec == s.first && index.head.type == s.second;
         });
}

Status CheckWindow(const SoundIndex& index, const Window& window) {
  if (window.size() <= kWindowBytesMax / index.FrameBytes()) return {};
  return Limit("the window is too long; ask for less than " +
               std::to_string(kWindowBytesMax >> 20) + " MiB of samples");
}

Bytes WindowHeader(const SoundIndex& index, const Window& window) {
  return WavHeader(WavFormatOf(index.head.type, index),
                   window.size() * index.FrameBytes());
}

bool NeedsPadding(const SoundIndex& index, const Window& window) {
  return window.size() * index.FrameBytes() % 2 == 1;
}

std::vector<ByteRange> WindowRanges(const SoundIndex& index,
                                    const Window& window) {
  if (index.head.linear) return {LinearRange(index, window)};
  return RangesOf(index, RunsOf(index, window));
}

Status DecodeSamples(const SoundIndex& index, const Window& window,
                     const std::vector<ByteRange>& ranges,
                     const std::vector<ByteSpan>& bytes, Bytes* out) {
  const size_t before = out->size();
  const PacketBytes packets(index, ranges, bytes);
  if (index.head.linear) {
    const ByteRange range = LinearRange(index, window);
    PLUGIN_ASSIGN_OR_RETURN(const ByteSpan part,
                            packets.Find(range.begin, range.end));
    PLUGIN_RETURN_IF_ERROR(DecodeLinear(index, part, out));
  } else {
    PLUGIN_RETURN_IF_ERROR(
        DecodeRuns(index, RunsOf(index, window), packets, out));
  }
  if (out->size() - before != window.size() * index.FrameBytes()) {
    return Corrupt("the sound does not decode to its length");
  }
  return {};
}

void WriteWindow(const Window& window, ByteWriter* recipe) {
  recipe->Varint(window.begin);
  recipe->Varint(window.end);
}

Result<Bytes> MakeWindowFile(const SoundIndex& index, ByteReader* recipe,
                             const std::vector<ByteSpan>& bytes) {
  Window window;
  window.begin = recipe->Varint();
  window.end = recipe->Varint();
  if (!recipe->ok() || recipe->remaining() != 0 || window.begin >= window.end ||
      window.end > index.head.samples || !CheckWindow(index, window).ok()) {
    return Invalid("the recipe does not belong to this index");
  }
  Bytes file = WindowHeader(index, window);
  PLUGIN_RETURN_IF_ERROR(
      DecodeSamples(index, window, WindowRanges(index, window), bytes, &file));
  if (NeedsPadding(index, window)) file.push_back(0);
  return file;
}

}  // namespace rowfs::plugin
