// Read members of a pack in tests.
#ifndef ROWFS_TESTS_STORAGE_PACK_PACK_READS_H_
#define ROWFS_TESTS_STORAGE_PACK_PACK_READS_H_

#include <memory>
#include <string>
#include <vector>

#include "storage/pack/pack.h"

namespace rowfs {

inline std::string TextOfSource(const Result<BlobSource>& source) {
  if (!source.ok()) return "error: " + std::string(source.status().message());
  if (source.value().bytes) return std::string(AsText(*source.value().bytes));
  const Result<Bytes> bytes =
      source.value().reader->Read(source.value().range, ReadKind::kData);
  if (!bytes.ok()) return "error: " + std::string(bytes.status().message());
  return std::string(AsText(bytes.value()));
}

// The member's content, or "error: " and what went wrong.
inline std::string Content(const Pack& pack, std::string_view name) {
  const Result<uint64_t> i = pack.Find(name);
  if (!i.ok()) return "error: " + std::string(i.status().message());
  return TextOfSource(pack.OpenMember(i.value()));
}

inline std::vector<std::string> NamesOf(const Pack& pack) {
  std::vector<std::string> names;
  MemberTable::Cursor cursor(pack.members());
  while (cursor.Next()) names.push_back(cursor.member().name);
  return names;
}

}  // namespace rowfs
#endif  // ROWFS_TESTS_STORAGE_PACK_PACK_READS_H_
