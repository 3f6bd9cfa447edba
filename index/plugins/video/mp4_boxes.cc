#include "index/plugins/video/mp4_boxes.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

namespace rowfs::plugin {
namespace {

constexpr uint64_t kMax32 = std::numeric_limits<uint32_t>::max();
constexpr size_t kMdatHeaderSize = 16;
// A chunk that lasts this many seconds ends at the next sync sample.
constexpr double kChunkSeconds = 0.5;
// Identity of tkhd and mvhd: 16.16, 2.30 in the last column.
constexpr int32_t kIdentity[9] = {0x10000, 0, 0, 0,         0x10000,
                                  0,       0, 0, 0x40000000};

struct Chunk {
  uint64_t offset = 0;
  uint64_t sample_count = 0;
  uint32_t entry = 0;
};

// Run-length pairs (count, value) as stts, ctts and sbgp hold them.
class Runs {
 public:
  void Add(uint64_t count, uint32_t value) {
    if (!runs_.empty() && runs_.back().second == value &&
        runs_.back().first + count <= kMax32) {
      runs_.back().first += count;
    } else {
      runs_.emplace_back(count, value);
    }
  }
  void Put(Bytes* out) const {
    PutBig(out, runs_.size(), 4);
    for (const auto& [count, value] : runs_) {
      PutBig(out, count, 4);
      PutBig(out, value, 4);
    }
  }

