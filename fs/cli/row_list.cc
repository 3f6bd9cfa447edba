#include "fs/cli/row_list.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

namespace rowfs {
namespace {

constexpr uint64_t kFileBytesMax = 1 << 30;

struct Line {
  size_t number = 0;
  uint64_t value = 0;
  bool is_id = false;
};

std::string_view Trim(std::string_view word) {
  const size_t begin = word.find_first_not_of(" \t");
  if (begin == word.npos) return {};
  return word.substr(begin, word.find_last_not_of(" \t\r") + 1 - begin);
}

Result<std::vector<Line>> ParseLines(std::string_view text, uint64_t row_count,
                                     const std::string& path) {
  constexpr std::string_view kId = "id:";
  std::vector<Line> lines;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view word = Trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    Line line;
    line.number = number;
    line.is_id = word.starts_with(kId);
    const std::string_view digits = word.substr(line.is_id ? kId.size() : 0);
    const auto [rest, error] = std::from_chars(
        digits.data(), digits.data() + digits.size(), line.value);
    if (error != std::errc() || rest != digits.data() + digits.size()) {
      return Status(Code::kInvalidArgument,
                    path + " line " + std::to_string(number) + ": \"" +
                        std::string(word.substr(0, 40)) +
                        "\" is no row number and no id:ROW_ID");
    }
    line.is_id = line.is_id || line.value >= row_count;
    lines.push_back(line);
  }
  return lines;
}

// Turns the row ids among `lines` into row numbers.
Status FindIds(const Dataset& dataset, const std::string& path,
               std::vector<Line>* lines) {
  std::unordered_map<uint64_t, uint64_t> row_of;
  for (const Line& line : *lines) {
    if (line.is_id) row_of.emplace(line.value, UINT64_MAX);
  }
  if (row_of.empty()) return {};
  for (uint64_t row = 0; row < dataset.row_count(); ++row) {
    ROWFS_ASSIGN_OR_RETURN(const uint64_t id, dataset.table().RowId(row));
    const auto found = row_of.find(id);
    if (found != row_of.end()) found->second = row;
  }
  for (Line& line : *lines) {
    if (!line.is_id) continue;
    const uint64_t row = row_of[line.value];
    if (row == UINT64_MAX) {
      return {Code::kNotFound,
              path + " line " + std::to_string(line.number) + ": no row has " +
                  std::to_string(line.value) +
                  " as number or row id; there "
                  "are " +
                  std::to_string(dataset.row_count()) + " rows"};
    }
    line.value = row;
  }
  return {};
}

}  // namespace

Result<Selection> RowsOption(const Args& args, uint64_t row_count) {
  auto rows = Selection::Parse(args.Get("--rows"), row_count);
  if (!rows.ok()) return rows.status().With("--rows");
  return rows;
}

Result<std::pair<std::string, std::vector<uint64_t>>> ReadView(
    StoreRegistry& stores, const Dataset& dataset, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == text.npos || equals == 0 || equals + 1 == text.size()) {
    return Status(Code::kInvalidArgument,
                  "--view takes NAME=FILE, not \"" + text + "\"");
  }
  const std::string path = text.substr(equals + 1);
  ROWFS_ASSIGN_OR_RETURN(const Location location, stores.Resolve(path));
  ROWFS_ASSIGN_OR_RETURN(const Bytes bytes, ReadWhole(location, kFileBytesMax));
  ROWFS_ASSIGN_OR_RETURN(std::vector<Line> lines,
                         ParseLines(AsText(bytes), dataset.row_count(), path));
  ROWFS_RETURN_IF_ERROR(FindIds(dataset, path, &lines));
  std::vector<uint64_t> rows;
  rows.reserve(lines.size());
  for (const Line& line : lines) rows.push_back(line.value);
  return std::pair(text.substr(0, equals), std::move(rows));
}

}  // namespace rowfs
