#include "storage/pack/member_rows.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "storage/base/hash.h"

namespace rowfs {
namespace {

// More different suffixes than this are no columns: the dots mean something
// else ("IMG.2024.05.01.jpg").
constexpr size_t kColumnsMax = 64;
constexpr size_t kSampleColumnsMax = 4096;
constexpr size_t kSkippedNamesMax = 100;
constexpr uint32_t kNoRow = std::numeric_limits<uint32_t>::max();

}  // namespace

std::string SampleSuffix(std::string_view suffix) {
  std::string lower(suffix);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

MemberKey SplitMemberName(std::string_view name) {
  const size_t base = name.rfind('/') + 1;  // npos + 1 == 0
  const size_t dot = name.find('.', base);
  if (dot == name.npos || dot == base) return {name, ""};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

bool IsSampleMember(std::string_view name) {
  // webdataset: ^((?:.*/|)[^.]+)[.]([^/]*)$, and "__[^/]*__($|/)" is meta.
  const size_t base = name.rfind('/') + 1;
  const size_t dot = name.find('.', base);
  if (dot == name.npos) return false;
  // "d/.x" has the key "d/" there; a hidden file is nobody's sample here.
  if (dot == base) return false;
  for (size_t at = name.find("__"); at != name.npos;
       at = name.find("__", at + 1)) {
    const size_t end = std::min(name.find('/', at), name.size());
    if (end - at >= 4 && name.substr(end - 2, 2) == "__") return false;
  }
  return true;
}

namespace {

// Rows by the hash of their stem. Two stems of one hash share a row, which
// harms nobody.
class StemTable {
 public:
  explicit StemTable(uint64_t count) {
    size_t size = 16;
    while (size < 2 * count) size *= 2;
    hashes_.resize(size);
    rows_.resize(size, kNoRow);
  }
  // The row of `hash`; `fresh` when it is new.
  uint32_t Find(uint64_t hash, uint32_t fresh) {
    const size_t mask = hashes_.size() - 1;
    size_t at = hash & mask;
    while (rows_[at] != kNoRow && hashes_[at] != hash) at = (at + 1) & mask;
    if (rows_[at] == kNoRow) {
      hashes_[at] = hash;
      rows_[at] = fresh;
    }
    return rows_[at];
  }

 private:
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> rows_;
};

}  // namespace

class MemberRows::Maker {
 public:
  explicit Maker(MemberRows* rows) : rows_(*rows) {}

  // False when there are too many columns for the rule.
  bool Run() {
    if (rows_.rule_ == RowRule::kMember) {
      MakeSingles();
    } else if (rows_.rule_ == RowRule::kSample) {
      MakeSamples();
    } else {
      MakeGroups();
    }
    return AddColumns();
  }

 private:
  template <typename Use>
  void ForEach(const Use& use) const {
    uint64_t number = 0;
    for (const auto& pack : rows_.packs_) {
      MemberTable::Cursor cursor(pack->members());
      for (; cursor.Next(); ++number) use(number, cursor.member());
    }
  }

  void MakeSingles() { rows_.row_count_ = rows_.member_count(); }

  void Skip(const std::string& name) {
    ++rows_.skipped_;
    if (rows_.skipped_names_.size() < kSkippedNamesMax) {
      rows_.skipped_names_.push_back(name);
    }
  }

  void MakeSamples() {
    std::string key;
    size_t pack = 0;
    bool any = false;
    std::vector<uint32_t> order;
    std::vector<uint32_t> first;
    ForEach([&](uint64_t number, const Member& member) {
      if (!IsSampleMember(member.name)) {
        Skip(member.name);
        return;
      }
      const size_t at = rows_.Locate(number).first;
      const std::string_view now = SplitMemberName(member.name).key;
      if (!any || at != pack || now != key) {
        first.push_back(static_cast<uint32_t>(order.size()));
        key = now;
        pack = at;
        any = true;
      }
      order.push_back(static_cast<uint32_t>(number));
    });
    rows_.row_count_ = first.size();
    Keep(std::move(order), std::move(first));
  }

  // Where stems never descend, equal ones stand together: no table is needed.
  bool MakeSorted() {
    std::vector<uint32_t> first;
    std::string last;
    bool sorted = true;
    ForEach([&](uint64_t number, const Member& member) {
      if (!sorted) return;
      const std::string_view key = SplitMemberName(member.name).key;
      const int order = number == 0 ? 1 : key.compare(last);
      sorted = order >= 0;
      if (order <= 0) return;
      first.push_back(static_cast<uint32_t>(number));
      last = key;
    });
    if (!sorted) return false;
    rows_.row_count_ = first.size();
    KeepFirst(std::move(first), rows_.member_count());
    return true;
  }

  void MakeGroups() {
    if (MakeSorted()) return;
    StemTable stems(rows_.member_count());
    std::vector<uint32_t> row_of;  // empty while rows stand together
    std::vector<uint32_t> first;
    uint32_t last = 0;
    ForEach([&](uint64_t number, const Member& member) {
      const auto fresh = static_cast<uint32_t>(first.size());
      const uint32_t row =
          stems.Find(Hash64(AsBytes(SplitMemberName(member.name).key)), fresh);
      if (row == fresh) {
        first.push_back(static_cast<uint32_t>(number));
      } else if (row != last && row_of.empty()) {
        // The first one that comes back to an earlier row.
        row_of.reserve(rows_.member_count());
        for (uint64_t i = 0, r = 0; i < number; ++i) {
          if (r + 1 < first.size() && first[r + 1] == i) ++r;
          row_of.push_back(static_cast<uint32_t>(r));
        }
      }
      const bool split = !row_of.empty();
      if (split) row_of.push_back(row);
      last = row;
    });
    rows_.row_count_ = first.size();
    if (row_of.empty()) {
      KeepFirst(std::move(first), rows_.member_count());
      return;
    }
    // Members by row, in their own order: a counting sort.
    std::vector<uint32_t> begin(first.size() + 1);
    for (const uint32_t row : row_of) ++begin[row + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    begin.pop_back();
    std::vector<uint32_t> order(row_of.size());
    std::vector<uint32_t> next = begin;
    for (uint32_t i = 0; i < row_of.size(); ++i) order[next[row_of[i]]++] = i;
    KeepFirst(std::move(begin), order.size());
    rows_.order_ = std::move(order);
  }

  // Store only what is not plain: `first` of rows over `count` members.
  void KeepFirst(std::vector<uint32_t> first, uint64_t count) {
    if (first.size() == count) return;
    first.push_back(static_cast<uint32_t>(count));
    first.shrink_to_fit();
    rows_.first_of_row_ = std::move(first);
  }

  void Keep(std::vector<uint32_t> order, std::vector<uint32_t> first) {
    KeepFirst(std::move(first), order.size());
    bool plain = order.size() == rows_.member_count();
    for (size_t i = 0; plain && i < order.size(); ++i) plain = order[i] == i;
    if (plain) return;
    order.shrink_to_fit();
    rows_.order_ = std::move(order);
  }

  bool AddColumns() {
    const size_t limit =
        rows_.rule_ == RowRule::kSample ? kSampleColumnsMax : kColumnsMax;
    if (rows_.order_.empty()) return AddInOrder(limit);
    for (uint64_t row = 0; row < rows_.row_count_; ++row) {
      std::map<std::string, uint32_t> seen;
      const auto [begin, end] = rows_.Range(row);
      for (uint64_t i = begin; i < end; ++i) {
        const auto [pack, member] = rows_.Locate(rows_.order_[i]);
        AddPart(rows_.packs_[pack]->members().Get(member), &seen);
      }
      if (rows_.columns_.size() > limit) return false;
    }
    return true;
  }

  bool AddInOrder(size_t limit) {
    std::map<std::string, uint32_t> seen;
    uint64_t row = 0;
    ForEach([&](uint64_t number, const Member& member) {
      if (rows_.columns_.size() > limit) return;
      if (!rows_.first_of_row_.empty() && rows_.Range(row).second == number) {
        ++row;
        seen.clear();
      }
      AddPart(member, &seen);
    });
    return rows_.columns_.size() <= limit;
  }

  void AddPart(const Member& member, std::map<std::string, uint32_t>* seen) {
    const std::string suffix = rows_.SuffixOf(member.name);
    // Rows of one member need no look at their neighbours.
    const bool alone = rows_.first_of_row_.empty();
    const uint32_t repeat = alone ? 0 : (*seen)[suffix]++;
    const auto [found, fresh] =
        rows_.column_of_.try_emplace({suffix, repeat}, rows_.columns_.size());
    if (fresh) rows_.columns_.push_back({suffix, repeat, 0, 0, true});
    Column& column = rows_.columns_[found->second];
    ++column.members;
    column.size_max = std::max(column.size_max, member.size);
    column.readable = column.readable && member.fault == MemberFault::kNone &&
                      member.coding == MemberCoding::kStored;
  }

  MemberRows& rows_;
};

std::string MemberRows::SuffixOf(std::string_view name) const {
  if (rule_ == RowRule::kMember) return {};
  const std::string_view suffix = SplitMemberName(name).suffix;
  return rule_ == RowRule::kSample ? SampleSuffix(suffix) : std::string(suffix);
}

std::pair<uint64_t, uint64_t> MemberRows::Range(uint64_t row) const {
  if (first_of_row_.empty()) return {row, row + 1};
  return {first_of_row_[row], first_of_row_[row + 1]};
}

std::pair<size_t, uint64_t> MemberRows::Locate(uint64_t member) const {
  const auto next =
      std::upper_bound(first_of_pack_.begin(), first_of_pack_.end(), member);
  const auto pack = static_cast<size_t>(next - first_of_pack_.begin()) - 1;
  return {pack, member - first_of_pack_[pack]};
}

std::vector<MemberRows::Part> MemberRows::Row(uint64_t row) const {
  const auto [begin, end] = Range(row);
  std::vector<Part> parts;
  std::map<std::string, uint32_t> seen;
  parts.reserve(end - begin);
  for (uint64_t i = begin; i < end; ++i) {
    Part part;
    part.member = order_.empty() ? i : order_[i];
    const auto [pack, member] = Locate(part.member);
    part.about = packs_[pack]->members().Get(member);
    const std::string suffix = SuffixOf(part.about.name);
    // Rows of one member need no look at their neighbours.
    const uint32_t repeat = end - begin == 1 ? 0 : seen[suffix]++;
    const auto column = column_of_.find({suffix, repeat});
    if (column == column_of_.end()) continue;
    part.column = column->second;
    parts.push_back(std::move(part));
  }
  return parts;
}

uint64_t MemberRows::bytes() const {
  uint64_t bytes =
      sizeof(uint32_t) * (order_.capacity() + first_of_row_.capacity());
  for (const auto& pack : packs_) bytes += pack->members().bytes();
  return bytes;
}

Result<MemberRows> MemberRows::Make(
    std::vector<std::shared_ptr<const Pack>> packs, RowRule rule) {
  MemberRows rows;
  rows.rule_ = rule;
  rows.packs_ = std::move(packs);
  rows.first_of_pack_.push_back(0);
  for (const auto& pack : rows.packs_) {
    rows.first_of_pack_.push_back(rows.first_of_pack_.back() +
                                  pack->members().size());
  }
  if (rows.member_count() >= kNoRow) {
    return Status(Code::kResourceExhausted,
                  std::to_string(rows.member_count()) +
                      " members in one dataset are more than 2^32");
  }
  if (Maker(&rows).Run()) return rows;
  return Make(std::move(rows.packs_), RowRule::kMember);
}

}  // namespace rowfs
