#include "fs/cli/column_list.h"

#include <algorithm>
#include <string>

#include "fs/cli/session.h"

namespace rowfs {
namespace {

Result<ChosenColumn> FindChosen(const Dataset& dataset,
                                const std::string& name) {
  if (const auto column = dataset.FindColumn(name)) {
    return ChosenColumn{*column, {dataset.columns()[*column].field, {}}};
  }
  const size_t dot = name.find('.');
  if (dot == name.npos) return FindColumn(dataset, name).status();
  const Result<FieldPath> path = FindField(dataset.table().schema(), name);
  if (!path.ok()) return path.status().With(dataset.source());
  for (size_t i = 0; i < dataset.columns().size(); ++i) {
    if (dataset.columns()[i].field == path.value().column) {
      return ChosenColumn{i, path.value()};
    }
  }
  return FindColumn(dataset, name).status();
}

}  // namespace

Result<std::vector<ChosenColumn>> ChooseColumns(const Dataset& dataset,
                                                const Args& args) {
  std::vector<ChosenColumn> chosen;
  for (const std::string& list : args.GetAll("--columns")) {
    std::vector<std::string> names = {list};
    if (!dataset.FindColumn(list)) {
      const auto parts = Split(list, ',');
      names.assign(parts.begin(), parts.end());
    }
    for (const std::string& name : names) {
      ROWFS_ASSIGN_OR_RETURN(const ChosenColumn one, FindChosen(dataset, name));
      if (std::ranges::find(chosen, one) != chosen.end()) {
        return Status(Code::kInvalidArgument,
                      "--columns names \"" + name + "\" twice");
      }
      chosen.push_back(one);
    }
  }
  if (args.Has("--columns")) return chosen;
  for (size_t i = 0; i < dataset.columns().size(); ++i) {
    const Column& column = dataset.columns()[i];
    if (column.role != ColumnRole::kIndex) {
      chosen.push_back({i, {column.field, {}}});
    }
  }
  return chosen;
}

}  // namespace rowfs
