// Points in time as exact fractions of a second, so that "12.345" and a frame's
// ticks compare without rounding.
//
// Values without locks.
#ifndef ROWFS_INDEX_PLUGINS_COMMON_EXACT_TIME_H_
#define ROWFS_INDEX_PLUGINS_COMMON_EXACT_TIME_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rowfs::plugin {

__extension__ typedef __int128 Int128;

struct TimeBase {  // a tick lasts num/den seconds; both positive
  int32_t num = 1;
  int32_t den = 1;
  bool operator==(const TimeBase&) const = default;
};

// num/den seconds. den is in [1, 2^62].
class ExactTime {
 public:
  ExactTime() = default;  // 0
  static ExactTime FromTicks(int64_t ticks, TimeBase base);
  // "12", "12.5", "0012.500", "hh:mm:ss", "hh:mm:ss.mmm" (minutes and seconds
  // below 60). Up to 18 digits before and any number behind the point, no sign,
  // no exponent, no blanks; nullopt for everything else. Digits behind the 18th
  // decimal only count as "a little later".
  static std::optional<ExactTime> Parse(std::string_view text);

  // Exact; nullopt when the common denominator is not below 2^62, which no
  // pair of real time bases needs.
  std::optional<ExactTime> Minus(const ExactTime& other) const;

  std::strong_ordering operator<=>(const ExactTime& other) const;
  bool operator==(const ExactTime& other) const {
    return (*this <=> other) == 0;
  }

  // The largest tick of `base` that is not after this time, the smallest that
  // is not before it; clamped to int64.
  int64_t FloorTicks(TimeBase base) const;
  int64_t CeilTicks(TimeBase base) const;

  // Decimal seconds: exact when nine decimals suffice, else rounded up to the
  // ninth, so that looking the text up again gives the same frame. At least one
  // digit before the point; no trailing zeros ("0", "0.04", "-1.5").
  std::string ToDecimal() const;
  double ToDouble() const;

 private:
  ExactTime(Int128 num, int64_t den) : num_(num), den_(den) {}

  Int128 num_ = 0;
  int64_t den_ = 1;
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_COMMON_EXACT_TIME_H_
