#include "storage/lance/external.h"

#include "storage/lance/manifest_check.h"

namespace rowfs {

ExternalPolicy::ExternalPolicy(const BasePaths& bases, StoreRegistry* stores,
                               const std::vector<std::string>& allowed)
    : bases_(bases),
      reach_(bases.main_root(), bases.Roots(), stores, allowed) {}

Result<Location> ExternalPolicy::Resolve(const BlobCell& cell) const {
  const std::string& object = cell.object;
  if (object.empty() || object.find('\0') != std::string::npos) {
    return Status(Code::kCorruption, "external blob without a usable URI");
  }
  if (cell.base_id) {
    if (!IsConfinedPath(object)) {
      return Status(
          Code::kPermissionDenied,
          object + ": leaves its base path " + std::to_string(*cell.base_id));
    }
    ROWFS_ASSIGN_OR_RETURN(const Location folder, bases_.Folder(cell.base_id));
    return reach_.Check(folder.Join(object), object);
  }
  if (object.front() != '/' && object.find("://") == std::string::npos) {
    return Status(Code::kPermissionDenied,
                  object + ": external blob with a relative path");
  }
  return reach_.Resolve(object);
}

}  // namespace rowfs
