// Creates one object, if there is none: `put_object URL SIZE LETTER`. Exit code
// 1 and the reason when it could not.
#include <algorithm>
#include <cstdio>
#include <string>

#include "storage/object/open_store.h"

namespace rowfs {
namespace {

Status Run(const std::string& url, uint64_t size, char letter) {
  const auto stores = MakeStoreRegistry();
  ROWFS_ASSIGN_OR_RETURN(const Location location, stores->Resolve(url));
  ROWFS_ASSIGN_OR_RETURN(
      const auto writer,
      location.store->Create(location.path, PutMode::kIfAbsent));
  const Bytes piece(1 << 20, std::byte(letter));
  while (size > 0) {
    const size_t part = std::min<uint64_t>(size, piece.size());
    ROWFS_RETURN_IF_ERROR(writer->Write(ByteSpan(piece).first(part)));
    size -= part;
  }
  return writer->Finish();
}

}  // namespace
}  // namespace rowfs

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const rowfs::Status status =
      rowfs::Run(argv[1], std::stoull(argv[2]), argv[3][0]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}
