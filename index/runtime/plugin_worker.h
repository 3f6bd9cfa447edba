// A Plugin whose work happens in caged child processes: a pool of them, started
// when they are needed, one call in flight in each. A call that kills or hangs
// its process is made once more in a fresh one, then it fails and is not tried
// again for a while; nothing else notices.
//
// Thread-safe; as many calls run at once as there are workers, further ones
// wait for a free one.
#ifndef ROWFS_INDEX_RUNTIME_PLUGIN_WORKER_H_
#define ROWFS_INDEX_RUNTIME_PLUGIN_WORKER_H_

#include <memory>
#include <string>
#include <vector>

#include "index/runtime/plugin.h"
#include "index/runtime/quarantine.h"
#include "index/runtime/worker_process.h"
#include "storage/base/clock.h"
#include "storage/base/sync.h"

namespace rowfs {

class PluginWorker final : public Plugin {
 public:
  // Start the first worker, without waiting for it. `clock` outlives this.
  static Result<std::unique_ptr<PluginWorker>> Start(
      std::shared_ptr<WorkerStarter> starter, const WorkerSettings& settings,
      size_t workers_max, Clock* clock);
  // Wait until the plugin has said who it is. To be called once, before all
  // else. kUnsupported and kNotFound as PluginLibrary::Open gives them.
  Status Describe() EXCLUDES(mu_);

  const std::string& name() const override { return name_; }
  const std::string& version() const override { return version_; }
  std::array<char, 4> magic() const override { return magic_; }
  Result<int> Probe(ByteSpan head, std::string_view file_name) override;
  Result<IngestOutput> Ingest(
      const IngestInput& input, const IngestOptions& options,
      const std::function<Status(ByteSpan)>& payload) override;
  Result<std::vector<ViewEntry>> List(const PluginIndex& index,
                                      std::string_view directory,
                                      uint64_t start, uint64_t limit) override;
  Result<ViewEntry> Lookup(const PluginIndex& index,
                           std::string_view path) override;
  Result<std::vector<ViewEntry>> Select(const PluginIndex& index,
                                        std::string_view view,
                                        std::string_view from,
                                        std::string_view to) override;
  Result<ViewPlan> Plan(const PluginIndex& index,
                        std::span<const std::string> paths) override;
  Result<std::vector<Result<Bytes>>> Decode(
      const PluginIndex& index, const DecodeGroup& group,
      std::span<const ByteSpan> ranges) override;
  Result<std::vector<Result<Bytes>>> DecodeFrom(
      const PluginIndex& index, const DecodeGroup& group,
      const IngestInput& blob) override;
  Result<std::vector<ViewEntry>> Foresee(std::string_view file_name) override;

 private:
  class Lease;

  PluginWorker(std::shared_ptr<WorkerStarter> starter,
               const WorkerSettings& settings, size_t workers_max,
               Clock* clock);

  // What a call wants of its worker: an index that is open, a decoder that is
  // near (0: none), and whether it is soon done, as a plan or a lookup is.
  struct Errand {
    uint64_t key = 0;
    uint64_t place = 0;
    bool quick = false;
  };

  // A free worker, if possible one whose decoder is near or that has the index
  // open; null is the right to start one. What is quick goes before what is
  // not: a reader's request to a store need not wait for another's picture.
  std::unique_ptr<WorkerProcess> Take(const Errand& errand) EXCLUDES(mu_);
  std::unique_ptr<WorkerProcess> TakeIdle(const Errand& errand) REQUIRES(mu_);
  // Whether the worker with the decoder for `errand` is back in a moment.
  bool IsNearlyBack(const Errand& errand) const REQUIRES(mu_);
  bool NoneFree() const REQUIRES(mu_) {
    return idle_.empty() && worker_count_ == workers_max_;
  }
  // Null gives the right back. `places` are those lent with a quick errand.
  void GiveBack(std::unique_ptr<WorkerProcess> worker,
                std::span<const uint64_t> places) EXCLUDES(mu_);
  Result<std::unique_ptr<WorkerProcess>> StartWorker() EXCLUDES(mu_);
  // Wait until it is; starts it again where mount namespaces do not work.
  Status MakeReady(std::unique_ptr<WorkerProcess>* worker) EXCLUDES(mu_);
  // Make the call, twice if need be.
  Status Run(WorkerRequest request, const PluginIndex* index,
             const IngestInput* input, OutputSink* out, uint64_t place = 0)
      EXCLUDES(mu_);
  WorkerProcess::Answer Attempt(Lease* lease, const WorkerRequest& request,
                                const PluginIndex* index,
                                const IngestInput* input, OutputSink* out);
  // The answer's one body.
  Result<Bytes> RunForBody(WorkerRequest request, const PluginIndex* index);

  const std::shared_ptr<WorkerStarter> starter_;
  const WorkerSettings settings_;
  const size_t workers_max_;
  Quarantine quarantine_;
  std::string name_;  // these three are set by Describe
  std::string version_;
  std::array<char, 4> magic_ = {};

  Mutex mu_;
  CondVar quick_turn_;
  CondVar turn_;
  size_t quick_waiting_ GUARDED_BY(mu_) = 0;
  size_t worker_count_ GUARDED_BY(mu_) = 0;
  std::vector<std::unique_ptr<WorkerProcess>> idle_ GUARDED_BY(mu_);
  std::vector<uint64_t> lent_ GUARDED_BY(mu_);   // places of quick errands
  bool mount_namespace_ GUARDED_BY(mu_) = true;  // until it fails once
};

}  // namespace rowfs
#endif  // ROWFS_INDEX_RUNTIME_PLUGIN_WORKER_H_
