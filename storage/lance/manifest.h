// One manifest file: its name, its framing, and the checks that make its
// message safe to use. What versions there are is versions.h, how a new one is
// made commit.h.
//
// Values and pure functions; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_MANIFEST_H_
#define ROWFS_STORAGE_LANCE_MANIFEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/base/bytes.h"
#include "storage/base/status.h"
#include "storage/lance/schema.h"
#include "storage/lance/table.pb.h"
#include "storage/object/object_store.h"

namespace rowfs {

namespace pb = lance::pb;

// Feature flag bits of a manifest's reader and writer words.
inline constexpr uint64_t kFlagDeletionFiles = 1;
inline constexpr uint64_t kFlagStableRowIds = 2;
inline constexpr uint64_t kFlagTableConfig = 8;  // writer word only
inline constexpr uint64_t kFlagBasePaths = 16;
inline constexpr uint64_t kFlagNoTransactionFiles = 32;
inline constexpr uint64_t kFlagMixedFileVersions = 256;
inline constexpr uint64_t kFlagSpilledRowLineage = 2048;
inline constexpr uint64_t kFlagManagedBlobs = 16384;
// Ours: blob descriptors with a sixth field. Released readers that know 2.3
// drop that field silently; a bit they do not know makes them refuse.
inline constexpr uint64_t kFlagSixFieldBlobs = uint64_t{1} << 62;

enum class ManifestNaming : uint8_t {
  kDecimal,   // V1: "12.manifest"
  kInverted,  // V2: 2^64-1-version, 20 digits: the newest lists first
};

struct ManifestName {
  uint64_t version = 0;
  ManifestNaming naming = ManifestNaming::kInverted;
};

std::string FormatManifestName(uint64_t version, ManifestNaming naming);
// Absent for anything that is not a version of the history: other files,
// staging names, detached versions.
std::optional<ManifestName> ParseManifestName(std::string_view name);

// A manifest as it lies in its file.
struct Manifest {
  pb::Manifest message;
  // Serialised IndexSection and Transaction, where the file holds them. Absent
  // after ReadManifest unless asked for.
  std::optional<Bytes> index_section;
  std::optional<Bytes> transaction;
  ObjectMeta meta;     // of the file it was read from
  std::string digest;  // SHA-256 of the message's bytes, hex
  ManifestNaming naming = ManifestNaming::kInverted;
};

enum class ManifestParts { kMessage, kAll };

// Read `versions`/NAME, version `version` with the given naming. One request
// when the message (with kAll: the file) fits into 64 KiB, else two. kNotFound;
// kCorruption naming the object and what contradicts what; kUnsupported as
// CheckReadable says.
Result<Manifest> ReadManifest(const Location& versions,
                              const ManifestName& name, ManifestParts parts);

// The same from bytes at hand. `what` names them in errors.
Result<Manifest> DecodeManifest(ByteSpan bytes, std::string_view what);
// A manifest file: index section, transaction, message, tail. The section
// offsets in the message are set. Deterministic.
Bytes EncodeManifest(const Manifest& manifest);

// A message as bytes, maps in key order: equal messages give equal bytes.
Bytes SerializeMessage(const google::protobuf::MessageLite& message);

// Whether this build understands a table with these flags. kUnsupported lists
// the unknown bits; kCorruption when the two words disagree on a bit that must
// be in both.
Status CheckReadable(const pb::Manifest& manifest);
// The same for writing to it.
Status CheckWritable(const pb::Manifest& manifest);

// The schema. Errors of DecodeSchema.
Result<LanceSchema> ManifestSchema(const pb::Manifest& manifest);
// Between the stored form of a field and its message.
StoredField FromMessage(const pb::Field& field);
pb::Field ToMessage(const StoredField& field);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_MANIFEST_H_
