// The C entry point of the image plugin: every call is turned into C++, and
// nothing thrown leaves it.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "index/abi/rowfs_plugin.h"
#include "index/plugins/common/emit.h"
#include "index/plugins/common/entry_point.h"
#include "index/plugins/image/composer.h"
#include "index/plugins/image/formats.h"
#include "index/plugins/image/ingest.h"
#include "index/plugins/image/plan.h"
#include "index/plugins/image/probe.h"
#include "index/plugins/image/views.h"

using rowfs::plugin::BlobPiece;
using rowfs::plugin::ByteReader;
using rowfs::plugin::Bytes;
using rowfs::plugin::ByteSpan;
using rowfs::plugin::ByteWriter;
using rowfs::plugin::Composer;
using rowfs::plugin::Corrupt;
using rowfs::plugin::FromStr;
using rowfs::plugin::Guarded;
using rowfs::plugin::ImageHead;
using rowfs::plugin::ImageIndex;
using rowfs::plugin::ImageItem;
using rowfs::plugin::ImageViews;
using rowfs::plugin::Invalid;
using rowfs::plugin::NeedEntries;
using rowfs::plugin::ReadRanges;
using rowfs::plugin::Result;
using rowfs::plugin::Status;
using rowfs::plugin::Stopped;
using rowfs::plugin::StoredRaster;
using rowfs::plugin::ToSpan;

// With entries: `index` and `views`. With a prefix of stream_info: `head`.
struct rowfs_index {
  ImageHead head;
  rowfs::plugin::ImageConfig config;
  std::optional<ImageIndex> index;
  std::optional<ImageViews> views;
  Composer composer;
};

namespace {

using Kind = ImageItem::Kind;

int32_t WarmUp(rowfs_error* error) {
  return Guarded(error,
                 []() -> Status { return rowfs::plugin::WarmUpCodecs(); });
}

int32_t Probe(rowfs_bytes head, rowfs_str) {
  return rowfs::plugin::ProbeImage(ToSpan(head));
}

int32_t Ingest(const rowfs_ingest_request* request, rowfs_ingest_result* result,
               rowfs_error* error) {
  return Guarded(error, [&]() -> Status {
    const auto config =
        rowfs::plugin::ParseImageConfig(FromStr(request->config));
    if (!config.ok()) return config.status();
    result->blob_type = 3;
    return rowfs::plugin::IngestImage(*request);
  });
}

int32_t Open(rowfs_bytes stream_info, rowfs_bytes entries, uint64_t blob_size,
             rowfs_str config, rowfs_index** out, rowfs_error* error) {
  *out = nullptr;
  return Guarded(error, [&]() -> Status {
    auto opened = std::make_unique<rowfs_index>();
    PLUGIN_ASSIGN_OR_RETURN(opened->config,
                            rowfs::plugin::ParseImageConfig(FromStr(config)));
    if (entries.data == nullptr) {
      PLUGIN_ASSIGN_OR_RETURN(
          opened->head, rowfs::plugin::ParseImageHead(ToSpan(stream_info)));
      if (opened->head.blob_size != blob_size) {
        return Corrupt("the blob does not have the size its index says");
      }
    } else {
      PLUGIN_ASSIGN_OR_RETURN(
          opened->index, rowfs::plugin::ParseImageIndex(
                             ToSpan(stream_info), ToSpan(entries), blob_size));
      opened->head = opened->index->head;
      opened->views.emplace(*opened->index, opened->config);
    }
    *out = opened.release();
    return {};
  });
}

void Close(rowfs_index* index) { delete index; }

// ---- plan -----------------------------------------------------------------

// Literal bytes, then a range of the blob; either may be empty.
Status EmitPieces(size_t item, ByteSpan literal, const BlobPiece& piece,
                  const rowfs_plan_sink& out) {
  std::vector<rowfs_segment> segments;
  if (!literal.empty()) {
    rowfs_segment s = {};
    s.literal = {literal.data(), literal.size()};
    segments.push_back(s);
  }
  if (piece.size != 0) {
    rowfs_segment s = {};
    s.range = {piece.offset, piece.end()};
    segments.push_back(s);
  }
  return Stopped(out.segments(out.ctx, item, segments.data(), segments.size()));
}

Status EmitFile(const ImageIndex& index, const ImageItem& item, size_t number,
                const rowfs_plan_sink& out) {
  const ImageHead& head = index.head;
  switch (item.kind) {
    case Kind::kInfo: {
      const std::string text = rowfs::plugin::ImageInfoJson(index);
      return EmitPieces(number, rowfs::plugin::AsBytes(text), {}, out);
    }
    case Kind::kPageInfo: {
      const std::string text = rowfs::plugin::PageInfoJson(index, item.number);
      return EmitPieces(number, rowfs::plugin::AsBytes(text), {}, out);
    }
    case Kind::kWhole:
      return EmitPieces(number, {}, {0, head.whole_size}, out);
    case Kind::kOriginal:
      return EmitPieces(number, {}, {head.original_offset, head.original_size},
                        out);
    case Kind::kTile: {
      const StoredRaster& r = index.rasters[item.number];
      BlobPiece piece = r.pieces[size_t{item.y} * r.cells_across() + item.x];
      if (!r.tile_head.empty()) {
        piece.offset += 2;
        piece.size -= 2;
      }
      return EmitPieces(number, r.tile_head, piece, out);
    }
    case Kind::kDirectory:
    case Kind::kPicture:
    case Kind::kFrame:
      break;
  }
  return Invalid("a folder has no content");
}

// One decode: its items, by their paths.
struct Group {
  std::vector<size_t> items;
  std::vector<BlobPiece> pieces;
  ByteWriter recipe;

