// The C entry point of the video plugin: every call is turned into C++, and
// nothing thrown leaves it.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "index/abi/rowfs_plugin.h"
#include "index/plugins/audio/window_file.h"
#include "index/plugins/common/emit.h"
#include "index/plugins/common/entry_point.h"
#include "index/plugins/common/libav.h"
#include "index/plugins/video/container.h"
#include "index/plugins/video/frame_writer.h"
#include "index/plugins/video/ingest.h"
#include "index/plugins/video/pes.h"
#include "index/plugins/video/planner.h"
#include "index/plugins/video/probe.h"
#include "index/plugins/video/render.h"
#include "index/plugins/video/session.h"
#include "index/plugins/video/views.h"

using rowfs::plugin::BlobRange;
using rowfs::plugin::ByteReader;
using rowfs::plugin::Bytes;
using rowfs::plugin::ByteSpan;
using rowfs::plugin::ByteWriter;
using rowfs::plugin::Corrupt;
using rowfs::plugin::FilePlan;
using rowfs::plugin::FromStr;
using rowfs::plugin::Guarded;
using rowfs::plugin::ImageFormat;
using rowfs::plugin::Invalid;
using rowfs::plugin::MediaIndex;
using rowfs::plugin::NeedEntries;
using rowfs::plugin::Packet;
using rowfs::plugin::PlannedDecode;
using rowfs::plugin::Result;
using rowfs::plugin::SoundIndex;
using rowfs::plugin::Status;
using rowfs::plugin::Stopped;
using rowfs::plugin::ToSpan;
using rowfs::plugin::ViewItem;
using rowfs::plugin::Views;

// An index opened with its head alone has no `index`, `views`, `session`.
struct rowfs_index {
  rowfs::plugin::IndexHead head;
  rowfs::plugin::ViewConfig config;
  std::optional<MediaIndex> index;
  std::optional<Views> views;
  std::optional<rowfs::plugin::DecodeSession> session;
  rowfs::plugin::FrameWriter::Renderers renderers;
};

