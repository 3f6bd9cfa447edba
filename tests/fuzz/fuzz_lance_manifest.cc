// Any bytes as a manifest, a deletion file in both forms, a row id sequence and
// a transaction: refused, or something that can be used and written again.
#include <cstdlib>

#include "storage/lance/arrow_deletions.h"
#include "storage/lance/compact_plan.h"
#include "storage/lance/manifest.h"
#include "storage/lance/roaring.h"
#include "storage/lance/row_ids.h"
#include "storage/lance/row_versions.h"

namespace rowfs {
namespace {

constexpr uint64_t kLimit = uint64_t{1} << 32;

void TryManifest(ByteSpan bytes) {
  auto manifest = DecodeManifest(bytes, "input");
  if (!manifest.ok()) return;
  static_cast<void>(ManifestSchema(manifest.value().message).ok());
  static_cast<void>(PlanCompaction(manifest.value(), {}).ok());
  for (const auto& fragment : manifest.value().message.fragments()) {
    const auto ids = RowIdSequence::Decode(AsBytes(fragment.inline_row_ids()),
                                           fragment.physical_rows());
    if (ids.ok() && fragment.physical_rows() > 0) {
      static_cast<void>(ids.value().At(fragment.physical_rows() - 1));
    }
  }
  if (!DecodeManifest(EncodeManifest(manifest.value()), "written").ok()) {
    std::abort();
  }
}

void TryDeletions(ByteSpan bytes) {
  static_cast<void>(DecodeArrowDeletions(bytes, kLimit, "input").ok());
  const auto bitmap = RoaringBitmap::Decode(bytes, kLimit, "input");
  if (!bitmap.ok() || bitmap.value().size() > 1000000) return;
  const auto values = bitmap.value().ToVector();
  if (values.size() != bitmap.value().size()) std::abort();
  const auto again =
      RoaringBitmap::Decode(bitmap.value().Encode(), kLimit, "written");
  if (!again.ok() || again.value().ToVector() != values) std::abort();
  for (const uint32_t value : values) {
    if (!bitmap.value().Contains(value)) std::abort();
  }
}

}  // namespace
}  // namespace rowfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const rowfs::ByteSpan bytes = rowfs::FromU8(data, size);
  rowfs::TryManifest(bytes);
  rowfs::TryDeletions(bytes);
  for (const uint64_t rows : {0u, 5u, 100u}) {
    static_cast<void>(rowfs::RowIdSequence::Decode(bytes, rows).ok());
    static_cast<void>(rowfs::DecodeRowVersions(bytes, rows).ok());
  }
  return 0;
}
