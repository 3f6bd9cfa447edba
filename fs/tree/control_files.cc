#include "fs/tree/control_files.h"

#include "storage/base/json.h"

namespace rowfs {
namespace {

std::string_view RoleName(ColumnRole role) {
  switch (role) {
    case ColumnRole::kNumber:
      return "number";
    case ColumnRole::kText:
      return "text";
    case ColumnRole::kTensor:
      return "tensor";
    case ColumnRole::kNested:
      return "nested";
    case ColumnRole::kBlob:
      return "blob";
    case ColumnRole::kTree:
      return "tree";
    case ColumnRole::kIndex:
      return "index";
  }
  return "";
}

bool IsBinaryType(const DataType& type) {
  return type.id == TypeId::kBinary || type.id == TypeId::kLargeBinary ||
         type.id == TypeId::kFixedSizeBinary;
}

}  // namespace

std::optional<ControlFile> FindControlFile(std::string_view name) {
  for (size_t i = 0; i < kControlNames.size(); ++i) {
    if (kControlNames[i] == name) return static_cast<ControlFile>(i);
  }
  return {};
}

bool IsChanging(ControlFile file) {
  switch (file) {
    case ControlFile::kSchema:
    case ControlFile::kDataset:
    case ControlFile::kConfig:
      return false;
    case ControlFile::kStats:
    case ControlFile::kLog:
    case ControlFile::kPrefetch:
      return true;
  }
  return false;
}

std::string SchemaText(const Dataset& dataset) {
  Json columns = Json::Array();
  for (const Column& column : dataset.columns()) {
    Json metadata = Json::Object();
    for (const auto& [key, value] : column.metadata) {
      if (metadata.Find(key) == nullptr) metadata.Add(key, Json::String(value));
    }
    Json about = Json::Object();
    about.Add("name", Json::String(column.name))
        .Add("type", Json::String(column.type->ToString()))
        .Add("role", Json::String(RoleName(column.role)));
    // How bytes that are no file look in row.json.
    if (column.role == ColumnRole::kNested && IsBinaryType(*column.type)) {
      about.Add("encoding", Json::String("base64"));
    }
    about.Add("metadata", std::move(metadata));
    columns.items.push_back(std::move(about));
  }
  return WriteJson(Json::Object().Add("columns", std::move(columns))) + "\n";
}

std::string DatasetText(const Dataset& dataset) {
  Json about = Json::Object();
  about.Add("source", Json::String(dataset.source()))
      .Add("format", Json::String(dataset.table().format()))
      .Add("rows", Json::Uint(dataset.row_count()))
      .Add("fingerprint", Json::String(dataset.table().fingerprint()));
  Json facts = dataset.table().Describe();
  for (auto& [key, value] : facts.members) {
    if (about.Find(key) == nullptr) about.Add(key, std::move(value));
  }
  return WriteJson(about) + "\n";
}

std::string LogText(const Logger& log) {
  std::string text;
  for (const std::string& line : log.Recent()) text += line + "\n";
  return text;
}

void ErrorCounters::Count(std::string_view errno_name) {
  const MutexLock lock(mu_);
  const auto found = counts_.find(errno_name);
  if (found != counts_.end()) {
    ++found->second;
  } else {
    counts_.emplace(errno_name, 1);
  }
}

std::string ErrorCounters::Text() const {
  const MutexLock lock(mu_);
  std::string text = "# TYPE rowfs_errors_total counter\n";
  for (const auto& [name, count] : counts_) {
    text += "rowfs_errors_total{errno=\"" + name + "\"} " +
            std::to_string(count) + "\n";
  }
  return text;
}

}  // namespace rowfs
