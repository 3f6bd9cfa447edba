// The host's side of the C callbacks: each struct below is the `ctx` of one
// rowfs_*_sink or rowfs_reader, turns what the plugin hands over into our types
// (copying it) and remembers the first thing that was wrong with it.
//
// Not thread-safe: lives for one plugin call, on its thread.
#ifndef ROWFS_INDEX_RUNTIME_PLUGIN_CALLBACKS_H_
#define ROWFS_INDEX_RUNTIME_PLUGIN_CALLBACKS_H_

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "index/abi/rowfs_plugin.h"
#include "index/runtime/plugin.h"
#include "storage/base/bytes.h"
#include "storage/base/status.h"

namespace rowfs {

// Where the outputs of one decode go, as they are made.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  // Append to output `item`; any error stops the decode and becomes its result.
  virtual Status Write(size_t item, ByteSpan bytes) = 0;
  // Output `item` failed alone.
  virtual Status Fail(size_t item, const Status& error) = 0;
  // Forget what was written, since the call is made again. False when that
  // cannot be taken back.
  virtual bool Restart() { return false; }
};

// Keeps the outputs of one decode.
class OutputCollector final : public OutputSink {
 public:
  explicit OutputCollector(size_t count);

  Status Write(size_t item, ByteSpan bytes) override;
  Status Fail(size_t item, const Status& error) override;
  bool Restart() override;
  // One per item; kInternal for those that got nothing.
  std::vector<Result<Bytes>>& outputs() { return outputs_; }

 private:
  std::vector<Result<Bytes>> outputs_;
  std::vector<bool> failed_;
  uint64_t bytes_ = 0;
};

// Run `body` inside a C callback or around a C call: exceptions (ours is only
// bad_alloc) must not cross C frames. Returns the code for the plugin. `error`
// is sticky: once it is set nothing runs any more.
int32_t WithoutExceptions(Status* error, const std::function<Status()>& body);

class EntryCollector {
 public:
  explicit EntryCollector(uint64_t limit) : limit_(limit) {}

  rowfs_entry_sink sink() { return {this, &EntryCollector::Put}; }
  const Status& error() const { return error_; }
  std::vector<ViewEntry>& entries() { return entries_; }

 private:
  static int32_t Put(void* ctx, const rowfs_entry* entry);
  Status Add(const rowfs_entry* entry);

  const uint64_t limit_;
  uint64_t bytes_ = 0;
  std::vector<ViewEntry> entries_;
  Status error_;
};

class PlanCollector {
 public:
  explicit PlanCollector(size_t path_count) : answered_(path_count, false) {
    plan_.segments.resize(path_count);
  }

  rowfs_plan_sink sink() {
    return {this, &PlanCollector::Segments, &PlanCollector::Decode};
  }
  const Status& error() const { return error_; }
  ViewPlan& plan() { return plan_; }

 private:
  static int32_t Segments(void* ctx, size_t item, const rowfs_segment* segments,
                          size_t segment_count);
  static int32_t Decode(void* ctx, const size_t* items, size_t item_count,
                        const rowfs_range* ranges, size_t range_count,
                        rowfs_bytes recipe);
  Status AddSegments(size_t item, std::span<const rowfs_segment> segments);
  Status Answer(size_t item);

  std::vector<bool> answered_;
  uint64_t segment_count_ = 0;
  uint64_t range_count_ = 0;
  uint64_t literal_bytes_ = 0;
  ViewPlan plan_;
  Status error_;
};

// Passes outputs on to an OutputSink, checked and counted.
class OutputForwarder {
 public:
  OutputForwarder(size_t item_count, OutputSink* out)
      : item_count_(item_count), out_(*out) {}

  rowfs_output_sink sink() {
    return {this, &OutputForwarder::Write, &OutputForwarder::Fail};
  }
  const Status& error() const { return error_; }

 private:
  static int32_t Write(void* ctx, size_t item, const uint8_t* data,
                       size_t size);
  static int32_t Fail(void* ctx, size_t item, int32_t code, rowfs_str message);

  const size_t item_count_;
  OutputSink& out_;
  uint64_t bytes_ = 0;
  Status error_;
};

class ReaderSource {
 public:
  explicit ReaderSource(const IngestInput& input) : input_(input) {}

  rowfs_reader reader() { return {this, input_.size, &ReaderSource::ReadAt}; }
  const Status& error() const { return error_; }

 private:
  static int32_t ReadAt(void* ctx, uint64_t offset, uint8_t* out, size_t size);

  const IngestInput& input_;
  Status error_;
};

// A rowfs_sink over a function.
class ByteForwarder {
 public:
  explicit ByteForwarder(std::function<Status(ByteSpan)> write)
      : write_(std::move(write)) {}

  rowfs_sink sink() { return {this, &ByteForwarder::Write}; }
  const Status& error() const { return error_; }

 private:
  static int32_t Write(void* ctx, const uint8_t* data, size_t size);

  const std::function<Status(ByteSpan)> write_;
  Status error_;
};

}  // namespace rowfs
#endif  // ROWFS_INDEX_RUNTIME_PLUGIN_CALLBACKS_H_
