// DICOM: where each frame of the pixel data lies, native or encapsulated, and
// how to decode one (PS3.5 annexes A and G). Values are given as they are
// stored: no rescaling, no window (the information file tells them). Palettes
// are looked up.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "index/plugins/image/av_codec.h"
#include "index/plugins/image/dicom_reader.h"
#include "index/plugins/image/formats.h"
#include "index/plugins/image/jp2_codec.h"
#include "index/plugins/image/lossless_jpeg.h"

namespace rowfs::plugin {
namespace {

constexpr uint64_t kValueMax = 16 << 20;
constexpr uint32_t kItem = 0xfffee000;

// Of all frames together.
constexpr uint64_t kPaletteBytesMax = 8 << 20;

enum class Coding : uint8_t { kNative, kJpeg, kAvJpeg, kJpegLs, kJp2, kRle };

// How a frame is coded: what DecodeDicom needs beside its bytes.
Bytes EncodePixels(const DicomPixels& p, Coding coding) {
  ByteWriter out;
  out.U8(static_cast<uint8_t>(coding));
  out.U8(static_cast<uint8_t>(p.samples));
  out.U8(static_cast<uint8_t>(p.allocated));
  out.U8(static_cast<uint8_t>(p.stored));
  out.U8(static_cast<uint8_t>(
      (p.planar ? 1 : 0) | (p.is_signed ? 2 : 0) | (p.big_endian ? 4 : 0) |
      (p.photometric == "MONOCHROME1" ? 8 : 0) |
      (p.photometric == "RGB" ? 16 : 0) |
      (p.photometric == "YBR_FULL" ? 32 : 0) | (p.has_palette() ? 64 : 0)));
  out.Varint(p.columns);
  out.Varint(p.rows);
  if (p.has_palette()) {
    out.Varint(p.palette.first);
    out.U8(static_cast<uint8_t>(p.palette.bits));
    for (const Bytes& entries : p.palette.entries) out.Block(entries);
  }
  return std::move(out.bytes());
}

struct FrameCoding {
  Coding coding = Coding::kNative;
  uint8_t samples = 1, allocated = 8, stored = 8, flags = 0;
  uint32_t columns = 0, rows = 0;
  bool planar() const { return (flags & 1) != 0; }
  bool is_signed() const { return (flags & 2) != 0; }
  bool big_endian() const { return (flags & 4) != 0; }
  bool inverted() const { return (flags & 8) != 0; }
  bool rgb() const { return (flags & 16) != 0; }
  bool ybr() const { return (flags & 32) != 0; }
  bool has_palette() const { return (flags & 64) != 0; }
};

Result<Coding> CodingOf(const DicomPixels& p) {
  const std::string& s = p.syntax;
  const std::string jpeg = "1.2.840.10008.1.2.4.";
  if (s == "1.2.840.10008.1.2.5") return Coding::kRle;
  if (!s.starts_with(jpeg)) return Coding::kNative;
  const std::string kind = s.substr(jpeg.size());
  if (kind == "50" || (kind == "51" && p.stored <= 8)) return Coding::kJpeg;
  if (kind == "51" || kind == "57" || kind == "70") return Coding::kAvJpeg;
  if (kind == "80" || kind == "81") return Coding::kJpegLs;
  if (kind == "90" || kind == "91") return Coding::kJp2;
  return Unsupported("DICOM transfer syntax " + s);
}

// Items from `at`, up to the end of the pixel data, by their headers alone.
Result<std::vector<BlobPiece>> ReadItems(ByteSource* file, uint64_t at,
                                         uint64_t max) {
  std::vector<BlobPiece> items;
  while (items.size() < max && at + 8 <= file->size()) {
    uint8_t head[8];
    PLUGIN_RETURN_IF_ERROR(file->ReadAt(at, head));
    ByteReader in(head);
    const uint32_t group = in.U16();
    const uint32_t tag = group << 16 | in.U16();
    const uint64_t size = in.U32();
    if (tag != kItem || size > file->size() - at - 8) break;
    items.push_back({at, size + 8});
    at += size + 8;
  }
  return items;
}

// Frames by their offsets from `base`; the last goes to the end of the file.
Status FramesByOffset(const std::vector<uint64_t>& offsets, uint64_t base,
                      uint64_t end, std::vector<BlobPiece>* frames) {
  for (size_t i = 0; i < offsets.size(); ++i) {
    uint64_t from = 0;
    uint64_t to = end;
    if (!AddFits(base, offsets[i], &from) ||
        (i + 1 < offsets.size() && !AddFits(base, offsets[i + 1], &to)) ||
        from >= to || to > end) {
      return Corrupt("the offset table of the frames is damaged");
    }
    frames->push_back({from, to - from});
  }
  return {};
}

Status FindFrames(ByteSource* file, const DicomReader& reader,
                  std::vector<BlobPiece>* frames) {
  const DicomPixels& p = reader.pixels();
  if (!reader.encapsulated()) {
    const uint64_t size =
        (uint64_t{p.rows} * p.columns * p.samples * p.allocated + 7) / 8;
    for (uint64_t i = 0; i < p.frames; ++i) {
      const uint64_t at = reader.data_at() + i * size;
      if (at + size > file->size()) break;
      frames->push_back({at, size});
    }
    return {};
  }
  PLUGIN_ASSIGN_OR_RETURN(const auto table,
                          ReadItems(file, reader.data_at(), 1));
  if (table.empty()) return Corrupt("the pixel data has no items");
  const uint64_t base = table[0].end();
  std::vector<uint64_t> offsets;
  ByteReader wide(reader.offsets64());
  while (wide.remaining() >= 8) offsets.push_back(wide.U64());
  if (offsets.size() != p.frames) {
    offsets.clear();
    PLUGIN_ASSIGN_OR_RETURN(
        const Bytes narrow,
        file->Read(table[0].offset + 8, table[0].size - 8, kValueMax));
    ByteReader in(narrow);
    while (in.remaining() >= 4) offsets.push_back(in.U32());
  }
  if (offsets.size() == p.frames) {
    return FramesByOffset(offsets, base, file->size(), frames);
  }
  PLUGIN_ASSIGN_OR_RETURN(auto items, ReadItems(file, base, kPagesMax));
  if (items.size() == p.frames) {
    *frames = std::move(items);
  } else if (p.frames == 1 && !items.empty()) {
    frames->push_back({base, items.back().end() - base});
  } else {
    return Unsupported("several fragments a frame and no offset table");
  }
  return {};
}

// The fragments of a frame, one behind the other.
Bytes Unwrap(ByteSpan bytes) {
  Bytes out;
  for (size_t at = 0; at + 8 <= bytes.size();) {
    ByteReader in(bytes.subspan(at));
    const uint32_t group = in.U16();
    const uint32_t tag = group << 16 | in.U16();
    const uint32_t size = in.U32();
    if (tag != kItem || size > bytes.size() - at - 8) break;
    out.insert(out.end(), bytes.begin() + static_cast<long>(at + 8),
               bytes.begin() + static_cast<long>(at + 8 + size));
    at += 8 + size_t{size};
  }
  return out;
}

// PS3.5 annex G: PackBits segments, one a byte of a sample, high bytes first.
Result<Bytes> UnpackRle(ByteSpan in, const FrameCoding& c) {
  const size_t pixels = size_t{c.columns} * c.rows;
  const size_t width = c.allocated / 8;
  const size_t planes = width * c.samples;
  ByteReader head(in);
  if (head.U32() != planes) return Corrupt("an RLE frame of other segments");
  Bytes out(pixels * planes);
  for (size_t p = 0; p < planes; ++p) {
    const uint32_t from = head.U32();
    if (!head.ok() || from > in.size()) return Corrupt("a damaged RLE frame");
    ByteReader data(in.subspan(from));
    const size_t sample = p / width;
    const size_t byte = width - 1 - p % width;
    size_t done = 0;
    while (done < pixels && data.ok()) {
      const uint8_t control = data.U8();
      if (control == 128) continue;
      const size_t count = control < 128 ? control + 1u : 257u - control;
      const uint8_t same = control > 128 ? data.U8() : uint8_t{0};
      for (size_t i = 0; i < count && done < pixels; ++i, ++done) {
        out[(done * c.samples + sample) * width + byte] =
            control > 128 ? same : data.U8();
      }
    }
    if (!data.ok()) return Corrupt("an RLE frame is cut short");
  }
  return out;
}

// Samples side by side, little-endian.
Result<Bytes> NativeSamples(ByteSpan bytes, const FrameCoding& c) {
  const size_t pixels = size_t{c.columns} * c.rows;
  if (c.allocated == 1) {
    Bytes out(pixels * c.samples);
    for (size_t i = 0; i < out.size() && i / 8 < bytes.size(); ++i) {
      out[i] = (bytes[i / 8] >> (i % 8) & 1) != 0 ? 255 : 0;
    }
    return out;
  }
  const size_t width = c.allocated / 8;
  if (bytes.size() < pixels * c.samples * width) {
    return Corrupt("a frame is cut short");
  }
  Bytes out(bytes.begin(),
            bytes.begin() + static_cast<long>(pixels * c.samples * width));
  if (c.big_endian() && width == 2) {
    for (size_t i = 0; i + 1 < out.size(); i += 2)
      std::swap(out[i], out[i + 1]);
  }
  if (!c.planar() || c.samples == 1) return out;
  Bytes woven(out.size());
  for (size_t i = 0; i < pixels; ++i) {
    for (size_t s = 0; s < c.samples; ++s) {
      std::memcpy(woven.data() + (i * c.samples + s) * width,
                  out.data() + (s * pixels + i) * width, width);
    }
  }
  return woven;
}

SampleType TypeOf(uint32_t allocated, bool is_signed) {
  if (allocated <= 8) return is_signed ? SampleType::kI8 : SampleType::kU8;
  if (allocated <= 16) return is_signed ? SampleType::kI16 : SampleType::kU16;
  return is_signed ? SampleType::kI32 : SampleType::kU32;
}

void YbrToRgb(Raster* r) {
  for (size_t i = 0; i + 2 < r->samples.size(); i += 3) {
    const double y = r->samples[i], b = r->samples[i + 1] - 128.0,
                 d = r->samples[i + 2] - 128.0;
    const double rgb[3] = {y + 1.402 * d, y - 0.344136 * b - 0.714136 * d,
                           y + 1.772 * b};
    for (size_t c = 0; c < 3; ++c) {
      r->samples[i + c] =
          static_cast<uint8_t>(std::clamp(rgb[c] + 0.5, 0.0, 255.0));
    }
  }
}

bool IsUsable(const DicomPixels& p, size_t frames) {
  const DicomPalette& palette = p.palette;
  const size_t bytes = size_t{palette.count} * palette.bits / 8;
  if (p.samples != 1 || p.allocated > 16 || p.allocated < 8 ||
      (palette.bits != 8 && palette.bits != 16) ||
      bytes * 3 * frames > kPaletteBytesMax) {
    return false;
  }
  return std::all_of(palette.entries.begin(), palette.entries.end(),
                     [&](const Bytes& entries) {
                       return entries.size() >= bytes &&
                              entries.size() <= bytes + 1;
                     });
}

// The colors of `values`; `in` is at the palette.
Result<Raster> LookUp(const Raster& values, const FrameCoding& c,
                      ByteReader* in, SampleType type) {
  const uint32_t first = in->Varint32();
  const size_t width = in->U8() / 8;
  std::array<ByteSpan, 3> colors;
  size_t count = SIZE_MAX;
  for (ByteSpan& color : colors) {
    color = in->Block(kPaletteBytesMax);
    if (width != 0) count = std::min(count, color.size() / width);
  }
  if (!in->ok() || width != SampleSize(type) || count == 0) {
    return Corrupt("the index is damaged");
  }
  PLUGIN_ASSIGN_OR_RETURN(Raster out, MakeRaster(c.columns, c.rows, 3, type));
  const size_t from = SampleSize(values.type);
  uint8_t* to = out.samples.data();
  for (size_t i = 0; i < values.samples.size(); i += from) {
    uint32_t value = values.samples[i];
    if (from == 2) value |= uint32_t{values.samples[i + 1]} << 8;
    const size_t entry =
        value < first ? 0 : std::min<size_t>(value - first, count - 1);
    for (const ByteSpan color : colors) {
      std::memcpy(to, color.data() + entry * width, width);
      to += width;
    }
  }
  return out;
}

}  // namespace

Status IndexDicom(ByteSource* file, ImageIndex* index) {
  DicomReader reader(file);
  PLUGIN_RETURN_IF_ERROR(reader.Run());
  const DicomPixels& p = reader.pixels();
  PLUGIN_ASSIGN_OR_RETURN(const Coding coding, CodingOf(p));
  const bool sound = (p.samples == 1 || p.samples == 3) && p.rows != 0 &&
                     p.columns != 0 && p.frames != 0 && p.frames <= kPagesMax &&
                     (p.allocated == 1 || p.allocated == 8 ||
                      p.allocated == 16 || p.allocated == 32);
  if (!sound) return Unsupported("a DICOM file without usable pixels");
  std::vector<BlobPiece> frames;
  PLUGIN_RETURN_IF_ERROR(FindFrames(file, reader, &frames));
  if (p.has_palette() && !IsUsable(p, frames.size())) {
    return Unsupported("a DICOM file with a palette of an unusual kind");
  }
  index->format = "dicom";
  index->head.extension = "dcm";
  for (const BlobPiece& frame : frames) {
    StoredRaster r;
    r.codec = RasterCodec::kDicom;
    r.width = r.cell_width = p.columns;
    r.height = r.cell_height = p.rows;
    r.channels = r.colors = p.samples == 3 || p.has_palette() ? 3 : 1;
    r.type = p.has_palette() ? TypeOf(p.palette.bits, false)
                             : TypeOf(p.allocated, p.is_signed);
    r.pieces = {frame};
    r.head = EncodePixels(p, coding);
    r.description = p.photometric + ", " + std::to_string(p.stored) +
                    " bits, " + p.syntax + p.display;
    index->pages.push_back(
        {static_cast<uint32_t>(index->rasters.size()), 1, {}});
    index->rasters.push_back(std::move(r));
  }
  index->head.pages_are_frames = frames.size() > 1;
  return {};
}

Result<Raster> DecodeDicom(const StoredRaster& raster, ByteSpan bytes) {
  ByteReader in(raster.head);
  FrameCoding c;
  const uint8_t coding = in.U8();
  c.coding = static_cast<Coding>(coding);
  c.samples = in.U8();
  c.allocated = in.U8();
  c.stored = in.U8();
  c.flags = in.U8();
  c.columns = in.Varint32();
  c.rows = in.Varint32();
  const SampleType type = TypeOf(c.allocated, c.is_signed());
  const bool fits =
      c.columns == raster.width && c.rows == raster.height &&
      (c.has_palette() ? raster.channels == 3 && c.samples == 1
                       : c.samples == raster.channels && type == raster.type);
  if (!in.ok() || coding > 5 || !fits) return Corrupt("the index is damaged");
  PLUGIN_ASSIGN_OR_RETURN(Raster out,
                          MakeRaster(c.columns, c.rows, c.samples, type));
  const SampleType plain = c.allocated > 8 ? SampleType::kU16 : SampleType::kU8;
  const Bytes data = c.coding == Coding::kNative ? Bytes() : Unwrap(bytes);
  Result<Raster> decoded = Corrupt("no decoder");
  switch (c.coding) {
    case Coding::kNative: {
      PLUGIN_ASSIGN_OR_RETURN(out.samples, NativeSamples(bytes, c));
      break;
    }
    case Coding::kRle: {
      PLUGIN_ASSIGN_OR_RETURN(out.samples, UnpackRle(data, c));
      break;
    }
    case Coding::kJpeg:
      decoded = DecodeJpeg(data, c.rgb() && c.samples == 3);
      break;
    case Coding::kAvJpeg:
      decoded = DecodeLosslessJpeg(data, plain);
      if (!decoded.ok() && decoded.status().code() == ROWFS_E_UNSUPPORTED) {
        decoded = DecodeAv("mjpeg", data, c.samples, plain);
      }
      break;
    case Coding::kJpegLs:
      decoded = DecodeAv("jpegls", data, c.samples, plain);
      break;
    case Coding::kJp2:
      decoded = DecodeJp2(data, c.samples, plain, Jp2Colors::kRaw);
      break;
  }
  if (c.coding != Coding::kNative && c.coding != Coding::kRle) {
    if (!decoded.ok()) return decoded.status();
    if (decoded.value().samples.size() != out.samples.size()) {
      return Corrupt("a frame has another size than the file says");
    }
    out.samples = std::move(decoded.value().samples);
  } else if (c.ybr() && c.samples == 3 && c.allocated == 8) {
    YbrToRgb(&out);
  }
  if (c.has_palette()) return LookUp(out, c, &in, raster.type);
  const bool narrow = c.stored > 8 && c.stored < c.allocated;
  if (narrow && !c.is_signed()) out.bits = c.stored;
  if (c.inverted() && !c.is_signed()) {
    const uint32_t most = narrow ? (1u << c.stored) - 1 : 0xffffffff;
    for (size_t i = 0; i < out.samples.size(); ++i) {
      const size_t byte = i % SampleSize(out.type);
      out.samples[i] =
          static_cast<uint8_t>(out.samples[i] ^ (most >> (8 * byte)));
    }
  }
  return out;
}

}  // namespace rowfs::plugin