namespace {

int32_t WarmUp(rowfs_error* error) {
  return Guarded(error, []() -> Status {
    rowfs::plugin::SilenceLibav();
    // Opening and closing decoders fills their static tables.
    for (const char* codec : {"h264", "hevc", "vp8", "vp9", "av1", "mpeg4",
                              "mpeg2video", "mjpeg", "prores", "ffv1"}) {
      rowfs::plugin::Stream stream;
      stream.codec = codec;
      stream.width = stream.height = 16;
      (void)rowfs::plugin::VideoDecoder::OpenPlanned(stream, 0);
    }
    return {};
  });
}

int32_t Probe(rowfs_bytes head, rowfs_str file_name) {
  return rowfs::plugin::ProbeVideo(ToSpan(head), FromStr(file_name));
}

int32_t Ingest(const rowfs_ingest_request* request, rowfs_ingest_result* result,
               rowfs_error* error) {
  return Guarded(error, [&]() -> Status {
    rowfs::plugin::SilenceLibav();
    auto config = rowfs::plugin::ParseViewConfig(FromStr(request->config));
    if (!config.ok()) return config.status();
    result->blob_type = 1;
    return rowfs::plugin::IngestVideo(*request);
  });
}

int32_t Open(rowfs_bytes stream_info, rowfs_bytes entries, uint64_t blob_size,
             rowfs_str config, rowfs_index** out, rowfs_error* error) {
  *out = nullptr;
  return Guarded(error, [&]() -> Status {
    rowfs::plugin::SilenceLibav();
    auto opened = std::make_unique<rowfs_index>();
    PLUGIN_ASSIGN_OR_RETURN(opened->config,
                            rowfs::plugin::ParseViewConfig(FromStr(config)));
    if (entries.data == nullptr) {
      PLUGIN_ASSIGN_OR_RETURN(opened->head,
                              rowfs::plugin::ParseHead(ToSpan(stream_info)));
      if (opened->head.blob_size != blob_size) {
        return Corrupt("the blob does not have the size its index says");
      }
    } else {
      PLUGIN_ASSIGN_OR_RETURN(
          opened->index, rowfs::plugin::ParseIndex(ToSpan(stream_info),
                                                   ToSpan(entries), blob_size));
      opened->head = opened->index->head;
      if (opened->index->sound && opened->config.sample) {
        opened->index->sound->index.head.type = *opened->config.sample;
      }
      opened->views.emplace(*opened->index, opened->config);
      opened->session.emplace(*opened->index);
    }
    *out = opened.release();
    return {};
  });
}

void Close(rowfs_index* index) { delete index; }

// ---- plan -----------------------------------------------------------------

Status EmitFile(const FilePlan& file, size_t item, const rowfs_plan_sink& out) {
  std::vector<rowfs_segment> segments;
  for (const rowfs::plugin::FilePiece& piece : file.pieces) {
    rowfs_segment s = {};
    if (!piece.literal.empty()) {
      s.literal = {piece.literal.data(), piece.literal.size()};
    } else {
      s.range = {piece.range.begin, piece.range.end};
    }
    segments.push_back(s);
  }
  const int32_t code =
      out.segments(out.ctx, item, segments.data(), segments.size());
  return Stopped(code);
}

FilePlan CoverFile(const MediaIndex& index) {
  const int cover = index.FirstStream(rowfs::plugin::StreamKind::kPicture);
  FilePlan file;
  if (cover >= 0) {
    const Packet& p = index.streams[static_cast<size_t>(cover)].packets.at(0);
    file.pieces.push_back({{}, {p.offset, p.offset + p.size}});
  }
  return file;
}

Result<FilePlan> PlanFile(const MediaIndex& index, const ViewItem& item) {
  switch (item.kind) {
    case ViewItem::Kind::kWhole:
      return rowfs::plugin::PlanWhole(index);
    case ViewItem::Kind::kGop:
      return rowfs::plugin::PlanGop(index, item.number);
    case ViewItem::Kind::kClip:
      return rowfs::plugin::PlanClip(index, item.from, item.to);
    case ViewItem::Kind::kOriginal:
      return rowfs::plugin::PlanOriginal(index);
    case ViewItem::Kind::kCover:
      return CoverFile(index);
    case ViewItem::Kind::kInfo: {
      const std::string text = rowfs::plugin::InfoJson(index);
      FilePlan file;
      file.pieces.push_back({Bytes(text.begin(), text.end()), {}});
      return file;
    }
    case ViewItem::Kind::kDirectory:
    case ViewItem::Kind::kFrame:
    case ViewItem::Kind::kSound:
      break;
  }
  return Invalid("a folder has no content");
}

// The first byte of a recipe.
enum : uint8_t { kFramesRecipe = 0, kSoundRecipe = 1 };

// The recipe of a decode: where it starts, then frame and format of each item.
Bytes EncodeRecipe(const PlannedDecode& decode,
                   const std::vector<ImageFormat>& formats) {
  ByteWriter out;
  out.U8(kFramesRecipe);
  out.Varint(decode.start);
  out.Varint(decode.frames.size());
  for (size_t i = 0; i < decode.frames.size(); ++i) {
    out.Varint(decode.frames[i]);
    out.U8(static_cast<uint8_t>(formats[i]));
  }
  return std::move(out.bytes());
}

struct FrameRequest {
  size_t item;
  ImageFormat format;
};

Status EmitDecodes(const MediaIndex& index,
                   const std::multimap<uint32_t, FrameRequest>& wanted,
                   const rowfs_plan_sink& out) {
  std::vector<uint32_t> frames;
  for (const auto& [frame, request] : wanted) {
    if (frames.empty() || frames.back() != frame) frames.push_back(frame);
  }
  for (PlannedDecode& decode : rowfs::plugin::PlanFrames(index, frames)) {
    PlannedDecode expanded{decode.start, {}, {}};
    std::vector<size_t> items;
    std::vector<ImageFormat> formats;
    for (uint32_t frame : decode.frames) {
      const auto [begin, end] = wanted.equal_range(frame);
      for (auto at = begin; at != end; ++at) {
        expanded.frames.push_back(frame);
        items.push_back(at->second.item);
        formats.push_back(at->second.format);
      }
    }
    std::vector<rowfs_range> ranges;
    for (const auto& r : decode.ranges) ranges.push_back({r.begin, r.end});
    const Bytes recipe = EncodeRecipe(expanded, formats);
    const int32_t code =
        out.decode(out.ctx, items.data(), items.size(), ranges.data(),
                   ranges.size(), {recipe.data(), recipe.size()});
    if (code != ROWFS_OK) return Status(code, "the host stopped");
  }
  return {};
}

Status EmitSound(const SoundIndex& sound, const rowfs::plugin::Window& window,
                 size_t item, const rowfs_plan_sink& out) {
  PLUGIN_RETURN_IF_ERROR(CheckWindow(sound, window));
  ByteWriter recipe;
  recipe.U8(kSoundRecipe);
  WriteWindow(window, &recipe);
  std::vector<rowfs_range> ranges;
  for (const auto& r : WindowRanges(sound, window)) {
    ranges.push_back({r.begin, r.end});
  }
  const int32_t code =
      out.decode(out.ctx, &item, 1, ranges.data(), ranges.size(),
                 {recipe.bytes().data(), recipe.size()});
  return Stopped(code);
}

int32_t Plan(rowfs_index* index, const rowfs_str* paths, size_t path_count,
             const rowfs_plan_sink* out, rowfs_error* error) {
  return Guarded(error, [&]() -> Status {
    if (!index->views) return NeedEntries();
    std::multimap<uint32_t, FrameRequest> frames;
    for (size_t i = 0; i < path_count; ++i) {
      PLUGIN_ASSIGN_OR_RETURN(const ViewItem item,
                              index->views->Resolve(FromStr(paths[i])));
      if (item.kind == ViewItem::Kind::kFrame) {
        frames.insert({item.number, {i, item.format}});
        continue;
      }
      if (item.kind == ViewItem::Kind::kSound) {
        PLUGIN_RETURN_IF_ERROR(
            EmitSound(index->index->sound->index, item.window, i, *out));
        continue;
      }
      PLUGIN_ASSIGN_OR_RETURN(const FilePlan file,
                              PlanFile(*index->index, item));
      PLUGIN_RETURN_IF_ERROR(EmitFile(file, i, *out));
    }
    return EmitDecodes(*index->index, frames, *out);
  });
}

// ---- decode ---------------------------------------------------------------

struct Recipe {
  uint32_t start = 0;
  std::multimap<uint32_t, FrameRequest> items;  // by packet
  std::map<uint32_t, uint32_t> frame_of;        // packet -> frame
};

Result<Recipe> ParseRecipe(const MediaIndex& index, ByteSpan bytes) {
  ByteReader in(bytes);
  Recipe recipe;
  if (in.U8() != kFramesRecipe) return Invalid("the recipe is damaged");
  recipe.start = in.Varint32();
  const uint64_t count = in.Varint(bytes.size());
  for (uint64_t i = 0; i < count && in.ok(); ++i) {
    const uint32_t frame = in.Varint32();
    const uint8_t format = in.U8();
    if (!in.ok() || frame >= index.shown.size() ||
        format >= rowfs::plugin::kImageFormats.size() ||
        index.shown[frame] < recipe.start) {
      return Invalid("the recipe does not belong to this index");
    }
    const uint32_t ordinal = index.shown[frame];
    recipe.items.insert(
        {ordinal, {static_cast<size_t>(i), static_cast<ImageFormat>(format)}});
    recipe.frame_of[ordinal] = frame;
  }
  if (!in.ok() || in.remaining() != 0 || count == 0) {
    return Invalid("the recipe is damaged");
  }
  return recipe;
}

// The bytes of packet `ordinal` among the planned ranges, which were read;
// `gathered` holds them when they lie in pieces.
Result<ByteSpan> FindPacket(const MediaIndex& index, uint32_t ordinal,
                            const std::vector<BlobRange>& plan,
                            std::span<const rowfs_bytes> ranges,
                            Bytes* gathered) {
  const BlobRange packet = index.RangeOf(ordinal);
  for (size_t i = 0; i < plan.size() && i < ranges.size(); ++i) {
    const BlobRange& r = plan[i];
    if (packet.begin < r.begin || packet.end > r.end) continue;
    if (ranges[i].size != r.size()) break;
    const ByteSpan bytes =
        ToSpan(ranges[i]).subspan(static_cast<size_t>(packet.begin - r.begin),
                                  static_cast<size_t>(packet.size()));
    const rowfs::plugin::Stream& video = index.video();
    if (video.pes.kind == rowfs::plugin::PesKind::kNone) return bytes;
    *gathered = rowfs::plugin::GatherPacket(video.pes, bytes,
                                            video.scattered[ordinal].skip,
                                            video.packets[ordinal].size);
    if (gathered->empty()) return Corrupt("the multiplex has changed");
    return ByteSpan(*gathered);
  }
  return Invalid("the bytes given are not those of the plan");
}

class DecodeCall {
 public:
  DecodeCall(rowfs_index* index, const rowfs_output_sink& out)
      : index_(index), writer_(&index->renderers, out) {}

