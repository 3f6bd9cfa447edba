// A sound file opened for ingest: the one track that is indexed, what is known
// about it before a packet is read, and its packets.
//
// One thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_AUDIO_SOURCE_SOUND_H_
#define ROWFS_INDEX_PLUGINS_AUDIO_SOURCE_SOUND_H_

#include <memory>
#include <optional>
#include <string>

#include "index/plugins/audio/ogg.h"
#include "index/plugins/audio/sound_index.h"
#include "index/plugins/audio/source_packet.h"
#include "index/plugins/common/av_input.h"

namespace rowfs::plugin {

class SourceSound {
 public:
  static Result<std::unique_ptr<SourceSound>> Open(const rowfs_reader& reader,
                                                   const std::string& name);

  // Codec, parameters, streams and tags, into an empty index.
  Status Describe(SoundIndex* index);

  // The demuxer takes the bytes as they come; no box or page around packets.
  bool IsFramed() const;
  bool IsOgg() const { return Demuxer() == "ogg"; }
  // Streams besides the track that would be lost without the source.
  bool HasOtherStreams() const;
  const AVCodecParameters& parameters() const { return *stream_->codecpar; }
  // A picture that belongs to the file; empty when there is none.
  ByteSpan Cover() const;

  // The next packet of the track, valid until the one after it; false at the
  // end.
  Result<bool> Next(SourcePacket* packet);

  // The container holds PCM and says where.
  bool MayBeLinear() const;
  // PCM in one piece: finds its first byte and its length in samples, from the
  // ends of the file alone. False when it is not that.
  // Requires: MayBeLinear.
  Result<bool> FindLinear(SoundIndex* index);
  // Packets of an MP4 from its index alone: sizes and places, no samples.
  // False when the container does not list all of them.
  bool FindListed(SoundIndex* index);
  // Go on with the packets from number `packet` of those FindListed gave.
  bool SeekListed(size_t packet);

  // The place of the packet that Next just gave, into `packet`.
  // ROWFS_E_UNSUPPORTED when it does not lie in one piece.
  Status Place(const SourcePacket& data, SoundPacket* packet);

  Status ReadAt(uint64_t offset, std::span<uint8_t> out) {
    return input_.ReadAt(offset, out);
  }
  uint64_t size() const { return input_.size(); }

 private:
  explicit SourceSound(const rowfs_reader& reader) : input_(reader) {}
  Status PickStream();
  // What libavformat takes for something else: big-endian WAV, and 24 bits in
  // the upper bytes of 32.
  Status CorrectWav();
  std::string Demuxer() const;
  // Bytes at `offset` through a window that is read ahead.
  Result<ByteSpan> Peek(uint64_t offset, size_t size);
  Result<size_t> PeekInto(uint64_t offset, std::span<uint8_t> out);
  Result<uint32_t> OggSerial();
  Status PlaceOgg(const SourcePacket& data, SoundPacket* packet);

  mutable AvInput input_;
  AVStream* stream_ = nullptr;
  PacketPtr packet_;
  uint64_t place_end_ = 0;  // of the packet placed last
  Bytes window_;
  uint64_t window_at_ = 0;
  std::optional<OggWalker> walker_;
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_AUDIO_SOURCE_SOUND_H_
