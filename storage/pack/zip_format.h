// The records of a zip file (APPNOTE 6.3): end of directory, zip64, directory
// entries, local headers, and names by their encoding.
//
// Pure functions over bytes, thread-safe.
#ifndef ROWFS_STORAGE_PACK_ZIP_FORMAT_H_
#define ROWFS_STORAGE_PACK_ZIP_FORMAT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/base/bytes.h"

namespace rowfs {

inline constexpr uint64_t kZipLocalHeaderBytes = 30;
inline constexpr uint64_t kZipEntryBytes = 46;

// Where the directory lies.
struct ZipDirectory {
  uint64_t begin = 0;  // by where it ends and its size
  uint64_t end = 0;    // where the record that names it begins
  // Where it begins by its own word: differs when bytes precede the archive.
  uint64_t stated_begin = 0;
  uint64_t entries = 0;  // as stated; not to be trusted
  uint32_t disk = 0;

  // To be added to every stated offset when the directory is at `begin`.
  // None where the archive claims to begin before the file.
  uint64_t prefix() const {
    return begin < stated_begin ? 0 : begin - stated_begin;
  }
};

// Longest end of a file that can hold its end record, zip64 parts and comment.
inline constexpr uint64_t kZipTailBytes = 22 + 65535 + 20 + 56;

// Find the directory from the last bytes of a file of `size` bytes, at least
// kZipTailBytes where it has them. kCorruption, naming `what`, when there is no
// end record.
//
// Of several end records the one counts that agrees best with the file: an end
// record may stand inside a comment, bytes may follow or precede an archive.
Result<ZipDirectory> FindZipDirectory(ByteSpan tail, uint64_t size,
                                      std::string_view what);
// Whether a directory entry begins with `bytes`.
bool IsZipEntry(ByteSpan bytes);

struct ZipEntry {
  uint16_t made_by = 0;
  uint16_t flags = 0;
  uint16_t method = 0;
  uint32_t crc = 0;
  uint64_t stored = 0;
  uint64_t size = 0;
  uint64_t offset = 0;  // of the local header, prefix not added
  uint32_t disk = 0;
  uint32_t attributes = 0;
  std::string raw_name;
  std::string name;  // see ZipName
  uint64_t extra_bytes = 0;

  bool encrypted() const { return (flags & 0x41) != 0; }
  bool is_directory() const { return raw_name.ends_with('/'); }
};

// The next entry of a directory. kCorruption when there is none or it is cut.
Status ReadZipEntry(Cursor* in, ZipEntry* entry);

// A name in UTF-8: as stored where it is flagged so or valid UTF-8, else from
// code page 437, which every byte has a character in; a Unicode path field that
// belongs to this name wins.
std::string ZipName(std::string_view raw, uint16_t flags, ByteSpan extra);

struct ZipLocalHeader {
  uint16_t flags = 0;
  uint16_t method = 0;
  std::string raw_name;
  uint64_t extra_bytes = 0;

  uint64_t bytes() const {
    return kZipLocalHeaderBytes + raw_name.size() + extra_bytes;
  }
};

// From the first bytes of a member: kOutOfRange when `bytes` ends before the
// name does, kCorruption when it is no local header.
Result<ZipLocalHeader> ReadZipLocalHeader(ByteSpan bytes,
                                          std::string_view what);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_ZIP_FORMAT_H_