  void Add(size_t item, rowfs_str path,
           const std::vector<rowfs_range>& ranges) {
    items.push_back(item);
    recipe.Block(rowfs::plugin::AsBytes(FromStr(path)));
    for (const rowfs_range& r : ranges) {
      pieces.push_back({r.begin, r.end - r.begin});
    }
  }
  Status Emit(const rowfs_plan_sink& out) const {
    const auto ranges = rowfs::plugin::CoverPieces(pieces);
    return Stopped(out.decode(out.ctx, items.data(), items.size(),
                              ranges.data(), ranges.size(),
                              {recipe.bytes().data(), recipe.size()}));
  }
};

int32_t Plan(rowfs_index* index, const rowfs_str* paths, size_t path_count,
             const rowfs_plan_sink* out, rowfs_error* error) {
  return Guarded(error, [&]() -> Status {
    if (!index->views) return NeedEntries();
    const ImageIndex& media = *index->index;
    Group frames;  // one after the other on one canvas
    for (size_t i = 0; i < path_count; ++i) {
      PLUGIN_ASSIGN_OR_RETURN(const ImageItem item,
                              index->views->Resolve(FromStr(paths[i])));
      const bool decoded = item.kind == Kind::kPicture ||
                           item.kind == Kind::kFrame ||
                           (item.kind == Kind::kTile && !item.stored_tile);
      if (!decoded) {
        PLUGIN_RETURN_IF_ERROR(EmitFile(media, item, i, *out));
        continue;
      }
      const auto ranges = rowfs::plugin::RangesOf(media, item);
      if (item.kind == Kind::kFrame) {
        frames.Add(i, paths[i], ranges);
        continue;
      }
      Group group;
      group.Add(i, paths[i], ranges);
      PLUGIN_RETURN_IF_ERROR(group.Emit(*out));
    }
    return frames.items.empty() ? Status() : frames.Emit(*out);
  });
}

// ---- decode ---------------------------------------------------------------

Status WriteOutput(size_t item, const Result<Bytes>& file,
                   const rowfs_output_sink& out) {
  if (!file.ok()) {
    // Whatever the reason, the picture cannot be shown: an input/output error
    // for who reads it.
    return Stopped(out.fail(out.ctx, item, ROWFS_E_CORRUPT,
                            rowfs::plugin::ToStr(file.status().message())));
  }
  const Bytes& bytes = file.value();
  return Stopped(out.write(out.ctx, item, bytes.data(), bytes.size()));
}

Result<Bytes> MakeGuarded(rowfs_index* index, const ImageItem& item,
                          const ReadRanges& read) {
  try {
    return rowfs::plugin::MakePicture(
        *index->index, item, index->config.options, read, &index->composer);
  } catch (const std::bad_alloc&) {
    index->composer = Composer();
    return rowfs::plugin::Limit("the picture needs too much memory");
  }
}

int32_t Decode(rowfs_index* index, rowfs_bytes recipe,
               const rowfs_bytes* ranges, size_t range_count,
               const rowfs_output_sink* out, rowfs_error* error) {
  return Guarded(error, [&]() -> Status {
    if (!index->views) return NeedEntries();
    std::vector<ImageItem> items;
    std::vector<BlobPiece> pieces;
    ByteReader in(ToSpan(recipe));
    while (in.ok() && in.remaining() > 0) {
      const std::string path = in.Text(4096);
      PLUGIN_ASSIGN_OR_RETURN(items.emplace_back(),
                              index->views->Resolve(path));
      for (const rowfs_range& r :
           rowfs::plugin::RangesOf(*index->index, items.back())) {
        pieces.push_back({r.begin, r.end - r.begin});
      }
    }
    if (!in.ok() || items.empty()) return Invalid("the recipe is damaged");
    const ReadRanges read(rowfs::plugin::CoverPieces(std::move(pieces)),
                          {ranges, range_count});
    for (size_t i = 0; i < items.size(); ++i) {
      PLUGIN_RETURN_IF_ERROR(
          WriteOutput(i, MakeGuarded(index, items[i], read), *out));
    }
    return {};
  });
}

// Files of many pages or frames; others mostly hold a single picture, whose
// views are there for who asks.
int32_t Foresee(rowfs_str file_name, const rowfs_entry_sink* out,
                rowfs_error* error) {
  return Guarded(error, [&]() -> Status {
    const std::string_view name = FromStr(file_name);
    const bool animated = name.ends_with(".gif");
    if (!animated && !name.ends_with(".tif") && !name.ends_with(".tiff")) {
      return {};
    }
    ImageHead head;
    head.frame_count = animated ? 2 : 0;
    for (const auto& entry : ImageViews::ListTop(head)) {
      PLUGIN_RETURN_IF_ERROR(rowfs::plugin::Emit(entry, *out));
    }
    return {};
  });
}

}  // namespace

extern "C" const rowfs_plugin* rowfs_plugin_entry(void) {
  static const std::string version = rowfs::plugin::CodecVersions();
  static const rowfs_plugin plugin = {ROWFS_PLUGIN_ABI_VERSION,
                                      sizeof(rowfs_plugin),
                                      "image",
                                      version.c_str(),
                                      {'R', 'M', 'I', '1'},
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