  Status Run(ByteSpan recipe_bytes, const rowfs_bytes* ranges,
             size_t range_count) {
    const MediaIndex& index = *index_->index;
    PLUGIN_ASSIGN_OR_RETURN(recipe_, ParseRecipe(index, recipe_bytes));
    std::vector<uint32_t> targets;
    for (const auto& [ordinal, frame] : recipe_.frame_of) {
      targets.push_back(ordinal);
    }
    const auto plan =
        rowfs::plugin::PlanRanges(index, recipe_.start, targets.back());
    PLUGIN_RETURN_IF_ERROR(index_->session->Run(
        recipe_.start, targets,
        [&](uint32_t ordinal) {
          return FindPacket(index, ordinal, plan, {ranges, range_count},
                            &gathered_);
        },
        [this](uint32_t ordinal, const AVFrame& frame) {
          return Give(ordinal, frame);
        }));
    for (const auto& [ordinal, request] : recipe_.items) {
      writer_.Fail(request.item, Corrupt("the frame does not decode"));
    }
    return writer_.Finish();
  }

 private:
  Status Give(uint32_t ordinal, const AVFrame& frame) {
    const MediaIndex& index = *index_->index;
    const auto [begin, end] = recipe_.items.equal_range(ordinal);
    for (auto at = begin; at != end; ++at) {
      PLUGIN_RETURN_IF_ERROR(writer_.Add(
          at->second.item, {rowfs::plugin::ShareFrame(frame), &index.video(),
                            index.ShapeOf(recipe_.frame_of[ordinal]),
                            at->second.format, index_->config.options}));
    }
    recipe_.items.erase(begin, end);
    return {};
  }

