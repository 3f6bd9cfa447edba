#include "index/view/media.h"

#include <algorithm>
#include <atomic>

#include "storage/base/clock.h"
#include "storage/base/hash.h"
#include "storage/read/range_planner.h"

namespace rowfs {
namespace {

// Whether a read may be a request over a network. The URIs of local files are
// plain paths.
bool IsRemote(const Blob& blob) {
  return blob.uri().find("://") != std::string::npos;
}

// Decoded outputs, in memory.
class RenderedFile final : public ViewFile {
 public:
  explicit RenderedFile(Bytes bytes) : bytes_(std::move(bytes)) {}

  uint64_t size() const override { return bytes_.size(); }
  bool in_memory() const override { return true; }
  Result<size_t> ReadAt(uint64_t offset, MutableByteSpan out) const override {
    if (offset >= bytes_.size()) return size_t{0};
    const size_t size = std::min<uint64_t>(out.size(), bytes_.size() - offset);
    std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(offset), size,
                out.begin());
    return size;
  }

 private:
  const Bytes bytes_;
};

// Literal bytes and ranges of the blob, one behind the other.
class SegmentedFile final : public ViewFile {
 public:
  SegmentedFile(std::shared_ptr<const Blob> blob,
                std::vector<ViewSegment> segments)
      : blob_(std::move(blob)), segments_(std::move(segments)) {
    for (const ViewSegment& segment : segments_) {
      begins_.push_back(size_);
      size_ += segment.size();
      in_memory_ = in_memory_ && segment.literal != nullptr;
      if (segment.literal == nullptr) stored_bytes_ += segment.size();
    }
    brought_ = !IsRemote(*blob_) || stored_bytes_ > kAtOnceBytes;
  }

  uint64_t size() const override { return size_; }
  bool in_memory() const override { return in_memory_; }

  Result<size_t> ReadAt(uint64_t offset, MutableByteSpan out) const override {
    if (offset >= size_) return size_t{0};
    const size_t wanted = std::min<uint64_t>(out.size(), size_ - offset);
    size_t done = 0;
    auto i = static_cast<size_t>(
        std::upper_bound(begins_.begin(), begins_.end(), offset) -
        begins_.begin() - 1);
    for (; done < wanted; ++i) {
      const uint64_t skip = offset + done - begins_[i];
      const size_t step =
          std::min<uint64_t>(wanted - done, segments_[i].size() - skip);
      ROWFS_RETURN_IF_ERROR(
          ReadSegment(segments_[i], skip, out.subspan(done, step)));
      done += step;
    }
    return done;
  }

 private:
  // A short clip is read from end to end, a piece at a time: all of it comes
  // into the cache with the first, in one round trip.
  static constexpr uint64_t kAtOnceBytes = 512 << 10;

  void BringAll() const {
    if (brought_.exchange(true)) return;
    std::vector<ByteRange> ranges;
    for (const ViewSegment& segment : segments_) {
      if (!segment.literal) ranges.push_back(segment.range);
    }
    // What fails now fails again where it is read.
    static_cast<void>(blob_->ReadMany(ranges));
  }

  Status ReadSegment(const ViewSegment& segment, uint64_t skip,
                     MutableByteSpan out) const {
    if (segment.literal) {
      std::copy_n(segment.literal->begin() + static_cast<ptrdiff_t>(skip),
                  out.size(), out.begin());
      return {};
    }
    if (out.size() < stored_bytes_) BringAll();
    return blob_->ReadAt(segment.range.begin + skip, out);
  }

