#include "index/plugins/image/lossless_jpeg.h"

#include <array>
#include <cstring>

namespace rowfs::plugin {
namespace {

constexpr uint8_t kSof3 = 0xc3;
constexpr uint8_t kDht = 0xc4;
constexpr uint8_t kSos = 0xda;
constexpr uint8_t kDri = 0xdd;

// Canonical codes of up to 16 bits (T.81 annex C), looked up a bit at a time.
struct CodeTable {
  std::array<uint32_t, 17> first_code{};
  std::array<uint32_t, 17> first_value{};
  std::array<uint32_t, 17> count{};
  Bytes values;
};

class BitReader {
 public:
  explicit BitReader(ByteSpan bytes) : bytes_(bytes) {}

  uint32_t Bit() {
    if (left_ == 0) {
      current_ = NextByte();
      left_ = 8;
    }
    return current_ >> --left_ & 1u;
  }
  uint32_t Bits(unsigned count) {
    uint32_t value = 0;
    while (count-- > 0) value = value << 1 | Bit();
    return value;
  }
  // Past a restart marker.
  void Restart() {
    left_ = 0;
    if (at_ + 1 < bytes_.size() && bytes_[at_] == 0xff &&
        (bytes_[at_ + 1] & 0xf8) == 0xd0) {
      at_ += 2;
    } else {
      ok_ = false;
    }
  }
  bool ok() const { return ok_; }

 private:
  // A marker ends the data.
  uint8_t NextByte() {
    if (at_ >= bytes_.size()) return Ended();
    const uint8_t byte = bytes_[at_];
    if (byte != 0xff) {
      ++at_;
      return byte;
    }
    if (at_ + 1 >= bytes_.size() || bytes_[at_ + 1] != 0) return Ended();
    at_ += 2;
    return byte;
  }
  uint8_t Ended() {
    ok_ = false;
    return 0;
  }

  const ByteSpan bytes_;
  size_t at_ = 0;
  unsigned left_ = 0;
  uint8_t current_ = 0;
  bool ok_ = true;
};

uint32_t Big16(ByteReader* in) {
  const uint32_t high = in->U8();
  return high << 8 | in->U8();
}

class LosslessDecoder {
 public:
  explicit LosslessDecoder(ByteSpan jpeg) : jpeg_(jpeg) {}

  // The segments up to the scan.
  Status ReadHead();
  Result<Raster> Decode(SampleType type);

 private:
  Status ReadFrame(ByteReader in);
  Status ReadTables(ByteReader in);
  Status ReadScan(ByteReader in);
  Result<uint32_t> Difference(BitReader* bits, const CodeTable& table);
  // What is expected of a sample, from those around it (T.81 table H.1).
  uint32_t Expected(const uint16_t* sample, uint32_t x, bool first_row) const;

