// rowfs verify.
#include <optional>

#include "fs/cli/commands.h"
#include "fs/cli/lance_target.h"
#include "fs/cli/progress.h"
#include "index/view/verify_media.h"
#include "storage/lance/verify.h"

namespace rowfs {
namespace {

constexpr uint64_t kBatchRows = 256;
constexpr uint64_t kStepBytes = 1 << 20;
constexpr size_t kFindingsMax = 1000;
// After this many rows in a row that cannot be read, which is a finding
// already, nobody looks for media in the rest.
constexpr uint64_t kRefusedMax = 128;

// Looks at any table: every value and every byte of every blob can be read.
class TableVerifier {
 public:
  TableVerifier(const Dataset& dataset, bool values, Progress& progress)
      : dataset_(dataset), values_(values), progress_(progress) {}

  std::vector<Finding> Run();

 private:
  bool Full() const { return findings_.size() >= kFindingsMax; }
  void Note(const std::string& where, const Status& status);
  Status ReadBlob(const Array& array, uint64_t index);
  void CheckBlobs(const Array& array, uint64_t first, const std::string& name);
  void CheckRows(uint64_t begin, uint64_t end);

  const Dataset& dataset_;
  const bool values_;
  Progress& progress_;
  uint64_t bytes_ = 0;
  std::vector<Finding> findings_;
};

void TableVerifier::Note(const std::string& where, const Status& status) {
  if (status.ok() || Full()) return;
  findings_.push_back({where, std::string(status.message())});
}

Status TableVerifier::ReadBlob(const Array& array, uint64_t index) {
  ROWFS_ASSIGN_OR_RETURN(const auto blob, OpenBlobCell(dataset_, array, index));
  if (!blob || !values_) return {};
  Bytes buffer;
  for (uint64_t at = 0; at < blob->size(); at += buffer.size()) {
    buffer.resize(std::min(kStepBytes, blob->size() - at));
    ROWFS_RETURN_IF_ERROR(blob->ReadAt(at, buffer));
    bytes_ += buffer.size();
  }
  return {};
}

void TableVerifier::CheckBlobs(const Array& array, uint64_t first,
                               const std::string& name) {
  for (uint64_t i = 0; i < array.blobs.size() && !Full(); ++i) {
    if (array.IsNull(i)) continue;
    const Status status = ReadBlob(array, i);
    // Policy of this reader, not damage.
    if (status.code() == Code::kPermissionDenied) continue;
    Note("row " + std::to_string(first + i) + ", column \"" + name + "\"",
         status);
  }
  // Elements of lists have no row number of their own.
  for (const Array& child : array.children) CheckBlobs(child, first, name);
}

void TableVerifier::CheckRows(uint64_t begin, uint64_t end) {
  std::vector<uint64_t> rows;
  for (uint64_t row = begin; row < end; ++row) rows.push_back(row);
  const auto& fields = dataset_.table().schema().fields;
  for (size_t field = 0; field < fields.size() && !Full(); ++field) {
    const size_t column[] = {field};
    const auto batch = dataset_.table().Take(rows, column, BlobDetail::kFull);
    if (!batch.ok() && rows.size() > 1) {
      // Which row it is: siblings are looked at alone.
      for (const uint64_t row : rows) {
        const uint64_t one[] = {row};
        Note("row " + std::to_string(row) + ", column \"" + fields[field].name +
                 "\"",
             dataset_.table().Take(one, column, BlobDetail::kFull).status());
      }
      continue;
    }
    Note("row " + std::to_string(begin) + ", column \"" + fields[field].name +
             "\"",
         batch.status());
    if (batch.ok()) {
      CheckBlobs(batch.value().columns[0], begin, fields[field].name);
    }
  }
}

std::vector<Finding> TableVerifier::Run() {
  // What was noticed about whole files when they were opened.
  const Json facts = dataset_.table().Describe();
  if (const Json* damaged = facts.Find("damaged"); damaged != nullptr) {
    for (const Json& what : damaged->items) {
      findings_.push_back({dataset_.source(), what.text});
    }
  }
  const uint64_t count = dataset_.row_count();
  for (uint64_t begin = 0; begin < count && !Full(); begin += kBatchRows) {
    const uint64_t end = std::min(count, begin + kBatchRows);
    CheckRows(begin, end);
    progress_.Update(end, count, "rows", bytes_);
  }
  return std::move(findings_);
}

// Looks at the blob_info of every blob that has one, whatever layout keeps it.
class MediaColumns {
 public:
  MediaColumns(Dataset& dataset, Session& session, bool decode,
               std::vector<Finding>* findings)
      : dataset_(dataset),
        session_(session),
        decode_(decode),
        findings_(*findings) {}

  Status Run(Progress& progress) {
    const uint64_t count = dataset_.row_count();
    for (size_t c = 0; c < dataset_.columns().size(); ++c) {
      if (dataset_.columns()[c].role != ColumnRole::kBlob) continue;
      refused_ = 0;
      for (uint64_t row = 0; row < count && !Full();) {
        std::vector<uint64_t> rows;
        for (; row < count && rows.size() < kMediaRows; ++row) {
          rows.push_back(row);
        }
        ROWFS_RETURN_IF_ERROR(CheckRows(rows, c));
        progress.Update(row, count, "rows", 0);
      }
    }
    return {};
  }

