#include "index/plugins/image/probe.h"

namespace rowfs::plugin {
namespace {

constexpr int32_t kCertain = 90;

bool IsPictureBrand(std::string_view brand) {
  for (const std::string_view known : {"heic", "heix", "heim", "heis", "hevc",
                                       "mif1", "msf1", "avif", "avis"}) {
    if (brand == known) return true;
  }
  return false;
}

bool IsPnm(std::string_view text) {
  return text.size() > 8 && text[0] == 'P' && text[1] >= '1' &&
         text[1] <= '7' &&
         (text[2] == '\n' || text[2] == ' ' || text[2] == '\r' ||
          text[2] == '\t');
}

}  // namespace

ImageFamily FamilyOf(ByteSpan head) {
  using std::string_view_literals::operator""sv;
  const std::string_view text = AsText(head);
  if (text.size() < 8) return ImageFamily::kNone;
  for (const std::string_view magic :
       {"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv}) {
    if (text.starts_with(magic)) return ImageFamily::kTiff;
  }
  if (text.starts_with("\xff\xd8\xff")) return ImageFamily::kJpeg;
  if (text.starts_with("\x89PNG\r\n\x1a\n")) return ImageFamily::kPng;
  if (text.starts_with("GIF87a") || text.starts_with("GIF89a")) {
    return ImageFamily::kGif;
  }
  if (text.starts_with("RIFF") && text.size() >= 12 &&
      text.substr(8, 4) == "WEBP") {
    return ImageFamily::kWebp;
  }
  if (text.size() >= 12 && text.substr(4, 4) == "ftyp" &&
      IsPictureBrand(text.substr(8, 4))) {
    return ImageFamily::kHeif;
  }
  if (text.starts_with("\0\0\0\x0cjP  \r\n\x87\n"sv) ||
      text.starts_with("\xff\x4f\xff\x51")) {
    return ImageFamily::kJp2;
  }
  if (text.size() >= 26 && text.starts_with("BM") &&
      text.substr(6, 4) == "\0\0\0\0"sv && text.substr(15, 3) == "\0\0\0"sv) {
    return ImageFamily::kPlain;
  }
  if (IsPnm(text)) return ImageFamily::kPlain;
  if (text.size() >= 132 && text.substr(128, 4) == "DICM") {
    return ImageFamily::kDicom;
  }
  return ImageFamily::kNone;
}

int32_t ProbeImage(ByteSpan head) {
  return FamilyOf(head) == ImageFamily::kNone ? 0 : kCertain;
}

}  // namespace rowfs::plugin