  const ByteSpan jpeg_;
  size_t scan_at_ = 0;
  uint32_t width_ = 0, height_ = 0;
  unsigned precision_ = 0;
  size_t components_ = 0;
  std::array<uint8_t, 3> ids_{};
  std::array<size_t, 3> tables_of_{};
  std::array<CodeTable, 4> tables_;
  unsigned predictor_ = 0;
  unsigned shift_ = 0;
  uint32_t interval_ = 0;  // samples a restart
};

Status LosslessDecoder::ReadFrame(ByteReader in) {
  precision_ = in.U8();
  height_ = Big16(&in);
  width_ = Big16(&in);
  components_ = in.U8();
  if (precision_ < 2 || precision_ > 16 || width_ == 0 || height_ == 0 ||
      (components_ != 1 && components_ != 3)) {
    return Unsupported("lossless JPEG of another kind");
  }
  for (size_t i = 0; i < components_; ++i) {
    ids_[i] = in.U8();
    if (in.U8() != 0x11) return Unsupported("subsampled lossless JPEG");
    in.U8();
  }
  return in.ok() ? Status() : Corrupt("a JPEG frame is cut short");
}

Status LosslessDecoder::ReadTables(ByteReader in) {
  while (in.remaining() >= 17) {
    const size_t number = in.U8() & 15u;
    if (number >= tables_.size()) return Corrupt("no such JPEG table");
    CodeTable& table = tables_[number];
    uint32_t code = 0;
    uint32_t total = 0;
    for (size_t bits = 1; bits <= 16; ++bits) {
      table.count[bits] = in.U8();
      table.first_code[bits] = code;
      table.first_value[bits] = total;
      code = (code + table.count[bits]) << 1;
      total += table.count[bits];
    }
    if (total > 256 || total > in.remaining()) {
      return Corrupt("a JPEG table is damaged");
    }
    const ByteSpan values = in.Take(total);
    table.values.assign(values.begin(), values.end());
  }
  return {};
}

Status LosslessDecoder::ReadScan(ByteReader in) {
  if (in.U8() != components_) {
    return Unsupported("lossless JPEG of several scans");
  }
  for (size_t i = 0; i < components_; ++i) {
    const uint8_t id = in.U8();
    tables_of_[i] = in.U8() >> 4;
    if (id != ids_[i] || tables_of_[i] >= tables_.size()) {
      return Corrupt("a JPEG scan of other components");
    }
  }
  predictor_ = in.U8();
  in.U8();
  shift_ = in.U8() & 15u;
  if (!in.ok() || predictor_ < 1 || predictor_ > 7 || shift_ >= precision_) {
    return Corrupt("a JPEG scan is damaged");
  }
  return {};
}

Status LosslessDecoder::ReadHead() {
  for (size_t at = 2; at + 4 <= jpeg_.size();) {
    if (jpeg_[at] != 0xff) return Corrupt("no JPEG marker where one should be");
    const uint8_t marker = jpeg_[at + 1];
    if (marker == 0xff) {
      ++at;
      continue;
    }
    const size_t size = size_t{jpeg_[at + 2]} << 8 | jpeg_[at + 3];
    if (size < 2 || size > jpeg_.size() - at - 2) break;
    ByteReader in(jpeg_.subspan(at + 4, size - 2));
    at += 2 + size;
    if (marker == kSof3) {
      PLUGIN_RETURN_IF_ERROR(ReadFrame(in));
    } else if (marker == kDht) {
      PLUGIN_RETURN_IF_ERROR(ReadTables(in));
    } else if (marker == kDri) {
      interval_ = Big16(&in);
    } else if (marker == kSos) {
      if (components_ == 0) return Unsupported("JPEG that is not lossless");
      scan_at_ = at;
      return ReadScan(in);
    }
  }
  return Corrupt("a JPEG picture without a scan");
}

Result<uint32_t> LosslessDecoder::Difference(BitReader* bits,
                                             const CodeTable& table) {
  uint32_t code = 0;
  for (size_t length = 1; length <= 16; ++length) {
    code = code << 1 | bits->Bit();
    const uint32_t place = code - table.first_code[length];
    if (code < table.first_code[length] || place >= table.count[length]) {
      continue;
    }
    const unsigned size = table.values[table.first_value[length] + place];
    if (size == 16) return uint32_t{32768};
    if (size > 16) break;
    if (size == 0) return uint32_t{0};
    const uint32_t value = bits->Bits(size);
    // The upper half is positive, the lower half counts up from the least.
    return value >> (size - 1) != 0 ? value : value - (1u << size) + 1;
  }
  return Corrupt("a JPEG code that is in no table");
}

uint32_t LosslessDecoder::Expected(const uint16_t* sample, uint32_t x,
                                   bool first_row) const {
  const size_t row = size_t{width_} * components_;
  if (first_row) {
    return x == 0 ? 1u << (precision_ - shift_ - 1)
                  : sample[-static_cast<ptrdiff_t>(components_)];
  }
  const int32_t b = sample[-static_cast<ptrdiff_t>(row)];
  if (x == 0) return static_cast<uint32_t>(b);
  const int32_t a = sample[-static_cast<ptrdiff_t>(components_)];
  const int32_t c = sample[-static_cast<ptrdiff_t>(row + components_)];
  switch (predictor_) {
    case 1:
      return static_cast<uint32_t>(a);
    case 2:
      return static_cast<uint32_t>(b);
    case 3:
      return static_cast<uint32_t>(c);
    case 4:
      return static_cast<uint32_t>(a + b - c);
    case 5:
      return static_cast<uint32_t>(a + ((b - c) >> 1));
    case 6:
      return static_cast<uint32_t>(b + ((a - c) >> 1));
    default:
      return static_cast<uint32_t>((a + b) >> 1);
  }
}

Result<Raster> LosslessDecoder::Decode(SampleType type) {
  PLUGIN_ASSIGN_OR_RETURN(
      Raster out,
      MakeRaster(width_, height_, static_cast<uint8_t>(components_), type));
  // Even the shortest code is a bit.
  const size_t count = size_t{width_} * height_ * components_;
  if (count / 8 > jpeg_.size()) return Corrupt("a JPEG scan is cut short");
  std::vector<uint16_t> samples(count);
  BitReader bits(jpeg_.subspan(scan_at_));
  uint32_t until_restart = interval_;
  uint32_t first_row = 0;  // of the interval
  size_t at = 0;
  for (uint32_t y = 0; y < height_; ++y) {
    for (uint32_t x = 0; x < width_; ++x) {
      if (interval_ != 0 && until_restart-- == 0) {
        bits.Restart();
        until_restart = interval_ - 1;
        first_row = y;
      }
      for (size_t c = 0; c < components_; ++c, ++at) {
        PLUGIN_ASSIGN_OR_RETURN(const uint32_t difference,
                                Difference(&bits, tables_[tables_of_[c]]));
        samples[at] = static_cast<uint16_t>(
            Expected(&samples[at], x, y == first_row) + difference);
      }
    }
    if (!bits.ok()) return Corrupt("a JPEG scan is cut short");
  }
  const size_t width = SampleSize(type);
  for (size_t i = 0; i < count; ++i) {
    const auto value = static_cast<uint16_t>(samples[i] << shift_);
    std::memcpy(out.samples.data() + i * width, &value, width);
  }
  return out;
}

}  // namespace

Result<Raster> DecodeLosslessJpeg(ByteSpan jpeg, SampleType type) {
  LosslessDecoder decoder(jpeg);
  PLUGIN_RETURN_IF_ERROR(decoder.ReadHead());
  return decoder.Decode(type);
}

}  // namespace rowfs::plugin
