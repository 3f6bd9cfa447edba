#include "storage/read/read_trace.h"

#include "storage/base/json.h"

namespace rowfs {

Result<std::unique_ptr<ReadTrace>> ReadTrace::Open(const std::string& path,
                                                   Clock& clock) {
  auto trace = std::unique_ptr<ReadTrace>(new ReadTrace(clock));
  const MutexLock lock(trace->mu_);
  trace->file_.open(path, std::ios::app);
  if (!trace->file_) {
    return Status(Code::kInvalidArgument,
                  path + ": --trace cannot write there");
  }
  return trace;
}

void ReadTrace::Add(const ReadEvent& event) {
  const bool ok = event.status.ok();
  const bool moved = ok && event.cache != "memory";
  Json line = Json::Object();
  line.Add("time", Json::Double(static_cast<double>(clock_.NowNs()) / 1e9))
      .Add("object", Json::String(event.uri))
      .Add("offset", Json::Uint(event.range.begin))
      .Add("length", Json::Uint(event.range.size()))
      .Add("why", Json::String(event.why))
      .Add("what", Json::String(event.what))
      .Add("ms", Json::Double(static_cast<double>(event.elapsed_ns) / 1e6))
      .Add("bytes", Json::Uint(moved ? event.range.size() : 0))
      .Add("cache", Json::String(event.cache));
  if (!ok) line.Add("error", Json::String(event.status.message()));
  const MutexLock lock(mu_);
  file_ << WriteJson(line) << std::endl;  // whole lines, seen at once
}

}  // namespace rowfs
