#include "fs/cli/progress.h"

#include <array>
#include <cstdio>

namespace rowfs {

Progress::Progress(Env& env, std::string what)
    : env_(env), what_(std::move(what)), started_ns_(clock_.MonotonicNs()) {}

Progress::~Progress() {
  if (drawn_ns_ != 0) env_.err << "\r\033[K" << std::flush;
}

void Progress::Update(uint64_t done, uint64_t total, const std::string& unit,
                      uint64_t bytes) {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t now = clock_.MonotonicNs();
  const bool due = now - started_ns_ > kSecond && now - drawn_ns_ > kSecond / 5;
  if (!env_.terminal || !due) return;
  drawn_ns_ = now;
  const auto elapsed = static_cast<double>(now - started_ns_) / 1e9;
  const double rate = static_cast<double>(bytes) / elapsed;
  constexpr uint64_t kWidth = 24;
  const uint64_t filled = total == 0 ? 0 : kWidth * done / total;
  env_.err << "\r\033[K" << what_ << " ["
           << std::string(filled, '#') + std::string(kWidth - filled, '.')
           << "] " << done << "/" << total << " " << unit << ", "
           << HumanBytes(bytes) << ", "
           << HumanBytes(static_cast<uint64_t>(rate)) << "/s" << std::flush;
}

std::string HumanBytes(uint64_t bytes) {
  static constexpr std::array<const char*, 5> kUnits = {"B", "kB", "MB", "GB",
                                                        "TB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %s", unit == 0 ? 0 : 1, value,
                kUnits[unit]);
  return text;
}

}  // namespace rowfs
