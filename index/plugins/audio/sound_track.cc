#include "index/plugins/audio/sound_track.h"

#include <algorithm>

namespace rowfs::plugin {

Result<std::unique_ptr<SoundTrack>> SoundTrack::Open(SoundIndex* index,
                                                     int32_t verify,
                                                     uint32_t skip) {
  std::unique_ptr<SoundTrack> track(new SoundTrack(index, verify, skip));
  PLUGIN_ASSIGN_OR_RETURN(track->decoder_, SoundDecoder::Open(*index));
  const Exactness exactness = ExactnessOf(index->codec);
  index->head.exact = exactness == Exactness::kAlways ||
                      (track->verifies() && exactness == Exactness::kSometimes);
  if (track->verifies()) {
    track->verifier_.emplace(index, verify == ROWFS_VERIFY_FULL);
  }
  return track;
}

// Samples of the next packet: what the decoder gives, or what the packet says
// when nothing is verified.
Result<uint32_t> SoundTrack::CountSamples(ByteSpan data, Bytes* samples) {
  if (!verifies()) {
    const uint32_t told =
        PacketSamples(index_->codec, index_->head.sample_rate, data);
    if (told > 0) return told;
  }
  Peaks peaks = kNoPeaks;
  const bool keep = verifier_ && verifier_->Wants();
  PLUGIN_ASSIGN_OR_RETURN(
      const uint32_t count,
      decoder_->Decode(data, {keep ? samples : nullptr, &peaks}));
  envelope_.Add(peaks, count);
  return count;
}

Status SoundTrack::Add(const SourcePacket& source) {
  if (index_->packets.size() >= kSoundPacketsMax ||
      source.data.size() > kSoundPacketBytesMax) {
    return Limit("the sound has too many or too large packets");
  }
  SoundPacket packet;
  packet.size = static_cast<uint32_t>(source.data.size());
  Bytes samples;
  PLUGIN_ASSIGN_OR_RETURN(packet.samples, CountSamples(source.data, &samples));
  trims_.Apply(source, &packet);
  packet.preroll = index_->codec == "mp3"
                       ? reservoir_.Next(source.data)
                       : BasePreroll(index_->codec, packet.samples);
  index_->packets.push_back(packet);
  if (verifier_) return verifier_->Add(source.data, std::move(samples));
  tail_.emplace_back(source.data.begin(), source.data.end());
  if (tail_.size() > kTailHeld) tail_.pop_front();
  return {};
}

void SoundTrack::AddListed(const SourcePacket& source, SoundPacket* packet) {
  trims_.Apply(source, packet);
  tail_.emplace_back(source.data.begin(), source.data.end());
}

Status SoundTrack::DecodeTail() {
  PLUGIN_ASSIGN_OR_RETURN(const auto decoder, SoundDecoder::Open(*index_));
  auto& packets = index_->packets;
  const size_t first = packets.size() - tail_.size();
  for (size_t i = first; i < packets.size(); ++i) {
    SoundPacket& packet = packets[i];
    PLUGIN_ASSIGN_OR_RETURN(uint32_t count,
                            decoder->Decode(tail_[i - first], {}));
    if (i + 1 == packets.size()) {
      PLUGIN_ASSIGN_OR_RETURN(const uint32_t rest, decoder->Drain({}));
      count += rest;
    }
    // The first ones lack what is before them.
    if (first > 0 && i + kTailPackets < packets.size()) continue;
    packet.samples = count;
    packet.front = std::min(packet.front, packet.samples);
    packet.back = std::min(packet.back, packet.samples - packet.front);
  }
  return {};
}

Status SoundTrack::DecodeRest() {
  Peaks peaks = kNoPeaks;
  PLUGIN_ASSIGN_OR_RETURN(const uint32_t rest,
                          decoder_->Drain({nullptr, &peaks}));
  index_->packets.back().samples += rest;
  envelope_.Add(peaks, rest);
  return {};
}

Status SoundTrack::Finish() {
  SoundHead& head = index_->head;
  if (!head.linear) {
    if (index_->packets.empty()) return Corrupt("there is no sound in it");
    PLUGIN_RETURN_IF_ERROR(verifies() ? DecodeRest() : DecodeTail());
    head.samples = 0;
    for (const SoundPacket& packet : index_->packets) {
      head.samples += packet.heard();
    }
  }
  if (head.samples == 0) return Corrupt("nothing of the sound decodes");
  index_->envelope = envelope_.Finish();
  return index_->Derive();
}

}  // namespace rowfs::plugin
