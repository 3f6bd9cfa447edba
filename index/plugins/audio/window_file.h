// A window of a sound as a WAV file: what it needs and how it is made.
//
// No state.
#ifndef ROWFS_INDEX_PLUGINS_AUDIO_WINDOW_FILE_H_
#define ROWFS_INDEX_PLUGINS_AUDIO_WINDOW_FILE_H_

#include <vector>

#include "index/plugins/audio/sound_index.h"
#include "index/plugins/audio/window.h"

namespace rowfs::plugin {

// Decoded windows are held in memory, by the host too.
inline constexpr uint64_t kWindowBytesMax = uint64_t{512} << 20;

// Whether the samples lie in the blob as a WAV file has them.
bool NeedsNoDecoder(const SoundIndex& index);

// ROWFS_E_LIMIT when the window has more than kWindowBytesMax of samples.
Status CheckWindow(const SoundIndex& index, const Window& window);

// Everything before the samples, and a last byte that makes their number even.
Bytes WindowHeader(const SoundIndex& index, const Window& window);
bool NeedsPadding(const SoundIndex& index, const Window& window);

// The bytes of the blob that hold the window; linear sounds have one range.
std::vector<ByteRange> WindowRanges(const SoundIndex& index,
                                    const Window& window);

// The samples of `window` behind `out`, from the bytes of `ranges`, which hold
// at least WindowRanges. ROWFS_E_CORRUPT when they do not decode to its length.
Status DecodeSamples(const SoundIndex& index, const Window& window,
                     const std::vector<ByteRange>& ranges,
                     const std::vector<ByteSpan>& bytes, Bytes* out);

// What a decode has to be told of a window, and the file that comes of it.
// ROWFS_E_INVALID when the recipe is not one of this index.
void WriteWindow(const Window& window, ByteWriter* recipe);
Result<Bytes> MakeWindowFile(const SoundIndex& index, ByteReader* recipe,
                             const std::vector<ByteSpan>& bytes);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_AUDIO_WINDOW_FILE_H_
