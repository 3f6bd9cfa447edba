// rowfs prefetch: bring files or rows into the caches before they are wanted.
#include <atomic>

#include "fs/cli/commands.h"
#include "fs/cli/progress.h"
#include "fs/cli/tree_session.h"
#include "fs/tree/selection.h"
#include "storage/base/sync.h"

namespace rowfs {
namespace {

// What runs side by side; each waits for the network most of the time.
constexpr size_t kThreads = 32;

// "0,5-6,100-" as lines of single rows, anything else as it is.
std::vector<std::string> LinesOf(const std::string& operand,
                                 uint64_t row_count) {
  const auto rows = Selection::Parse(operand, row_count);
  if (!rows.ok()) return {operand};
  std::vector<std::string> lines;
  for (uint64_t i = 0; i < rows.value().row_count(); ++i) {
    lines.push_back(std::to_string(rows.value().at(i)));
  }
  return lines;
}

Status Prefetch(Env& env, const Args& args, uint64_t* failed) {
  Logger log(LogLevelFromEnvironment(), [&](std::string_view line) {
    env.err << "rowfs: " << line << std::endl;
  });
  ROWFS_ASSIGN_OR_RETURN(const auto session, TreeSession::Open(args, &log));
  if (session->session().cache_directory().empty()) {
    return {Code::kInvalidArgument,
            "there is nowhere to keep anything; give --cache-dir"};
  }
  std::vector<std::string> lines;
  for (size_t i = 1; i < args.operands.size(); ++i) {
    for (std::string& line :
         LinesOf(args.operands[i], session->dataset().row_count())) {
      lines.push_back(std::move(line));
    }
  }
  std::vector<Status> results(lines.size());
  std::vector<std::function<Status()>> tasks;
  std::atomic<size_t> next{0};
  const ReadStats& stats = session->session().stats();
  auto progress = std::make_unique<Progress>(env, "prefetch");
  Mutex mu;  // of the bar
  size_t done = 0;
  for (size_t thread = 0; thread < kThreads; ++thread) {
    tasks.emplace_back([&] {
      for (size_t i = next++; i < lines.size(); i = next++) {
        results[i] = session->tree().Prefetch(lines[i]);
        const MutexLock lock(mu);
        progress->Update(++done, lines.size(), "wanted", stats.data.bytes);
      }
      return Status();
    });
  }
  ThreadPool pool(kThreads, kThreads);
  ROWFS_RETURN_IF_ERROR(RunAll(pool, tasks));
  progress.reset();
  for (size_t i = 0; i < lines.size(); ++i) {
    if (results[i].ok()) continue;
    ++*failed;
    Fail(env, results[i]);
  }
  if (*failed == lines.size()) return {};
  env.out << "prefetched " << lines.size() - *failed << " of " << lines.size()
          << ": " << stats.data.requests + stats.metadata.requests
          << " requests, " << stats.data.bytes + stats.metadata.bytes
          << " bytes\n";
  return {};
}

}  // namespace

int CmdPrefetch(Env& env, const Args& args) {
  uint64_t failed = 0;
  const Status status = Prefetch(env, args, &failed);
  if (!status.ok()) return Fail(env, status);
  return failed == 0 ? kExitDone : kExitFailure;
}

}  // namespace rowfs