 private:
  std::vector<std::pair<uint64_t, uint32_t>> runs_;
};

uint64_t Units(const Mp4Track& track, const Mp4Sample& sample) {
  return track.unit_bytes == 0 ? 1 : sample.size / track.unit_bytes;
}

uint64_t SampleCount(const Mp4Track& track) {
  uint64_t count = 0;
  for (const Mp4Sample& sample : track.samples) count += Units(track, sample);
  return count;
}

// Samples that lie side by side; cut where a GOP starts, so that a player has
// a place to stop and video never becomes one chunk.
std::vector<Chunk> Chunks(const Mp4Track& track) {
  std::vector<Chunk> chunks;
  const int64_t long_enough =
      static_cast<int64_t>(kChunkSeconds * track.timescale);
  uint64_t next_offset = 0;
  int64_t start_dts = 0;
  for (const Mp4Sample& sample : track.samples) {
    const bool cut = sample.sync && sample.dts - start_dts >= long_enough;
    if (chunks.empty() || sample.offset != next_offset || cut ||
        sample.entry != chunks.back().entry) {
      chunks.push_back({sample.offset, 0, sample.entry});
      start_dts = sample.dts;
    }
    chunks.back().sample_count += Units(track, sample);
    next_offset = sample.offset + sample.size;
  }
  return chunks;
}

uint64_t MediaDuration(const Mp4Track& track) {
  if (track.samples.empty()) return 0;
  if (track.unit_bytes != 0) return SampleCount(track);
  return static_cast<uint64_t>(track.samples.back().dts -
                               track.samples.front().dts) +
         track.last_duration;
}

// value * to / from, rounded up, for times that fit 64 bits at both scales.
uint64_t Rescale(uint64_t value, uint64_t to, uint64_t from) {
  const uint64_t whole = value / from;
  return whole * to + (value % from * to + from - 1) / from;
}

uint64_t TrackDuration(const Mp4Movie& movie, const Mp4Track& track) {
  if (track.edits.empty()) {
    return Rescale(MediaDuration(track), movie.timescale, track.timescale);
  }
  uint64_t sum = 0;
  for (const Mp4Edit& edit : track.edits) sum += edit.duration;
  return sum;
}

void PutMatrix(Bytes* out, const int32_t (&matrix)[9]) {
  const bool unset = std::all_of(std::begin(matrix), std::end(matrix),
                                 [](int32_t value) { return value == 0; });
  for (const int32_t value : unset ? kIdentity : matrix) {
    PutBig(out, static_cast<uint32_t>(value), 4);
  }
}

void PutMvhd(Bytes* out, const Mp4Movie& movie) {
  uint64_t duration = 0;
  for (const Mp4Track& track : movie.tracks) {
    duration = std::max(duration, TrackDuration(movie, track));
  }
  const uint8_t version = duration > kMax32 ? 1 : 0;
  const size_t width = version == 1 ? 8 : 4;
  const Box box(out, "mvhd", version, 0);
  PutZeros(out, 2 * width);  // no dates: the same movie, the same bytes
  PutBig(out, movie.timescale, 4);
  PutBig(out, duration, width);
  PutBig(out, 0x10000, 4);  // rate 1.0
  PutBig(out, 0x100, 2);    // volume 1.0
  PutZeros(out, 10);
  PutMatrix(out, kIdentity);
  PutZeros(out, 24);
  PutBig(out, movie.tracks.size() + 1, 4);
}

void PutTkhd(Bytes* out, const Mp4Movie& movie, size_t index) {
  const Mp4Track& track = movie.tracks[index];
  const uint64_t duration = TrackDuration(movie, track);
  const uint8_t version = duration > kMax32 ? 1 : 0;
  const size_t width = version == 1 ? 8 : 4;
  const Box box(out, "tkhd", version, track.enabled ? 3 : 2);
  PutZeros(out, 2 * width);
  PutBig(out, index + 1, 4);
  PutZeros(out, 4);
  PutBig(out, duration, width);
  PutZeros(out, 8);
  PutZeros(out, 2);  // layer
  // Tracks of a kind are alternatives to each other.
  PutBig(out, static_cast<uint64_t>(track.kind), 2);
  PutBig(out, track.kind == Mp4Kind::kAudio ? 0x100 : 0, 2);
  PutZeros(out, 2);
  PutMatrix(out, track.matrix);
  PutBig(out, track.width, 4);
  PutBig(out, track.height, 4);
}

void PutEdits(Bytes* out, const Mp4Track& track) {
  if (track.edits.empty()) return;
  bool wide = false;
  for (const Mp4Edit& edit : track.edits) {
    wide = wide || edit.duration > kMax32 ||
           edit.media_time > std::numeric_limits<int32_t>::max();
  }
  const size_t width = wide ? 8 : 4;
  const Box edts(out, "edts");
  const Box elst(out, "elst", wide ? 1 : 0, 0);
  PutBig(out, track.edits.size(), 4);
  for (const Mp4Edit& edit : track.edits) {
    PutBig(out, edit.duration, width);
    PutBig(out, static_cast<uint64_t>(edit.media_time), width);
    PutBig(out, 0x10000, 4);  // rate 1.0
  }
}

uint64_t PackedLanguage(std::string_view language) {
  if (language.size() != 3 ||
      !std::all_of(language.begin(), language.end(),
                   [](char c) { return c >= 'a' && c <= 'z'; })) {
    language = "und";
  }
  uint64_t packed = 0;
  for (const char c : language) {
    packed = packed << 5 | static_cast<uint64_t>(c - 0x60);
  }
  return packed;
}

void PutMdhd(Bytes* out, const Mp4Track& track) {
  const uint64_t duration = MediaDuration(track);
  const uint8_t version = duration > kMax32 ? 1 : 0;
  const size_t width = version == 1 ? 8 : 4;
  const Box box(out, "mdhd", version, 0);
  PutZeros(out, 2 * width);
  PutBig(out, track.timescale, 4);
  PutBig(out, duration, width);
  PutBig(out, PackedLanguage(track.language), 2);
  PutZeros(out, 2);
}

void PutHdlr(Bytes* out, Mp4Kind kind) {
  constexpr std::string_view kTypes[] = {"vide", "soun", "sbtl"};
  constexpr std::string_view kNames[] = {"VideoHandler", "SoundHandler",
                                         "SubtitleHandler"};
  const auto index = static_cast<size_t>(kind);
  const Box box(out, "hdlr", 0, 0);
  PutZeros(out, 4);
  PutText(out, kTypes[index]);
  PutZeros(out, 12);
  PutText(out, kNames[index]);
  PutZeros(out, 1);
}

void PutMediaHeader(Bytes* out, Mp4Kind kind) {
  switch (kind) {
    case Mp4Kind::kVideo: {
      const Box box(out, "vmhd", 0, 1);
      PutZeros(out, 8);
      return;
    }
    case Mp4Kind::kAudio: {
      const Box box(out, "smhd", 0, 0);
      PutZeros(out, 4);
      return;
    }
    case Mp4Kind::kText: {
      const Box box(out, "nmhd", 0, 0);
      return;
    }
  }
}

void PutDinf(Bytes* out) {
  const Box dinf(out, "dinf");
  const Box dref(out, "dref", 0, 0);
  PutBig(out, 1, 4);
  const Box url(out, "url ", 0, 1);  // flag 1: the media are in this file
}

void PutTimes(Bytes* out, const Mp4Track& track) {
  Runs deltas;
  Runs offsets;
  bool any_offset = false;
  bool negative = false;
  const auto& samples = track.samples;
  if (track.unit_bytes != 0) {
    for (uint64_t left = SampleCount(track); left > 0;) {
      const uint64_t count = std::min(left, kMax32);
      deltas.Add(count, 1);
      left -= count;
    }
  } else {
    for (size_t i = 0; i < samples.size(); ++i) {
      deltas.Add(
          1, i + 1 < samples.size()
                 ? static_cast<uint32_t>(samples[i + 1].dts - samples[i].dts)
                 : track.last_duration);
      const int64_t offset = samples[i].pts - samples[i].dts;
      any_offset = any_offset || offset != 0;
      negative = negative || offset < 0;
      offsets.Add(1, static_cast<uint32_t>(offset));
    }
  }
  {
    const Box box(out, "stts", 0, 0);
    deltas.Put(out);
  }
  if (!any_offset) return;
  const Box box(out, "ctts", negative ? 1 : 0, 0);
  offsets.Put(out);
}

void PutSync(Bytes* out, const Mp4Track& track) {
  if (track.kind != Mp4Kind::kVideo) return;
  const auto& samples = track.samples;
  const auto count = static_cast<size_t>(
      std::count_if(samples.begin(), samples.end(),
                    [](const Mp4Sample& sample) { return sample.sync; }));
  if (count == samples.size()) return;  // no stss: every sample is one
  const Box box(out, "stss", 0, 0);
  PutBig(out, count, 4);
  for (size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].sync) PutBig(out, i + 1, 4);
  }
}

