#include "index/plugins/video/listener.h"

#include <algorithm>

namespace rowfs::plugin {

void Listener::Add(const AVPacket& packet, ByteSpan data,
                   const Stream& stream) {
  if (!failed_) failed_ = !AddPacket(packet, data, stream).ok();
}

Status Listener::AddPacket(const AVPacket& packet, ByteSpan data,
                           const Stream& stream) {
  if (stream.packets.back().extradata != 0) {
    return Unsupported("the description of the codec changes on the way");
  }
  if (!track_) PLUGIN_RETURN_IF_ERROR(Start(stream));
  return track_->Add(SourcePacketOf(packet, data));
}

// What converting has made of the description is known with the first packet.
Status Listener::Start(const Stream& stream) {
  PLUGIN_RETURN_IF_ERROR(DescribeSound(*source_.codecpar, &index_));
  if (!stream.extradata.empty()) index_.extradata = stream.extradata.front();
  PLUGIN_ASSIGN_OR_RETURN(
      track_,
      SoundTrack::Open(&index_, verify_, InitialSkip(*source_.codecpar)));
  return {};
}

std::optional<SoundIndex> Listener::Finish() {
  if (failed_ || !track_ || !track_->Finish().ok()) return std::nullopt;
  index_.envelope.clear();
  index_.head.stored = false;  // it has no file of its own
  return std::move(index_);
}

}  // namespace rowfs::plugin
