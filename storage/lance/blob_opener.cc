#include "storage/lance/blob_opener.h"

#include "storage/lance/manifest_check.h"

namespace rowfs {
namespace {

// An object that the dataset names and that is gone is damage: nobody asked for
// a path that is not there.
Status AsDamage(const Status& status) {
  if (status.code() != Code::kNotFound) return status;
  return {Code::kCorruption,
          std::string(status.message()) + " (a blob lies in it)"};
}

}  // namespace

BlobOpener::BlobOpener(const BasePaths& bases, DataFiles* files,
                       StoreRegistry* stores,
                       const std::vector<std::string>& allow_external)
    : files_(files), policy_(bases, stores, allow_external) {}

Result<Location> BlobOpener::Find(const BlobCell& cell) const {
  if (cell.kind == BlobKind::kExternal) return policy_.Resolve(cell);
  if (!IsConfinedPath(cell.object)) {
    return Status(Code::kCorruption,
                  "blob at \"" + cell.object + "\": path leaves its folder");
  }
  if (cell.kind == BlobKind::kManagedWithBase) return policy_.Resolve(cell);
  return files_->Locate(cell.base_id, cell.object);
}

Result<BlobSource> BlobOpener::Open(const BlobCell& cell) const {
  if (cell.kind == BlobKind::kCell) {
    return BlobSource{
        nullptr, {}, cell.bytes ? cell.bytes : std::make_shared<const Bytes>()};
  }
  // An empty blob has no place; only external ones may mean "to the end".
  if (cell.size == uint64_t{0} && cell.kind != BlobKind::kExternal) {
    return BlobSource{nullptr, {}, std::make_shared<const Bytes>()};
  }
  const auto found = Find(cell);
  if (!found.ok()) return AsDamage(found.status());
  const Location& location = found.value();
  const bool own = cell.kind != BlobKind::kExternal && cell.size;
  auto opened =
      own ? files_->OpenSidecar(location) : files_->OpenObject(location);
  if (!opened.ok()) return AsDamage(opened.status());
  auto reader = std::move(opened).value();
  const auto end = cell.size ? CheckedAdd(cell.offset, *cell.size)
                             : std::optional<uint64_t>(reader->size());
  if (!end || cell.offset > *end || !reader->CheckEnd(*end).ok()) {
    return Status(
        Code::kCorruption,
        location.uri() + ": " + std::to_string(reader->size()) +
            " bytes long, the blob is at " + std::to_string(cell.offset) +
            (cell.size ? " + " + std::to_string(*cell.size) : std::string()));
  }
  return BlobSource{std::move(reader), {cell.offset, *end}, nullptr};
}

}  // namespace rowfs
