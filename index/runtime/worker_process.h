// One worker process as the parent sees it: start it, make one call at a time,
// kill it. Retrying, choosing and remembering are PluginWorker's.
//
// Not thread-safe: one caller at a time.
#ifndef ROWFS_INDEX_RUNTIME_WORKER_PROCESS_H_
#define ROWFS_INDEX_RUNTIME_WORKER_PROCESS_H_

#include <sys/types.h>

#include <deque>
#include <memory>
#include <string>

#include "index/runtime/channel.h"
#include "index/runtime/plugin_callbacks.h"
#include "index/runtime/protocol.h"
#include "storage/base/thread_pool.h"

namespace rowfs {

struct WorkerSettings {
  std::string program;  // rowfs-worker
  std::string plugin;
  uint64_t memory_bytes_max = 0;
  int64_t start_ms = 30'000;
  int64_t deadline_ms = 0;
  int64_t ingest_stall_ms = 0;
};

// Starts processes from one thread that lives as long as this does: a worker
// asks to be killed when the thread that started it ends, and the caller's may
// end at any time.
class WorkerStarter {
 public:
  // Start `program` with `arguments`, no environment, and `fds` as its 3, 4, 5.
  // kNotFound, kResourceExhausted or kUnavailable when the system refuses.
  // Thread-safe.
  Result<pid_t> Start(const std::string& program,
                      const std::vector<std::string>& arguments,
                      std::array<int, 3> fds);

 private:
  ThreadPool thread_{1, 64};
};

class WorkerProcess {
 public:
  enum class Outcome : uint8_t {
    kAnswered,    // by the plugin: a result or an error
    kUnknownKey,  // ask again with the index
    kDied,        // crashed, exited, broke the protocol; `status` says which
    kTimedOut,    // killed at the deadline
    kNotStarted   // there was no process to ask (never from Call)
  };
  struct Answer {
    Outcome outcome = Outcome::kAnswered;
    Status status;
  };

  // Start a process. It loads the plugin while the caller does other things.
  static Result<std::unique_ptr<WorkerProcess>> Start(
      WorkerStarter* starter, const WorkerSettings& settings, bool mount);
  // Kills it.
  ~WorkerProcess();

  // Wait, once, until the plugin is loaded; `hello` describes it.
  Status WaitHello(WorkerMessage* hello);
  // Wait until it is warm and caged. kUnsupported: it has to be started without
  // a mount namespace; kPermissionDenied: the system offers no cage.
  Status WaitReady();
  bool is_ready() const { return ready_; }
  // The parts of its cage that not every system has: "net,ipc,mount,pid".
  const std::string& cage() const { return cage_; }

  // Make one call. Pieces of the answer go to `out`; `input` serves an ingest
  // and may be null otherwise. An error of `out` or `input` ends the process
  // and is the status of an answered call. After kDied and kTimedOut the
  // process is gone. Requires: WaitReady was OK.
  Answer Call(const WorkerRequest& request, const IngestInput* input,
              OutputSink* out);

  // Whether it is still there, as far as can be said without waiting.
  bool IsAlive() const;
  // Whether the plugin probably has this index open.
  bool HasOpen(uint64_t key) const;
  void NoteOpen(uint64_t key);
  // Whether the plugin was at this place of a blob in one of its last decodes.
  bool WasAt(uint64_t place) const;
  void NotePlace(uint64_t place);
  const std::deque<uint64_t>& places() const { return places_; }

 private:
  WorkerProcess() = default;

  Result<WorkerMessage> Receive(int64_t deadline_ns);
  void FollowTo(pid_t pid);
  Status PutRequest(const WorkerRequest& request, ParentMessage* message);
  Status DeliverChunks(const WorkerMessage& message, OutputSink* out);
  // `limit_ms`: without an answer or, with an input, progress.
  Answer Converse(int64_t limit_ms, const IngestInput* input, OutputSink* out);
  // One step of a conversation that goes on; false when the worker spoke
  // nonsense, `error` when one of ours failed.
  bool Serve(const WorkerMessage& message, const IngestInput* input,
             OutputSink* out, Status* error);
  // The status of a failed start or receive: how the process ended.
  Answer Bury(const Status& received);
  void Kill();

  WorkerSettings settings_;
  pid_t pid_ = -1;
  pid_t group_ = -1;
  bool said_hello_ = false;
  bool ready_ = false;
  std::string cage_;
  Fd socket_;
  SharedRegion input_;
  SharedRegion output_;
  Bytes buffer_;
  std::deque<uint64_t> open_keys_;  // newest first
  std::deque<uint64_t> places_;     // newest first
  uint64_t ingest_bytes_ = 0;       // moved by the running ingest
};

}  // namespace rowfs
#endif  // ROWFS_INDEX_RUNTIME_WORKER_PROCESS_H_
