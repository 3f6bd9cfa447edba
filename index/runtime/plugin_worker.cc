#include "index/runtime/plugin_worker.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "index/runtime/plugin_checks.h"
#include "storage/base/hash.h"

namespace rowfs {
namespace {

using Outcome = WorkerProcess::Outcome;

constexpr size_t kQuarantineCallsMax = 1024;
constexpr int64_t kQuarantineMs = 60'000;
constexpr int kAttempts = 2;

// The body of an answer: item 0 alone.
class BodyCollector final : public OutputSink {
 public:
  Status Write(size_t item, ByteSpan bytes) override {
    if (item != 0) return Status(Code::kInternal, "answer has two bodies");
    if (bytes.size() > kIndexBytesMax - body_.size()) {
      return Status(Code::kResourceExhausted, "answer is too large");
    }
    AppendBytes(&body_, bytes);
    return Status();
  }
  Status Fail(size_t, const Status& error) override { return error; }
  bool Restart() override {
    body_.clear();
    return true;
  }
  Bytes& body() { return body_; }

 private:
  Bytes body_;
};

// An ingest: payload, stream_info, entries, blob_type.
class IngestCollector final : public OutputSink {
 public:
  explicit IngestCollector(const std::function<Status(ByteSpan)>& payload)
      : payload_(payload) {}

  Status Write(size_t item, ByteSpan bytes) override {
    switch (item) {
      case 0:
        streamed_ = streamed_ || !bytes.empty();
        return bytes.empty() ? Status() : payload_(bytes);
      case 1:
        return Append(bytes, &output_.stream_info);
      case 2:
        return Append(bytes, &output_.entries);
      case 3:
        if (bytes.size() != 1) break;
        output_.blob_type = static_cast<uint8_t>(bytes[0]);
        return Status();
      default:
        break;
    }
    return Status(Code::kInternal, "ingest gave an unknown part");
  }
  Status Fail(size_t, const Status& error) override { return error; }
  // What went to `payload` is the caller's.
  bool Restart() override {
    output_ = {};
    return !streamed_;
  }
  IngestOutput& output() { return output_; }

 private:
  static Status Append(ByteSpan bytes, Bytes* out) {
    if (bytes.size() > kIndexBytesMax - out->size()) {
      return Status(Code::kResourceExhausted, "index is too large");
    }
    AppendBytes(out, bytes);
    return Status();
  }

