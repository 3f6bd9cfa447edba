// A plugin in this process: calls the C interface directly. The worker process
// is built around one; the parent uses it itself only with `in_process`.
//
// Thread-safe; calls run one at a time, as the C interface demands.
#ifndef ROWFS_INDEX_RUNTIME_PLUGIN_HOST_H_
#define ROWFS_INDEX_RUNTIME_PLUGIN_HOST_H_

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "index/runtime/plugin.h"
#include "index/runtime/plugin_callbacks.h"
#include "index/runtime/plugin_library.h"
#include "storage/base/sync.h"

namespace rowfs {

class PluginHost final : public Plugin {
 public:
  // Indexes kept open. A plugin may hold 256 MiB of decoder state in each, so
  // this bounds the memory of a worker.
  static constexpr size_t kOpenIndexesMax = 4;

  explicit PluginHost(std::unique_ptr<PluginLibrary> library);
  ~PluginHost() override;

  // Let the plugin load its tables. Its own error when it cannot.
  Status WarmUp() EXCLUDES(mu_);
  // Whether the index of this key is open, so that a call needs no bytes.
  bool IsOpen(uint64_t key) EXCLUDES(mu_);
  // Decode into `out` piece by piece. Requires: one span per group.ranges.
  Status DecodeTo(const PluginIndex& index, const DecodeGroup& group,
                  std::span<const ByteSpan> ranges, OutputSink* out)
      EXCLUDES(mu_);
  // The same for DecodeFrom.
  Status DecodeFromTo(const PluginIndex& index, const DecodeGroup& group,
                      const IngestInput& blob, OutputSink* out);

  const std::string& name() const override { return library_->name(); }
  const std::string& version() const override { return library_->version(); }
  std::array<char, 4> magic() const override { return library_->magic(); }
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
  struct OpenIndex {
    uint64_t key = 0;
    rowfs_index* index = nullptr;
  };
  // The open indexes, newest first. Whoever holds it is the one caller that may
  // be inside the plugin.
  using OpenIndexes = std::list<OpenIndex>;
  class Turn;
  using IndexCall = std::function<int32_t(rowfs_index*, rowfs_error*)>;

  std::unique_ptr<OpenIndexes> TakeTurn() EXCLUDES(mu_);
  void EndTurn(std::unique_ptr<OpenIndexes> indexes) EXCLUDES(mu_);
  Status Call(const std::function<int32_t(rowfs_error*)>& call) const;
  Result<rowfs_index*> OpenFor(OpenIndexes* indexes,
                               const PluginIndex& index) const;
  // Call with the open index; `callback_error` is what our own callbacks say.
  Status CallWith(const PluginIndex& index, const Status* callback_error,
                  const IndexCall& call) EXCLUDES(mu_);

  const std::unique_ptr<PluginLibrary> library_;
  Mutex mu_;
  CondVar turn_ended_;
  // Null while a call is running.
  std::unique_ptr<OpenIndexes> indexes_ GUARDED_BY(mu_);
};

}  // namespace rowfs
#endif  // ROWFS_INDEX_RUNTIME_PLUGIN_HOST_H_
