#include "index/plugins/video/probe.h"

#include <string>

namespace rowfs::plugin {
namespace {

constexpr int32_t kCertain = 95;
constexpr int32_t kLikely = 70;
constexpr int32_t kUnlikely = 20;

std::string LowerExtension(std::string_view name) {
  const size_t point = name.rfind('.');
  std::string out;
  if (point == std::string_view::npos) return out;
  for (char c : name.substr(point + 1)) {
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

bool OneOf(std::string_view value, std::initializer_list<const char*> list) {
  for (const char* item : list) {
    if (value == item) return true;
  }
  return false;
}

bool IsSoundName(std::string_view extension) {
  return OneOf(extension, {"m4a", "m4b", "mka", "aac", "oga", "ogg", "opus"});
}

bool IsPictureBrand(std::string_view brand) {
  return OneOf(brand, {"heic", "heix", "mif1", "msf1", "avif", "avis", "jp2 "});
}

int32_t ProbeMp4(std::string_view text, std::string_view extension) {
  if (text.size() >= 12 && text.substr(4, 4) == "ftyp") {
    const std::string_view brand = text.substr(8, 4);
    if (IsPictureBrand(brand)) return 0;
    if (OneOf(brand, {"M4A ", "M4B "})) return kUnlikely;
  }
  // Track handlers, when the index of the file comes first.
  if (text.find("vide") != std::string_view::npos) return kCertain;
  if (text.find("soun") != std::string_view::npos) return kUnlikely;
  return IsSoundName(extension) ? kUnlikely : kLikely;
}

int32_t ProbeMatroska(std::string_view text, std::string_view extension) {
  if (text.find("V_") != std::string_view::npos) return kCertain;
  if (text.find("A_") != std::string_view::npos) return kUnlikely;
  return IsSoundName(extension) ? kUnlikely : kLikely;
}

bool IsTransportStream(ByteSpan head) {
  for (size_t packet : {188u, 192u, 204u}) {
    for (size_t skew : {size_t{0}, packet - 188}) {
      size_t hits = 0;
      for (size_t at = skew; at < head.size() && hits < 8; at += packet) {
        if (head[at] != 0x47) break;
        ++hits;
      }
      if (hits >= 4) return true;
    }
  }
  return false;
}

}  // namespace

bool IsVideoName(std::string_view file_name) {
  return OneOf(
      LowerExtension(file_name),
      {"mp4", "m4v",  "mov",  "qt",  "3gp",  "3g2",  "f4v",  "mkv", "webm",
       "avi", "ts",   "m2ts", "mts", "mpg",  "mpeg", "vob",  "flv", "ivf",
       "ogv", "h264", "264",  "avc", "h265", "265",  "hevc", "m2v", "mpv",
       "wmv", "asf",  "mxf",  "nut", "dv",   "obu"});
}

int32_t ProbeVideo(ByteSpan head, std::string_view file_name) {
  const std::string_view text = AsText(head);
  const std::string extension = LowerExtension(file_name);
  if (text.size() < 16) return 0;
  const std::string_view box = text.substr(4, 4);
  if (OneOf(box, {"ftyp", "moov", "mdat", "wide", "free", "skip", "pnot"})) {
    return ProbeMp4(text, extension);
  }
  if (text.starts_with("\x1a\x45\xdf\xa3")) {
    return ProbeMatroska(text, extension);
  }
  if (text.starts_with("RIFF") && text.substr(8, 4) == "AVI ") return kCertain;
  if (text.starts_with("FLV\x01")) return kLikely;
  if (text.starts_with("DKIF")) return kCertain;
  if (text.starts_with("OggS")) {
    const bool video = text.find("theora") != std::string_view::npos ||
                       text.find("OVP80") != std::string_view::npos;
    return video ? kCertain : 0;
  }
  if (text.starts_with("\x30\x26\xb2\x75\x8e\x66\xcf\x11")) {
    return extension == "wma" ? kUnlikely : kLikely;
  }
  if (text.starts_with("\x06\x0e\x2b\x34\x02\x05\x01\x01")) return kLikely;
  if (text.starts_with("nut/multimedia container")) return kLikely;
  if (text.starts_with(std::string_view("\x1f\x07\0", 3))) return kLikely;
  if (text.starts_with(std::string_view("\x12\0\x0a", 3))) return kLikely;
  if (text.starts_with(std::string_view("\0\0\1\xba", 4)) ||
      text.starts_with(std::string_view("\0\0\1\xb3", 4))) {
    return kLikely;
  }
  if (IsTransportStream(head)) return kLikely;
  // Raw streams have nothing but their name and a start code.
  const bool start_code = text.starts_with(std::string_view("\0\0\1", 3)) ||
                          text.starts_with(std::string_view("\0\0\0\1", 4));
  const bool raw = OneOf(extension, {"h264", "264", "avc", "h265", "265",
                                     "hevc", "m4v", "m2v", "mpv"});
  return start_code && raw ? kLikely : 0;
}

}  // namespace rowfs::plugin
