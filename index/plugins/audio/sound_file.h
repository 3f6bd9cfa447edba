// The playable file over stored packets: headers from the index, the packets
// as they lie in the blob.
//
// Pure functions.
#ifndef ROWFS_INDEX_PLUGINS_AUDIO_SOUND_FILE_H_
#define ROWFS_INDEX_PLUGINS_AUDIO_SOUND_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "index/plugins/audio/ogg.h"
#include "index/plugins/audio/sound_index.h"

namespace rowfs::plugin {

// `literal`, or when it is empty the bytes [begin, end) of the blob.
struct SoundPiece {
  Bytes literal;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// The playable file of `index`, whose packets are all known; its size is the
// sum of its pieces. ROWFS_E_UNSUPPORTED when the sound does not fit the file
// type. O(packets).
Result<std::vector<SoundPiece>> PlanSoundFile(const SoundIndex& index);
uint64_t SizeOf(const std::vector<SoundPiece>& pieces);

// The file type for packets of `index` as its source has them; kVerbatim when
// only the source itself will do. `framed`: the source was a raw stream.
SoundFile ChooseSoundFile(const SoundIndex& index, bool framed);
// "flac", and what programs call it.
std::string ExtensionOf(SoundFile file, const std::string& codec);
std::string MediaTypeOfSound(const std::string& extension);

// Parts, each in a file of its own.
Result<std::vector<SoundPiece>> PlanFlac(const SoundIndex& index);
Result<std::vector<SoundPiece>> PlanMp3(const SoundIndex& index);
Result<std::vector<SoundPiece>> PlanM4a(const SoundIndex& index);
Result<std::vector<SoundPiece>> PlanOgg(const SoundIndex& index);

// Ranges of all packets, neighbours joined, behind `pieces`.
void AppendPackets(const SoundIndex& index, std::vector<SoundPiece>* pieces);
// Samples not heard before the first that is, and behind the last.
uint64_t LeadingSamples(const SoundIndex& index);
uint64_t TrailingSamples(const SoundIndex& index);

// The Vorbis comment block of `index`'s tags, as FLAC and Ogg have it.
Bytes VorbisComment(const SoundIndex& index);
// Header packets of an Ogg stream of this codec; empty when extradata does not
// have them.
std::vector<Bytes> OggHeaders(const SoundIndex& index);
// The text of page `page` that holds packets [first, first + page.packets),
// numbered `sequence`; `decoded` samples come before it, not heard ones too.
OggPageText PageText(const SoundIndex& index, size_t page, size_t first,
                     uint32_t sequence);
// Cuts packets into pages as they come, at ingest. Checksums cover the packets
// and the page headers; those are known at the end.
class OggPager {
 public:
  Status Add(const SoundPacket& packet, uint32_t sample_rate, ByteSpan data);
  // There are no more: give `index`, whose packets are complete and were all
  // added, its pages.
  void Finish(SoundIndex* index);

 private:
  struct Page {
    uint32_t packets = 0;
    uint32_t crc = 0;  // of the packets alone
    size_t segments = 0;
    uint64_t bytes = 0;
    uint64_t samples = 0;
  };

  std::vector<Page> pages_;
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_AUDIO_SOUND_FILE_H_
