#include "index/plugins/video/param_sets.h"

#include "index/plugins/video/bitstream.h"

namespace rowfs::plugin {
namespace {

constexpr uint8_t kAvcSps = 7;
constexpr uint8_t kAvcPps = 8;
constexpr uint8_t kAvcDelimiter = 9;
constexpr uint8_t kHevcVps = 32;
constexpr uint8_t kHevcSps = 33;
constexpr uint8_t kHevcPps = 34;
constexpr uint8_t kHevcDelimiter = 35;
constexpr size_t kSetBytesMax = 4096;
constexpr size_t kSetsMax = 1024;  // the standards allow 32 + 256 + 16

uint8_t TypeOf(ByteSpan nal, bool hevc) {
  return hevc ? (nal[0] >> 1) & 63 : nal[0] & 31;
}

bool IsAvcHigh(uint8_t profile) {
  for (int high : {100, 110, 122, 244, 44, 83, 86, 118, 128, 138}) {
    if (profile == high) return true;
  }
  return false;
}

struct HevcSps {
  uint8_t sub_layers = 0;  // minus 1
  uint8_t nested = 0;
  Bytes profile_tier_level;  // 12 bytes
  uint32_t chroma = 1;
  uint32_t luma_depth = 0;    // minus 8
  uint32_t chroma_depth = 0;  // minus 8
};

// False when the set is cut off.
bool ParseHevcSps(ByteSpan nal, HevcSps* sps) {
  const Bytes rbsp = Unescape(nal, kSetBytesMax);
  if (rbsp.size() < 15) return false;
  sps->sub_layers = (rbsp[2] >> 1) & 7;
  sps->nested = rbsp[2] & 1;
  sps->profile_tier_level.assign(rbsp.begin() + 3, rbsp.begin() + 15);
  BitReader bits(ByteSpan(rbsp).subspan(15));
  uint8_t present[8][2] = {};
  for (unsigned i = 0; i < sps->sub_layers; ++i) {
    present[i][0] = static_cast<uint8_t>(bits.Bits(1));
    present[i][1] = static_cast<uint8_t>(bits.Bits(1));
  }
  if (sps->sub_layers > 0) {
    for (unsigned i = sps->sub_layers; i < 8; ++i) bits.Bits(2);
  }
  for (unsigned i = 0; i < sps->sub_layers; ++i) {
    for (unsigned n = 0; present[i][0] != 0 && n < 11; ++n) bits.Bits(8);
    if (present[i][1] != 0) bits.Bits(8);
  }
  bits.ExpGolomb();  // sps id
  sps->chroma = bits.ExpGolomb();
  if (sps->chroma == 3) bits.Bits(1);
  bits.ExpGolomb();  // width
  bits.ExpGolomb();  // height
  if (bits.Bits(1) != 0) {
    for (int i = 0; i < 4; ++i) bits.ExpGolomb();
  }
  sps->luma_depth = bits.ExpGolomb();
  sps->chroma_depth = bits.ExpGolomb();
  return !bits.past_end() && sps->chroma <= 3 && sps->luma_depth <= 8 &&
         sps->chroma_depth <= 8;
}

// Chroma format and depths of a high-profile AVC sequence parameter set.
bool ParseAvcDepths(ByteSpan nal, uint32_t out[3]) {
  const Bytes rbsp = Unescape(nal, kSetBytesMax);
  BitReader bits(ByteSpan(rbsp).subspan(4));
  bits.ExpGolomb();  // id
  out[0] = bits.ExpGolomb();
  if (out[0] == 3) bits.Bits(1);
  out[1] = bits.ExpGolomb();
  out[2] = bits.ExpGolomb();
  return !bits.past_end() && out[0] <= 3 && out[1] <= 7 && out[2] <= 7;
}

// The number that tells two sets of one type apart: their own id, which comes
// first in a PPS, after fixed fields in an AVC SPS. A HEVC stream has one VPS
// and SPS in practice; a second one replaces it, as in a decoder.
uint32_t IdOf(ByteSpan nal, uint8_t type, bool hevc) {
  const Bytes rbsp = Unescape(nal, 64);
  const size_t head = hevc ? 2 : type == kAvcSps ? 4 : 1;
  if (rbsp.size() <= head || (hevc && type != kHevcPps)) return 0;
  BitReader bits(ByteSpan(rbsp).subspan(head));
  return bits.ExpGolomb();
}

}  // namespace

Bytes ToLengthPrefixed(const std::vector<ByteSpan>& nals, bool hevc) {
  ByteWriter out;
  for (ByteSpan nal : nals) {
    const uint8_t type = TypeOf(nal, hevc);
    if (type == (hevc ? kHevcDelimiter : kAvcDelimiter)) continue;
    out.Big32(static_cast<uint32_t>(nal.size()));
    out.Raw(nal);
  }
  return std::move(out.bytes());
}

bool ParameterSets::Update(const std::vector<ByteSpan>& nals) {
  bool changed = false;
  for (ByteSpan nal : nals) {
    const uint8_t type = TypeOf(nal, hevc_);
    const bool is_set = hevc_ ? type >= kHevcVps && type <= kHevcPps
                              : type == kAvcSps || type == kAvcPps;
    if (!is_set || nal.size() > kSetBytesMax || sets_.size() >= kSetsMax) {
      continue;
    }
    Bytes& set = sets_[{type, IdOf(nal, type, hevc_)}];
    if (ByteSpan(set).size() == nal.size() &&
        std::equal(nal.begin(), nal.end(), set.begin())) {
      continue;
    }
    set.assign(nal.begin(), nal.end());
    changed = true;
  }
  return changed;
}

const Bytes* ParameterSets::First(uint8_t type) const {
  const auto at = sets_.lower_bound({type, 0});
  return at == sets_.end() || at->first.type != type ? nullptr : &at->second;
}

bool ParameterSets::complete() const {
  return hevc_ ? First(kHevcSps) != nullptr && First(kHevcPps) != nullptr
               : First(kAvcSps) != nullptr && First(kAvcPps) != nullptr;
}

Bytes ParameterSets::Record() const {
  return hevc_ ? HevcRecord() : AvcRecord();
}

Bytes ParameterSets::AvcRecord() const {
  const Bytes* sps = First(kAvcSps);
  if (sps == nullptr || sps->size() < 5) return {};
  ByteWriter out;
  out.U8(1);
  out.Raw(ByteSpan(*sps).subspan(1, 3));  // profile, constraints, level
  out.U8(0xfc | 3);                       // 4-byte lengths
  for (uint8_t type : {kAvcSps, kAvcPps}) {
    uint8_t count = 0;
    for (const auto& [key, set] : sets_) {
      if (key.type == type && count < (type == kAvcSps ? 31 : 255)) ++count;
    }
    out.U8(type == kAvcSps ? 0xe0 | count : count);
    for (const auto& [key, set] : sets_) {
      if (key.type != type || count == 0) continue;
      --count;
      out.Big16(static_cast<uint16_t>(set.size()));
      out.Raw(set);
    }
  }
  uint32_t depths[3] = {};
  if (IsAvcHigh((*sps)[1]) && ParseAvcDepths(*sps, depths)) {
    out.U8(static_cast<uint8_t>(0xfc | depths[0]));
    out.U8(static_cast<uint8_t>(0xf8 | depths[1]));
    out.U8(static_cast<uint8_t>(0xf8 | depths[2]));
    out.U8(0);  // no SPS extensions
  }
  return std::move(out.bytes());
}

Bytes ParameterSets::HevcRecord() const {
  const Bytes* set = First(kHevcSps);
  HevcSps sps;
  if (set == nullptr || !ParseHevcSps(*set, &sps)) return {};
  ByteWriter out;
  out.U8(1);
  out.Raw(sps.profile_tier_level);
  out.Big16(0xf000);  // min_spatial_segmentation_idc 0: unknown
  out.U8(0xfc);       // parallelismType 0: unknown
  out.U8(static_cast<uint8_t>(0xfc | sps.chroma));
  out.U8(static_cast<uint8_t>(0xf8 | sps.luma_depth));
  out.U8(static_cast<uint8_t>(0xf8 | sps.chroma_depth));
  out.Big16(0);  // avgFrameRate unknown
  out.U8(static_cast<uint8_t>((sps.sub_layers + 1) << 3 | sps.nested << 2 | 3));
  uint8_t arrays = 0;
  for (uint8_t type : {kHevcVps, kHevcSps, kHevcPps}) {
    if (First(type) != nullptr) ++arrays;
  }
  out.U8(arrays);
  for (uint8_t type : {kHevcVps, kHevcSps, kHevcPps}) {
    uint16_t count = 0;
    for (const auto& [key, nal] : sets_) {
      if (key.type == type) ++count;
    }
    if (count == 0) continue;
    out.U8(type);  // array_completeness 0: more may be in band
    out.Big16(count);
    for (const auto& [key, nal] : sets_) {
      if (key.type != type) continue;
      out.Big16(static_cast<uint16_t>(nal.size()));
      out.Raw(nal);
    }
  }
  return std::move(out.bytes());
}

}  // namespace rowfs::plugin
