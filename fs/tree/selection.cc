#include "fs/tree/selection.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <optional>
#include <string>

namespace rowfs {
namespace {

std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || text.empty()) return {};
  return value;
}

}  // namespace

// Takes the parts of `rows` that are not there yet, in order.
void Selection::Add(ByteRange rows) {
  std::vector<ByteRange> fresh;
  uint64_t at = rows.begin;
  auto it = ends_.upper_bound(rows.begin);
  if (it != ends_.begin()) --it;
  for (; it != ends_.end() && it->first < rows.end && at < rows.end; ++it) {
    if (it->second <= at) continue;
    if (it->first > at) fresh.push_back({at, it->first});
    at = it->second;
  }
  if (at < rows.end) fresh.push_back({at, rows.end});
  for (const ByteRange& range : fresh) {
    // A list that counts up stays one range.
    if (!ranges_.empty() && ranges_.back().end == range.begin) {
      ranges_.back().end = range.end;
      ends_[ranges_.back().begin] = range.end;
    } else {
      ranges_.push_back(range);
      starts_.push_back(row_count_);
      ends_[range.begin] = range.end;
    }
    row_count_ += range.size();
  }
}

Result<Selection> Selection::Parse(std::string_view text, uint64_t row_count) {
  Selection selection;
  for (bool more = true; more;) {
    const size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);

    const size_t dash = part.find('-');
    const std::optional<uint64_t> first = ParseNumber(part.substr(0, dash));
    std::optional<uint64_t> last = first;
    if (dash != std::string_view::npos) {
      const std::string_view end = part.substr(dash + 1);
      last =
          end.empty() ? std::max(row_count, uint64_t{1}) - 1 : ParseNumber(end);
    }
    const bool open_end = first && dash + 1 == part.size();
    if (!first || !last || (*last < *first && !open_end)) {
      return Status(Code::kInvalidArgument,
                    "rows '" + std::string(part) + "': expected N or N-M");
    }
    if (const uint64_t row = std::max(*first, *last); row >= row_count) {
      return Status(Code::kOutOfRange, "row " + std::to_string(row) +
                                           ": there are " +
                                           std::to_string(row_count) + " rows");
    }
    selection.Add({*first, *last + 1});
  }
  return selection;
}

Selection Selection::Make(const std::vector<uint64_t>& rows) {
  Selection selection;
  for (const uint64_t row : rows) selection.Add({row, row + 1});
  return selection;
}

bool Selection::Contains(uint64_t row) const {
  auto it = ends_.upper_bound(row);
  if (it == ends_.begin()) return false;
  return (--it)->second > row;
}

size_t Selection::RangeAt(uint64_t index) const {
  assert(index < row_count_);
  return static_cast<size_t>(
      std::upper_bound(starts_.begin(), starts_.end(), index) -
      starts_.begin() - 1);
}

uint64_t Selection::at(uint64_t index) const {
  const size_t range = RangeAt(index);
  return ranges_[range].begin + (index - starts_[range]);
}

uint64_t Selection::RunAt(uint64_t index) const {
  const size_t range = RangeAt(index);
  return starts_[range] + ranges_[range].size() - index;
}

}  // namespace rowfs
