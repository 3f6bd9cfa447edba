// rowfs extract-frame.
#include <algorithm>

#include "fs/cli/commands.h"
#include "fs/cli/output_file.h"
#include "fs/cli/tree_session.h"
#include "index/view/extract_frame.h"
#include "storage/base/clock.h"

namespace rowfs {
namespace {

Result<FrameRequest> ParseRequest(const Args& args) {
  FrameRequest request;
  ROWFS_ASSIGN_OR_RETURN(const auto row, args.GetUint("--row"));
  ROWFS_ASSIGN_OR_RETURN(request.frame, args.GetUint("--frame"));
  if (args.Has("--time")) request.time = args.Get("--time");
  if (args.Has("--from")) request.from = args.Get("--from");
  if (args.Has("--to")) request.to = args.Get("--to");
  request.keyframes = args.Has("--keyframes");
  const std::string output = args.Get("--output");
  const auto missing = [](std::string_view what) {
    return Status(Code::kInvalidArgument, std::string(what));
  };
  if (args.Get("--column").empty()) return missing("--column C is missing");
  if (!row) return missing("--row N is missing");
  if (output.empty()) return missing("--output PATH is missing");
  for (const std::string_view flag : {"--time", "--from", "--to"}) {
    const std::string text = args.Get(flag);
    const bool digits = text.find_first_not_of("0123456789.:") == text.npos;
    if (args.Has(flag) && (text.empty() || !digits)) {
      return missing(std::string(flag) +
                     " takes seconds or hh:mm:ss.mmm, not \"" + text + "\"");
    }
  }
  request.row = *row;
  const bool window = request.from.has_value();
  if (window != request.to.has_value()) {
    return missing("a window takes both --from and --to");
  }
  const int ways =
      (request.frame ? 1 : 0) + (request.time ? 1 : 0) + (window ? 1 : 0);
  if (ways != 1) {
    return missing("give one of --frame, --time, or --from with --to");
  }
  if (request.keyframes && !window)
    return missing("--keyframes needs a window");
  const size_t dot = output.rfind('.');
  const size_t slash = output.rfind('/');
  const bool has_extension =
      dot != output.npos && (slash == output.npos || dot > slash);
  if (args.Has("--format")) {
    request.format = args.Get("--format");
  } else if (!window && has_extension) {
    request.format = output.substr(dot + 1);
    for (char& c : request.format) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    if (request.format == "jpeg") request.format = "jpg";
    const auto known = Split(kFrameFormats, '|');
    if (std::find(known.begin(), known.end(), request.format) == known.end()) {
      return missing("--output ends in ." + output.substr(dot + 1) +
                     ", which is none of " + std::string(kFrameFormats));
    }
  } else if (!window) {
    return missing("--output needs an extension that says the format, as .jpg");
  }
  return request;
}

Status WriteFile(Session& session, const std::string& path,
                 const ViewFile& file) {
  return WriteOutput(session.stores(), path, [&](const auto& write) -> Status {
    Bytes bytes(file.size());
    ROWFS_ASSIGN_OR_RETURN(const size_t size, file.ReadAt(0, bytes));
    return write(ByteSpan(bytes).first(size));
  });
}

double Milliseconds(int64_t ns) { return static_cast<double>(ns) / 1e6; }

void PrintStats(Env& env, const ReadStats& stats, const ViewTimes& times,
                int64_t total_ns) {
  Json ranges = Json::Array();
  for (const ByteRange& range : times.ranges) {
    Json pair = Json::Array();
    pair.items = {Json::Uint(range.begin), Json::Uint(range.size())};
    ranges.items.push_back(std::move(pair));
  }
  env.out
      << WriteJson(
             Json::Object()
                 .Add("requests", Json::Uint(stats.data.requests))
                 .Add("bytes", Json::Uint(stats.data.bytes))
                 .Add("metadata_requests", Json::Uint(stats.metadata.requests))
                 .Add("metadata_bytes", Json::Uint(stats.metadata.bytes))
                 .Add("ranges", std::move(ranges))
                 .Add("plan_ms", Json::Double(Milliseconds(times.plan_ns)))
                 .Add("read_ms", Json::Double(Milliseconds(times.read_ns)))
                 .Add("decode_ms", Json::Double(Milliseconds(times.decode_ns)))
                 .Add("total_ms", Json::Double(Milliseconds(total_ns))))
      << "\n";
}

Status Extract(Env& env, const Args& args, FrameRequest request) {
  RealClock clock;
  const int64_t begin = clock.MonotonicNs();
  ROWFS_ASSIGN_OR_RETURN(const auto session, Session::Make(args, ""));
  ROWFS_ASSIGN_OR_RETURN(const auto dataset,
                         session->OpenDataset(args.operands[0]));
  ROWFS_ASSIGN_OR_RETURN(request.column,
                         FindColumn(*dataset, args.Get("--column")));
  ROWFS_ASSIGN_OR_RETURN(PluginRegistry * plugins, session->Plugins());
  ROWFS_ASSIGN_OR_RETURN(const ExtractedFrames result,
                         ExtractFrame(*dataset, *plugins, request));
  const std::string output = args.Get("--output");
  if (request.from) ROWFS_RETURN_IF_ERROR(MakeOutputFolder(output));
  for (const ExtractedFrame& frame : result.frames) {
    const std::string path = request.from ? output + "/" + frame.name : output;
    ROWFS_RETURN_IF_ERROR(WriteFile(*session, path, *frame.file));
  }
  if (args.Has("--stats")) {
    PrintStats(env, session->stats(), result.times,
               clock.MonotonicNs() - begin);
  }
  return {};
}

}  // namespace

int CmdExtractFrame(Env& env, const Args& args) {
  const Result<FrameRequest> request = ParseRequest(args);
  if (!request.ok()) {
    Fail(env, request.status());
    env.err << "see `rowfs extract-frame --help`\n";
    return kExitUsage;
  }
  const Status status = Extract(env, args, request.value());
  return status.ok() ? kExitDone : Fail(env, status);
}

}  // namespace rowfs