void PutSizes(Bytes* out, const Mp4Track& track) {
  const auto& samples = track.samples;
  const Box box(out, "stsz", 0, 0);
  if (track.unit_bytes != 0) {
    PutBig(out, track.unit_bytes, 4);
    PutBig(out, SampleCount(track), 4);
    return;
  }
  const bool same =
      !samples.empty() && samples[0].size != 0 &&
      std::all_of(samples.begin(), samples.end(), [&](const Mp4Sample& s) {
        return s.size == samples[0].size;
      });
  PutBig(out, same ? samples[0].size : 0, 4);
  PutBig(out, samples.size(), 4);
  if (same) return;
  for (const Mp4Sample& sample : samples) PutBig(out, sample.size, 4);
}

void PutChunks(Bytes* out, const Mp4Track& track, uint64_t base, bool wide) {
  const std::vector<Chunk> chunks = Chunks(track);
  {
    const Box box(out, "stsc", 0, 0);
    const size_t count_at = out->size();
    PutZeros(out, 4);
    uint32_t runs = 0;
    for (size_t i = 0; i < chunks.size(); ++i) {
      if (i > 0 && chunks[i].sample_count == chunks[i - 1].sample_count &&
          chunks[i].entry == chunks[i - 1].entry) {
        continue;
      }
      ++runs;
      PutBig(out, i + 1, 4);
      PutBig(out, chunks[i].sample_count, 4);
      PutBig(out, uint64_t{chunks[i].entry} + 1, 4);
    }
    for (size_t i = 0; i < 4; ++i) {
      (*out)[count_at + i] = static_cast<uint8_t>(runs >> (24 - 8 * i));
    }
  }
  const Box box(out, wide ? "co64" : "stco", 0, 0);
  PutBig(out, chunks.size(), 4);
  for (const Chunk& chunk : chunks) {
    PutBig(out, base + chunk.offset, wide ? 8 : 4);
  }
}

// Open GOPs: their starts are in stss, as players want, and here, as the
// standard wants (ISO/IEC 14496-12 10.4).
void PutRandomAccessGroup(Bytes* out, const Mp4Track& track) {
  const auto& samples = track.samples;
  if (std::none_of(samples.begin(), samples.end(),
                   [](const Mp4Sample& s) { return s.sync && s.open; })) {
    return;
  }
  {
    const Box box(out, "sgpd", 1, 0);
    PutText(out, "rap ");
    PutBig(out, 1, 4);  // bytes a description
    PutBig(out, 1, 4);  // descriptions
    PutZeros(out, 1);   // number of leading samples not told
  }
  Runs groups;
  for (const Mp4Sample& sample : samples) {
    groups.Add(1, sample.sync && sample.open ? 1 : 0);
  }
  const Box box(out, "sbgp", 0, 0);
  PutText(out, "rap ");
  groups.Put(out);
}

