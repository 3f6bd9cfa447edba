#include "index/runtime/plugin_host.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "index/runtime/plugin_checks.h"

namespace rowfs {
namespace {

rowfs_str StrOf(std::string_view text) { return {text.data(), text.size()}; }

rowfs_bytes BytesOf(ByteSpan bytes) { return {AsU8(bytes), bytes.size()}; }

// Never NULL, since NULL means "head only" to the plugin.
rowfs_bytes EntriesOf(const SharedBytes& entries) {
  static constexpr uint8_t kEmpty = 0;
  if (entries == nullptr) return {nullptr, 0};
  if (entries->empty()) return {&kEmpty, 0};
  return BytesOf(*entries);
}

// What our callbacks said explains more than the code the plugin passed on.
Status FirstError(const Status& callback, const Status& call) {
  return callback.ok() ? call : callback;
}

int32_t LayoutOf(IngestOptions::Layout layout) {
  return layout == IngestOptions::Layout::kStored ? ROWFS_LAYOUT_STORED
                                                  : ROWFS_LAYOUT_CONTAINER;
}

int32_t VerifyOf(IngestOptions::Verify verify) {
  switch (verify) {
    case IngestOptions::Verify::kOff:
      return ROWFS_VERIFY_OFF;
    case IngestOptions::Verify::kKeys:
      return ROWFS_VERIFY_KEYS;
    case IngestOptions::Verify::kFull:
      return ROWFS_VERIFY_FULL;
  }
  return ROWFS_VERIFY_FULL;
}

// A sink that collects an index part, bounded.
std::function<Status(ByteSpan)> Collect(Bytes* out) {
  return [out](ByteSpan bytes) {
    if (bytes.size() > kIndexBytesMax - out->size()) {
      return Status(Code::kResourceExhausted, "index is too large");
    }
    AppendBytes(out, bytes);
    return Status();
  };
}

}  // namespace

// Holds the plugin for a scope.
class PluginHost::Turn {
 public:
  explicit Turn(PluginHost* host) : host_(*host), indexes_(host->TakeTurn()) {}
  ~Turn() { host_.EndTurn(std::move(indexes_)); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  OpenIndexes* indexes() { return indexes_.get(); }

 private:
  PluginHost& host_;
  std::unique_ptr<OpenIndexes> indexes_;
};

PluginHost::PluginHost(std::unique_ptr<PluginLibrary> library)
    : library_(std::move(library)), indexes_(std::make_unique<OpenIndexes>()) {}

PluginHost::~PluginHost() {
  const auto indexes = TakeTurn();
  for (const OpenIndex& open : *indexes) library_->api().close(open.index);
}

std::unique_ptr<PluginHost::OpenIndexes> PluginHost::TakeTurn() {
  MutexLock lock(mu_);
  while (indexes_ == nullptr) turn_ended_.Wait(mu_);
  return std::move(indexes_);
}

void PluginHost::EndTurn(std::unique_ptr<OpenIndexes> indexes) {
  {
    MutexLock lock(mu_);
    indexes_ = std::move(indexes);
  }
  turn_ended_.NotifyOne();
}

Status PluginHost::Call(
    const std::function<int32_t(rowfs_error*)>& call) const {
  rowfs_error error = {};
  Status thrown;
  int32_t code = ROWFS_OK;
  WithoutExceptions(&thrown, [&] {
    code = call(&error);
    return Status();
  });
  if (!thrown.ok()) return thrown.With(name());
  const size_t length = strnlen(error.message, sizeof(error.message));
  return StatusFromPlugin(code, {error.message, length}).With(name());
}

Result<rowfs_index*> PluginHost::OpenFor(OpenIndexes* indexes,
                                         const PluginIndex& index) const {
  const auto found = std::ranges::find(*indexes, index.key, &OpenIndex::key);
  if (found != indexes->end()) {
    indexes->splice(indexes->begin(), *indexes, found);
    return found->index;
  }
  if (index.stream_info == nullptr) {
    return Status(Code::kInvalidArgument, name() + ": index is not open");
  }
  while (indexes->size() >= kOpenIndexesMax) {
    library_->api().close(indexes->back().index);
    indexes->pop_back();
  }
  rowfs_index* opened = nullptr;
  ROWFS_RETURN_IF_ERROR(Call([&](rowfs_error* error) {
    return library_->api().open(BytesOf(*index.stream_info),
                                EntriesOf(index.entries), index.blob_size,
                                StrOf(index.config), &opened, error);
  }));
  if (opened == nullptr) {
    return Status(Code::kInternal, name() + ": opened an index to nothing");
  }
  indexes->push_front({index.key, opened});
  return opened;
}

Status PluginHost::CallWith(const PluginIndex& index,
                            const Status* callback_error,
                            const IndexCall& call) {
  Turn turn(this);
  ROWFS_ASSIGN_OR_RETURN(rowfs_index * open, OpenFor(turn.indexes(), index));
  const Status result =
      Call([&](rowfs_error* error) { return call(open, error); });
  return FirstError(callback_error->With(name()), result);
}

Status PluginHost::WarmUp() {
  if (library_->api().warm_up == nullptr) return Status();
  Turn turn(this);
  return Call(
      [&](rowfs_error* error) { return library_->api().warm_up(error); });
}

bool PluginHost::IsOpen(uint64_t key) {
  Turn turn(this);
  return std::ranges::find(*turn.indexes(), key, &OpenIndex::key) !=
         turn.indexes()->end();
}

Result<int> PluginHost::Probe(ByteSpan head, std::string_view file_name) {
  Turn turn(this);
  int32_t sure = 0;
  ROWFS_RETURN_IF_ERROR(Call([&](rowfs_error*) {
    sure = library_->api().probe(BytesOf(head), StrOf(file_name));
    return ROWFS_OK;
  }));
  return std::clamp(sure, 0, 100);
}

Result<IngestOutput> PluginHost::Ingest(
    const IngestInput& input, const IngestOptions& options,
    const std::function<Status(ByteSpan)>& payload) {
  IngestOutput out;
  ReaderSource source(input);
  ByteForwarder payload_sink(payload);
  ByteForwarder stream_info_sink(Collect(&out.stream_info));
  ByteForwarder entries_sink(Collect(&out.entries));
  rowfs_ingest_request request = {};
  request.struct_size = sizeof(request);
  request.layout = LayoutOf(options.layout);
  request.verify = VerifyOf(options.verify);
  request.keep_container = options.keep_container ? 1 : 0;
  request.input = source.reader();
  request.file_name = StrOf(input.file_name);
  request.config = StrOf(input.config);
  request.payload = payload_sink.sink();
  request.stream_info = stream_info_sink.sink();
  request.entries = entries_sink.sink();
  rowfs_ingest_result result = {};
  result.struct_size = sizeof(result);
  Turn turn(this);
  const Status status = Call([&](rowfs_error* error) {
    return library_->api().ingest(&request, &result, error);
  });
  // First of all: a demuxer may take a failed read for the end of the media and
  // report success.
  ROWFS_RETURN_IF_ERROR(source.error());
  for (const ByteForwarder* sink :
       {&payload_sink, &stream_info_sink, &entries_sink}) {
    ROWFS_RETURN_IF_ERROR(sink->error());
  }
  ROWFS_RETURN_IF_ERROR(status);
  out.blob_type = result.blob_type;
  const Status check = CheckIngestOutput(out, {library_->api().magic, 4});
  if (!check.ok()) return check.With(name());
  return out;
}

Result<std::vector<ViewEntry>> PluginHost::List(const PluginIndex& index,
                                                std::string_view directory,
                                                uint64_t start,
                                                uint64_t limit) {
  EntryCollector collector(limit);
  const rowfs_entry_sink sink = collector.sink();
  ROWFS_RETURN_IF_ERROR(CallWith(
      index, &collector.error(), [&](rowfs_index* open, rowfs_error* error) {
        return library_->api().list(open, StrOf(directory), start, limit, &sink,
                                    error);
      }));
  return std::move(collector.entries());
}

Result<std::vector<ViewEntry>> PluginHost::Foresee(std::string_view file_name) {
  const rowfs_plugin& api = library_->api();
  const bool has =
      api.struct_size >= offsetof(rowfs_plugin, foresee) + sizeof(api.foresee);
  if (!has || api.foresee == nullptr) return std::vector<ViewEntry>();
  EntryCollector collector(kForeseenMax);
  const rowfs_entry_sink sink = collector.sink();
  Turn turn(this);
  const Status result = Call([&](rowfs_error* error) {
    return api.foresee(StrOf(file_name), &sink, error);
  });
  ROWFS_RETURN_IF_ERROR(FirstError(collector.error().With(name()), result));
  return std::move(collector.entries());
}

Result<ViewEntry> PluginHost::Lookup(const PluginIndex& index,
                                     std::string_view path) {
  EntryCollector collector(1);
  const rowfs_entry_sink sink = collector.sink();
  ROWFS_RETURN_IF_ERROR(CallWith(
      index, &collector.error(), [&](rowfs_index* open, rowfs_error* error) {
        return library_->api().lookup(open, StrOf(path), &sink, error);
      }));
  if (collector.entries().empty()) {
    return Status(Code::kInternal, name() + ": looked an entry up to nothing");
  }
  return std::move(collector.entries().front());
}

Result<std::vector<ViewEntry>> PluginHost::Select(const PluginIndex& index,
                                                  std::string_view view,
                                                  std::string_view from,
                                                  std::string_view to) {
  if (library_->api().select == nullptr) {
    return Status(Code::kUnsupported, name() + ": has no media with time");
  }
  EntryCollector collector(kItemsMax);
  const rowfs_entry_sink sink = collector.sink();
  ROWFS_RETURN_IF_ERROR(CallWith(
      index, &collector.error(), [&](rowfs_index* open, rowfs_error* error) {
        return library_->api().select(open, StrOf(view), StrOf(from), StrOf(to),
                                      &sink, error);
      }));
  return std::move(collector.entries());
}

Result<ViewPlan> PluginHost::Plan(const PluginIndex& index,
                                  std::span<const std::string> paths) {
  std::vector<rowfs_str> c_paths;
  c_paths.reserve(paths.size());
  for (const std::string& path : paths) c_paths.push_back(StrOf(path));
  PlanCollector collector(paths.size());
  const rowfs_plan_sink sink = collector.sink();
  ROWFS_RETURN_IF_ERROR(CallWith(
      index, &collector.error(), [&](rowfs_index* open, rowfs_error* error) {
        return library_->api().plan(open, c_paths.data(), c_paths.size(), &sink,
                                    error);
      }));
  const Status check =
      CheckPlan(collector.plan(), paths.size(), index.blob_size);
  if (!check.ok()) return check.With(name());
  return std::move(collector.plan());
}

Status PluginHost::DecodeTo(const PluginIndex& index, const DecodeGroup& group,
                            std::span<const ByteSpan> ranges, OutputSink* out) {
  assert(ranges.size() == group.ranges.size());
  std::vector<rowfs_bytes> c_ranges;
  c_ranges.reserve(ranges.size());
  for (const ByteSpan range : ranges) c_ranges.push_back(BytesOf(range));
  OutputForwarder forwarder(group.items.size(), out);
  const rowfs_output_sink sink = forwarder.sink();
  return CallWith(
      index, &forwarder.error(), [&](rowfs_index* open, rowfs_error* error) {
        return library_->api().decode(open, BytesOf(group.recipe),
                                      c_ranges.data(), c_ranges.size(), &sink,
                                      error);
      });
}

Status PluginHost::DecodeFromTo(const PluginIndex& index,
                                const DecodeGroup& group,
                                const IngestInput& blob, OutputSink* out) {
  const rowfs_plugin& api = library_->api();
  const bool has = api.struct_size >= offsetof(rowfs_plugin, decode_from) +
                                          sizeof(api.decode_from);
  if (!has || api.decode_from == nullptr) {
    return DecodeTo(index, group, {}, out);
  }
  ReaderSource source(blob);
  const rowfs_reader reader = source.reader();
  OutputForwarder forwarder(group.items.size(), out);
  const rowfs_output_sink sink = forwarder.sink();
  const Status result = CallWith(
      index, &forwarder.error(), [&](rowfs_index* open, rowfs_error* error) {
        return api.decode_from(open, BytesOf(group.recipe), &reader, &sink,
                               error);
      });
  // A library may take a failed read for a damaged file and go on.
  return FirstError(source.error(), result);
}

Result<std::vector<Result<Bytes>>> PluginHost::DecodeFrom(
    const PluginIndex& index, const DecodeGroup& group,
    const IngestInput& blob) {
  OutputCollector collector(group.items.size());
  ROWFS_RETURN_IF_ERROR(DecodeFromTo(index, group, blob, &collector));
  return std::move(collector.outputs());
}

Result<std::vector<Result<Bytes>>> PluginHost::Decode(
    const PluginIndex& index, const DecodeGroup& group,
    std::span<const ByteSpan> ranges) {
  OutputCollector collector(group.items.size());
  ROWFS_RETURN_IF_ERROR(DecodeTo(index, group, ranges, &collector));
  return std::move(collector.outputs());
}

}  // namespace rowfs
