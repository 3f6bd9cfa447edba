#include "fs/cli/output_file.h"

namespace rowfs {

Status WriteOutput(
    StoreRegistry& stores, const std::string& path,
    const std::function<Status(const std::function<Status(ByteSpan)>&)>& fill) {
  ROWFS_ASSIGN_OR_RETURN(const Location location, stores.Resolve(path));
  ROWFS_ASSIGN_OR_RETURN(
      auto writer, location.store->Create(location.path, PutMode::kOverwrite));
  ROWFS_RETURN_IF_ERROR(
      fill([&](ByteSpan bytes) { return writer->Write(bytes); }));
  return writer->Finish();
}

}  // namespace rowfs
