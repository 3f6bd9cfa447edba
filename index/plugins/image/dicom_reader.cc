#include "index/plugins/image/dicom_reader.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace rowfs::plugin {
namespace {

constexpr size_t kDisplayMax = 40;  // letters of a number
constexpr uint64_t kElementsMax = 100'000;
constexpr uint64_t kValueMax = 16 << 20;
constexpr uint32_t kItemEnd = 0xfffee00d;
constexpr uint32_t kSequenceEnd = 0xfffee0dd;
constexpr uint32_t kPixelData = 0x7fe00010;

std::string Trimmed(ByteSpan value) {
  std::string text(AsText(value));
  while (!text.empty() && (text.back() == ' ' || text.back() == '\0')) {
    text.pop_back();
  }
  return text;
}

}  // namespace

Result<uint64_t> DicomReader::Little(uint64_t at, size_t size) {
  uint8_t bytes[4] = {};
  PLUGIN_RETURN_IF_ERROR(file_->ReadAt(at, std::span(bytes).first(size)));
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    value = value << 8 | bytes[big_endian_ ? i : size - 1 - i];
  }
  return value;
}

Result<DicomReader::Element> DicomReader::ReadElement() {
  if (++elements_ > kElementsMax) return Limit("too many elements");
  Element e;
  PLUGIN_ASSIGN_OR_RETURN(const uint64_t group, Little(at_, 2));
  PLUGIN_ASSIGN_OR_RETURN(const uint64_t element, Little(at_ + 2, 2));
  e.tag = static_cast<uint32_t>(group << 16 | element);
  at_ += 4;
  if (!explicit_ || group == 0xfffe) {
    PLUGIN_ASSIGN_OR_RETURN(const uint64_t length, Little(at_, 4));
    e.length = static_cast<uint32_t>(length);
    at_ += 4;
    return e;
  }
  char vr[2];
  uint8_t raw[2];
  PLUGIN_RETURN_IF_ERROR(file_->ReadAt(at_, raw));
  std::memcpy(vr, raw, 2);
  const std::string_view name(vr, 2);
  bool wide = false;
  for (const std::string_view known : {"OB", "OD", "OF", "OL", "OV", "OW", "SQ",
                                       "SV", "UC", "UN", "UR", "UT", "UV"}) {
    wide |= name == known;
  }
  PLUGIN_ASSIGN_OR_RETURN(const uint64_t length,
                          Little(at_ + (wide ? 4 : 2), wide ? 4 : 2));
  at_ += wide ? 8 : 4;
  e.length = static_cast<uint32_t>(length);
  return e;
}

// Items of undefined length, at any depth, up to the end of the outermost.
Status DicomReader::SkipSequence() {
  uint32_t depth = 1;
  while (depth > 0) {
    PLUGIN_ASSIGN_OR_RETURN(const Element e, ReadElement());
    if (e.tag == kSequenceEnd || e.tag == kItemEnd) {
      --depth;
    } else if (e.length == kDicomUndefined) {
      if (++depth > 64) return Limit("sequences too deep");
    } else {
      at_ += e.length;
    }
  }
  return {};
}

uint32_t DicomReader::Number(ByteSpan value, size_t which) const {
  if (value.size() < 2 * which + 2) return 0;
  const uint32_t a = value[2 * which], b = value[2 * which + 1];
  return big_endian_ ? a << 8 | b : b << 8 | a;
}

void DicomReader::TakePalette(uint32_t tag, const Bytes& value) {
  DicomPalette& palette = pixels_.palette;
  if (tag == 0x00281101) {
    palette.count = Number(value, 0) == 0 ? 65536 : Number(value, 0);
    palette.first = Number(value, 1);
    palette.bits = Number(value, 2);
  } else if (tag >= 0x00281201 && tag <= 0x00281203) {
    Bytes& entries = palette.entries[tag - 0x00281201];
    entries = value;
    if (!big_endian_) return;
    for (size_t i = 0; i + 1 < entries.size(); i += 2) {
      std::swap(entries[i], entries[i + 1]);
    }
  }
}

void DicomReader::TakeDisplay(const char* name, ByteSpan value) {
  std::string text = Trimmed(value);
  text = text.substr(0, std::min(text.find('\\'), kDisplayMax));
  for (const char c : text) {
    if (std::strchr("0123456789+-.eE ", c) == nullptr) return;
  }
  if (!text.empty()) pixels_.display += std::string(", ") + name + " " + text;
}

Status DicomReader::Take(const Element& e) {
  const uint32_t group = e.tag >> 16;
  const bool wanted =
      e.tag == 0x00020010 || group == 0x0028 || e.tag == 0x7fe00001;
  if (!wanted || e.length > kValueMax) {
    at_ += e.length;
    return {};
  }
  PLUGIN_ASSIGN_OR_RETURN(const Bytes value,
                          file_->Read(at_, e.length, kValueMax));
  at_ += e.length;
  const auto number = [&] { return Number(value, 0); };
  switch (e.tag) {
    case 0x00020010:
      pixels_.syntax = Trimmed(value);
      break;
    case 0x00280002:
      pixels_.samples = number();
      break;
    case 0x00280004:
      pixels_.photometric = Trimmed(value);
      break;
    case 0x00280006:
      pixels_.planar = number() == 1;
      break;
    case 0x00280008: {
      const std::string text = Trimmed(value);
      const size_t from = std::min(text.find_first_not_of(' '), text.size());
      std::from_chars(text.data() + from, text.data() + text.size(),
                      pixels_.frames);
      break;
    }
    case 0x00280010:
      pixels_.rows = number();
      break;
    case 0x00280011:
      pixels_.columns = number();
      break;
    case 0x00280100:
      pixels_.allocated = number();
      break;
    case 0x00280101:
      pixels_.stored = number();
      break;
    case 0x00280103:
      pixels_.is_signed = number() == 1;
      break;
    case 0x00281050:
      TakeDisplay("window center", value);
      break;
    case 0x00281051:
      TakeDisplay("window width", value);
      break;
    case 0x00281052:
      TakeDisplay("rescale intercept", value);
      break;
    case 0x00281053:
      TakeDisplay("rescale slope", value);
      break;
    case 0x7fe00001:
      offsets64_ = value;
      break;
    default:
      TakePalette(e.tag, value);
      break;
  }
  return {};
}

Status DicomReader::Run() {
  bool in_meta = true;
  while (true) {
    if (in_meta) {
      // Group 2 is explicit little-endian; what follows is as it says.
      PLUGIN_ASSIGN_OR_RETURN(const uint64_t group, Little(at_, 2));
      if (group != 2) {
        in_meta = false;
        explicit_ = pixels_.syntax != "1.2.840.10008.1.2";
        big_endian_ = pixels_.syntax == "1.2.840.10008.1.2.2";
        pixels_.big_endian = big_endian_;
        if (pixels_.syntax == "1.2.840.10008.1.2.1.99") {
          return Unsupported("a deflated DICOM file");
        }
      }
    }
    PLUGIN_ASSIGN_OR_RETURN(const Element e, ReadElement());
    if (e.tag == kPixelData) {
      length_ = e.length;
      return {};
    }
    if (e.length == kDicomUndefined) {
      PLUGIN_RETURN_IF_ERROR(SkipSequence());
    } else {
      PLUGIN_RETURN_IF_ERROR(Take(e));
    }
  }
}

}  // namespace rowfs::plugin
