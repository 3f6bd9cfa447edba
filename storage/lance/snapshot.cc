#include "storage/lance/snapshot.h"

#include <algorithm>

namespace rowfs {
namespace {

// Data files are written once; the manifest that names them tells them from
// those of a dataset that stood here before.
ReadContext Pinned(ReadContext read, const Manifest& manifest) {
  read.pin = manifest.meta.etag + '\n' + manifest.digest;
  return read;
}

}  // namespace

LanceSnapshot::LanceSnapshot(const Location& root, ResolvedVersion resolved,
                             Manifest manifest, LanceSchema schema,
                             const OpenContext& context)
    : resolved_(std::move(resolved)),
      manifest_(std::move(manifest)),
      lance_schema_(std::move(schema)),
      schema_(lance_schema_.ToSchema()),
      bases_(root, resolved_.root, manifest_.message, context.stores),
      fragments_(bases_, Pinned(context.read, manifest_)),
      blobs_(bases_, &fragments_.files, context.stores,
             context.allow_external) {}

Result<std::shared_ptr<LanceSnapshot>> LanceSnapshot::Open(
    const Location& root, std::string_view spec, const OpenContext& context) {
  ROWFS_ASSIGN_OR_RETURN(ResolvedVersion resolved, ResolveVersion(root, spec));
  return Open(root, std::move(resolved), context);
}

Result<std::shared_ptr<LanceSnapshot>> LanceSnapshot::Open(
    const Location& root, ResolvedVersion resolved,
    const OpenContext& context) {
  ROWFS_ASSIGN_OR_RETURN(Manifest manifest,
                         ReadManifest(resolved.root.Join("_versions"),
                                      resolved.name, ManifestParts::kMessage));
  auto schema = ManifestSchema(manifest.message);
  if (!schema.ok()) return schema.status().With(root.uri());
  std::shared_ptr<LanceSnapshot> snapshot(
      new LanceSnapshot(root, std::move(resolved), std::move(manifest),
                        std::move(schema).value(), context));
  ROWFS_RETURN_IF_ERROR(snapshot->CompleteRowCounts().With(root.uri()));
  ROWFS_RETURN_IF_ERROR(snapshot->CountRows().With(root.uri()));
  return snapshot;
}

Status LanceSnapshot::CompleteRowCounts() {
  for (pb::DataFragment& fragment : *manifest_.message.mutable_fragments()) {
    if (fragment.physical_rows() == 0) {
      ROWFS_ASSIGN_OR_RETURN(const auto reader,
                             fragments_.files.Open(fragment.files(0), 0));
      fragment.set_physical_rows(reader->row_count());
    }
    if (fragment.has_deletion_file() &&
        fragment.deletion_file().num_deleted_rows() == 0) {
      ROWFS_ASSIGN_OR_RETURN(const auto rows,
                             Fragment(&fragments_, fragment).Deleted());
      fragment.mutable_deletion_file()->set_num_deleted_rows(rows->size());
    }
  }
  return {};
}

Status LanceSnapshot::CountRows() {
  uint64_t total = 0;
  for (const pb::DataFragment& fragment : message().fragments()) {
    first_rows_.push_back(total);
    const uint64_t gone = fragment.deletion_file().num_deleted_rows();
    if (gone > fragment.physical_rows()) {
      return Status(Code::kCorruption,
                    "fragment " + std::to_string(fragment.id()) + ": " +
                        std::to_string(gone) + " deleted rows of " +
                        std::to_string(fragment.physical_rows()));
    }
    total += fragment.physical_rows() - gone;
  }
  first_rows_.push_back(total);
  return {};
}

size_t LanceSnapshot::FindFragment(uint64_t row) const {
  const auto next =
      std::upper_bound(first_rows_.begin(), first_rows_.end(), row);
  return static_cast<size_t>(next - first_rows_.begin()) - 1;
}

}  // namespace rowfs
