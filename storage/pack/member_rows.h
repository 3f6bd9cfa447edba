// Which members of a set of packs make a row, and which column each one is:
// members that share a stem, samples of a WebDataset, or every member a row.
//
// Immutable once made; thread-safe.
#ifndef ROWFS_STORAGE_PACK_MEMBER_ROWS_H_
#define ROWFS_STORAGE_PACK_MEMBER_ROWS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/pack/pack.h"

namespace rowfs {

enum class RowRule {
  kStem,    // path up to the first dot of the base name, over all shards
  kSample,  // WebDataset: the same, of members that follow one another
  kMember,  // one member a row
};

// A member's name in two: what its row is called after, and what tells it from
// the others of the row, without the dot.
struct MemberKey {
  std::string_view key;
  std::string_view suffix;
};
// At the first dot of the base name. A base name without one, or that begins
// with it, is all key. "a.b/c.seg.png" -> {"a.b/c", "seg.png"}.
MemberKey SplitMemberName(std::string_view name);
// Whether WebDataset takes the member: it has a suffix, and neither a folder
// nor its own name is of the form __x__.
bool IsSampleMember(std::string_view name);
// The suffix of a sample's member as its column has it: in lower case.
std::string SampleSuffix(std::string_view suffix);

class MemberRows {
 public:
  // Columns by suffix; of equal ones in a row the second, third ... have their
  // own.
  struct Column {
    std::string suffix;  // lower case with kSample
    uint32_t repeat = 0;
    uint64_t members = 0;
    uint64_t size_max = 0;
    bool readable = true;  // no member has a fault or needs decoding
  };
  // One member of a row.
  struct Part {
    uint64_t member = 0;  // counted over all packs
    size_t column = 0;
    Member about;
  };

  // kResourceExhausted above 2^32 members. Memory while it works: 16 bytes a
  // member. Packs whose names have too many different suffixes to be columns
  // come out as kMember.
  static Result<MemberRows> Make(std::vector<std::shared_ptr<const Pack>> packs,
                                 RowRule rule);

  RowRule rule() const { return rule_; }
  uint64_t row_count() const { return row_count_; }
  uint64_t member_count() const { return first_of_pack_.back(); }
  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<std::shared_ptr<const Pack>>& packs() const {
    return packs_;
  }
  // Members that belong to no row, the first of them by name.
  uint64_t skipped() const { return skipped_; }
  const std::vector<std::string>& skipped_names() const {
    return skipped_names_;
  }

  // The parts of `row`, in the order of the shards. Requires: row < row_count.
  std::vector<Part> Row(uint64_t row) const;
  // The pack of a member and its number there.
  std::pair<size_t, uint64_t> Locate(uint64_t member) const;
  uint64_t bytes() const;

 private:
  class Maker;

  // The row's members in order_, half open.
  std::pair<uint64_t, uint64_t> Range(uint64_t row) const;
  std::string SuffixOf(std::string_view name) const;

  RowRule rule_ = RowRule::kMember;
  std::vector<std::shared_ptr<const Pack>> packs_;
  std::vector<uint64_t> first_of_pack_;  // and one behind the last
  uint64_t row_count_ = 0;
  // Members in the order of rows; empty when that is their own order.
  std::vector<uint32_t> order_;
  // Where each row begins in that order, and the end; empty when every row has
  // one member.
  std::vector<uint32_t> first_of_row_;
  std::vector<Column> columns_;
  std::map<std::pair<std::string, uint32_t>, size_t> column_of_;
  uint64_t skipped_ = 0;
  std::vector<std::string> skipped_names_;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_MEMBER_ROWS_H_
