// JPEG: an index from the markers before the scan; restart markers at every MCU
// row, put in without decoding; rows of MCUs decoded from their own bytes.
#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// jpeglib.h needs stdio.h first.
#include <jerror.h>
#include <jpeglib.h>

#include "index/plugins/image/formats.h"
#include "index/plugins/image/jpeg_file.h"
#include "index/plugins/image/tiff_directory.h"

namespace rowfs::plugin {
namespace {

constexpr uint64_t kHeadMax = 32 << 20;  // of all markers before the scan
constexpr uint64_t kTransformMax = uint64_t{256} << 20;

bool IsStartOfFrame(uint8_t marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 &&
         marker != 0xcc;
}

uint32_t Big16(const uint8_t* at) { return uint32_t{at[0]} << 8 | at[1]; }

// What the markers before the (first) scan say.
struct JpegHead {
  uint32_t width = 0;
  uint32_t height = 0;
  uint8_t components = 0;
  uint8_t bits = 8;
  uint8_t process = 0;      // the SOF marker
  uint8_t most_across = 1;  // sampling factors
  uint8_t most_down = 1;
  uint64_t frame_at = 0;  // of the SOF marker
  uint64_t scan_at = 0;   // behind the SOS segment
  uint8_t scan_components = 0;
  uint8_t orientation = 1;
};

Status ReadFrame(ByteSpan segment, JpegHead* head) {
  if (segment.size() < 6) return Corrupt("a JPEG frame header is cut short");
  head->bits = segment[0];
  head->height = Big16(segment.data() + 1);
  head->width = Big16(segment.data() + 3);
  head->components = segment[5];
  if (segment.size() < 6 + 3u * head->components || head->components == 0 ||
      head->width == 0) {
    return Corrupt("a JPEG frame header is damaged");
  }
  for (uint8_t c = 0; c < head->components; ++c) {
    const uint8_t factors = segment[7 + 3u * c];
    head->most_across = std::max<uint8_t>(head->most_across, factors >> 4);
    head->most_down = std::max<uint8_t>(head->most_down, factors & 15);
  }
  return {};
}

Result<JpegHead> ReadJpegHead(ByteSource* file) {
  JpegHead head;
  uint64_t at = 2;
  while (at < std::min(file->size(), kHeadMax)) {
    uint8_t start[4];
    PLUGIN_RETURN_IF_ERROR(file->ReadAt(at, start));
    if (start[0] != 0xff) return Corrupt("a JPEG marker is missing");
    if (start[1] == 0xff) {  // filling
      ++at;
      continue;
    }
    const uint64_t size = Big16(start + 2);
    if (size < 2) return Corrupt("a JPEG segment has no length");
    const uint64_t body = at + 4;
    if (IsStartOfFrame(start[1])) {
      head.process = start[1];
      head.frame_at = at;
      PLUGIN_ASSIGN_OR_RETURN(const Bytes segment,
                              file->Read(body, size - 2, kHeadMax));
      PLUGIN_RETURN_IF_ERROR(ReadFrame(segment, &head));
    } else if (start[1] == 0xe1 && size > 8) {
      PLUGIN_ASSIGN_OR_RETURN(const Bytes segment,
                              file->Read(body, size - 2, kHeadMax));
      if (AsText(segment).starts_with(std::string_view("Exif\0\0", 6))) {
        head.orientation = ExifOrientation(segment);
      }
    } else if (start[1] == 0xda) {
      uint8_t count = 0;
      PLUGIN_RETURN_IF_ERROR(file->ReadAt(body, std::span(&count, 1)));
      head.scan_components = count;
      head.scan_at = at + 2 + size;
      if (head.components == 0) return Corrupt("a JPEG scan before its frame");
      return head;
    } else if (start[1] == 0xd9) {
      break;
    }
    at += 2 + size;
  }
  return Corrupt("a JPEG file without a scan");
}

struct ErrorManager {
  jpeg_error_mgr base;  // first: libjpeg hands out a pointer to it
  jmp_buf leave;
  char message[JMSG_LENGTH_MAX];
  bool cut_short = false;  // libjpeg fills up what is missing with gray
};

void LeaveOnError(j_common_ptr info) {
  auto* errors = static_cast<ErrorManager*>(static_cast<void*>(info->err));
  errors->base.format_message(info, errors->message);
  longjmp(errors->leave, 1);
}

void Silence(j_common_ptr) {}
void CountWarnings(j_common_ptr info, int level) {
  if (level >= 0) return;
  auto* errors = static_cast<ErrorManager*>(static_cast<void*>(info->err));
  ++errors->base.num_warnings;
  if (errors->base.msg_code == JWRN_JPEG_EOF) errors->cut_short = true;
}

jpeg_error_mgr* SetErrors(ErrorManager* errors) {
  jpeg_std_error(&errors->base);
  errors->base.error_exit = LeaveOnError;
  errors->base.output_message = Silence;
  errors->base.emit_message = CountWarnings;
  return &errors->base;
}

// Scans and bytes a decoder may go through, against files of a million scans.
constexpr int kScansMax = 500;
void WatchScans(j_common_ptr info) {
  if (!info->is_decompressor) return;
  auto* d = static_cast<j_decompress_ptr>(static_cast<void*>(info));
  if (d->input_scan_number > kScansMax) {
    info->err->msg_code = 0;
    info->err->error_exit(info);
  }
}

// The markers that belong to the picture, not to how it is coded.
void KeepMarkers(j_decompress_ptr d) {
  jpeg_save_markers(d, JPEG_COM, 0xffff);
  for (int m = 0; m < 16; ++m) jpeg_save_markers(d, JPEG_APP0 + m, 0xffff);
}

void CopyMarkers(j_decompress_ptr from, j_compress_ptr to) {
  for (auto* m = from->marker_list; m != nullptr; m = m->next) {
    const ByteSpan data(m->data, m->data_length);
    // libjpeg writes these two itself.
    if (to->write_JFIF_header != 0 && m->marker == JPEG_APP0 &&
        AsText(data).starts_with("JFIF")) {
      continue;
    }
    if (to->write_Adobe_marker != 0 && m->marker == JPEG_APP0 + 14 &&
        AsText(data).starts_with("Adobe")) {
      continue;
    }
    jpeg_write_marker(to, m->marker, m->data, m->data_length);
  }
}

struct Output {
  unsigned char* data = nullptr;  // malloc'ed by libjpeg
  unsigned long size = 0;
  ~Output() { std::free(data); }
};

// Everything that longjmp may leave; nothing here has a destructor.
bool Transform(ByteSpan in, ErrorManager* errors, Output* out) {
  jpeg_decompress_struct d = {};
  jpeg_compress_struct c = {};
  d.err = SetErrors(errors);
  c.err = d.err;
  if (setjmp(errors->leave) != 0) {
    jpeg_destroy_compress(&c);
    jpeg_destroy_decompress(&d);
    return false;
  }
  jpeg_create_decompress(&d);
  jpeg_create_compress(&c);
  jpeg_progress_mgr progress = {};
  progress.progress_monitor = WatchScans;
  d.progress = &progress;
  jpeg_mem_src(&d, in.data(), in.size());
  KeepMarkers(&d);
  jpeg_read_header(&d, TRUE);
  jvirt_barray_ptr* coefficients = jpeg_read_coefficients(&d);
  const bool damaged = errors->base.num_warnings != 0;
  jpeg_copy_critical_parameters(&d, &c);
  c.restart_in_rows = 1;
  c.optimize_coding = TRUE;
  jpeg_mem_dest(&c, &out->data, &out->size);
  jpeg_write_coefficients(&c, coefficients);
  CopyMarkers(&d, &c);
  jpeg_finish_compress(&c);
  jpeg_finish_decompress(&d);
  jpeg_destroy_compress(&c);
  jpeg_destroy_decompress(&d);
  return !damaged;
}

struct Decoded {
  Raster raster;
  bool too_large = false;
};

void KeepProfile(j_decompress_ptr d, Raster* out) {
  JOCTET* icc = nullptr;
  unsigned size = 0;
  if (jpeg_read_icc_profile(d, &icc, &size) != 0) {
    out->icc.assign(icc, icc + size);
    std::free(icc);
  }
}

// CMYK as Adobe writes it is inverted.
void InksToRgb(bool inverted, Raster* raster) {
  Bytes rgb(size_t{raster->width} * raster->height * 3);
  for (size_t i = 0; i < size_t{raster->width} * raster->height; ++i) {
    const uint8_t* from = raster->samples.data() + 4 * i;
    const uint32_t light = inverted ? from[3] : 255u - from[3];
    for (size_t c = 0; c < 3; ++c) {
      const uint32_t ink = inverted ? from[c] : 255u - from[c];
      rgb[3 * i + c] = static_cast<uint8_t>(ink * light / 255);
    }
  }
  raster->samples = std::move(rgb);
  raster->channels = 3;
  raster->colors = 3;
  raster->alpha = false;
  raster->icc.clear();  // describes inks
}

// Everything that longjmp may leave; nothing here has a destructor.
bool ReadRows(ByteSpan in, bool as_rgb, ErrorManager* errors, Decoded* out) {
  jpeg_decompress_struct d = {};
  d.err = SetErrors(errors);
  if (setjmp(errors->leave) != 0) {
    jpeg_destroy_decompress(&d);
    return false;
  }
  jpeg_create_decompress(&d);
  jpeg_progress_mgr progress = {};
  progress.progress_monitor = WatchScans;
  d.progress = &progress;
  jpeg_mem_src(&d, in.data(), in.size());
  jpeg_save_markers(&d, JPEG_APP0 + 2, 0xffff);
  jpeg_read_header(&d, TRUE);
  if (as_rgb && d.num_components == 3) d.jpeg_color_space = JCS_RGB;
  d.dct_method = JDCT_ISLOW;
  d.out_color_space = d.num_components == 1   ? JCS_GRAYSCALE
                      : d.num_components == 4 ? JCS_CMYK
                                              : JCS_RGB;
  const bool inverted = d.saw_Adobe_marker != 0;
  jpeg_calc_output_dimensions(&d);
  auto raster =
      MakeRaster(d.output_width, d.output_height,
                 static_cast<uint32_t>(d.output_components), SampleType::kU8);
  if (!raster.ok()) {
    out->too_large = true;
    jpeg_destroy_decompress(&d);
    return false;
  }
  out->raster = std::move(raster).value();
  jpeg_start_decompress(&d);
  while (d.output_scanline < d.output_height) {
    JSAMPROW row =
        out->raster.samples.data() + d.output_scanline * out->raster.stride();
    jpeg_read_scanlines(&d, &row, 1);
  }
  KeepProfile(&d, &out->raster);
  if (d.num_components == 4) InksToRgb(inverted, &out->raster);
  jpeg_destroy_decompress(&d);
  return true;
}

Status JpegError(const ErrorManager& errors) {
  return Corrupt(std::string("libjpeg: ") + errors.message);
}

// Where the restart intervals of the one scan of `jpeg` lie, from `scan_at`.
// Empty when there are not `count` of them.
std::vector<BlobPiece> FindBands(ByteSpan jpeg, uint64_t scan_at,
                                 uint64_t count) {
  std::vector<BlobPiece> bands;
  size_t from = static_cast<size_t>(scan_at);
  for (size_t at = from; at + 1 < jpeg.size(); ++at) {
    if (jpeg[at] != 0xff) continue;
    const uint8_t marker = jpeg[at + 1];
    if (marker == 0 || marker == 0xff) continue;
    bands.push_back({from, at - from});
    if (marker < 0xd0 || marker > 0xd7) break;
    from = at + 2;
    ++at;
  }
  if (bands.size() != count) bands.clear();
  return bands;
}

StoredRaster RasterOf(const JpegHead& head, uint64_t file_size) {
  StoredRaster r;
  r.codec = RasterCodec::kJpeg;
  r.width = r.cell_width = head.width;
  r.height = r.cell_height = head.height;
  r.channels = r.colors = head.components == 1 ? 1 : 3;
  r.pieces = {{0, file_size}};
  static constexpr const char* kColors[] = {"", "gray", "gray and alpha",
                                            "color", "cmyk"};
  r.description = "jpeg, ";
  r.description += head.components <= 4 ? kColors[head.components] : "?";
  r.description += head.process == 0xc2 ? ", progressive" : "";
  r.description += ", " + std::to_string(head.bits) + " bits";
  return r;
}

}  // namespace

Status IndexJpeg(ByteSource* file, ImageIndex* index) {
  PLUGIN_ASSIGN_OR_RETURN(JpegHead head, ReadJpegHead(file));
  index->format = "jpeg";
  index->head.extension = "jpg";
  if (head.height == 0) {
    return Unsupported("a JPEG file that tells its height at its end");
  }
  index->rasters.push_back(RasterOf(head, file->size()));
  index->pages.push_back({0, head.orientation, {}});
  return {};
}

Result<Bytes> AddRestarts(ByteSource* file) {
  PLUGIN_ASSIGN_OR_RETURN(const Bytes in,
                          file->Read(0, file->size(), kTransformMax));
  ErrorManager errors;
  Output out;
  if (!Transform(in, &errors, &out)) {
    return Unsupported("the JPEG file is damaged or of a rare kind");
  }
  return Bytes(out.data, out.data + out.size);
}

Status IndexBands(ByteSpan jpeg, ImageIndex* index) {
  ByteSource file(jpeg);
  PLUGIN_ASSIGN_OR_RETURN(const JpegHead head, ReadJpegHead(&file));
  StoredRaster r = RasterOf(head, jpeg.size());
  const uint32_t rows = head.components == 1 ? 8u : 8u * head.most_down;
  if (head.scan_components != head.components || head.process > 0xc1) {
    return Unsupported("more than one scan");
  }
  r.codec = RasterCodec::kJpegBands;
  r.cell_height = rows;
  r.pieces = FindBands(jpeg, head.scan_at, r.cell_count());
  if (r.pieces.empty()) return Unsupported("no restart marker in every row");
  ByteWriter bytes;
  bytes.U32(static_cast<uint32_t>(head.frame_at + 5));  // of the height
  bytes.Raw(jpeg.first(static_cast<size_t>(head.scan_at)));
  r.head = std::move(bytes.bytes());
  index->rasters.push_back(std::move(r));
  index->pages.push_back({0, head.orientation, {}});
  return {};
}

Result<Raster> DecodeJpeg(ByteSpan bytes, bool as_rgb) {
  ErrorManager errors;
  Decoded out;
  if (!ReadRows(bytes, as_rgb, &errors, &out)) {
    if (out.too_large) return Limit("the picture has too many pixels");
    return JpegError(errors);
  }
  if (errors.cut_short) return Corrupt("the JPEG file is cut short");
  return std::move(out.raster);
}

Result<Raster> DecodeJpegBands(const StoredRaster& raster,
                               const CellRect& cells,
                               const PieceReader& pieces) {
  ByteReader head(raster.head);
  const uint32_t height_at = head.U32();
  Bytes file(raster.head.begin() +
                 std::min<long>(4, static_cast<long>(raster.head.size())),
             raster.head.end());
  const uint32_t top = cells.top * raster.cell_height;
  const uint32_t height =
      std::min(cells.bottom * raster.cell_height, raster.height) - top;
  if (height_at > file.size() || file.size() - height_at < 2) {
    return Corrupt("the index has no JPEG header");
  }
  file[height_at] = static_cast<uint8_t>(height >> 8);
  file[height_at + 1] = static_cast<uint8_t>(height);
  for (uint32_t y = cells.top; y < cells.bottom; ++y) {
    if (y > cells.top) {
      file.push_back(0xff);
      file.push_back(static_cast<uint8_t>(0xd0 + (y - cells.top - 1) % 8));
    }
    PLUGIN_ASSIGN_OR_RETURN(const ByteSpan band, pieces(y));
    file.insert(file.end(), band.begin(), band.end());
  }
  file.push_back(0xff);
  file.push_back(0xd9);
  return DecodeJpeg(file, false);
}

}  // namespace rowfs::plugin