  const std::function<Status(ByteSpan)>& payload_;
  bool streamed_ = false;
  IngestOutput output_;
};

// What is remembered when the call kills its worker: everything that decides
// what the plugin does, but not the bytes of the ranges.
uint64_t CallHash(const WorkerRequest& request) {
  Bytes text;
  AppendU8(&text, static_cast<uint8_t>(request.op));
  for (const uint64_t number : request.numbers) AppendU64(&text, number);
  for (const std::string& part : request.texts) {
    AppendVarint(&text, part.size());
    AppendText(&text, part);
  }
  if (!request.parts.empty()) AppendBytes(&text, request.parts[0]);
  return Hash64(text, request.key);
}

void AddIndex(const PluginIndex& index, WorkerRequest* request) {
  request->has_index = true;
  request->has_entries = index.entries != nullptr;
  request->config = index.config;
  std::vector<ByteSpan> parts = {*index.stream_info};
  if (index.entries != nullptr) parts.emplace_back(*index.entries);
  request->parts.insert(request->parts.begin(), parts.begin(), parts.end());
}

// A worker may also be killed while it starts, by a system out of memory.
bool MayTryAgain(Outcome outcome) {
  return outcome == Outcome::kDied || outcome == Outcome::kTimedOut ||
         outcome == Outcome::kNotStarted;
}

// Decodes that begin with the same byte go on from one another. Never 0.
uint64_t PlaceOf(const PluginIndex& index, const DecodeGroup& group) {
  Bytes text;
  AppendU64(&text, group.ranges.empty() ? 0 : group.ranges[0].begin);
  return Hash64(text, index.key) | 1;
}

WorkerRequest RequestOf(WorkerOp op, std::vector<std::string> texts,
                        std::vector<uint64_t> numbers) {
  WorkerRequest request;
  request.op = op;
  request.texts = std::move(texts);
  request.numbers = std::move(numbers);
  return request;
}

}  // namespace

// The right to one worker for a scope.
class PluginWorker::Lease {
 public:
  Lease(PluginWorker* pool, const Errand& errand)
      : pool_(*pool), worker_(pool->Take(errand)) {
    if (errand.quick && worker_ != nullptr) {
      places_.assign(worker_->places().begin(), worker_->places().end());
    }
  }
  ~Lease() { pool_.GiveBack(std::move(worker_), places_); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  // A running worker that is ready for a call.
  Result<WorkerProcess*> Get() {
    if (worker_ != nullptr && worker_->is_ready() && !worker_->IsAlive()) {
      worker_ = nullptr;
    }
    if (worker_ == nullptr) {
      ROWFS_ASSIGN_OR_RETURN(worker_, pool_.StartWorker());
    }
    if (!worker_->is_ready()) {
      if (Status s = pool_.MakeReady(&worker_); !s.ok()) {
        worker_ = nullptr;
        return s;
      }
    }
    return worker_.get();
  }
  void Drop() { worker_ = nullptr; }
  void NotePlace(uint64_t place) {
    if (worker_ != nullptr) worker_->NotePlace(place);
  }

 private:
  PluginWorker& pool_;
  std::unique_ptr<WorkerProcess> worker_;
  std::vector<uint64_t> places_;
};

PluginWorker::PluginWorker(std::shared_ptr<WorkerStarter> starter,
                           const WorkerSettings& settings, size_t workers_max,
                           Clock* clock)
    : starter_(std::move(starter)),
      settings_(settings),
      workers_max_(std::max<size_t>(workers_max, 1)),
      quarantine_(kQuarantineCallsMax, kQuarantineMs, clock) {}

Result<std::unique_ptr<PluginWorker>> PluginWorker::Start(
    std::shared_ptr<WorkerStarter> starter, const WorkerSettings& settings,
    size_t workers_max, Clock* clock) {
  std::unique_ptr<PluginWorker> pool(
      new PluginWorker(std::move(starter), settings, workers_max, clock));
  ROWFS_ASSIGN_OR_RETURN(auto first,
                         WorkerProcess::Start(pool->starter_.get(), settings,
                                              /*mount=*/true));
  MutexLock lock(pool->mu_);
  pool->worker_count_ = 1;
  pool->idle_.push_back(std::move(first));
  return pool;
}

Status PluginWorker::Describe() {
  auto worker = Take({.quick = true});
  assert(worker != nullptr);
  WorkerMessage hello;
  const Status status = worker->WaitHello(&hello);
  GiveBack(status.ok() ? std::move(worker) : nullptr, {});
  ROWFS_RETURN_IF_ERROR(status);
  name_ = hello.name;
  version_ = hello.version;
  std::memcpy(magic_.data(), hello.magic.data(), magic_.size());
  return Status();
}

std::unique_ptr<WorkerProcess> PluginWorker::Take(const Errand& errand) {
  MutexLock lock(mu_);
  if (errand.quick) {
    ++quick_waiting_;
    while (NoneFree()) quick_turn_.Wait(mu_);
    --quick_waiting_;
  } else {
    while (NoneFree() || quick_waiting_ > 0 || IsNearlyBack(errand)) {
      turn_.Wait(mu_);
    }
  }
  std::unique_ptr<WorkerProcess> worker;
  if (idle_.empty()) {
    ++worker_count_;
  } else {
    worker = TakeIdle(errand);
  }
  if (errand.quick && worker != nullptr) {
    lent_.insert(lent_.end(), worker->places().begin(), worker->places().end());
  }
  // Two may have been given back while one waited.
  if (quick_waiting_ == 0 && !NoneFree()) turn_.NotifyAll();
  return worker;
}

bool PluginWorker::IsNearlyBack(const Errand& errand) const {
  return errand.place != 0 && std::ranges::count(lent_, errand.place) != 0 &&
         std::ranges::none_of(idle_, [&](const auto& worker) {
           return worker->WasAt(errand.place);
         });
}

std::unique_ptr<WorkerProcess> PluginWorker::TakeIdle(const Errand& errand) {
  // The one whose decoder is at the place, else the one that used the index
  // last, else the one whose state is the oldest.
  size_t chosen = idle_.size();
  while (chosen > 0 &&
         !(errand.place != 0 && idle_[chosen - 1]->WasAt(errand.place))) {
    --chosen;
  }
  if (chosen == 0) {
    chosen = idle_.size();
    while (chosen > 0 && !idle_[chosen - 1]->HasOpen(errand.key)) --chosen;
  }
  if (chosen > 0) --chosen;
  auto worker = std::move(idle_[chosen]);
  idle_.erase(idle_.begin() + static_cast<ptrdiff_t>(chosen));
  return worker;
}

void PluginWorker::GiveBack(std::unique_ptr<WorkerProcess> worker,
                            std::span<const uint64_t> places) {
  MutexLock lock(mu_);
  for (const uint64_t place : places) {
    lent_.erase(std::ranges::find(lent_, place));
  }
  if (worker == nullptr) {
    --worker_count_;
  } else {
    idle_.push_back(std::move(worker));
  }
  if (quick_waiting_ > 0) {
    quick_turn_.NotifyOne();
  } else {
    // All: one of them may wait for just this worker, or not for this one.
    turn_.NotifyAll();
  }
}

Result<std::unique_ptr<WorkerProcess>> PluginWorker::StartWorker() {
  bool mount = true;
  {
    MutexLock lock(mu_);
    mount = mount_namespace_;
  }
  return WorkerProcess::Start(starter_.get(), settings_, mount);
}

Status PluginWorker::MakeReady(std::unique_ptr<WorkerProcess>* worker) {
  Status status = (*worker)->WaitReady();
  if (status.code() == Code::kUnsupported) {
    {
      MutexLock lock(mu_);
      mount_namespace_ = false;
    }
    ROWFS_ASSIGN_OR_RETURN(*worker, StartWorker());
    status = (*worker)->WaitReady();
  }
  return status.With(name_ + ": plugin process does not start");
}

WorkerProcess::Answer PluginWorker::Attempt(Lease* lease,
                                            const WorkerRequest& request,
                                            const PluginIndex* index,
                                            const IngestInput* input,
                                            OutputSink* out) {
  const Result<WorkerProcess*> got = lease->Get();
  if (!got.ok()) return {Outcome::kNotStarted, got.status()};
  WorkerProcess& worker = *got.value();
  if (index == nullptr) return worker.Call(request, input, out);
  WorkerProcess::Answer answer;
  if (worker.HasOpen(index->key)) {
    answer = worker.Call(request, input, out);
  } else {
    answer.outcome = Outcome::kUnknownKey;
  }
  if (answer.outcome == Outcome::kUnknownKey) {
    WorkerRequest with_index = request;
    AddIndex(*index, &with_index);
    answer = worker.Call(with_index, input, out);
  }
  if (answer.outcome == Outcome::kUnknownKey) {
    return {Outcome::kDied, Status(Code::kInternal, "spoke nonsense")};
  }
  if (answer.status.ok()) worker.NoteOpen(index->key);
  return answer;
}

Status PluginWorker::Run(WorkerRequest request, const PluginIndex* index,
                         const IngestInput* input, OutputSink* out,
                         uint64_t place) {
  if (index != nullptr) {
    if (index->stream_info == nullptr) {
      return Status(Code::kInvalidArgument, name_ + ": index without bytes");
    }
    request.key = index->key;
    request.blob_size = index->blob_size;
  }
  const uint64_t call = CallHash(request);
  const bool is_ingest = request.op == WorkerOp::kIngest;
  if (!is_ingest) ROWFS_RETURN_IF_ERROR(quarantine_.Find(call));
  const bool quick = !is_ingest && request.op != WorkerOp::kDecode &&
                     request.op != WorkerOp::kDecodeFrom;
  Lease lease(this, {request.key, place, quick});
  WorkerProcess::Answer answer;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    answer = Attempt(&lease, request, index, input, out);
    if (place != 0) lease.NotePlace(place);
    if (!MayTryAgain(answer.outcome)) return answer.status;
    lease.Drop();
    if (!out->Restart()) break;
  }
  if (answer.outcome == Outcome::kNotStarted) return answer.status;
  const Status error = answer.status.With(name_);
  if (!is_ingest) quarantine_.Put(call, error);
  return error;
}

Result<Bytes> PluginWorker::RunForBody(WorkerRequest request,
                                       const PluginIndex* index) {
  BodyCollector collector;
  ROWFS_RETURN_IF_ERROR(Run(std::move(request), index, nullptr, &collector));
  return std::move(collector.body());
}

Result<int> PluginWorker::Probe(ByteSpan head, std::string_view file_name) {
  WorkerRequest request =
      RequestOf(WorkerOp::kProbe, {std::string(file_name)}, {});
  request.parts = {head};
  ROWFS_ASSIGN_OR_RETURN(const Bytes body,
                         RunForBody(std::move(request), nullptr));
  if (body.size() != 1 || static_cast<uint8_t>(body[0]) > 100) {
    return Status(Code::kInternal, name_ + ": gave an impossible certainty");
  }
  return static_cast<int>(body[0]);
}

Result<IngestOutput> PluginWorker::Ingest(
    const IngestInput& input, const IngestOptions& options,
    const std::function<Status(ByteSpan)>& payload) {
  WorkerRequest request =
      RequestOf(WorkerOp::kIngest, {input.file_name, input.config},
                {input.size, static_cast<uint64_t>(options.layout),
                 static_cast<uint64_t>(options.verify),
                 options.keep_container ? uint64_t{1} : uint64_t{0}});
  IngestCollector collector(payload);
  ROWFS_RETURN_IF_ERROR(Run(std::move(request), nullptr, &input, &collector));
  const Status check =
      CheckIngestOutput(collector.output(), {magic_.data(), magic_.size()});
  if (!check.ok()) return check.With(name_);
  return std::move(collector.output());
}

Result<std::vector<ViewEntry>> PluginWorker::List(const PluginIndex& index,
                                                  std::string_view directory,
                                                  uint64_t start,
                                                  uint64_t limit) {
  ROWFS_ASSIGN_OR_RETURN(
      const Bytes body,
      RunForBody(
          RequestOf(WorkerOp::kList, {std::string(directory)}, {start, limit}),
          &index));
  return DecodeEntries(body, limit);
}

Result<std::vector<ViewEntry>> PluginWorker::Foresee(
    std::string_view file_name) {
  ROWFS_ASSIGN_OR_RETURN(
      const Bytes body,
      RunForBody(RequestOf(WorkerOp::kForesee, {std::string(file_name)}, {}),
                 nullptr));
  return DecodeEntries(body, kForeseenMax);
}

Result<ViewEntry> PluginWorker::Lookup(const PluginIndex& index,
                                       std::string_view path) {
  ROWFS_ASSIGN_OR_RETURN(
      const Bytes body,
      RunForBody(RequestOf(WorkerOp::kLookup, {std::string(path)}, {}),
                 &index));
  ROWFS_ASSIGN_OR_RETURN(auto entries, DecodeEntries(body, 1));
  if (entries.empty()) {
    return Status(Code::kInternal, name_ + ": looked an entry up to nothing");
  }
  return std::move(entries.front());
}

Result<std::vector<ViewEntry>> PluginWorker::Select(const PluginIndex& index,
                                                    std::string_view view,
                                                    std::string_view from,
                                                    std::string_view to) {
  ROWFS_ASSIGN_OR_RETURN(
      const Bytes body,
      RunForBody(
          RequestOf(WorkerOp::kSelect,
                    {std::string(view), std::string(from), std::string(to)},
                    {}),
          &index));
  return DecodeEntries(body, kItemsMax);
}

Result<ViewPlan> PluginWorker::Plan(const PluginIndex& index,
                                    std::span<const std::string> paths) {
  ROWFS_ASSIGN_OR_RETURN(
      const Bytes body,
      RunForBody(RequestOf(WorkerOp::kPlan, {paths.begin(), paths.end()}, {}),
                 &index));
  return DecodePlan(body, paths.size(), index.blob_size);
}

Result<std::vector<Result<Bytes>>> PluginWorker::Decode(
    const PluginIndex& index, const DecodeGroup& group,
    std::span<const ByteSpan> ranges) {
  assert(ranges.size() == group.ranges.size());
  WorkerRequest request =
      RequestOf(WorkerOp::kDecode, {}, {group.items.size()});
  request.parts.reserve(ranges.size() + 1);
  request.parts.emplace_back(group.recipe);
  request.parts.insert(request.parts.end(), ranges.begin(), ranges.end());
  OutputCollector collector(group.items.size());
  ROWFS_RETURN_IF_ERROR(Run(std::move(request), &index, nullptr, &collector,
                            PlaceOf(index, group)));
  return std::move(collector.outputs());
}

Result<std::vector<Result<Bytes>>> PluginWorker::DecodeFrom(
    const PluginIndex& index, const DecodeGroup& group,
    const IngestInput& blob) {
  WorkerRequest request =
      RequestOf(WorkerOp::kDecodeFrom, {}, {group.items.size(), blob.size});
  request.parts.emplace_back(group.recipe);
  OutputCollector collector(group.items.size());
  ROWFS_RETURN_IF_ERROR(Run(std::move(request), &index, &blob, &collector));
  return std::move(collector.outputs());
}

}  // namespace rowfs
