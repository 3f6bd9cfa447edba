#include "fs/cli/follower.h"

#include <algorithm>
#include <chrono>
#include <string>

namespace rowfs {

Follower::Follower(Tree& tree, Dataset& dataset, Logger& log, uint64_t seconds)
    : tree_(tree),
      dataset_(dataset),
      log_(log),
      seconds_(std::clamp<uint64_t>(seconds, 1, 86'400)) {
  pool_.Submit([this] { Run(); });
}

Follower::~Follower() {
  const MutexLock lock(mu_);
  stopping_ = true;
  stopped_.NotifyAll();
}

void Follower::Run() {
  for (;;) {
    Look();
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::seconds(seconds_);
    const MutexLock lock(mu_);
    while (!stopping_) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          until - std::chrono::steady_clock::now());
      if (left.count() <= 0) break;
      stopped_.WaitFor(mu_, left);
    }
    if (stopping_) return;
  }
}

void Follower::Look() {
  const auto versions = dataset_.table().Versions();
  if (!versions.ok()) {
    log_.Log(LogLevel::kWarn, "follow", versions.status().message());
    return;
  }
  uint64_t newest = newest_;
  for (const TableVersion& version : versions.value()) {
    newest = std::max(newest, version.version);
    if (newest_ == 0 || version.version <= newest_) continue;
    const std::string path = ".versions/" + std::to_string(version.version);
    const auto entry = tree_.Resolve(path + "/rows");
    if (!entry.ok()) {
      log_.Log(LogLevel::kWarn, "follow",
               path + ": " + std::string(entry.status().message()));
      continue;
    }
    tree_.Forget(entry.value().node, 1);
    log_.Log(LogLevel::kWarn, "follow", "a new version: " + path);
  }
  newest_ = newest;
}

}  // namespace rowfs
