// rowfs preview: a contact sheet of a dataset.
#include <algorithm>

#include "fs/cli/commands.h"
#include "fs/cli/output_file.h"
#include "fs/cli/preview_rows.h"
#include "fs/cli/progress.h"
#include "fs/cli/row_list.h"
#include "fs/cli/sheet.h"
#include "fs/cli/tree_session.h"
#include "fs/tree/selection.h"

namespace rowfs {
namespace {

// Without --rows, the first ones.
constexpr uint64_t kRowsMax = 1000;
static_assert(kRowsMax <= kPngSheetRowsMax);

Result<Selection> ChooseRows(const Args& args, uint64_t row_count, bool html) {
  if (args.Has("--rows")) {
    ROWFS_ASSIGN_OR_RETURN(Selection rows, RowsOption(args, row_count));
    if (!html && rows.row_count() > kPngSheetRowsMax) {
      return Status(Code::kInvalidArgument,
                    "--output: a .png sheet holds " +
                        std::to_string(kPngSheetRowsMax) +
                        " rows; choose fewer, or write .html");
    }
    return rows;
  }
  std::vector<uint64_t> rows;
  for (uint64_t row = 0; row < std::min(row_count, kRowsMax); ++row) {
    rows.push_back(row);
  }
  return Selection::Make(rows);
}

void PrintSummary(Env& env, const Args& args, const SheetCounts& counts,
                  const ReadStats& stats, int64_t ns) {
  const double seconds = static_cast<double>(ns) / 1e9;
  if (args.Has("--json")) {
    env.out << WriteJson(
                   Json::Object()
                       .Add("rows", Json::Uint(counts.rows))
                       .Add("pictures", Json::Uint(counts.pictures))
                       .Add("failed", Json::Uint(counts.failed))
                       .Add("requests", Json::Uint(stats.data.requests))
                       .Add("bytes", Json::Uint(stats.data.bytes))
                       .Add("metadata_requests",
                            Json::Uint(stats.metadata.requests))
                       .Add("metadata_bytes", Json::Uint(stats.metadata.bytes))
                       .Add("seconds", Json::Double(seconds)))
            << "\n";
    return;
  }
  env.out << args.Get("--output") << ": " << counts.rows << " rows, "
          << counts.pictures << " pictures";
  if (counts.failed > 0) env.out << ", " << counts.failed << " failed";
  env.out << "; " << stats.data.requests << " requests, " << stats.data.bytes
          << " bytes, "
          << static_cast<double>(static_cast<int64_t>(seconds * 100)) / 100
          << " s\n";
}

Status Preview(Env& env, const Args& args, bool html) {
  RealClock clock;
  const int64_t begin = clock.MonotonicNs();
  Logger log(LogLevelFromEnvironment(), [&](std::string_view line) {
    env.err << "rowfs: " << line << "\n";
  });
  // To a tree, --rows means something else.
  ROWFS_ASSIGN_OR_RETURN(const auto session,
                         TreeSession::Open(args.Without("--rows"), &log));
  if (args.Has("--column")) {
    ROWFS_RETURN_IF_ERROR(
        FindColumn(session->dataset(), args.Get("--column")).status());
  }
  ROWFS_ASSIGN_OR_RETURN(
      const Selection rows,
      ChooseRows(args, session->dataset().row_count(), html));
  PreviewOptions options;
  options.column = args.Get("--column");
  options.extension = html ? "jpg" : "ppm";
  PreviewReader reader(session->tree(), options);
  std::unique_ptr<Sheet> sheet =
      html ? MakeHtmlSheet(args.operands[0]) : MakePngSheet(rows.row_count());
  SheetCounts counts;
  const ReadStats& stats = session->session().stats();
  auto progress = std::make_unique<Progress>(env, "preview");
  const Status written = WriteOutput(
      session->session().stores(), args.Get("--output"),
      [&](const std::function<Status(ByteSpan)>& write) -> Status {
        const std::string first = sheet->Begin();
        ROWFS_RETURN_IF_ERROR(write(AsBytes(first)));
        for (uint64_t i = 0; i < rows.row_count(); ++i) {
          const PreviewRow row = reader.Read(rows.at(i));
          ++counts.rows;
          progress->Update(i + 1, rows.row_count(), "rows", stats.data.bytes);
          counts.pictures += row.pictures.size();
          counts.failed += row.errors.size();
          const std::string text = sheet->Add(row);
          ROWFS_RETURN_IF_ERROR(write(AsBytes(text)));
        }
        const std::string last = sheet->End(session->dataset().row_count());
        return write(AsBytes(last));
      });
  progress.reset();
  ROWFS_RETURN_IF_ERROR(written);
  PrintSummary(env, args, counts, stats, clock.MonotonicNs() - begin);
  return {};
}

}  // namespace

int CmdPreview(Env& env, const Args& args) {
  const std::string output = args.Get("--output");
  const bool html = output.ends_with(".html") || output.ends_with(".htm");
  if (!html && !output.ends_with(".png")) {
    Fail(env, {Code::kInvalidArgument,
               "--output needs a name that ends in .html or .png"});
    env.err << "see `rowfs preview --help`\n";
    return kExitUsage;
  }
  const Status status = Preview(env, args, html);
  return status.ok() ? kExitDone : Fail(env, status);
}

}  // namespace rowfs