  const std::shared_ptr<const Blob> blob_;
  const std::vector<ViewSegment> segments_;
  std::vector<uint64_t> begins_;
  uint64_t size_ = 0;
  uint64_t stored_bytes_ = 0;
  bool in_memory_ = true;
  mutable std::atomic<bool> brought_{false};
};

// Blobs of equal layout have equal indexes (two sounds of one length, say) and
// other contents: what is kept of one must not be taken for the other's. The
// etag is no part of it: it may cost a request, and a snapshot does not change.
uint64_t KeyOf(const Blob& blob, uint64_t index_key) {
  if (const auto& bytes = blob.cell().bytes) return Hash64(*bytes, index_key);
  Bytes place;
  AppendText(&place, blob.uri());
  AppendU8(&place, 0);
  AppendU64(&place, blob.offset());
  return Hash64(place, index_key);
}

using FileResult = Result<std::shared_ptr<const ViewFile>>;

// A plan comes from a plugin: nothing in it is believed.
Status CheckPlan(const ViewPlan& plan, size_t path_count, uint64_t blob_size) {
  const Status bad(Code::kInternal, "the plugin's plan contradicts itself");
  if (plan.segments.size() != path_count) return bad;
  const auto inside = [&](const ByteRange& range) {
    return range.begin <= range.end && range.end <= blob_size;
  };
  std::vector<size_t> answers(path_count, 0);
  for (const DecodeGroup& group : plan.groups) {
    for (const size_t item : group.items) {
      if (item >= path_count) return bad;
      ++answers[item];
    }
    if (!std::all_of(group.ranges.begin(), group.ranges.end(), inside)) {
      return bad;
    }
  }
  for (size_t i = 0; i < path_count; ++i) {
    uint64_t size = 0;
    for (const ViewSegment& segment : plan.segments[i]) {
      if (!segment.literal && !inside(segment.range)) return bad;
      const auto sum = CheckedAdd(size, segment.size());
      if (!sum) return bad;
      size = *sum;
    }
    if (answers[i] > 1 || (answers[i] == 1 && !plan.segments[i].empty())) {
      return bad;
    }
  }
  return {};
}

// Reads and decodes the groups of one plan.
class GroupRunner {
 public:
  GroupRunner(const Blob& blob, Plugin& plugin, const PluginIndex& index,
              ViewTimes* times)
      : blob_(blob), plugin_(plugin), index_(index), times_(times) {}

  void Run(const std::vector<DecodeGroup>& groups,
           std::vector<FileResult>* files) {
    std::vector<ByteRange> ranges;
    for (const DecodeGroup& group : groups) {
      ranges.insert(ranges.end(), group.ranges.begin(), group.ranges.end());
    }
    const int64_t begin = clock_.MonotonicNs();
    const auto bytes = Read(ranges);
    const int64_t read = clock_.MonotonicNs();
    size_t at = 0;
    for (const DecodeGroup& group : groups) {
      if (!bytes.ok()) {
        Fail(group, bytes.status(), files);
        continue;
      }
      Decode(group, std::span(bytes.value()).subspan(at, group.ranges.size()),
             files);
      at += group.ranges.size();
    }
    if (times_ == nullptr) return;
    times_->read_ns += read - begin;
    times_->decode_ns += clock_.MonotonicNs() - read;
    const RangePlan plan = PlanOf(ranges);
    times_->ranges.insert(times_->ranges.end(), plan.requests.begin(),
                          plan.requests.end());
  }

 private:
  // Between the pictures of two GOPs may lie the sound of the second: where a
  // request costs a round trip it is read along.
  static constexpr uint64_t kNearBytes = 32 << 10;

  RangePlan PlanOf(std::span<const ByteRange> ranges) const {
    if (IsRemote(blob_))
      return PlanRanges(ranges, {.gap_bytes_max = kNearBytes});
    RangePlan plan;
    plan.requests.assign(ranges.begin(), ranges.end());
    for (size_t i = 0; i < ranges.size(); ++i) plan.slices.push_back({i, 0});
    return plan;
  }

  Result<std::vector<Bytes>> Read(std::span<const ByteRange> ranges) const {
    const RangePlan plan = PlanOf(ranges);
    ROWFS_ASSIGN_OR_RETURN(auto read, blob_.ReadMany(plan.requests));
    if (!IsRemote(blob_)) return read;
    std::vector<Bytes> bytes;
    for (size_t i = 0; i < ranges.size(); ++i) {
      if (ranges[i].empty()) {
        bytes.emplace_back();
        continue;
      }
      const auto [request, offset] = plan.slices[i];
      const auto first = read[request].begin() + static_cast<ptrdiff_t>(offset);
      bytes.emplace_back(first,
                         first + static_cast<ptrdiff_t>(ranges[i].size()));
    }
    return bytes;
  }

  static void Fail(const DecodeGroup& group, const Status& status,
                   std::vector<FileResult>* files) {
    for (const size_t item : group.items) (*files)[item] = status;
  }

