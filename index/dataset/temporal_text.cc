#include "index/dataset/temporal_text.h"

#include <array>

namespace rowfs {
namespace {

constexpr int64_t kSecondsPerDay = 86'400;

int64_t TicksPerSecond(TimeUnit unit) {
  static constexpr std::array<int64_t, 4> kTicks = {1, 1'000, 1'000'000,
                                                    1'000'000'000};
  return kTicks[static_cast<size_t>(unit)];
}

// Quotient rounded down, remainder 0 <= r < divisor.
struct Divided {
  int64_t quotient;
  int64_t remainder;
};
Divided FloorDivide(int64_t value, int64_t divisor) {
  Divided result{value / divisor, value % divisor};
  if (result.remainder < 0) {
    result.remainder += divisor;
    --result.quotient;
  }
  return result;
}

std::string Padded(uint64_t value, size_t digits) {
  std::string text = std::to_string(value);
  return text.size() < digits ? std::string(digits - text.size(), '0') + text
                              : text;
}

// ".789", or nothing when `ticks` is 0; no trailing zeros.
std::string Fraction(uint64_t ticks, TimeUnit unit) {
  if (ticks == 0) return "";
  std::string digits = Padded(ticks, 3 * static_cast<size_t>(unit));
  while (digits.back() == '0') digits.pop_back();
  return "." + digits;
}

std::string ClockText(int64_t second_of_day) {
  const auto second = static_cast<uint64_t>(second_of_day);
  return Padded(second / 3600, 2) + ":" + Padded(second / 60 % 60, 2) + ":" +
         Padded(second % 60, 2);
}

}  // namespace

// Civil date from a day count: the algorithm works in 400-year eras that start
// on 1 March, so that the leap day is the last of its year.
std::string DateText(int64_t days) {
  const auto [era, day_of_era] = FloorDivide(days + 719'468, 146'097);
  const int64_t year_of_era = (day_of_era - day_of_era / 1460 +
                               day_of_era / 36'524 - day_of_era / 146'096) /
                              365;
  const int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t month_index = (5 * day_of_year + 2) / 153;  // 0 = March
  const int64_t day = day_of_year - (153 * month_index + 2) / 5 + 1;
  const int64_t month = month_index < 10 ? month_index + 3 : month_index - 9;
  const int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  const std::string sign = year < 0 ? "-" : year > 9999 ? "+" : "";
  return sign + Padded(static_cast<uint64_t>(year < 0 ? -year : year), 4) +
         "-" + Padded(static_cast<uint64_t>(month), 2) + "-" +
         Padded(static_cast<uint64_t>(day), 2);
}

std::string TimeText(int64_t value, TimeUnit unit) {
  const auto [second, ticks] = FloorDivide(value, TicksPerSecond(unit));
  return ClockText(FloorDivide(second, kSecondsPerDay).remainder) +
         Fraction(static_cast<uint64_t>(ticks), unit);
}

std::string TimestampText(int64_t value, TimeUnit unit, std::string_view zone) {
  const auto [seconds, ticks] = FloorDivide(value, TicksPerSecond(unit));
  const auto [days, second] = FloorDivide(seconds, kSecondsPerDay);
  std::string text = DateText(days) + "T" + ClockText(second) +
                     Fraction(static_cast<uint64_t>(ticks), unit);
  if (zone.empty()) return text;
  text += 'Z';
  if (zone != "UTC" && zone != "Z") text += "[" + std::string(zone) + "]";
  return text;
}

std::string DurationText(int64_t value, TimeUnit unit) {
  const bool negative = value < 0;
  const uint64_t size = negative ? ~static_cast<uint64_t>(value) + 1
                                 : static_cast<uint64_t>(value);
  const auto ticks = static_cast<uint64_t>(TicksPerSecond(unit));
  return (negative ? "-PT" : "PT") + std::to_string(size / ticks) +
         Fraction(size % ticks, unit) + "S";
}

}  // namespace rowfs
