#include "index/plugins/common/exact_time.h"

#include <numeric>

namespace rowfs::plugin {
namespace {

constexpr int64_t kDenMax = int64_t{1} << 62;

Int128 FloorDiv(Int128 a, Int128 b) {  // b > 0
  const Int128 q = a / b;
  return a % b < 0 ? q - 1 : q;
}

int64_t Clamp(Int128 v) {
  if (v > INT64_MAX) return INT64_MAX;
  if (v < INT64_MIN) return INT64_MIN;
  return static_cast<int64_t>(v);
}

bool Digits(std::string_view text, size_t max, int64_t* value) {
  if (text.empty() || text.size() > max) return false;
  *value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return false;
    *value = *value * 10 + (c - '0');
  }
  return true;
}

// "hh:mm:ss" or "ss" before the decimal point.
bool ParseWhole(std::string_view text, int64_t* seconds) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return Digits(text, 18, seconds);
  int64_t h = 0;
  int64_t m = 0;
  int64_t s = 0;
  const std::string_view rest = text.substr(colon + 1);
  if (rest.size() != 5 || rest[2] != ':' ||
      !Digits(text.substr(0, colon), 12, &h) ||
      !Digits(rest.substr(0, 2), 2, &m) || !Digits(rest.substr(3), 2, &s) ||
      m > 59 || s > 59) {
    return false;
  }
  *seconds = h * 3600 + m * 60 + s;
  return true;
}

}  // namespace

ExactTime ExactTime::FromTicks(int64_t ticks, TimeBase base) {
  return ExactTime(Int128{ticks} * base.num, base.den);
}

std::optional<ExactTime> ExactTime::Parse(std::string_view text) {
  const size_t point = text.find('.');
  int64_t whole = 0;
  if (!ParseWhole(text.substr(0, point), &whole)) return std::nullopt;
  int64_t fraction = 0;
  int64_t scale = 1;
  if (point != std::string_view::npos) {
    std::string_view digits = text.substr(point + 1);
    if (digits.empty()) return std::nullopt;
    bool later = false;
    for (size_t i = 0; i < digits.size(); ++i) {
      if (digits[i] < '0' || digits[i] > '9') return std::nullopt;
      if (i < 18) {
        fraction = fraction * 10 + (digits[i] - '0');
        scale *= 10;
      } else {
        later = later || digits[i] != '0';
      }
    }
    // After the truncated value and before the next one: twice the scale has
    // room for exactly that.
    if (later) {
      return ExactTime((Int128{whole} * scale + fraction) * 2 + 1, scale * 2);
    }
  }
  return ExactTime(Int128{whole} * scale + fraction, scale);
}

std::optional<ExactTime> ExactTime::Minus(const ExactTime& other) const {
  const int64_t g = std::gcd(den_, other.den_);
  const Int128 den = Int128{den_ / g} * other.den_;
  Int128 a = 0;
  Int128 b = 0;
  Int128 difference = 0;
  if (den > kDenMax || __builtin_mul_overflow(num_, other.den_ / g, &a) ||
      __builtin_mul_overflow(other.num_, den_ / g, &b) ||
      __builtin_sub_overflow(a, b, &difference)) {
    return std::nullopt;
  }
  return ExactTime(difference, static_cast<int64_t>(den));
}

std::strong_ordering ExactTime::operator<=>(const ExactTime& other) const {
  // Whole seconds first: what is left is below den, so the cross products stay
  // below 2^124.
  const Int128 a = FloorDiv(num_, den_);
  const Int128 b = FloorDiv(other.num_, other.den_);
  if (a != b)
    return a < b ? std::strong_ordering::less : std::strong_ordering::greater;
  const Int128 x = (num_ - a * den_) * other.den_;
  const Int128 y = (other.num_ - b * other.den_) * den_;
  if (x == y) return std::strong_ordering::equal;
  return x < y ? std::strong_ordering::less : std::strong_ordering::greater;
}

int64_t ExactTime::FloorTicks(TimeBase base) const {
  const Int128 whole = FloorDiv(num_, den_);
  const Int128 rest = num_ - whole * den_;  // in [0, 2^62)
  // (whole + rest/den) * base.den / base.num. Whole seconds beyond 2^63 clamp.
  const Int128 seconds = Clamp(whole);
  const Int128 scaled = seconds * base.den + FloorDiv(rest * base.den, den_);
  return Clamp(FloorDiv(scaled, base.num));
}

int64_t ExactTime::CeilTicks(TimeBase base) const {
  const int64_t floor = FloorTicks(base);
  const bool exact = FromTicks(floor, base) == *this;
  return exact || floor == INT64_MAX ? floor : floor + 1;
}

std::string ExactTime::ToDecimal() const {
  constexpr int64_t kScale = 1'000'000'000;
  Int128 whole = FloorDiv(num_, den_);
  const Int128 rest = num_ - whole * den_;
  Int128 nano = -FloorDiv(-rest * kScale, den_);  // rounded up
  Int128 total = Int128{Clamp(whole)} * kScale + nano;
  const bool negative = total < 0;
  if (negative) total = -total;
  whole = total / kScale;
  nano = total % kScale;
  std::string out = negative ? "-" : "";
  out += std::to_string(static_cast<int64_t>(whole));
  if (nano != 0) {
    std::string digits = std::to_string(static_cast<int64_t>(nano));
    digits.insert(0, 9 - digits.size(), '0');
    digits.erase(digits.find_last_not_of('0') + 1);
    out += "." + digits;
  }
  return out;
}

double ExactTime::ToDouble() const {
  return static_cast<double>(num_) / static_cast<double>(den_);
}

}  // namespace rowfs::plugin
