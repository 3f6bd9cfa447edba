#include "index/plugins/audio/probe.h"

#include <string>

namespace rowfs::plugin {
namespace {

constexpr int32_t kCertain = 95;
constexpr int32_t kLikely = 75;
constexpr int32_t kMaybe = 60;
constexpr int32_t kUnlikely = 10;

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool EndsWithAny(std::string_view name,
                 std::initializer_list<std::string_view> extensions) {
  std::string lower;
  for (const char c : name) {
    lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  for (const std::string_view extension : extensions) {
    if (lower.ends_with(extension)) return true;
  }
  return false;
}

bool IsSoundName(std::string_view name) {
  return EndsWithAny(
      name, {".m4a", ".m4b", ".mka", ".aac", ".oga", ".ogg", ".opus", ".weba"});
}

int32_t ProbeMp4(std::string_view text, std::string_view name) {
  const std::string_view brand = text.substr(8, 4);
  if (Has(text, "vide")) return kUnlikely;
  if (brand == "M4A " || brand == "M4B " || Has(text, "soun")) return kCertain;
  return IsSoundName(name) ? kLikely : kUnlikely;
}

int32_t ProbeMatroska(std::string_view text, std::string_view name) {
  if (Has(text, "V_")) return kUnlikely;
  if (Has(text, "A_")) return kCertain;
  return IsSoundName(name) ? kLikely : kUnlikely;
}

int32_t ProbeOgg(std::string_view text) {
  if (Has(text, "theora")) return kUnlikely;
  for (const std::string_view magic : {"OpusHead", "\x01vorbis",
                                       "\x7f"
                                       "FLAC",
                                       "Speex   "}) {
    if (Has(text, magic)) return kCertain;
  }
  return kUnlikely;
}

// DTS frames: words of 16 or 14 bits, either byte first.
bool IsDts(std::string_view text) {
  for (const char* sync : {"\x7f\xfe\x80\x01", "\xfe\x7f\x01\x80",
                           "\x1f\xff\xe8", "\xff\x1f\x00\xe8"}) {
    if (text.starts_with({sync, sync[0] == '\x1f' ? size_t{3} : 4}))
      return true;
  }
  return false;
}

// Types of streams, as GUIDs: the head lists all of them.
int32_t ProbeAsf(std::string_view text) {
  constexpr std::string_view kRest(
      "\x4d\x5b\xcf\x11\xa8\xfd\x00\x80\x5f\x5c\x44\x2b", 12);
  if (Has(text, "\xc0\xef\x19\xbc" + std::string(kRest))) return kUnlikely;
  return Has(text, "\x40\x9e\x69\xf8" + std::string(kRest)) ? kCertain
                                                            : kUnlikely;
}

// Length of the frame at the front of `p`, 0 when there is none there: MPEG
// audio, ADTS, LOAS, AC-3.
size_t FrameLength(ByteSpan p) {
  if (p.size() < 8) return 0;
  if (p[0] == 0x0b && p[1] == 0x77) {
    constexpr uint16_t kKbps[] = {32,  40,  48,  56,  64,  80,  96,
                                  112, 128, 160, 192, 224, 256, 320,
                                  384, 448, 512, 576, 640};
    if ((p[5] >> 3) > 10) return size_t{2} * (((p[2] & 7u) << 8 | p[3]) + 1);
    const unsigned rate = p[4] >> 6;
    const unsigned code = (p[4] & 63u) >> 1;
    if (rate == 3 || code >= std::size(kKbps)) return 0;
    const size_t kbps = kKbps[code];
    if (rate == 0) return kbps * 4;
    if (rate == 2) return kbps * 6;
    return 2 * (kbps * 96000 / 44100 + (p[4] & 1));
  }
  if (p[0] == 0x56 && (p[1] & 0xe0) == 0xe0) {
    return ((p[1] & 0x1fu) << 8 | p[2]) + 3u;
  }
  if (p[0] != 0xff || (p[1] & 0xe0) != 0xe0) return 0;
  if ((p[1] & 0xf6) == 0xf0) {
    const size_t size = (p[3] & 3u) << 11 | size_t{p[4]} << 3 | p[5] >> 5;
    return size > 7 ? size : 0;
  }
  const unsigned version = (p[1] >> 3) & 3;
  const unsigned layer = 4 - ((p[1] >> 1) & 3u);
  const unsigned code = p[2] >> 4;
  const unsigned rate_code = (p[2] >> 2) & 3;
  if (version == 1 || layer == 4 || code == 0 || code == 15 || rate_code == 3) {
    return 0;
  }
  constexpr uint16_t kTable[5][15] = {
      {0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448},
      {0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},
      {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320},
      {0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},
      {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}};
  constexpr uint32_t kRates[] = {44100, 48000, 32000};
  const bool full = version == 3;
  const size_t row = full ? layer - 1 : layer == 1 ? 3 : 4;
  const size_t bits = size_t{kTable[row][code]} * 1000;
  const size_t rate = kRates[rate_code] >> (full ? 0 : version == 2 ? 1 : 2);
  const size_t padding = (p[2] >> 1) & 1;
  if (layer == 1) return (12 * bits / rate + padding) * 4;
  return (layer == 3 && !full ? 72 : 144) * bits / rate + padding;
}

// Frames that follow one another from somewhere near the front.
int32_t ProbeFrames(ByteSpan head, std::string_view name) {
  const bool named = EndsWithAny(name, {".mp3", ".mp2", ".mpga", ".aac", ".ac3",
                                        ".eac3", ".latm", ".loas"});
  const size_t reach = named ? std::min<size_t>(head.size(), 4096) : 1;
  for (size_t start = 0; start < reach; ++start) {
    size_t at = start;
    int frames = 0;
    bool ended = false;
    while (frames < 8) {
      if (at + 8 > head.size()) {
        ended = true;
        break;
      }
      const size_t length = FrameLength(head.subspan(at));
      if (length == 0) break;
      at += length;
      ++frames;
    }
    if (frames >= 4) return named ? kCertain : kLikely;
    if (frames >= 1 && ended && named) return kMaybe;
  }
  return 0;
}

}  // namespace

int32_t ProbeSound(ByteSpan head, std::string_view file_name) {
  const std::string_view text = AsText(head);
  if (text.size() < 16) return 0;
  const std::string_view magic = text.substr(0, 4);
  const std::string_view form = text.substr(8, 4);
  if ((magic == "RIFF" || magic == "RIFX" || magic == "RF64" ||
       magic == "BW64") &&
      form == "WAVE") {
    return kCertain;
  }
  if (magic == "FORM" && (form == "AIFF" || form == "AIFC")) return kCertain;
  if (magic == "caff" || magic == "fLaC" || magic == ".snd") return kCertain;
  if (magic == "riff" && text.starts_with("riff\x2e\x91\xcf\x11")) {
    return kCertain;
  }
  if (magic == "wvpk" || magic == "MAC " || magic == "TTA1") return kCertain;
  if (text.starts_with("#!AMR")) return kCertain;
  if (magic == "OggS") return ProbeOgg(text);
  if (text.starts_with("\x1a\x45\xdf\xa3")) {
    return ProbeMatroska(text, file_name);
  }
  if (text.substr(4, 4) == "ftyp") return ProbeMp4(text, file_name);
  if (text.starts_with("ID3")) {
    // The tag may be longer than the head; what it belongs to is nearly always
    // sound.
    return kLikely;
  }
  if (IsDts(text)) return kLikely;
  if (text.starts_with("\x30\x26\xb2\x75\x8e\x66\xcf\x11")) {
    return ProbeAsf(text);
  }
  return ProbeFrames(head, file_name);
}

}  // namespace rowfs::plugin
