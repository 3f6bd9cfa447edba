// BMP and PNM: a few numbers at the start, pixels behind them.
#include <algorithm>
#include <charconv>
#include <string_view>

#include "index/plugins/image/av_codec.h"
#include "index/plugins/image/formats.h"

namespace rowfs::plugin {
namespace {

constexpr uint64_t kHeadBytes = 4096;
constexpr uint64_t kFileMax = uint64_t{1} << 30;

// Numbers between blanks and comments.
class PnmReader {
 public:
  explicit PnmReader(std::string_view text) : text_(text) {}
  std::string_view Word() {
    while (!text_.empty()) {
      const char c = text_.front();
      if (c == '#') {
        text_.remove_prefix(std::min(text_.find('\n'), text_.size()));
      } else if (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
        text_.remove_prefix(1);
      } else {
        break;
      }
    }
    const size_t end = std::min(text_.find_first_of(" \n\r\t#"), text_.size());
    const std::string_view word = text_.substr(0, end);
    text_.remove_prefix(end);
    return word;
  }
  uint32_t Number() {
    const std::string_view word = Word();
    uint32_t value = 0;
    std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
  }

 private:
  std::string_view text_;
};

Status ReadPnm(std::string_view text, StoredRaster* r) {
  PnmReader in(text.substr(2));
  const char kind = text[1];
  uint32_t most = 255;
  if (kind == '7') {
    uint32_t depth = 0;
    for (std::string_view word = in.Word(); !word.empty() && word != "ENDHDR";
         word = in.Word()) {
      if (word == "WIDTH") r->width = in.Number();
      if (word == "HEIGHT") r->height = in.Number();
      if (word == "DEPTH") depth = in.Number();
      if (word == "MAXVAL") most = in.Number();
    }
    r->colors = depth >= 3 ? 3 : 1;
  } else {
    r->width = in.Number();
    r->height = in.Number();
    const bool bits = kind == '1' || kind == '4';
    if (!bits) most = in.Number();
    r->colors = kind == '3' || kind == '6' ? 3 : 1;
  }
  if (most == 0 || most > 65535) return Corrupt("a PNM file without a maximum");
  r->type = most > 255 ? SampleType::kU16 : SampleType::kU8;
  static constexpr const char* kCodecs[] = {"pbm", "pgm", "ppm", "pbm",
                                            "pgm", "ppm", "pam"};
  const char* codec = kCodecs[kind - '1'];
  r->head.assign(codec, codec + 3);
  r->description = std::string(codec) + ", maximum " + std::to_string(most);
  return {};
}

Status ReadBmp(ByteSpan head, StoredRaster* r) {
  ByteReader in(head.subspan(14));
  const uint32_t size = in.U32();
  int64_t height = 0;
  uint16_t bits = 0;
  if (size == 12) {
    r->width = in.U16();
    height = in.U16();
    in.U16();
    bits = in.U16();
  } else {
    r->width = in.U32();
    height = static_cast<int32_t>(in.U32());
    in.U16();
    bits = in.U16();
  }
  if (!in.ok()) return Corrupt("a BMP file that ends in its header");
  r->height = static_cast<uint32_t>(height < 0 ? -height : height);
  r->colors = 3;
  r->head = {'b', 'm', 'p'};
  r->description = "bmp, " + std::to_string(bits) + " bits";
  return {};
}

}  // namespace

Status IndexPlain(ByteSource* file, ImageIndex* index) {
  const uint64_t size = std::min(file->size(), kHeadBytes);
  PLUGIN_ASSIGN_OR_RETURN(const Bytes head, file->Read(0, size, size));
  if (file->size() > kFileMax) return Limit("larger than 1 GiB");
  StoredRaster r;
  r.codec = RasterCodec::kPlain;
  const std::string_view text = AsText(head);
  PLUGIN_RETURN_IF_ERROR(text[0] == 'P' ? ReadPnm(text, &r)
                                        : ReadBmp(head, &r));
  r.cell_width = r.width;
  r.cell_height = r.height;
  r.channels = r.colors;
  r.pieces = {{0, file->size()}};
  index->format = std::string(AsText(r.head));
  index->head.extension = index->format;
  index->rasters.push_back(std::move(r));
  index->pages.push_back({0, 1, {}});
  return {};
}

Result<Raster> DecodePlain(const StoredRaster& raster, ByteSpan bytes) {
  const std::string_view codec = AsText(raster.head);
  for (const char* known : {"bmp", "pbm", "pgm", "ppm", "pam"}) {
    if (codec == known) {
      return DecodeAv(known, bytes, raster.colors, raster.type);
    }
  }
  return Corrupt("the index names an unknown codec");
}

}  // namespace rowfs::plugin
