#include "index/plugins/audio/envelope.h"

#include <algorithm>

#include "index/plugins/audio/sound_index.h"

namespace rowfs::plugin {
namespace {

Peaks Both(Peaks a, Peaks b) {
  return {std::min(a.first, b.first), std::max(a.second, b.second)};
}

}  // namespace

void Envelope::Add(Peaks peaks, uint32_t samples) {
  if (samples == 0) return;
  open_ = Both(open_, peaks);
  held_ += samples;
  if (held_ < step_) return;
  parts_.push_back(open_);
  open_ = kNoPeaks;
  held_ = 0;
  if (parts_.size() < kEnvelopeMax) return;
  for (size_t i = 0; i + 1 < parts_.size(); i += 2) {
    parts_[i / 2] = Both(parts_[i], parts_[i + 1]);
  }
  parts_.resize(parts_.size() / 2);
  step_ *= 2;
}

std::vector<Peaks> Envelope::Finish() {
  if (held_ > 0) parts_.push_back(open_);
  return std::move(parts_);
}

}  // namespace rowfs::plugin
