// rowfs info.
#include <algorithm>
#include <functional>
#include <map>

#include "fs/cli/catalog_stores.h"
#include "fs/cli/commands.h"
#include "fs/cli/progress.h"
#include "fs/cli/session.h"

namespace rowfs {
namespace {

constexpr uint64_t kBatchRows = 1024;

std::string_view RoleName(ColumnRole role) {
  switch (role) {
    case ColumnRole::kNumber:
      return "scalar";
    case ColumnRole::kText:
      return "text";
    case ColumnRole::kTensor:
      return "tensor";
    case ColumnRole::kNested:
      return "nested";
    case ColumnRole::kBlob:
      return "blob";
    case ColumnRole::kTree:
      return "blobs";
    case ColumnRole::kIndex:
      return "index";
  }
  return "?";
}

std::string_view KindName(BlobKind kind) {
  switch (kind) {
    case BlobKind::kInline:
      return "inline";
    case BlobKind::kPacked:
      return "packed";
    case BlobKind::kDedicated:
      return "dedicated";
    case BlobKind::kExternal:
      return "external";
    case BlobKind::kManaged:
    case BlobKind::kManagedWithBase:
      return "managed";
    case BlobKind::kCell:
      return "cell";
  }
  return "?";
}

// What a blob column holds, counted over all rows.
struct BlobCounts {
  uint64_t null = 0;
  uint64_t empty = 0;
  uint64_t bytes = 0;
  std::map<std::string, uint64_t> by_kind;
  std::map<std::string, uint64_t> views_by_plugin;
  std::map<std::string, uint64_t> without;  // rows without views by reason
};

// What was found in blobs without blob_info by mounts before; looked up only in
// tables of a size that a person waits for.
constexpr uint64_t kIndexedRowsMax = 100'000;

void Count(const BlobCell& cell, PluginRegistry& plugins,
           const std::function<std::optional<IndexedMedia>()>& find_indexed,
           BlobCounts* counts) {
  ++counts->by_kind[std::string(KindName(cell.kind))];
  counts->bytes += cell.size.value_or(0);
  if (cell.size == uint64_t{0}) {
    ++counts->empty;
    ++counts->without["empty"];
    return;
  }
  if (cell.info) {
    const Plugin* plugin = plugins.FindByMagic(*cell.info->stream_info);
    if (plugin == nullptr) {
      ++counts->without["no plugin reads its blob_info"];
    } else {
      ++counts->views_by_plugin[plugin->name()];
    }
    return;
  }
  const std::optional<IndexedMedia> indexed = find_indexed();
  if (!indexed) {
    ++counts->without["no blob_info"];
  } else if (indexed->code != Code::kOk) {
    ++counts
          ->without["no blob_info, and none can be made: " + indexed->message];
  } else if (indexed->plugin.empty()) {
    ++counts->without["no blob_info, and no plugin knows such files"];
  } else {
    ++counts->views_by_plugin[indexed->plugin];
  }
}

Result<std::map<size_t, BlobCounts>> CountBlobs(Env& env, Dataset& dataset,
                                                const Catalogs& catalogs,
                                                PluginRegistry& plugins) {
  std::map<size_t, BlobCounts> counts;
  std::vector<size_t> fields;
  for (const Column& column : dataset.columns()) {
    if (column.role != ColumnRole::kBlob) continue;
    fields.push_back(column.field);
    if (column.index_field) fields.push_back(*column.index_field);
    counts[column.field];
  }
  if (fields.empty()) return counts;
  ROWFS_ASSIGN_OR_RETURN(auto reader,
                         dataset.table().Scan(fields, 0, dataset.row_count(),
                                              kBatchRows, BlobDetail::kHead));
  Progress progress(env, "info");
  uint64_t done = 0;
  for (;;) {
    ROWFS_ASSIGN_OR_RETURN(const RecordBatch batch, reader->Next());
    if (batch.row_count == 0) return counts;
    for (const Column& column : dataset.columns()) {
      if (column.role != ColumnRole::kBlob) continue;
      const auto place = [&](size_t field) -> const Array& {
        const auto at = std::find(fields.begin(), fields.end(), field);
        return batch.columns[static_cast<size_t>(at - fields.begin())];
      };
      const Array& cells = place(column.field);
      BlobCounts& total = counts[column.field];
      for (uint64_t row = 0; row < batch.row_count; ++row) {
        if (cells.IsNull(row)) {
          ++total.null;
          ++total.without["null"];
          continue;
        }
        BlobCell cell;
        if (cells.type->id == TypeId::kBlob) {
          cell = cells.blobs[row];
        } else {
          cell.size = cells.BytesAt(row).size();
        }
        if (column.index_field && !place(*column.index_field).IsNull(row)) {
          ROWFS_ASSIGN_OR_RETURN(
              cell.info,
              DecodeBlobInfo(place(*column.index_field).BytesAt(row)));
        }
        const auto find_indexed = [&]() -> std::optional<IndexedMedia> {
          if (dataset.row_count() > kIndexedRowsMax) return {};
          const auto number =
              static_cast<size_t>(&column - dataset.columns().data());
          const CellPath path{number, {}};
          const std::string key = MediaKey({0, done + row, path});
          return catalogs.First(
              [&](Catalog& catalog) { return catalog.FindMedia(key); });
        };
        Count(cell, plugins, find_indexed, &total);
      }
    }
    done += batch.row_count;
    progress.Update(done, dataset.row_count(), "rows", 0);
  }
}

Json ToJson(const std::map<std::string, uint64_t>& counts) {
  Json json = Json::Object();
  for (const auto& [name, count] : counts) json.Add(name, Json::Uint(count));
  return json;
}

Json BlobJsonOf(const BlobCounts& counts) {
  uint64_t with_views = 0;
  for (const auto& [name, count] : counts.views_by_plugin) with_views += count;
  return std::move(Json::Object()
                       .Add("kinds", ToJson(counts.by_kind))
                       .Add("null", Json::Uint(counts.null))
                       .Add("empty", Json::Uint(counts.empty))
                       .Add("bytes", Json::Uint(counts.bytes))
                       .Add("rows_with_views", Json::Uint(with_views))
                       .Add("views", ToJson(counts.views_by_plugin))
                       .Add("rows_without_views", ToJson(counts.without)));
}

Result<Json> Describe(Env& env, const Args& args) {
  ROWFS_ASSIGN_OR_RETURN(const auto session,
                         Session::Make(args, args.Get("--format")));
  ROWFS_ASSIGN_OR_RETURN(const auto dataset,
                         session->OpenDataset(args.operands[0]));
  ROWFS_ASSIGN_OR_RETURN(PluginRegistry * plugins, session->Plugins());
  const Catalogs catalogs = OpenCatalogs(*session, *dataset, "");
  ROWFS_ASSIGN_OR_RETURN(const auto counts,
                         CountBlobs(env, *dataset, catalogs, *plugins));
  Json info = Json::Object();
  info.Add("source", Json::String(dataset->source()));
  Json described = dataset->table().Describe();
  for (auto& [key, value] : described.members) info.Add(key, std::move(value));
  if (info.Find("format") == nullptr) {
    info.Add("format", Json::String(dataset->table().format()));
  }
  if (info.Find("rows") == nullptr) {
    info.Add("rows", Json::Uint(dataset->row_count()));
  }
  Json columns = Json::Array();
  for (const Column& column : dataset->columns()) {
    Json json = Json::Object();
    json.Add("name", Json::String(column.name));
    json.Add("type", Json::String(column.type->ToString()));
    json.Add("role", Json::String(RoleName(column.role)));
    const auto found = counts.find(column.field);
    if (found != counts.end()) json.Add("blobs", BlobJsonOf(found->second));
    columns.items.push_back(std::move(json));
  }
  info.Add("columns", std::move(columns));
  return info;
}

std::string Plain(const Json& value) {
  return value.kind == Json::Kind::kString ? value.text : WriteJson(value);
}

void PrintBlobs(Env& env, const Json& blobs) {
  const auto number = [&](std::string_view key) {
    return blobs.Find(key)->AsUint().value_or(0);
  };
  env.out << ", " << HumanBytes(number("bytes"));
  for (const auto& [kind, count] : blobs.Find("kinds")->members) {
    env.out << ", " << count.text << " " << kind;
  }
  if (number("null") > 0) env.out << ", " << number("null") << " null";
  if (number("empty") > 0) env.out << ", " << number("empty") << " empty";
  env.out << "\n      rows with views: " << number("rows_with_views");
  for (const auto& [plugin, count] : blobs.Find("views")->members) {
    env.out << " (" << plugin << " " << count.text << ")";
  }
  const char* before = "; without: ";
  for (const auto& [why, count] : blobs.Find("rows_without_views")->members) {
    env.out << before << count.text << " (" << why << ")";
    before = ", ";
  }
}

void PrintForPeople(Env& env, const Json& info) {
  for (const auto& [key, value] : info.members) {
    if (key == "columns") continue;
    env.out << key << ": " << Plain(value) << "\n";
  }
  env.out << "columns:\n";
  for (const Json& column : info.Find("columns")->items) {
    env.out << "  " << column.Find("name")->text << "  "
            << column.Find("type")->text << "  [" << column.Find("role")->text
            << "]";
    if (const Json* blobs = column.Find("blobs")) PrintBlobs(env, *blobs);
    env.out << "\n";
  }
}

}  // namespace

int CmdInfo(Env& env, const Args& args) {
  const Result<Json> info = Describe(env, args);
  if (!info.ok()) return Fail(env, info.status());
  if (args.Has("--json")) {
    env.out << WriteJson(info.value()) << "\n";
  } else {
    PrintForPeople(env, info.value());
  }
  return kExitDone;
}

}  // namespace rowfs