 private:
  static constexpr size_t kMediaRows = 32;  // an index may have 200 kB

  bool Full() const {
    return findings_.size() >= kFindingsMax || refused_ >= kRefusedMax;
  }

  // An error is one of this program: there are no plugins.
  Status CheckRows(std::span<const uint64_t> rows, size_t column) {
    const auto blobs = dataset_.OpenBlobs(rows, column, BlobDetail::kFull);
    if (!blobs.ok() && rows.size() > 1) {
      for (const uint64_t row : rows) {
        ROWFS_RETURN_IF_ERROR(CheckRows(std::span(&row, 1), column));
      }
    }
    if (!blobs.ok()) {  // a finding already
      ++refused_;
      return {};
    }
    refused_ = 0;
    for (size_t i = 0; i < rows.size() && !Full(); ++i) {
      const auto& blob = blobs.value()[i];
      if (blob == nullptr || !blob->cell().info) continue;
      ROWFS_ASSIGN_OR_RETURN(PluginRegistry * plugins, session_.Plugins());
      const auto media = Media::Open(blob, *plugins, "");
      const Status status =
          media.ok() ? VerifyMedia(*media.value(), decode_) : media.status();
      if (status.ok()) continue;
      findings_.push_back({"row " + std::to_string(rows[i]) + ", column \"" +
                               dataset_.columns()[column].name +
                               "\", blob_info",
                           std::string(status.message())});
    }
    return {};
  }

  Dataset& dataset_;
  Session& session_;
  const bool decode_;
  std::vector<Finding>& findings_;
  uint64_t refused_ = 0;  // rows since the last that could be read
};

struct Report {
  std::string source;
  std::string format;
  uint64_t version = 0;  // 0: the format has none
  uint64_t rows = 0;
  std::vector<Finding> findings;
};

Result<Report> Verify(Env& env, const Args& args) {
  ROWFS_ASSIGN_OR_RETURN(const auto session,
                         Session::Make(args, args.Get("--format")));
  ROWFS_ASSIGN_OR_RETURN(const auto dataset,
                         session->OpenDataset(args.operands[0]));
  Report report;
  report.source = dataset->source();
  report.format = dataset->table().format();
  report.rows = dataset->row_count();
  const bool values = !args.Has("--quick");
  Progress progress(env, "verify");
  if (report.format != "lance") {
    report.findings = TableVerifier(*dataset, values, progress).Run();
    return report;
  }
  ROWFS_ASSIGN_OR_RETURN(const LanceTarget target,
                         FindLanceTarget(*session, args.operands[0]));
  report.version = target.resolved.name.version;
  VerifyOptions options;
  options.values = values;
  options.findings_max = kFindingsMax;
  options.progress = [&](uint64_t done, uint64_t total) {
    progress.Update(done, total, "rows", 0);
  };
  ROWFS_ASSIGN_OR_RETURN(report.findings,
                         VerifyDataset(target.dataset, target.spec, options,
                                       session->MakeOpenContext()));
  if (values) {
    MediaColumns media(*dataset, *session, args.Has("--decode"),
                       &report.findings);
    ROWFS_RETURN_IF_ERROR(media.Run(progress));
  }
  return report;
}

Json ToJson(const Report& report) {
  Json findings = Json::Array();
  for (const Finding& finding : report.findings) {
    findings.items.push_back(
        std::move(Json::Object()
                      .Add("where", Json::String(finding.where))
                      .Add("what", Json::String(finding.what))));
  }
  Json json = Json::Object();
  json.Add("source", Json::String(report.source));
  json.Add("format", Json::String(report.format));
  if (report.version > 0) json.Add("version", Json::Uint(report.version));
  json.Add("rows", Json::Uint(report.rows));
  json.Add("ok", Json::Bool(report.findings.empty()));
  json.Add("findings", std::move(findings));
  return json;
}

}  // namespace

int CmdVerify(Env& env, const Args& args) {
  const auto report = Verify(env, args);
  if (!report.ok()) return Fail(env, report.status());
  const auto& findings = report.value().findings;
  if (args.Has("--json")) {
    env.out << WriteJson(ToJson(report.value())) << "\n";
    return findings.empty() ? kExitDone : kExitFailure;
  }
  for (const Finding& finding : findings) {
    env.out << finding.where << ": " << finding.what << "\n";
  }
  if (findings.size() >= kFindingsMax) {
    env.out << "... and maybe more: the first " << kFindingsMax
            << " are shown\n";
  }
  env.out << report.value().source << ": "
          << (findings.empty() ? "whole"
                               : std::to_string(findings.size()) + " findings")
          << ", " << report.value().rows << " rows\n";
  return findings.empty() ? kExitDone : kExitFailure;
}

}  // namespace rowfs