void PutRollGroup(Bytes* out, const Mp4Track& track) {
  if (track.roll_distance == 0 || track.samples.empty()) return;
  {
    const Box box(out, "sgpd", 1, 0);
    PutText(out, "roll");
    PutBig(out, 2, 4);
    PutBig(out, 1, 4);
    PutBig(out, static_cast<uint16_t>(track.roll_distance), 2);
  }
  Runs groups;
  groups.Add(SampleCount(track), 1);
  const Box box(out, "sbgp", 0, 0);
  PutText(out, "roll");
  groups.Put(out);
}

void PutTrack(Bytes* out, const Mp4Movie& movie, size_t index, uint64_t base,
              bool wide) {
  const Mp4Track& track = movie.tracks[index];
  const Box trak(out, "trak");
  PutTkhd(out, movie, index);
  PutEdits(out, track);
  const Box mdia(out, "mdia");
  PutMdhd(out, track);
  PutHdlr(out, track.kind);
  const Box minf(out, "minf");
  PutMediaHeader(out, track.kind);
  PutDinf(out);
  const Box stbl(out, "stbl");
  {
    const Box stsd(out, "stsd", 0, 0);
    PutBig(out, track.entries.size(), 4);
    for (const Bytes& entry : track.entries) PutBytes(out, entry);
  }
  PutTimes(out, track);
  PutSync(out, track);
  PutRandomAccessGroup(out, track);
  PutRollGroup(out, track);
  PutSizes(out, track);
  PutChunks(out, track, base, wide);
}

Bytes EncodeHead(const Mp4Movie& movie, uint64_t payload_size, uint64_t base,
                 bool wide) {
  Bytes out;
  {
    const Box ftyp(&out, "ftyp");
    PutText(&out, movie.quicktime ? "qt  " : "isom");
    PutBig(&out, 0x200, 4);
    PutText(&out, movie.quicktime ? "qt  " : "isomiso2iso4mp41");
  }
  {
    const Box moov(&out, "moov");
    PutMvhd(&out, movie);
    for (size_t i = 0; i < movie.tracks.size(); ++i) {
      PutTrack(&out, movie, i, base, wide);
    }
  }
  // Always the 16-byte form, so that the payload's start never depends on its
  // size.
  PutBig(&out, 1, 4);
  PutText(&out, "mdat");
  PutBig(&out, kMdatHeaderSize + payload_size, 8);
  return out;
}

}  // namespace

void PutBig(Bytes* out, uint64_t value, size_t width) {
  for (size_t i = width; i-- > 0;) {
    out->push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
}

void PutLittle(Bytes* out, uint64_t value, size_t width) {
  for (size_t i = 0; i < width; ++i) {
    out->push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
}

void PutText(Bytes* out, std::string_view text) {
  out->insert(out->end(), text.begin(), text.end());
}

void PutBytes(Bytes* out, std::span<const uint8_t> bytes) {
  out->insert(out->end(), bytes.begin(), bytes.end());
}

void PutZeros(Bytes* out, size_t count) { out->insert(out->end(), count, 0); }

Box::Box(Bytes* out, std::string_view type) : out_(out), start_(out->size()) {
  assert(type.size() == 4);
  PutZeros(out, 4);
  PutText(out, type);
}

Box::Box(Bytes* out, std::string_view type, uint8_t version, uint32_t flags)
    : Box(out, type) {
  PutBig(out, uint64_t{version} << 24 | flags, 4);
}

Box::~Box() {
  const size_t size = out_->size() - start_;
  assert(size <= kMax32);
  for (size_t i = 0; i < 4; ++i) {
    (*out_)[start_ + i] = static_cast<uint8_t>(size >> (24 - 8 * i));
  }
}

Bytes EncodeMp4Head(const Mp4Movie& movie, uint64_t payload_size) {
  Bytes head = EncodeHead(movie, payload_size, 0, false);
  // The head's own length is what the offsets start from. It does not depend
  // on them, only on their width, so the second pass has the same length.
  const bool wide = head.size() + payload_size > kMax32;
  if (wide) head = EncodeHead(movie, payload_size, 0, true);
  return EncodeHead(movie, payload_size, head.size(), wide);
}

}  // namespace rowfs::plugin
