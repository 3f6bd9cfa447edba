// Packets to samples: libavcodec without threads, its output in one of the
// sample types of the views.
//
// One thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_AUDIO_SOUND_DECODER_H_
#define ROWFS_INDEX_PLUGINS_AUDIO_SOUND_DECODER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "index/plugins/audio/sound_index.h"
#include "index/plugins/common/libav.h"

namespace rowfs::plugin {

// Decoders the plugin uses, as libavformat takes the list.
extern const char kSoundCodecs[];

// What is done with decoded samples; both may be null.
struct SoundOutput {
  Bytes* samples = nullptr;  // appended, interleaved, in head.type
  // Widened to hold the lowest and the highest sample, as 16-bit values.
  std::pair<int16_t, int16_t>* peaks = nullptr;
};

// The type that keeps what a decoder of `codec` gives as `format`, of which
// `bits` (0: all) are used. Lossy codecs give kS16.
SampleType NaturalType(const std::string& codec, AVSampleFormat format,
                       int bits);

class SoundDecoder {
 public:
  // A fresh decoder for the packets of `index`, whose codec, parameters, rate
  // and channels are set. ROWFS_E_UNSUPPORTED when nothing here decodes them.
  static Result<std::unique_ptr<SoundDecoder>> Open(const SoundIndex& index);

  // Decode one packet; the number of samples it gave, 0 when it is damaged.
  // ROWFS_E_UNSUPPORTED when rate or channels are not those of the index.
  Result<uint32_t> Decode(ByteSpan packet, const SoundOutput& out);
  // What the decoder still holds back.
  Result<uint32_t> Drain(const SoundOutput& out);

 private:
  explicit SoundDecoder(const SoundIndex& index) : index_(index) {}
  Status Start();
  Result<uint32_t> Receive(const SoundOutput& out);
  bool Fits(const AVFrame& frame) const;

  const SoundIndex& index_;
  CodecPtr context_;
  PacketPtr packet_;
  FramePtr frame_;
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_AUDIO_SOUND_DECODER_H_