  rowfs_index* index_;
  rowfs::plugin::FrameWriter writer_;
  Recipe recipe_;
  Bytes gathered_;
};

Status DecodeSound(const MediaIndex& index, ByteReader* recipe,
                   std::span<const rowfs_bytes> ranges,
                   const rowfs_output_sink& out) {
  if (!index.sound) return Invalid("the recipe does not belong to this index");
  std::vector<ByteSpan> bytes;
  for (const rowfs_bytes& range : ranges) bytes.push_back(ToSpan(range));
  PLUGIN_ASSIGN_OR_RETURN(const Bytes file,
                          MakeWindowFile(index.sound->index, recipe, bytes));
  return Stopped(out.write(out.ctx, 0, file.data(), file.size()));
}

int32_t Decode(rowfs_index* index, rowfs_bytes recipe,
               const rowfs_bytes* ranges, size_t range_count,
               const rowfs_output_sink* out, rowfs_error* error) {
  return Guarded(error, [&]() -> Status {
    if (!index->session) return NeedEntries();
    ByteReader kind(ToSpan(recipe));
    if (kind.U8() == kSoundRecipe) {
      return DecodeSound(*index->index, &kind, {ranges, range_count}, *out);
    }
    return DecodeCall(index, *out).Run(ToSpan(recipe), ranges, range_count);
  });
}

int32_t Foresee(rowfs_str file_name, const rowfs_entry_sink* out,
                rowfs_error* error) {
  return Guarded(error, [&]() -> Status {
    if (!rowfs::plugin::IsVideoName(FromStr(file_name))) return {};
    rowfs::plugin::IndexHead head;
    head.layout = rowfs::plugin::Layout::kContainer;
    head.file_type = rowfs::plugin::FileType::kMp4;
    head.has_sound = true;
    for (const rowfs::plugin::Entry& entry : Views::ListTop(head)) {
      PLUGIN_RETURN_IF_ERROR(rowfs::plugin::Emit(entry, *out));
    }
    return {};
  });
}

// Plugin release, then the libraries whose output ends in files.
const char* Version() {
  static const std::string version =
      "4 lavc" + std::to_string(avcodec_version()) + " lavf" +
      std::to_string(avformat_version());
  return version.c_str();
}

}  // namespace

extern "C" const rowfs_plugin* rowfs_plugin_entry(void) {
  static const rowfs_plugin plugin = {ROWFS_PLUGIN_ABI_VERSION,
                                      sizeof(rowfs_plugin),
                                      "video",
                                      Version(),
                                      {'R', 'V', 'I', '1'},
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
