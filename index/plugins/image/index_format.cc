// stream_info and entries: a head of fixed size, then what describes rasters
// and pages; entries hold the places of pieces and frames, column by column.
#include <algorithm>
#include <cstring>

#include "index/plugins/image/image_index.h"

namespace rowfs::plugin {
namespace {

constexpr uint8_t kVersion = 1;
constexpr uint64_t kTextMax = 16 << 20;
constexpr uint64_t kBlockMax = 64 << 20;
constexpr uint32_t kSideMax = 1u << 30;
constexpr size_t kExtensionMax = 8;

void PutExtension(const std::string& text, ByteWriter* out) {
  for (size_t i = 0; i < kExtensionMax; ++i) {
    out->U8(i < text.size() ? static_cast<uint8_t>(text[i]) : 0);
  }
}

bool GetExtension(ByteReader* in, std::string* out) {
  const ByteSpan bytes = in->Take(kExtensionMax);
  for (const uint8_t c : bytes) {
    if (c == 0) break;
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                       (c >= 'A' && c <= 'Z');
    if (!plain) return false;
    *out += static_cast<char>(c);
  }
  return in->ok();
}

Bytes EncodeHead(const ImageHead& h, const Bytes& body, const Bytes& entries) {
  ByteWriter out;
  out.Text(kImageMagic);
  out.U8(kVersion);
  out.U8(static_cast<uint8_t>(h.layout));
  out.U8(h.tiled ? 1 : 0);
  out.U8(h.pages_are_frames ? 1 : 0);
  out.U64(h.blob_size);
  out.U32(h.page_count);
  out.U32(h.frame_count);
  out.U64(h.info_size);
  out.U64(h.whole_size);
  out.U64(h.original_offset);
  out.U64(h.original_size);
  PutExtension(h.extension, &out);
  PutExtension(h.original_extension, &out);
  out.U64(body.size());
  out.U32(Crc32(body));
  out.U64(entries.size());
  out.U32(Crc32(entries));
  out.bytes().resize(kImageHeadSize - 4);
  out.U32(Crc32(out.bytes()));
  return std::move(out.bytes());
}

struct ParsedHead {
  ImageHead head;
  uint64_t body_size = 0;
  uint32_t body_crc = 0;
  uint64_t entries_size = 0;
  uint32_t entries_crc = 0;
};

Result<ParsedHead> ParseHead(ByteSpan bytes) {
  const Status bad = Corrupt("the index of the picture is damaged");
  if (bytes.size() < kImageHeadSize ||
      std::memcmp(bytes.data(), kImageMagic, 4) != 0) {
    return bad;
  }
  bytes = bytes.first(kImageHeadSize);
  ByteReader crc(bytes.last(4));
  if (crc.U32() != Crc32(bytes.first(kImageHeadSize - 4))) return bad;
  ByteReader in(bytes.subspan(4));
  if (in.U8() != kVersion) {
    return Unsupported("the index of the picture is of a later version");
  }
  ParsedHead p;
  ImageHead& h = p.head;
  const uint8_t layout = in.U8();
  if (layout > 1) return bad;
  h.layout = static_cast<StoredLayout>(layout);
  h.tiled = in.U8() != 0;
  h.pages_are_frames = in.U8() != 0;
  h.blob_size = in.U64();
  h.page_count = in.U32();
  h.frame_count = in.U32();
  h.info_size = in.U64();
  h.whole_size = in.U64();
  h.original_offset = in.U64();
  h.original_size = in.U64();
  if (!GetExtension(&in, &h.extension) ||
      !GetExtension(&in, &h.original_extension)) {
    return bad;
  }
  p.body_size = in.U64();
  p.body_crc = in.U32();
  p.entries_size = in.U64();
  p.entries_crc = in.U32();
  uint64_t end = 0;
  if (!AddFits(h.original_offset, h.original_size, &end) || end > h.blob_size ||
      h.whole_size > h.blob_size || h.page_count > kPagesMax ||
      h.frame_count > kFramesMax) {
    return bad;
  }
  return p;
}

void PutRaster(const StoredRaster& r, ByteWriter* out) {
  out->U8(static_cast<uint8_t>(r.codec));
  out->Varint(r.width);
  out->Varint(r.height);
  out->Varint(r.cell_width);
  out->Varint(r.cell_height);
  out->U8(r.planes);
  out->U8(r.tiled ? 1 : 0);
  out->U8(r.channels);
  out->U8(static_cast<uint8_t>(r.colors | (r.alpha ? 4 : 0)));
  out->U8(static_cast<uint8_t>(r.type));
  out->Block(AsBytes(r.description));
  out->Block(AsBytes(r.tile_extension));
  out->Block(r.tile_head);
  out->Block(r.head);
  out->Varint(r.pieces.size());
}

bool GetRaster(ByteReader* in, uint64_t* pieces_left, StoredRaster* r) {
  const uint8_t codec = in->U8();
  r->width = in->Varint32(kSideMax);
  r->height = in->Varint32(kSideMax);
  r->cell_width = in->Varint32(kSideMax);
  r->cell_height = in->Varint32(kSideMax);
  r->planes = in->U8();
  r->tiled = in->U8() != 0;
  r->channels = in->U8();
  const uint8_t shown = in->U8();
  r->colors = shown & 3;
  r->alpha = (shown & 4) != 0;
  const uint8_t type = in->U8();
  r->description = in->Text(kTextMax);
  r->tile_extension = in->Text(kExtensionMax);
  const ByteSpan tile_head = in->Block(kBlockMax);
  r->tile_head.assign(tile_head.begin(), tile_head.end());
  const ByteSpan head = in->Block(kBlockMax);
  r->head.assign(head.begin(), head.end());
  const uint64_t pieces = in->Varint(*pieces_left);
  if (!in->ok() || codec >= kRasterCodecs ||
      type > static_cast<uint8_t>(SampleType::kF64)) {
    return false;
  }
  r->codec = static_cast<RasterCodec>(codec);
  r->type = static_cast<SampleType>(type);
  *pieces_left -= pieces;
  r->pieces.resize(static_cast<size_t>(pieces));
  return true;
}

void PutPieces(const std::vector<BlobPiece>& pieces, ByteWriter* out) {
  uint64_t expected = 0;
  for (const BlobPiece& p : pieces) {
    out->Signed(static_cast<int64_t>(p.offset - expected));
    expected = p.end();
  }
  for (const BlobPiece& p : pieces) out->Varint(p.size);
}

bool GetPieces(ByteReader* in, std::vector<BlobPiece>* pieces) {
  std::vector<uint64_t> gaps(pieces->size());
  for (uint64_t& gap : gaps) gap = static_cast<uint64_t>(in->Signed());
  uint64_t expected = 0;
  for (size_t i = 0; i < pieces->size(); ++i) {
    BlobPiece& p = (*pieces)[i];
    p.offset = expected + gaps[i];
    p.size = in->Varint();
    expected = p.offset + p.size;
  }
  return in->ok();
}

void PutFrames(const Animation& a, ByteWriter* out) {
  for (const Frame& f : a.frames) {
    out->Varint(f.rect.x);
    out->Varint(f.rect.y);
    out->Varint(f.rect.width);
    out->Varint(f.rect.height);
    out->Varint(f.delay_ms);
    out->U8(static_cast<uint8_t>(static_cast<uint8_t>(f.dispose) |
                                 (f.blend ? 4 : 0) | (f.key ? 8 : 0)));
  }
}

bool GetFrames(ByteReader* in, Animation* a) {
  for (Frame& f : a->frames) {
    f.rect.x = in->Varint32();
    f.rect.y = in->Varint32();
    f.rect.width = in->Varint32();
    f.rect.height = in->Varint32();
    f.delay_ms = in->Varint32();
    const uint8_t flags = in->U8();
    if ((flags & 3) > 2) return false;
    f.dispose = static_cast<Frame::Dispose>(flags & 3);
    f.blend = (flags & 4) != 0;
    f.key = (flags & 8) != 0;
  }
  return in->ok();
}

bool GetBody(ByteReader* in, ImageIndex* index) {
  index->format = in->Text(kTextMax);
  index->description = in->Text(kTextMax);
  const ByteSpan icc = in->Block(kBlockMax);
  index->icc.assign(icc.begin(), icc.end());
  const uint64_t rasters = in->Varint(2 * uint64_t{kPagesMax});
  uint64_t pieces_left = kChunksMax;
  // A raster takes more than 10 bytes, so a lying count cannot allocate much.
  if (!in->ok() || rasters > in->remaining()) return false;
  index->rasters.resize(static_cast<size_t>(rasters));
  for (StoredRaster& r : index->rasters) {
    if (!GetRaster(in, &pieces_left, &r)) return false;
  }
  if (index->head.page_count > in->remaining()) return false;
  index->pages.resize(index->head.page_count);
  for (Page& page : index->pages) {
    page.raster = in->Varint32();
    page.orientation = in->U8();
    const uint64_t reduced = in->Varint(64);
    for (uint64_t i = 0; i < reduced && in->ok(); ++i) {
      page.reduced.push_back(in->Varint32());
    }
    if (!in->ok()) return false;
  }
  Animation& a = index->animation;
  const uint8_t kind = in->U8();
  if (kind > static_cast<uint8_t>(AnimationKind::kApng)) return false;
  a.kind = static_cast<AnimationKind>(kind);
  a.width = in->Varint32(kSideMax);
  a.height = in->Varint32(kSideMax);
  a.loops = in->Varint32();
  const ByteSpan head = in->Block(kBlockMax);
  a.head.assign(head.begin(), head.end());
  return in->ok() && in->remaining() == 0;
}

bool GetEntries(ByteReader* in, ImageIndex* index) {
  for (StoredRaster& r : index->rasters) {
    // A piece takes at least two bytes.
    if (r.pieces.size() > in->remaining()) return false;
    if (!GetPieces(in, &r.pieces)) return false;
  }
  if (index->animation.kind != AnimationKind::kNone) {
    if (index->head.frame_count > in->remaining()) return false;
    std::vector<BlobPiece> pieces(index->head.frame_count);
    if (!GetPieces(in, &pieces)) return false;
    index->animation.frames.resize(pieces.size());
    for (size_t i = 0; i < pieces.size(); ++i) {
      index->animation.frames[i].piece = pieces[i];
    }
    if (!GetFrames(in, &index->animation)) return false;
  }
  return in->ok() && in->remaining() == 0;
}

bool InBlob(const BlobPiece& piece, uint64_t blob_size) {
  return piece.offset <= blob_size && piece.size <= blob_size - piece.offset;
}

Status CheckRaster(const StoredRaster& r, uint64_t blob_size) {
  if (r.width == 0 || r.height == 0 || r.width > kSideMax ||
      r.height > kSideMax || r.cell_width == 0 || r.cell_height == 0 ||
      r.planes == 0 || (r.colors != 1 && r.colors != 3) ||
      r.channels < r.colors + (r.alpha ? 1 : 0)) {
    return Corrupt("a picture without pixels");
  }
  if (r.pieces.size() != r.cell_count() * r.planes) {
    return Corrupt("a picture has not as many pieces as its size needs");
  }
  for (const BlobPiece& piece : r.pieces) {
    if (!InBlob(piece, blob_size)) {
      return Corrupt("a piece of the picture lies past the end of the file");
    }
  }
  return {};
}

}  // namespace

uint32_t ImageIndex::UprightWidth(const Page& page) const {
  const StoredRaster& r = rasters[page.raster];
  return SwapsSides(page.orientation) ? r.height : r.width;
}

uint32_t ImageIndex::UprightHeight(const Page& page) const {
  const StoredRaster& r = rasters[page.raster];
  return SwapsSides(page.orientation) ? r.width : r.height;
}

EncodedImageIndex EncodeImageIndex(const ImageIndex& index) {
  ByteWriter body;
  body.Block(AsBytes(index.format));
  body.Block(AsBytes(index.description));
  body.Block(index.icc);
  body.Varint(index.rasters.size());
  for (const StoredRaster& r : index.rasters) PutRaster(r, &body);
  for (const Page& page : index.pages) {
    body.Varint(page.raster);
    body.U8(page.orientation);
    body.Varint(page.reduced.size());
    for (const uint32_t r : page.reduced) body.Varint(r);
  }
  const Animation& a = index.animation;
  body.U8(static_cast<uint8_t>(a.kind));
  body.Varint(a.width);
  body.Varint(a.height);
  body.Varint(a.loops);
  body.Block(a.head);
  ByteWriter entries;
  for (const StoredRaster& r : index.rasters) PutPieces(r.pieces, &entries);
  if (a.kind != AnimationKind::kNone) {
    std::vector<BlobPiece> pieces;
    for (const Frame& f : a.frames) pieces.push_back(f.piece);
    PutPieces(pieces, &entries);
    PutFrames(a, &entries);
  }
  EncodedImageIndex out;
  out.stream_info = EncodeHead(index.head, body.bytes(), entries.bytes());
  out.stream_info.insert(out.stream_info.end(), body.bytes().begin(),
                         body.bytes().end());
  out.entries = std::move(entries.bytes());
  return out;
}

Result<ImageHead> ParseImageHead(ByteSpan stream_info) {
  PLUGIN_ASSIGN_OR_RETURN(ParsedHead parsed, ParseHead(stream_info));
  return std::move(parsed.head);
}

Status CheckImageIndex(const ImageIndex& index) {
  const uint64_t blob_size = index.head.blob_size;
  for (const StoredRaster& r : index.rasters) {
    PLUGIN_RETURN_IF_ERROR(CheckRaster(r, blob_size));
  }
  const Animation& a = index.animation;
  for (const Page& page : index.pages) {
    bool good = page.raster < index.rasters.size();
    for (const uint32_t r : page.reduced) good &= r < index.rasters.size();
    if (!good) return Corrupt("a page of the index has no picture");
    if (index.raster_of(page).codec == RasterCodec::kFrame &&
        a.frames.empty()) {
      return Corrupt("the index has no frames");
    }
  }
  if (index.pages.empty()) return Corrupt("the index has no pages");
  if (a.kind == AnimationKind::kNone) {
    // Then its frames are its pages, if it has any.
    if (index.head.frame_count <= index.pages.size()) return {};
    return Corrupt("the index has more frames than pictures");
  }
  if (a.frames.empty() || a.width == 0 || a.height == 0 || !a.frames[0].key) {
    return Corrupt("an animation without pictures");
  }
  for (const Frame& f : a.frames) {
    const uint64_t right = uint64_t{f.rect.x} + f.rect.width;
    const uint64_t bottom = uint64_t{f.rect.y} + f.rect.height;
    if (!InBlob(f.piece, blob_size) || right > a.width || bottom > a.height) {
      return Corrupt("a frame lies outside of its animation");
    }
  }
  return {};
}

Result<ImageIndex> ParseImageIndex(ByteSpan stream_info, ByteSpan entries,
                                   uint64_t blob_size) {
  const Status bad = Corrupt("the index of the picture is damaged");
  PLUGIN_ASSIGN_OR_RETURN(const ParsedHead parsed, ParseHead(stream_info));
  const ByteSpan body = stream_info.subspan(kImageHeadSize);
  if (parsed.head.blob_size != blob_size) {
    return Corrupt("the blob does not have the size its index says");
  }
  if (body.size() != parsed.body_size || Crc32(body) != parsed.body_crc ||
      entries.size() != parsed.entries_size ||
      Crc32(entries) != parsed.entries_crc) {
    return bad;
  }
  ImageIndex index;
  index.head = parsed.head;
  ByteReader in(body);
  if (!GetBody(&in, &index)) return bad;
  ByteReader rest(entries);
  if (!GetEntries(&rest, &index)) return bad;
  PLUGIN_RETURN_IF_ERROR(CheckImageIndex(index));
  return index;
}

}  // namespace rowfs::plugin
