// rowfs ingest, rowfs append.
#include <algorithm>

#include "fs/cli/commands.h"
#include "fs/cli/output_file.h"
#include "fs/cli/progress.h"
#include "fs/cli/session.h"
#include "index/ingest/ingest.h"
#include "storage/base/clock.h"

namespace rowfs {
namespace {

// "COLUMN=PLUGIN[:CONFIG]"; PLUGIN may be the path of a shared object.
Result<MediaRule> ParseMediaRule(const std::string& text,
                                 std::vector<std::string>* extra_paths) {
  const size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) {
    return Status(Code::kInvalidArgument,
                  "--media takes COLUMN=PLUGIN[:CONFIG], not \"" + text + "\"");
  }
  MediaRule rule;
  rule.column = text.substr(0, equals);
  std::string plugin = text.substr(equals + 1);
  const size_t colon = plugin.find(':');
  if (colon != plugin.npos) {
    rule.config = plugin.substr(colon + 1);
    plugin.resize(colon);
  }
  if (plugin.ends_with(".so")) {
    extra_paths->push_back(plugin);
    // The plugin's own name is known once it is loaded: by its file name.
    plugin = plugin.substr(plugin.rfind('/') + 1);
    plugin.resize(plugin.size() - 3);
    if (plugin.starts_with("rowfs_")) plugin.erase(0, 6);
  }
  rule.plugin = plugin;
  return rule;
}

Status ParseOptions(const Args& args, IngestJob* job,
                    std::vector<std::string>* extra_paths) {
  for (const std::string& text : args.GetAll("--media")) {
    ROWFS_ASSIGN_OR_RETURN(job->media.emplace_back(),
                           ParseMediaRule(text, extra_paths));
  }
  if (args.Get("--layout") == "column") job->layout = IndexLayout::kColumn;
  const std::string verify = args.Get("--verify");
  if (verify == "off") job->verify = IngestOptions::Verify::kOff;
  if (verify == "full") job->verify = IngestOptions::Verify::kFull;
  job->keep_container = args.Has("--keep-container");
  job->stage = args.Has("--fragments");
  return {};
}

Json ToJson(const IngestRefusal& refusal) {
  return std::move(Json::Object()
                       .Add("event", Json::String("refused"))
                       .Add("row", Json::Uint(refusal.row))
                       .Add("column", Json::String(refusal.column))
                       .Add("file_name", Json::String(refusal.name))
                       .Add("reason", Json::String(refusal.reason)));
}

Json ToJson(const IngestJob& job, const IngestSummary& summary) {
  return std::move(
      Json::Object()
          .Add("event", Json::String("summary"))
          .Add("version", job.stage ? Json() : Json::Uint(summary.version))
          .Add("rows", Json::Uint(summary.rows))
          .Add("blobs", Json::Uint(summary.blobs))
          .Add("with_views", Json::Uint(summary.with_views))
          .Add("refused", Json::Uint(summary.refused.size()))
          .Add("bytes_in", Json::Uint(summary.bytes_in))
          .Add("bytes_out", Json::Uint(summary.bytes_out))
          .Add("was_complete", Json::Bool(summary.was_complete)));
}

void PrintSummary(Env& env, const IngestJob& job,
                  const IngestSummary& summary) {
  if (summary.was_complete) {
    env.out << job.output.uri() << ": was complete already, version "
            << summary.version << " with " << summary.rows << " rows\n";
    return;
  }
  if (job.stage) {
    env.out << "wrote fragments for " << job.output.uri();
  } else {
    env.out << "wrote version " << summary.version << " of "
            << job.output.uri();
  }
  env.out << ": " << summary.rows << " rows, " << summary.blobs << " blobs ("
          << HumanBytes(summary.bytes_in) << " read, "
          << HumanBytes(summary.bytes_out) << " stored), " << summary.with_views
          << " with views\n";
  if (summary.refused.empty()) return;
  env.out << summary.refused.size() << " kept as ordinary blobs:\n";
  for (const IngestRefusal& refusal : summary.refused) {
    env.out << "  row " << refusal.row << " " << refusal.column
            << (refusal.name.empty() ? "" : " (" + refusal.name + ")") << ": "
            << refusal.reason << "\n";
  }
}

Result<IngestSummary> RunIngest(Env& env, const Args& args, Session& session,
                                IngestJob* job) {
  std::vector<std::string> extra_paths;
  ROWFS_RETURN_IF_ERROR(ParseOptions(args, job, &extra_paths));
  ROWFS_ASSIGN_OR_RETURN(job->output,
                         session.stores().Resolve(args.Get("--output")));
  for (const std::string& input : args.operands) {
    ROWFS_ASSIGN_OR_RETURN(job->inputs.emplace_back(),
                           session.OpenDataset(input));
  }
  ROWFS_ASSIGN_OR_RETURN(PluginRegistry * plugins,
                         session.Plugins(extra_paths));
  const bool json = args.Has("--json");
  Progress progress(env, "ingest");
  RealClock clock;
  int64_t told_ns = clock.MonotonicNs();
  IngestObserver observer;
  observer.progress = [&](const IngestProgress& done) {
    progress.Update(done.rows_done, done.rows_total, "rows", done.bytes_done);
    const int64_t now = clock.MonotonicNs();
    const bool last = done.rows_done == done.rows_total;
    if (!json || (!last && now - told_ns < 1'000'000'000)) return;
    told_ns = now;
    env.out << WriteJson(Json::Object()
                             .Add("event", Json::String("progress"))
                             .Add("rows_done", Json::Uint(done.rows_done))
                             .Add("rows_total", Json::Uint(done.rows_total))
                             .Add("bytes_done", Json::Uint(done.bytes_done)))
            << std::endl;
  };
  observer.refused = [&](const IngestRefusal& refusal) {
    if (json) env.out << WriteJson(ToJson(refusal)) << std::endl;
  };
  return WriteDatasetWithBlobInfo(*job, *plugins, observer);
}

// The file is opened first: hours of work should not end at its name.
Result<IngestSummary> RunToFile(Env& env, const Args& args, Session& session,
                                IngestJob* job) {
  const std::string file = args.Get("--fragments");
  IngestSummary summary;
  ROWFS_RETURN_IF_ERROR(
      WriteOutput(session.stores(), file, [&](const auto& write) -> Status {
        ROWFS_ASSIGN_OR_RETURN(summary, RunIngest(env, args, session, job));
        return write(AsBytes(summary.fragments));
      }));
  return summary;
}

int IngestOrAppend(Env& env, const Args& args, bool append) {
  if (args.Get("--output").empty()) {
    env.err << "rowfs: --output DATASET is missing\nsee `rowfs "
            << (append ? "append" : "ingest") << " --help`\n";
    return kExitUsage;
  }
  auto session = Session::Make(args, args.Get("--format"));
  if (!session.ok()) return Fail(env, session.status());
  IngestJob job;
  job.append = append;
  const auto summary = args.Has("--fragments")
                           ? RunToFile(env, args, *session.value(), &job)
                           : RunIngest(env, args, *session.value(), &job);
  if (!summary.ok()) {
    return Fail(env, summary.status());
  }
  if (args.Has("--json")) {
    env.out << WriteJson(ToJson(job, summary.value())) << "\n";
  } else {
    PrintSummary(env, job, summary.value());
    if (job.stage) {
      env.out << "`rowfs commit " << args.Get("--output") << " "
              << args.Get("--fragments") << "` publishes them\n";
    }
  }
  return kExitDone;
}

}  // namespace

int CmdIngest(Env& env, const Args& args) {
  return IngestOrAppend(env, args, false);
}

int CmdAppend(Env& env, const Args& args) {
  return IngestOrAppend(env, args, true);
}

}  // namespace rowfs
