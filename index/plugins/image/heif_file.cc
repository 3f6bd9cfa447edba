// HEIC and AVIF by libheif, which applies the file's own turning and mirroring
// (irot, imir); EXIF orientation is then only a copy of it.
#include <libheif/heif.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "index/plugins/image/formats.h"

namespace rowfs::plugin {
namespace {

constexpr uint64_t kHeadMax = 16 << 20;
constexpr uint32_t kImagesMax = 4096;

struct Free {
  void operator()(heif_context* c) const { heif_context_free(c); }
  void operator()(const heif_image_handle* h) const {
    heif_image_handle_release(h);
  }
  void operator()(const heif_image* i) const { heif_image_release(i); }
};
using ContextPtr = std::unique_ptr<heif_context, Free>;
using HandlePtr = std::unique_ptr<heif_image_handle, Free>;
using ImagePtr = std::unique_ptr<heif_image, Free>;

Status HeifError(const heif_error& error) {
  return Corrupt(std::string("libheif: ") +
                 (error.message == nullptr ? "cannot read it" : error.message));
}

Result<ContextPtr> OpenContext(ByteSpan bytes) {
  ContextPtr context(heif_context_alloc());
  if (context == nullptr) return Limit("out of memory");
  // Workers have no threads to spare.
  heif_context_set_max_decoding_threads(context.get(), 0);
  heif_context_set_maximum_image_size_limit(context.get(), 32768);
  const heif_error error = heif_context_read_from_memory_without_copy(
      context.get(), bytes.data(), bytes.size(), nullptr);
  if (error.code != heif_error_Ok) return HeifError(error);
  return context;
}

// The primary picture first, then the other top-level ones.
std::vector<heif_item_id> ItemsOf(heif_context* context) {
  heif_item_id primary = 0;
  heif_context_get_primary_image_ID(context, &primary);
  const int count = std::min<int>(
      heif_context_get_number_of_top_level_images(context), kImagesMax);
  std::vector<heif_item_id> ids(static_cast<size_t>(std::max(count, 0)));
  heif_context_get_list_of_top_level_image_IDs(context, ids.data(), count);
  std::erase(ids, primary);
  ids.insert(ids.begin(), primary);
  return ids;
}

Result<HandlePtr> OpenItem(heif_context* context, heif_item_id id) {
  heif_image_handle* raw = nullptr;
  const heif_error error = heif_context_get_image_handle(context, id, &raw);
  if (error.code != heif_error_Ok) return HeifError(error);
  return HandlePtr(raw);
}

// The file with holes where picture data lies: libheif wants all of it before
// it says how large a picture is, which stands in its first boxes.
Result<Bytes> ReadBoxes(ByteSource* file) {
  if (file->size() > uint64_t{1} << 30) return Limit("larger than 1 GiB");
  Bytes out(static_cast<size_t>(file->size()));
  for (uint64_t at = 0; at + 8 <= file->size();) {
    uint8_t start[16];
    const size_t known = std::min<uint64_t>(16, file->size() - at);
    PLUGIN_RETURN_IF_ERROR(file->ReadAt(at, std::span(start).first(known)));
    uint64_t size = uint64_t{start[0]} << 24 | uint64_t{start[1]} << 16 |
                    uint64_t{start[2]} << 8 | start[3];
    if (size == 1 && known == 16) {
      size = 0;
      for (int i = 8; i < 16; ++i) size = size << 8 | start[i];
    } else if (size == 0) {
      size = file->size() - at;
    }
    if (size < 8 || size > file->size() - at) break;
    const bool data = std::memcmp(start + 4, "mdat", 4) == 0;
    const uint64_t wanted = data ? 16 : size;
    if (wanted > kHeadMax) return Limit("a box of its head is too large");
    PLUGIN_RETURN_IF_ERROR(file->ReadAt(
        at,
        std::span(out).subspan(static_cast<size_t>(at),
                               static_cast<size_t>(std::min(wanted, size)))));
    at += size;
  }
  return out;
}

}  // namespace

Status IndexHeif(ByteSource* file, ImageIndex* index) {
  PLUGIN_ASSIGN_OR_RETURN(const Bytes boxes, ReadBoxes(file));
  PLUGIN_ASSIGN_OR_RETURN(const ContextPtr context, OpenContext(boxes));
  const std::string_view text = AsText(boxes);
  const bool avif = text.size() > 12 && text.substr(8, 4).starts_with("avi");
  index->format = avif ? "avif" : "heif";
  index->head.extension = avif ? "avif" : "heic";
  for (const heif_item_id id : ItemsOf(context.get())) {
    const auto handle = OpenItem(context.get(), id);
    if (!handle.ok()) {
      if (index->pages.empty()) return handle.status();
      continue;
    }
    const heif_image_handle* h = handle.value().get();
    StoredRaster r;
    r.codec = RasterCodec::kHeif;
    r.width = r.cell_width =
        static_cast<uint32_t>(std::max(0, heif_image_handle_get_width(h)));
    r.height = r.cell_height =
        static_cast<uint32_t>(std::max(0, heif_image_handle_get_height(h)));
    r.alpha = heif_image_handle_has_alpha_channel(h) != 0;
    r.channels = r.alpha ? 4 : 3;
    const int bits = heif_image_handle_get_luma_bits_per_pixel(h);
    r.type = bits > 8 ? SampleType::kU16 : SampleType::kU8;
    r.pieces = {{0, file->size()}};
    r.description = index->format + ", " + std::to_string(bits) + " bits";
    ByteWriter head;
    head.U32(id);
    r.head = std::move(head.bytes());
    index->pages.push_back(
        {static_cast<uint32_t>(index->rasters.size()), 1, {}});
    index->rasters.push_back(std::move(r));
  }
  return {};
}

Result<Raster> DecodeHeif(const StoredRaster& raster, ByteSpan bytes) {
  PLUGIN_ASSIGN_OR_RETURN(const ContextPtr context, OpenContext(bytes));
  ByteReader head(raster.head);
  PLUGIN_ASSIGN_OR_RETURN(const HandlePtr handle,
                          OpenItem(context.get(), head.U32()));
  const bool deep = raster.type == SampleType::kU16;
  heif_chroma chroma = heif_chroma_interleaved_RGB;
  if (raster.alpha) chroma = heif_chroma_interleaved_RGBA;
  if (deep) {
    chroma = raster.alpha ? heif_chroma_interleaved_RRGGBBAA_LE
                          : heif_chroma_interleaved_RRGGBB_LE;
  }
  heif_image* raw = nullptr;
  const heif_error error = heif_decode_image(
      handle.get(), &raw, heif_colorspace_RGB, chroma, nullptr);
  if (error.code != heif_error_Ok) return HeifError(error);
  const ImagePtr image(raw);
  const int width = heif_image_get_width(raw, heif_channel_interleaved);
  const int height = heif_image_get_height(raw, heif_channel_interleaved);
  int stride = 0;
  const uint8_t* plane =
      heif_image_get_plane_readonly(raw, heif_channel_interleaved, &stride);
  if (plane == nullptr || width <= 0 || height <= 0) {
    return Corrupt("libheif gave no picture");
  }
  PLUGIN_ASSIGN_OR_RETURN(Raster out, MakeRaster(static_cast<uint32_t>(width),
                                                 static_cast<uint32_t>(height),
                                                 raster.channels, raster.type));
  for (uint32_t y = 0; y < out.height; ++y) {
    std::memcpy(out.samples.data() + y * out.stride(),
                plane + static_cast<size_t>(y) * static_cast<size_t>(stride),
                out.stride());
  }
  if (deep) {
    out.bits = static_cast<uint8_t>(
        heif_image_get_bits_per_pixel_range(raw, heif_channel_interleaved));
    if (out.bits > 15) out.bits = 0;
  }
  const size_t icc = heif_image_handle_get_raw_color_profile_size(handle.get());
  if (icc > 0 && icc <= kHeadMax) {
    out.icc.resize(icc);
    heif_image_handle_get_raw_color_profile(handle.get(), out.icc.data());
  }
  return out;
}

}  // namespace rowfs::plugin
