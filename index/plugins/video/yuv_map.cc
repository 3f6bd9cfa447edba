#include "index/plugins/video/yuv_map.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstdlib>

namespace rowfs::plugin {
namespace {

constexpr int32_t kHalf = 1 << 15;

int32_t LumaBias(const YuvMapping& m) {
  return kHalf - m.y * m.black - 128 * (m.y_cb + m.y_cr);
}
int32_t ChromaBias(int32_t by_own, int32_t by_other) {
  return kHalf + (128 << 16) - 128 * (by_own + by_other);
}

uint8_t Clip(int32_t fixed) {
  const int32_t v = fixed >> 16;
  return static_cast<uint8_t>(std::clamp(v, 0, 255));
}

// The rows of luma that share one row of chroma. The second is the first again
// where the height is odd.
struct RowPair {
  std::array<const uint8_t*, 2> y;
  const uint8_t* cb;
  const uint8_t* cr;
  std::array<uint8_t*, 2> out_y;
  std::array<uint8_t*, 2> out_c;
};

// From column `x` of chroma on.
void MapPair(const RowPair& r, uint32_t x, uint32_t width,
             const YuvMapping& m) {
  const int32_t bias = LumaBias(m);
  const int32_t cb_bias = ChromaBias(m.cb_cb, m.cb_cr);
  const int32_t cr_bias = ChromaBias(m.cr_cr, m.cr_cb);
  for (; x < (width + 1) / 2; ++x) {
    const int32_t cb = r.cb[x];
    const int32_t cr = r.cr[x];
    const int32_t added = cb * m.y_cb + cr * m.y_cr + bias;
    for (uint32_t i = 2 * x; i < std::min(2 * x + 2, width); ++i) {
      r.out_y[0][i] = Clip(r.y[0][i] * m.y + added);
      r.out_y[1][i] = Clip(r.y[1][i] * m.y + added);
    }
    r.out_c[0][x] = Clip(cb * m.cb_cb + cr * m.cb_cr + cb_bias);
    r.out_c[1][x] = Clip(cr * m.cr_cr + cb * m.cr_cb + cr_bias);
  }
}

// Does some columns of chroma from 0 on; how many.
using MapStart = uint32_t (*)(const RowPair& rows, uint32_t width,
                              const YuvMapping& m);

uint32_t MapNothing(const RowPair&, uint32_t, const YuvMapping&) { return 0; }

void MapRows(const YuvSource& from, const YuvMapping& m, const YuvTarget& to,
             MapStart start) {
  const auto in = [&](size_t plane, uint32_t row) {
    return from.data[plane] + ptrdiff_t{row} * from.stride[plane];
  };
  const auto out = [&](size_t plane, uint32_t row) {
    return to.data[plane] + size_t{row} * to.stride[plane];
  };
  for (uint32_t row = 0; row < (from.height + 1) / 2; ++row) {
    const uint32_t first = 2 * row;
    const uint32_t second = std::min(first + 1, from.height - 1);
    const RowPair rows = {{in(0, first), in(0, second)},
                          in(1, row),
                          in(2, row),
                          {out(0, first), out(0, second)},
                          {out(1, row), out(2, row)}};
    MapPair(rows, start(rows, from.width, m), from.width, m);
  }
}

#if defined(__x86_64__)
#define ROWFS_SSE4 __attribute__((target("sse4.1")))

// A product of a byte and up to 17 bits is the sum of two products of 16 bits,
// which is one instruction for pairs of samples.
ROWFS_SSE4 inline __m128i Factors(int32_t first, int32_t second) {
  return _mm_set1_epi32(
      static_cast<int32_t>(static_cast<uint32_t>(second) << 16 |
                           (static_cast<uint32_t>(first) & 0xffff)));
}
// For (4 v, v).
ROWFS_SSE4 inline __m128i WideFactor(int32_t by) {
  return Factors(by >> 2, by & 3);
}
bool FitsFactors(const YuvMapping& m) {
  const auto wide = [](int32_t v) { return v >= 0 && v >> 2 <= INT16_MAX; };
  const auto narrow = [](int32_t v) { return std::abs(v) <= INT16_MAX; };
  return wide(m.y) && wide(m.cb_cb) && wide(m.cr_cr) && narrow(m.y_cb) &&
         narrow(m.y_cr) && narrow(m.cb_cr) && narrow(m.cr_cb);
}

struct EightSums {
  __m128i low;
  __m128i high;
};

ROWFS_SSE4 inline __m128i LoadEight(const uint8_t* from) {
  return _mm_cvtepu8_epi16(_mm_loadl_epi64(
      static_cast<const __m128i*>(static_cast<const void*>(from))));
}
ROWFS_SSE4 inline EightSums PairSums(__m128i a, __m128i b, __m128i factors) {
  return {_mm_madd_epi16(_mm_unpacklo_epi16(a, b), factors),
          _mm_madd_epi16(_mm_unpackhi_epi16(a, b), factors)};
}
ROWFS_SSE4 inline EightSums WideProducts(__m128i v, __m128i factor) {
  return PairSums(_mm_slli_epi16(v, 2), v, factor);
}
ROWFS_SSE4 inline EightSums Add(const EightSums& a, const EightSums& b) {
  return {_mm_add_epi32(a.low, b.low), _mm_add_epi32(a.high, b.high)};
}
ROWFS_SSE4 inline void StoreClipped(const EightSums& sums, uint8_t* to) {
  const __m128i words = _mm_packs_epi32(_mm_srai_epi32(sums.low, 16),
                                        _mm_srai_epi32(sums.high, 16));
  _mm_storel_epi64(static_cast<__m128i*>(static_cast<void*>(to)),
                   _mm_packus_epi16(words, words));
}

ROWFS_SSE4 uint32_t MapWithSse4(const RowPair& rows, uint32_t width,
                                const YuvMapping& m) {
  const __m128i by_y = WideFactor(m.y);
  const __m128i by_chroma = Factors(m.y_cb, m.y_cr);
  const __m128i cb_by[] = {WideFactor(m.cb_cb), Factors(m.cb_cr, 0)};
  const __m128i cr_by[] = {WideFactor(m.cr_cr), Factors(m.cr_cb, 0)};
  const __m128i bias = _mm_set1_epi32(LumaBias(m));
  const __m128i cb_bias = _mm_set1_epi32(ChromaBias(m.cb_cb, m.cb_cr));
  const __m128i cr_bias = _mm_set1_epi32(ChromaBias(m.cr_cr, m.cr_cb));
  const __m128i zero = _mm_setzero_si128();
  uint32_t x = 0;
  for (; x + 8 <= width / 2; x += 8) {
    const __m128i cb = LoadEight(rows.cb + x);
    const __m128i cr = LoadEight(rows.cr + x);
    StoreClipped(
        Add(Add(WideProducts(cb, cb_by[0]), PairSums(cr, zero, cb_by[1])),
            {cb_bias, cb_bias}),
        rows.out_c[0] + x);
    StoreClipped(
        Add(Add(WideProducts(cr, cr_by[0]), PairSums(cb, zero, cr_by[1])),
            {cr_bias, cr_bias}),
        rows.out_c[1] + x);
    // Each column of chroma goes to two pixels.
    const EightSums c = Add(PairSums(cb, cr, by_chroma), {bias, bias});
    const EightSums left = {_mm_unpacklo_epi32(c.low, c.low),
                            _mm_unpackhi_epi32(c.low, c.low)};
    const EightSums right = {_mm_unpacklo_epi32(c.high, c.high),
                             _mm_unpackhi_epi32(c.high, c.high)};
    for (size_t i = 0; i < 2; ++i) {
      const uint8_t* y = rows.y[i] + 2 * size_t{x};
      uint8_t* to = rows.out_y[i] + 2 * size_t{x};
      StoreClipped(Add(WideProducts(LoadEight(y), by_y), left), to);
      StoreClipped(Add(WideProducts(LoadEight(y + 8), by_y), right), to + 8);
    }
  }
  return x;
}

MapStart FastestStart(const YuvMapping& m) {
  return __builtin_cpu_supports("sse4.1") && FitsFactors(m) ? MapWithSse4
                                                            : MapNothing;
}
#else
MapStart FastestStart(const YuvMapping&) { return MapNothing; }
#endif

}  // namespace

void MapYuv(const YuvSource& from, const YuvMapping& mapping,
            const YuvTarget& to) {
  MapRows(from, mapping, to, FastestStart(mapping));
}

void MapYuvPlainly(const YuvSource& from, const YuvMapping& mapping,
                   const YuvTarget& to) {
  MapRows(from, mapping, to, MapNothing);
}

}  // namespace rowfs::plugin
