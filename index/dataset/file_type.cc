// Types of files by their first bytes and by media type.
#include <algorithm>
#include <array>

#include "index/dataset/blob.h"

namespace rowfs {
namespace {

using std::string_view_literals::operator""sv;

// Bytes that a file of the type has at `offset`.
struct Magic {
  size_t offset;
  std::string_view bytes;
  FileType type;
};

constexpr FileType kUnknown = {"bin", "application/octet-stream"};

constexpr Magic kMagics[] = {
    {0, "\xFF\xD8\xFF"sv, {"jpg", "image/jpeg"}},
    {0, "\x89PNG\r\n\x1A\n"sv, {"png", "image/png"}},
    {0, "GIF87a"sv, {"gif", "image/gif"}},
    {0, "GIF89a"sv, {"gif", "image/gif"}},
    {0, "II*\0"sv, {"tif", "image/tiff"}},
    {0, "MM\0*"sv, {"tif", "image/tiff"}},
    {0, "II+\0"sv, {"tif", "image/tiff"}},
    {0, "MM\0+"sv, {"tif", "image/tiff"}},
    {0, "\0\0\0\x0CjP  \r\n\x87\n"sv, {"jp2", "image/jp2"}},
    {0, "\xFF\x4F\xFF\x51"sv, {"j2k", "image/j2c"}},
    {0, "\0\0\0\x0CJXL \r\n\x87\n"sv, {"jxl", "image/jxl"}},
    {0, "8BPS"sv, {"psd", "image/vnd.adobe.photoshop"}},
    {0, "v/1\x01"sv, {"exr", "image/x-exr"}},
    {0, "fLaC"sv, {"flac", "audio/flac"}},
    {0, "ID3"sv, {"mp3", "audio/mpeg"}},
    {0, "caff"sv, {"caf", "audio/x-caf"}},
    {0, "\x0B\x77"sv, {"ac3", "audio/ac3"}},
    {0, "\x7F\xFE\x80\x01"sv, {"dts", "audio/vnd.dts"}},
    {0, "wvpk"sv, {"wv", "audio/x-wavpack"}},
    {0, "TTA1"sv, {"tta", "audio/x-tta"}},
    {0, "MAC "sv, {"ape", "audio/x-ape"}},
    {0, ".snd"sv, {"au", "audio/basic"}},
    {0, "#!AMR"sv, {"amr", "audio/amr"}},
    {0, "riff\x2E\x91\xCF\x11"sv, {"w64", "audio/x-w64"}},
    {0, "\0\0\x01\xBA"sv, {"mpg", "video/mpeg"}},
    {0, "\0\0\x01\xB3"sv, {"mpg", "video/mpeg"}},
    {0, "FLV\x01"sv, {"flv", "video/x-flv"}},
    {0, "DKIF\0\0"sv, {"ivf", "video/x-ivf"}},
    {0, "\x30\x26\xB2\x75\x8E\x66\xCF\x11"sv, {"asf", "video/x-ms-asf"}},
    {0, "\x06\x0E\x2B\x34\x02\x05\x01\x01"sv, {"mxf", "application/mxf"}},
    {0, "nut/multimedia container"sv, {"nut", "video/x-nut"}},
    {0, "\x1F\x07\0"sv, {"dv", "video/x-dv"}},
    {0, "\x12\0\x0A"sv, {"obu", "video/x-av1"}},
    {0, "%PDF-"sv, {"pdf", "application/pdf"}},
    {0, "PK\x03\x04"sv, {"zip", "application/zip"}},
    {0, "PK\x05\x06"sv, {"zip", "application/zip"}},
    {0, "PAR1"sv, {"parquet", "application/vnd.apache.parquet"}},
    {0, "ARROW1"sv, {"arrow", "application/vnd.apache.arrow.file"}},
    {0, "\x93NUMPY"sv, {"npy", "application/x-npy"}},
    {0, "\x1F\x8B"sv, {"gz", "application/gzip"}},
    {0, "\x28\xB5\x2F\xFD"sv, {"zst", "application/zstd"}},
    {128, "DICM"sv, {"dcm", "application/dicom"}},
    {257, "ustar"sv, {"tar", "application/x-tar"}},
};

bool HasAt(std::string_view head, size_t offset, std::string_view bytes) {
  return head.size() >= offset + bytes.size() &&
         head.substr(offset, bytes.size()) == bytes;
}

// ISO BMFF: the major brand says which family (ISO 14496-12 4.3).
std::optional<FileType> BrandType(std::string_view head) {
  if (!HasAt(head, 4, "ftyp")) return std::nullopt;
  const std::string_view brand = head.size() >= 12 ? head.substr(8, 4) : "";
  if (brand == "qt  ") return FileType{"mov", "video/quicktime"};
  if (brand == "avif" || brand == "avis") {
    return FileType{"avif", "image/avif"};
  }
  if (brand == "heic" || brand == "heix" || brand == "mif1" ||
      brand == "msf1") {
    // The general brands leave the coding to those it is compatible with.
    const bool avif = head.substr(0, 64).find("avif") != head.npos;
    return avif ? FileType{"avif", "image/avif"}
                : FileType{"heic", "image/heic"};
  }
  if (brand == "M4A " || brand == "M4B ") return FileType{"m4a", "audio/mp4"};
  return FileType{"mp4", "video/mp4"};
}

std::optional<FileType> RiffType(std::string_view head) {
  if (HasAt(head, 0, "FORM") &&
      (HasAt(head, 8, "AIFF") || HasAt(head, 8, "AIFC"))) {
    return FileType{"aiff", "audio/aiff"};
  }
  const bool riff = HasAt(head, 0, "RIFF") || HasAt(head, 0, "RF64") ||
                    HasAt(head, 0, "BW64") || HasAt(head, 0, "RIFX");
  if (!riff) return std::nullopt;
  if (HasAt(head, 8, "WAVE")) return FileType{"wav", "audio/wav"};
  if (HasAt(head, 8, "WEBP")) return FileType{"webp", "image/webp"};
  if (HasAt(head, 8, "AVI ")) return FileType{"avi", "video/x-msvideo"};
  return std::nullopt;
}

std::optional<FileType> EbmlOrOggType(std::string_view head) {
  if (HasAt(head, 0, "\x1A\x45\xDF\xA3"sv)) {
    const std::string_view header = head.substr(0, 64);
    if (header.find("webm") != header.npos) {
      return FileType{"webm", "video/webm"};
    }
    return FileType{"mkv", "video/x-matroska"};
  }
  if (!HasAt(head, 0, "OggS")) return std::nullopt;
  const std::string_view page = head.substr(0, 64);
  if (page.find("OpusHead") != page.npos) {
    return FileType{"opus", "audio/opus"};
  }
  if (page.find("theora") != page.npos || page.find("OVP80") != page.npos) {
    return FileType{"ogv", "video/ogg"};
  }
  return FileType{"ogg", "audio/ogg"};
}

// Raw H.264 and H.265 begin with a delimiter or a parameter set.
std::optional<FileType> NalType(std::string_view head) {
  const size_t zeros = head.find('\x01');
  if (zeros != 2 && zeros != 3) return std::nullopt;
  if (head.size() < 6 || head.substr(0, zeros) != "\0\0\0"sv.substr(0, zeros)) {
    return std::nullopt;
  }
  const auto first = static_cast<unsigned char>(head[zeros + 1]);
  const char second = head[zeros + 2];
  const bool hevc = first == 0x40 || first == 0x42 || first == 0x46;
  if (hevc && second == '\x01') return FileType{"h265", "video/h265"};
  const int type = first & 0x1F;
  if ((first & 0x80) == 0 && (type == 7 || type == 9)) {
    return FileType{"h264", "video/h264"};
  }
  return std::nullopt;
}

// AAC in frames that tell their length, one behind the other (ISO 14496-3
// 1.7.2).
bool IsLoas(std::string_view head) {
  const auto at = [&](size_t i) {
    return static_cast<size_t>(static_cast<unsigned char>(head[i]));
  };
  size_t frame = 0;
  for (int count = 0; count < 2; ++count) {
    if (frame + 3 > head.size() || at(frame) != 0x56 ||
        (at(frame + 1) & 0xE0) != 0xE0) {
      return false;
    }
    frame += 3 + ((at(frame + 1) & 0x1F) << 8 | at(frame + 2));
  }
  return true;
}

// Formats without a magic number, known by a structure that repeats.
std::optional<FileType> FramedType(std::string_view head) {
  if (head.size() > 376 && head[0] == 'G' && head[188] == 'G' &&
      head[376] == 'G') {
    return FileType{"ts", "video/mp2t"};
  }
  // The same packets, each behind a time stamp of four bytes.
  if (head.size() > 388 && head[4] == 'G' && head[196] == 'G' &&
      head[388] == 'G') {
    return FileType{"m2ts", "video/mp2t"};
  }
  if (IsLoas(head)) return FileType{"latm", "audio/aac"};
  if (head.size() < 4 || head[0] != '\xFF') return std::nullopt;
  const auto second = static_cast<unsigned char>(head[1]);
  const auto third = static_cast<unsigned char>(head[2]);
  if ((second & 0xF6) == 0xF0) return FileType{"aac", "audio/aac"};
  const bool mpeg_audio = (second & 0xE0) == 0xE0 && (second & 0x18) != 0x08 &&
                          (second & 0x06) != 0 && (third & 0xF0) != 0xF0 &&
                          (third & 0x0C) != 0x0C;
  if (mpeg_audio) return FileType{"mp3", "audio/mpeg"};
  return std::nullopt;
}

// "BM", the file size and two zero words, then a header size that BMP has.
bool IsBmp(std::string_view head) {
  return HasAt(head, 0, "BM") && HasAt(head, 6, "\0\0\0\0"sv) &&
         head.size() >= 18 && static_cast<unsigned char>(head[14]) >= 12 &&
         HasAt(head, 15, "\0\0\0"sv);
}

// Media types of cells that have no magic, and other spellings.
constexpr FileType kByMediaType[] = {
    {"bmp", "image/bmp"},         {"svg", "image/svg+xml"},
    {"avif", "image/avif"},       {"heic", "image/heic"},
    {"webp", "image/webp"},       {"jpg", "image/jpg"},
    {"mp4", "video/mp4"},         {"mov", "video/quicktime"},
    {"mkv", "video/x-matroska"},  {"mkv", "video/matroska"},
    {"webm", "video/webm"},       {"avi", "video/x-msvideo"},
    {"ts", "video/mp2t"},         {"ogv", "video/ogg"},
    {"wav", "audio/wav"},         {"wav", "audio/x-wav"},
    {"wav", "audio/vnd.wave"},    {"mp3", "audio/mp3"},
    {"aac", "audio/aac"},         {"m4a", "audio/mp4"},
    {"ogg", "audio/ogg"},         {"opus", "audio/opus"},
    {"flac", "audio/x-flac"},     {"aiff", "audio/aiff"},
    {"txt", "text/plain"},        {"html", "text/html"},
    {"csv", "text/csv"},          {"json", "application/json"},
    {"xml", "application/xml"},   {"md", "text/markdown"},
    {"yaml", "application/yaml"}, {"tar", "application/x-tar"},
};

}  // namespace

FileType DetectFileType(ByteSpan bytes) {
  const std::string_view head = AsText(bytes);
  for (const auto detect : {BrandType, RiffType, EbmlOrOggType}) {
    if (const auto type = detect(head)) return *type;
  }
  for (const Magic& magic : kMagics) {
    if (HasAt(head, magic.offset, magic.bytes)) return magic.type;
  }
  if (IsBmp(head)) return {"bmp", "image/bmp"};
  if (const auto type = NalType(head)) return *type;
  if (const auto type = FramedType(head)) return *type;
  // Readers look for the header in the first KiB (ISO 32000-1, annex H.3.4.1).
  if (head.substr(0, 1024).find("%PDF-") != head.npos)
    return {"pdf", "application/pdf"};
  return kUnknown;
}

std::optional<FileType> FileTypeOf(std::string_view media_type) {
  media_type = media_type.substr(0, media_type.find(';'));
  while (!media_type.empty() && media_type.back() == ' ') {
    media_type.remove_suffix(1);
  }
  for (const FileType& type : kByMediaType) {
    if (type.media_type == media_type) return type;
  }
  for (const Magic& magic : kMagics) {
    if (magic.type.media_type == media_type) return magic.type;
  }
  return std::nullopt;
}

}  // namespace rowfs
