// rowfs index build.
#include <algorithm>
#include <filesystem>
#include <optional>

#include "fs/cli/catalog_values.h"
#include "fs/cli/commands.h"
#include "fs/cli/progress.h"
#include "fs/tree/row_contents.h"

namespace rowfs {
namespace {

struct Summary {
  uint64_t media = 0;    // with views now
  uint64_t known = 0;    // of these, those that were indexed before
  uint64_t without = 0;  // no views can be made
  uint64_t failed = 0;   // could not be read
  uint64_t columns = 0;
  std::string first_error;
};

class Builder {
 public:
  Builder(Env& env, Session& session, std::shared_ptr<Dataset> dataset,
          PluginRegistry& plugins, const Catalogs& catalogs)
      : env_(env),
        session_(session),
        dataset_(std::move(dataset)),
        plugins_(plugins),
        catalogs_(catalogs),
        indexer_(catalogs, plugins, /*verify_bytes_max=*/UINT64_MAX) {
    options_.indexer = &indexer_;
  }

  // Index every blob whose folder lists views.
  Status BuildMedia();
  Status BuildColumns(const std::string& name_column);

  const Summary& summary() const { return summary_; }

 private:
  void IndexRow(const Row& row);
  void Count(const Status& status, bool has_views);

  Env& env_;
  Session& session_;
  const std::shared_ptr<Dataset> dataset_;
  PluginRegistry& plugins_;
  const Catalogs& catalogs_;
  CatalogIndexer indexer_;
  TreeOptions options_;
  Summary summary_;
};

bool HoldsBlobs(const Dataset& dataset) {
  return std::any_of(dataset.columns().begin(), dataset.columns().end(),
                     [](const Column& column) {
                       return column.role == ColumnRole::kBlob ||
                              column.role == ColumnRole::kTree;
                     });
}

void Builder::Count(const Status& status, bool has_views) {
  if (status.ok()) {
    ++(has_views ? summary_.media : summary_.without);
    return;
  }
  const Code code = status.code();
  const bool lasting = code == Code::kCorruption ||
                       code == Code::kUnsupported ||
                       code == Code::kResourceExhausted;
  ++(lasting ? summary_.without : summary_.failed);
  if (summary_.first_error.empty()) summary_.first_error = status.message();
}

void Builder::IndexRow(const Row& row) {
  const RowContents contents =
      ReadRowContents({*dataset_, plugins_, options_}, row);
  for (const RowItem& item : contents.items) {
    if (item.kind != RowItem::Kind::kBlob || item.view_stem.empty()) continue;
    const bool listed =
        std::any_of(contents.items.begin(), contents.items.end(),
                    [&](const RowItem& other) {
                      return !other.view.empty() && other.cell == item.cell;
                    });
    // Single pictures are indexed when someone asks for their views.
    if (!listed) continue;
    const std::string where =
        "row " + std::to_string(row.number) + " " + item.path;
    const MediaIndexer::Place place{0, row.number, item.cell};
    if (const auto known = indexer_.Known(place)) {
      ++summary_.known;
      Count(known->status().With(where), known->ok() && known->value());
      continue;
    }
    const auto blob =
        dataset_->OpenBlob(row.number, item.cell, BlobDetail::kDescriptor);
    if (!blob.ok() || !blob.value()) {
      Count(blob.status().With(where), false);
      continue;
    }
    FileType type;
    type.extension = std::string_view(item.name).substr(
        std::min(item.name.size(), item.name.rfind('.') + 1));
    const auto index = indexer_.Find(place, blob.value(), type);
    Count(index.status().With(where), index.ok() && index.value());
  }
}

Status Builder::BuildMedia() {
  if (!HoldsBlobs(*dataset_)) return {};
  Progress progress(env_, "index media");
  constexpr uint64_t kTakeRows = 32;
  const uint64_t count = dataset_->row_count();
  for (uint64_t first = 0; first < count; first += kTakeRows) {
    std::vector<uint64_t> rows;
    for (uint64_t i = first; i < std::min(first + kTakeRows, count); ++i) {
      rows.push_back(i);
    }
    ROWFS_ASSIGN_OR_RETURN(const auto taken, dataset_->ReadRows(rows));
    for (const auto& row : taken) {
      IndexRow(*row);
      progress.Update(row->number + 1, count, "rows",
                      session_.stats().data.bytes);
    }
  }
  return {};
}

Status Builder::BuildColumns(const std::string& name_column) {
  Catalog* catalog = catalogs_.own.get();
  for (size_t i = 0; i < dataset_->columns().size(); ++i) {
    const Column& column = dataset_->columns()[i];
    if (!IsScalar(column)) continue;
    Progress progress(env_, "index by/" + column.name);
    if (!catalog->CountValues(ColumnKey(*dataset_, i))) {
      ROWFS_RETURN_IF_ERROR(
          BuildValueIndex(*dataset_, i, catalog, [&](uint64_t rows) {
            progress.Update(rows, dataset_->row_count(), "rows", 0);
          }).With(column.name));
    }
    ++summary_.columns;
  }
  if (name_column.empty()) return {};
  ROWFS_ASSIGN_OR_RETURN(const size_t column,
                         FindColumn(*dataset_, name_column));
  if (!IsScalar(dataset_->columns()[column])) {
    return {Code::kInvalidArgument,
            "--name-column: " + name_column + " has no single values"};
  }
  if (catalog->CountNames(ColumnKey(*dataset_, column))) return {};
  return BuildNameIndex(*dataset_, column, catalog).With(name_column);
}

Result<Catalogs> CatalogsFor(const Args& args, const Session& session,
                             const Dataset& dataset) {
  Catalogs catalogs;
  if (args.Has("--output")) {
    // SQLite would take some names for something else.
    const std::string file =
        std::filesystem::absolute(args.Get("--output")).string();
    catalogs.own = Catalog::Open(file, dataset.table().fingerprint());
  } else {
    catalogs = OpenCatalogs(session, dataset, "");
  }
  // Whoever asks for an index wants to hear that none can be kept.
  const std::string problem = catalogs.own->problem();
  if (!problem.empty() && !catalogs.own->usable()) {
    return Status(Code::kUnavailable, problem);
  }
  return catalogs;
}

Result<Summary> Build(Env& env, const Args& args) {
  ROWFS_ASSIGN_OR_RETURN(const auto session,
                         Session::Make(args, args.Get("--format")));
  std::optional<OpeningProgress> opening;
  opening.emplace(env, nullptr, session->stats());
  ROWFS_ASSIGN_OR_RETURN(const auto dataset,
                         session->OpenDataset(args.operands[1]));
  opening.reset();
  ROWFS_ASSIGN_OR_RETURN(PluginRegistry * plugins, session->Plugins());
  ROWFS_ASSIGN_OR_RETURN(const Catalogs catalogs,
                         CatalogsFor(args, *session, *dataset));
  Builder builder(env, *session, dataset, *plugins, catalogs);
  ROWFS_RETURN_IF_ERROR(builder.BuildMedia());
  ROWFS_RETURN_IF_ERROR(builder.BuildColumns(args.Get("--name-column")));
  if (const std::string problem = catalogs.own->problem(); !problem.empty()) {
    return Status(Code::kUnavailable, problem);
  }
  return builder.summary();
}

}  // namespace

int CmdIndex(Env& env, const Args& args) {
  if (args.operands[0] != "build") {
    env.err << "rowfs index: there is no \"" << args.operands[0]
            << "\"; did you mean build?\nsee `rowfs index --help`\n";
    return kExitUsage;
  }
  const Result<Summary> built = Build(env, args);
  if (!built.ok()) return Fail(env, built.status());
  const Summary& summary = built.value();
  if (args.Has("--json")) {
    env.out << WriteJson(Json::Object()
                             .Add("media", Json::Uint(summary.media))
                             .Add("known", Json::Uint(summary.known))
                             .Add("without_views", Json::Uint(summary.without))
                             .Add("failed", Json::Uint(summary.failed))
                             .Add("columns", Json::Uint(summary.columns)))
            << "\n";
  } else {
    env.out << summary.media << " media with views (" << summary.known
            << " were indexed before), " << summary.without << " without, "
            << summary.columns << " columns by value\n";
  }
  if (!summary.first_error.empty()) {
    env.err << "rowfs: without views, for example: " << summary.first_error
            << "\n";
  }
  return summary.failed == 0 ? kExitDone : kExitFailure;
}

}  // namespace rowfs
