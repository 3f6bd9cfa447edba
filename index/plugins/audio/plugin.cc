// The C entry point of the audio plugin: every call is turned into C++, and
// nothing thrown leaves it.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "index/abi/rowfs_plugin.h"
#include "index/plugins/audio/info_json.h"
#include "index/plugins/audio/ingest.h"
#include "index/plugins/audio/probe.h"
#include "index/plugins/audio/sound_config.h"
#include "index/plugins/audio/sound_decoder.h"
#include "index/plugins/audio/sound_file.h"
#include "index/plugins/audio/views.h"
#include "index/plugins/audio/waveform.h"
#include "index/plugins/audio/window_file.h"
#include "index/plugins/common/emit.h"
#include "index/plugins/common/entry_point.h"
#include "index/plugins/common/libav.h"

using rowfs::plugin::ByteRange;
using rowfs::plugin::ByteReader;
using rowfs::plugin::Bytes;
using rowfs::plugin::ByteSpan;
using rowfs::plugin::ByteWriter;
using rowfs::plugin::FromStr;
using rowfs::plugin::Guarded;
using rowfs::plugin::Invalid;
using rowfs::plugin::NeedEntries;
using rowfs::plugin::Result;
using rowfs::plugin::SampleType;
using rowfs::plugin::SoundIndex;
using rowfs::plugin::SoundItem;
using rowfs::plugin::SoundPiece;
using rowfs::plugin::SoundViews;
using rowfs::plugin::Status;
using rowfs::plugin::Stopped;
using rowfs::plugin::ToSpan;
using rowfs::plugin::Window;

// An index opened with its head alone has no `index` and no `views`.
struct rowfs_index {
  rowfs::plugin::SoundHead head;
  std::optional<SoundIndex> index;
  std::optional<SoundViews> views;
  std::string info;  // made before the configuration changes anything
};

