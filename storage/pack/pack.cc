#include "storage/pack/pack.h"

#include "storage/pack/shard_list.h"
#include "storage/pack/tar_pack.h"
#include "storage/pack/zip_pack.h"

namespace rowfs {

std::optional<PackReference> ParsePackReference(std::string_view text) {
  PackReference reference;
  for (const std::string_view scheme : {"zip", "tar"}) {
    if (text.starts_with(scheme) &&
        text.substr(scheme.size()).starts_with("://")) {
      reference.scheme = scheme;
    }
  }
  if (reference.scheme.empty()) return {};
  text.remove_prefix(reference.scheme.size() + 3);
  const size_t split = text.find("::");
  if (split == text.npos) return {};
  reference.member = text.substr(0, split);
  reference.shard = text.substr(split + 2);
  if (reference.member.empty() || reference.shard.empty()) return {};
  return reference;
}

Result<std::shared_ptr<const Pack>> OpenPack(const Location& location,
                                             const OpenContext& context,
                                             const TarObserver& found) {
  if (ShardKindOf(location.path) == ShardKind::kTar) {
    return OpenTar(location, context, found);
  }
  Result<std::shared_ptr<const Pack>> zip = OpenZip(location, context);
  if (zip.ok() || ShardKindOf(location.path) == ShardKind::kZip ||
      zip.status().code() != Code::kCorruption) {
    return zip;
  }
  // A name that says nothing: a tar, if it is no zip.
  Result<std::shared_ptr<const Pack>> tar = OpenTar(location, context);
  return tar.ok() ? tar : zip;
}

}  // namespace rowfs
