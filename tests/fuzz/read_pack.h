// Read everything of a pack that may be hostile.
#ifndef ROWFS_TESTS_FUZZ_READ_PACK_H_
#define ROWFS_TESTS_FUZZ_READ_PACK_H_

#include <algorithm>
#include <cstdlib>

#include "storage/pack/member_rows.h"

namespace rowfs {

inline void ReadPack(const Pack& pack) {
  // A hostile file may claim any size and number.
  constexpr uint64_t kBytesMax = 1 << 16;
  constexpr uint64_t kMembersMax = 200;
  const uint64_t count = std::min(pack.members().size(), kMembersMax);
  for (uint64_t i = 0; i < count; ++i) {
    const Member member = pack.members().Get(i);
    const auto source = pack.OpenMember(i);
    if (!source.ok()) continue;
    const uint64_t size = source.value().bytes ? source.value().bytes->size()
                                               : source.value().range.size();
    if (size != member.size) std::abort();
    Bytes head(std::min(size, kBytesMax));
    Bytes middle(std::min(size - size / 2, kBytesMax));
    const bool whole = pack.ReadMember(i, 0, head).ok();
    const bool half = pack.ReadMember(i, size / 2, middle).ok();
    if (!whole || !half || size / 2 + middle.size() > head.size()) continue;
    if (!std::equal(middle.begin(), middle.end(),
                    head.begin() + static_cast<int64_t>(size / 2))) {
      std::abort();
    }
  }
  for (const RowRule rule :
       {RowRule::kStem, RowRule::kSample, RowRule::kMember}) {
    const auto rows = MemberRows::Make({pack.shared_from_this()}, rule);
    if (!rows.ok()) continue;
    const uint64_t shown = std::min(rows.value().row_count(), kMembersMax);
    for (uint64_t row = 0; row < shown; ++row) rows.value().Row(row);
  }
}

}  // namespace rowfs
#endif  // ROWFS_TESTS_FUZZ_READ_PACK_H_