  void Decode(const DecodeGroup& group, std::span<const Bytes> bytes,
              std::vector<FileResult>* files) {
    const std::vector<ByteSpan> spans(bytes.begin(), bytes.end());
    auto outputs = group.ranges.empty() ? DecodeFrom(group)
                                        : plugin_.Decode(index_, group, spans);
    if (!outputs.ok()) return Fail(group, outputs.status(), files);
    if (outputs.value().size() != group.items.size()) {
      return Fail(group, {Code::kInternal, "the plugin lost an output"}, files);
    }
    for (size_t i = 0; i < group.items.size(); ++i) {
      Result<Bytes>& output = outputs.value()[i];
      if (output.ok()) {
        (*files)[group.items[i]] = std::shared_ptr<const ViewFile>(
            std::make_shared<RenderedFile>(std::move(output).value()));
      } else {
        (*files)[group.items[i]] = output.status();
      }
    }
  }

  Result<std::vector<Result<Bytes>>> DecodeFrom(const DecodeGroup& group) {
    IngestInput blob;
    blob.size = blob_.size();
    blob.read_at = [this](uint64_t offset, MutableByteSpan out) {
      if (times_ != nullptr) {
        times_->ranges.push_back({offset, offset + out.size()});
      }
      return blob_.ReadAt(offset, out);
    };
    return plugin_.DecodeFrom(index_, group, blob);
  }

  const Blob& blob_;
  Plugin& plugin_;
  const PluginIndex& index_;
  ViewTimes* const times_;
  RealClock clock_;
};

}  // namespace

Result<std::shared_ptr<Media>> Media::Open(std::shared_ptr<const Blob> blob,
                                           PluginRegistry& plugins,
                                           std::string_view config) {
  const auto& info = blob->cell().info;
  if (!info) {
    return Status(Code::kInvalidArgument,
                  "the blob has no blob_info; ingest it with `rowfs ingest` "
                  "to get its views");
  }
  Plugin* plugin = plugins.FindByMagic(*info->stream_info);
  if (plugin == nullptr) {
    return Status(Code::kUnsupported,
                  "no plugin here reads this blob_info (blob_type " +
                      std::to_string(info->blob_type) + ")");
  }
  return Make(std::move(blob), *plugin, *info, config);
}

std::shared_ptr<Media> Media::Make(std::shared_ptr<const Blob> blob,
                                   Plugin& plugin, const BlobInfo& info,
                                   std::string_view config) {
  PluginIndex index = MakePluginIndex(plugin, info.stream_info,
                                      info.head_only ? nullptr : info.entries,
                                      blob->size(), config);
  index.key = KeyOf(*blob, index.key);
  return std::shared_ptr<Media>(
      new Media(std::move(blob), plugin, std::move(index)));
}

Result<std::vector<ViewEntry>> Media::List(std::string_view directory,
                                           uint64_t start,
                                           uint64_t limit) const {
  return plugin_.List(index_, directory, start, limit);
}

Result<ViewEntry> Media::Lookup(std::string_view path) const {
  return plugin_.Lookup(index_, path);
}

Result<std::vector<ViewEntry>> Media::Select(std::string_view view,
                                             std::string_view from,
                                             std::string_view to) const {
  return plugin_.Select(index_, view, from, to);
}

Result<ViewPlan> Media::Plan(std::span<const std::string> paths) const {
  ROWFS_ASSIGN_OR_RETURN(ViewPlan plan, plugin_.Plan(index_, paths));
  ROWFS_RETURN_IF_ERROR(CheckPlan(plan, paths.size(), blob_->size()));
  return plan;
}

std::vector<Result<std::shared_ptr<const ViewFile>>> Media::OpenFiles(
    std::span<const std::string> paths, ViewTimes* times) const {
  RealClock clock;
  const int64_t begin = clock.MonotonicNs();
  auto planned = Plan(paths);
  if (times != nullptr) times->plan_ns += clock.MonotonicNs() - begin;
  if (!planned.ok()) {
    return std::vector<FileResult>(paths.size(), planned.status());
  }

  ViewPlan& plan = planned.value();
  std::vector<FileResult> files;
  for (std::vector<ViewSegment>& segments : plan.segments) {
    files.push_back(std::shared_ptr<const ViewFile>(
        std::make_shared<SegmentedFile>(blob_, std::move(segments))));
  }
  GroupRunner(*blob_, plugin_, index_, times).Run(plan.groups, &files);
  return files;
}

}  // namespace rowfs