namespace {

int32_t WarmUp(rowfs_error* error) {
  return Guarded(error, []() -> Status {
    rowfs::plugin::SilenceLibav();
    // Opening and closing decoders fills their static tables.
    for (const char* codec :
         {"flac", "mp3", "aac", "opus", "vorbis", "ac3", "alac"}) {
      SoundIndex index;
      index.codec = codec;
      index.head.sample_rate = 48000;
      index.head.channels = 2;
      (void)rowfs::plugin::SoundDecoder::Open(index);
    }
    return {};
  });
}

int32_t Probe(rowfs_bytes head, rowfs_str file_name) {
  return rowfs::plugin::ProbeSound(ToSpan(head), FromStr(file_name));
}

int32_t Ingest(const rowfs_ingest_request* request, rowfs_ingest_result* result,
               rowfs_error* error) {
  return Guarded(error, [&]() -> Status {
    rowfs::plugin::SilenceLibav();
    result->blob_type = 2;
    return rowfs::plugin::IngestSound(*request);
  });
}

int32_t Open(rowfs_bytes stream_info, rowfs_bytes entries, uint64_t blob_size,
             rowfs_str config_text, rowfs_index** out, rowfs_error* error) {
  *out = nullptr;
  return Guarded(error, [&]() -> Status {
    rowfs::plugin::SilenceLibav();
    auto opened = std::make_unique<rowfs_index>();
    PLUGIN_ASSIGN_OR_RETURN(
        const auto config,
        rowfs::plugin::ParseSoundConfig(FromStr(config_text), false));
    if (entries.data == nullptr) {
      PLUGIN_ASSIGN_OR_RETURN(
          opened->head, rowfs::plugin::ParseSoundHead(ToSpan(stream_info)));
      if (opened->head.blob_size != blob_size) {
        return rowfs::plugin::Corrupt(
            "the blob does not have the size its index says");
      }
    } else {
      PLUGIN_ASSIGN_OR_RETURN(
          opened->index, rowfs::plugin::ParseSoundIndex(
                             ToSpan(stream_info), ToSpan(entries), blob_size));
      opened->head = opened->index->head;
      opened->info = rowfs::plugin::SoundInfoJson(*opened->index);
      opened->index->head.type = config.type.value_or(opened->head.type);
      opened->views.emplace(*opened->index, config.segment_ns.value_or(
                                                opened->index->segment_ns));
    }
    *out = opened.release();
    return {};
  });
}

void Close(rowfs_index* index) { delete index; }

// ---- plan -----------------------------------------------------------------

Result<std::vector<SoundPiece>> PlanFile(const rowfs_index& opened,
                                         const SoundItem& item) {
  const SoundIndex& index = *opened.index;
  const rowfs::plugin::SoundHead& head = opened.head;
  switch (item.kind) {
    case SoundItem::Kind::kWhole:
      return rowfs::plugin::PlanSoundFile(index);
    case SoundItem::Kind::kInfo:
      return std::vector<SoundPiece>{
          {Bytes(opened.info.begin(), opened.info.end()), 0, 0}};
    case SoundItem::Kind::kCover:
      return std::vector<SoundPiece>{
          {{}, head.cover_offset, head.cover_offset + head.cover_size}};
    case SoundItem::Kind::kOriginal:
      return std::vector<SoundPiece>{{{}, 0, head.original_size}};
    case SoundItem::Kind::kWindow: {
      const ByteRange range = WindowRanges(index, item.window).front();
      std::vector<SoundPiece> pieces = {
          {rowfs::plugin::WindowHeader(index, item.window), 0, 0},
          {{}, range.begin, range.end}};
      if (NeedsPadding(index, item.window)) pieces.push_back({Bytes{0}, 0, 0});
      return pieces;
    }
    case SoundItem::Kind::kWaveform:
      return std::vector<SoundPiece>{
          {rowfs::plugin::DrawWaveform(index.envelope, item.format), 0, 0}};
    case SoundItem::Kind::kDirectory:
      break;
  }
  return Invalid("a folder has no content");
}

Status EmitFile(const std::vector<SoundPiece>& pieces, size_t item,
                const rowfs_plan_sink& out) {
  std::vector<rowfs_segment> segments;
  for (const SoundPiece& piece : pieces) {
    rowfs_segment s = {};
    if (!piece.literal.empty()) {
      s.literal = {piece.literal.data(), piece.literal.size()};
    } else {
      s.range = {piece.begin, piece.end};
    }
    segments.push_back(s);
  }
  const int32_t code =
      out.segments(out.ctx, item, segments.data(), segments.size());
  return Stopped(code);
}

// What a recipe asks for.
enum : uint8_t { kWindowRecipe = 0, kWaveformRecipe = 1 };

Status EmitDecode(const std::vector<ByteRange>& wanted, size_t item,
                  const ByteWriter& recipe, const rowfs_plan_sink& out) {
  std::vector<rowfs_range> ranges;
  for (const ByteRange& r : wanted) ranges.push_back({r.begin, r.end});
  const int32_t code =
      out.decode(out.ctx, &item, 1, ranges.data(), ranges.size(),
                 {recipe.bytes().data(), recipe.size()});
  return Stopped(code);
}

Status EmitWindow(const SoundIndex& index, const Window& window, size_t item,
                  const rowfs_plan_sink& out) {
  PLUGIN_RETURN_IF_ERROR(CheckWindow(index, window));
  ByteWriter recipe;
  recipe.U8(kWindowRecipe);
  WriteWindow(window, &recipe);
  return EmitDecode(WindowRanges(index, window), item, recipe, out);
}

// The ranges of all windows of a waveform, joined where they meet.
std::vector<ByteRange> WaveformRanges(const SoundIndex& index) {
  std::vector<ByteRange> all;
  for (const Window& window : rowfs::plugin::WaveformWindows(index)) {
    for (const ByteRange& range : WindowRanges(index, window)) {
      if (!all.empty() && range.begin <= all.back().end) {
        all.back().begin = std::min(all.back().begin, range.begin);
        all.back().end = std::max(all.back().end, range.end);
      } else {
        all.push_back(range);
      }
    }
  }
  return all;
}

int32_t Plan(rowfs_index* index, const rowfs_str* paths, size_t path_count,
             const rowfs_plan_sink* out, rowfs_error* error) {
  return Guarded(error, [&]() -> Status {
    if (!index->views) return NeedEntries();
    for (size_t i = 0; i < path_count; ++i) {
      PLUGIN_ASSIGN_OR_RETURN(const SoundItem item,
                              index->views->Resolve(FromStr(paths[i])));
      if (item.kind == SoundItem::Kind::kWindow &&
          !NeedsNoDecoder(*index->index)) {
        PLUGIN_RETURN_IF_ERROR(EmitWindow(*index->index, item.window, i, *out));
        continue;
      }
      if (item.kind == SoundItem::Kind::kWaveform &&
          index->index->envelope.empty()) {
        ByteWriter recipe;
        recipe.U8(kWaveformRecipe);
        recipe.U8(static_cast<uint8_t>(item.format));
        PLUGIN_RETURN_IF_ERROR(
            EmitDecode(WaveformRanges(*index->index), i, recipe, *out));
        continue;
      }
      PLUGIN_ASSIGN_OR_RETURN(const auto pieces, PlanFile(*index, item));
      PLUGIN_RETURN_IF_ERROR(EmitFile(pieces, i, *out));
    }
    return {};
  });
}

// ---- decode ---------------------------------------------------------------

Result<Bytes> MakeWaveform(const SoundIndex& index, ByteReader* recipe,
                           const std::vector<ByteSpan>& bytes) {
  const uint8_t format = recipe->U8();
  if (!recipe->ok() || format > 1) return Invalid("the recipe is damaged");
  const std::vector<ByteRange> ranges = WaveformRanges(index);
  std::vector<rowfs::plugin::Peaks> parts;
  SoundIndex narrow = index;
  narrow.head.type = SampleType::kS16;
  for (const Window& window : rowfs::plugin::WaveformWindows(index)) {
    Bytes samples;
    PLUGIN_RETURN_IF_ERROR(
        DecodeSamples(narrow, window, ranges, bytes, &samples));
    rowfs::plugin::Peaks peaks = rowfs::plugin::kNoPeaks;
    for (size_t i = 0; i + 1 < samples.size(); i += 2) {
      const auto v = static_cast<int16_t>(samples[i] | samples[i + 1] << 8);
      peaks.first = std::min(peaks.first, v);
      peaks.second = std::max(peaks.second, v);
    }
    parts.push_back(peaks);
  }
  return rowfs::plugin::DrawWaveform(
      parts, static_cast<rowfs::plugin::WaveformFormat>(format));
}

int32_t Decode(rowfs_index* index, rowfs_bytes recipe_bytes,
               const rowfs_bytes* ranges, size_t range_count,
               const rowfs_output_sink* out, rowfs_error* error) {
  return Guarded(error, [&]() -> Status {
    if (!index->views) return NeedEntries();
    std::vector<ByteSpan> bytes;
    for (size_t i = 0; i < range_count; ++i) bytes.push_back(ToSpan(ranges[i]));
    ByteReader recipe(ToSpan(recipe_bytes));
    const bool waveform = recipe.U8() == kWaveformRecipe;
    PLUGIN_ASSIGN_OR_RETURN(
        const Bytes file, waveform
                              ? MakeWaveform(*index->index, &recipe, bytes)
                              : MakeWindowFile(*index->index, &recipe, bytes));
    const int32_t code = out->write(out->ctx, 0, file.data(), file.size());
    return Stopped(code);
  });
}

// Plugin release, then the libraries whose output ends in files.
const char* Version() {
  static const std::string version =
      "1 lavc" + std::to_string(avcodec_version()) + " lavf" +
      std::to_string(avformat_version());
  return version.c_str();
}

// MP4, Matroska and their like are taken for videos.
bool IsSoundName(std::string_view name) {
  for (const char* extension :
       {".wav", ".mp3", ".mp2",  ".flac", ".ogg",  ".oga", ".opus", ".m4a",
        ".m4b", ".aac", ".ac3",  ".aif",  ".aiff", ".caf", ".mka",  ".au",
        ".wv",  ".dts", ".latm", ".tta",  ".w64",  ".amr", ".ape"}) {
    if (name.ends_with(extension)) return true;
  }
  return false;
}

int32_t Foresee(rowfs_str file_name, const rowfs_entry_sink* out,
                rowfs_error* error) {
  return Guarded(error, [&]() -> Status {
    if (!IsSoundName(FromStr(file_name))) return {};
    rowfs::plugin::SoundHead head;
    head.stored = false;
    for (const auto& entry : SoundViews::ListTop(head)) {
      PLUGIN_RETURN_IF_ERROR(rowfs::plugin::Emit(entry, *out));
    }
    return {};
  });
}

}  // namespace

extern "C" const rowfs_plugin* rowfs_plugin_entry(void) {
  static const rowfs_plugin plugin = {ROWFS_PLUGIN_ABI_VERSION,
                                      sizeof(rowfs_plugin),
                                      "audio",
                                      Version(),
                                      {'R', 'A', 'U', '1'},
                                      WarmUp,
                                      Probe,
                                      Ingest,
                                      Open,
                                      Close,
                                      rowfs::plugin::ListViews<rowfs_index>,
                                      rowfs::plugin::LookupView<rowfs_index>,
                                      rowfs::plugin::SelectViews<rowfs_index>,
                                      Plan,
                                      Decode,
                                      Foresee};
  return &plugin;
}
