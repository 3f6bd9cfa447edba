#include "fs/cli/progress.h"

#include <array>
#include <chrono>
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

OpeningProgress::OpeningProgress(Env& env, Logger* log, const ReadStats& stats)
    : env_(env), log_(log), stats_(stats), pool_(1, 1) {
  pool_.Submit([this] { Tell(); });
}

OpeningProgress::~OpeningProgress() {
  const MutexLock lock(mu_);
  done_ = true;
  opened_.NotifyOne();
}

void OpeningProgress::Tell() {
  constexpr std::chrono::milliseconds kTurn(250);
  constexpr int kFirstLine = 4;  // turns until the first is drawn
  constexpr int kLogEvery = 20;  // turns
  bool drawn = false;
  for (int turn = 1;; ++turn) {
    {
      const MutexLock lock(mu_);
      if (!done_) opened_.WaitFor(mu_, kTurn);
      if (done_) break;
    }
    const std::string text =
        "opening: " + HumanBytes(stats_.metadata.bytes + stats_.data.bytes) +
        " read in " +
        std::to_string(stats_.metadata.requests + stats_.data.requests) +
        " requests";
    if (log_ != nullptr && turn % kLogEvery == 0) {
      log_->Log(LogLevel::kInfo, "open", text);
    }
    if (!env_.terminal || turn < kFirstLine) continue;
    env_.err << "\r\033[K" << text << std::flush;
    drawn = true;
  }
  if (drawn) env_.err << "\r\033[K" << std::flush;
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
