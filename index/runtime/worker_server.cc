#include "index/runtime/worker_server.h"

#include <time.h>

#include <algorithm>
#include <cstring>

#include "index/runtime/plugin_checks.h"

namespace rowfs {
namespace {

constexpr uint64_t kInputMapStep = uint64_t{16} << 20;
constexpr time_t kCpuSecondsMax = 3600;
constexpr uint64_t kReadAheadBytes = uint64_t{256} << 10;
// Small writes of a demuxer are collected to this before the parent is woken.
constexpr size_t kPayloadBytes = size_t{1} << 20;

bool CpuTimeIsUsedUp() {
  timespec used = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return used.tv_sec >= kCpuSecondsMax;
}

Status Expect(const WorkerRequest& request, size_t numbers, size_t texts,
              size_t parts) {
  if (request.numbers.size() == numbers && request.texts.size() == texts &&
      request.parts.size() >= parts) {
    return Status();
  }
  return Status(Code::kInternal, "request lacks arguments");
}

SharedBytes CopyOf(ByteSpan bytes) {
  return std::make_shared<const Bytes>(bytes.begin(), bytes.end());
}

// Reads the input of an ingest from the parent, somewhat ahead of a demuxer
// that reads on.
class InputReader {
 public:
  InputReader(int socket, uint64_t size, ByteSpan region)
      : socket_(socket), size_(size), region_(region) {}

  Status ReadAt(uint64_t offset, MutableByteSpan out) {
    while (!out.empty()) {
      if (offset < window_.begin || offset >= window_.end) {
        ROWFS_RETURN_IF_ERROR(Fetch(offset, out.size()));
      }
      const uint64_t n = std::min<uint64_t>(out.size(), window_.end - offset);
      std::memcpy(out.data(), region_.data() + (offset - window_.begin), n);
      out = out.subspan(n);
      offset += n;
    }
    return Status();
  }

 private:
  Status Fetch(uint64_t offset, uint64_t wanted) {
    const bool reads_on = offset == window_.end;
    uint64_t size = reads_on ? std::max(wanted, kReadAheadBytes) : wanted;
    size = std::min({size, kReadBytesMax, size_ - offset});
    WorkerMessage ask;
    ask.kind = WorkerFrame::kReadInput;
    ask.offset = offset;
    ask.size = size;
    window_ = {};
    ROWFS_RETURN_IF_ERROR(SendFrame(socket_, EncodeWorkerMessage(ask)));
    ROWFS_ASSIGN_OR_RETURN(const ByteSpan frame,
                           ReceiveFrame(socket_, 0, &buffer_));
    ROWFS_ASSIGN_OR_RETURN(const ParentMessage got, DecodeParentMessage(frame));
    if (got.kind != ParentFrame::kInput || got.failed || got.size != size) {
      return Status(Code::kUnavailable, "the input cannot be read");
    }
    window_ = {offset, offset + size};
    return Status();
  }

  const int socket_;
  const uint64_t size_;
  const ByteSpan region_;
  ByteRange window_;
  Bytes buffer_;
};

}  // namespace

Status AnswerWriter::Write(size_t item, ByteSpan bytes) {
  do {
    if (used_ == region_.size() || chunks_.size() == kChunksMax) {
      ROWFS_RETURN_IF_ERROR(Flush());
    }
    const size_t n = std::min(bytes.size(), region_.size() - used_);
    if (n != 0) std::memcpy(region_.data() + used_, bytes.data(), n);
    const bool goes_on = !chunks_.empty() && chunks_.back().item == item &&
                         chunks_.back().code == Code::kOk;
    if (goes_on) {
      chunks_.back().size += static_cast<uint32_t>(n);
    } else {
      chunks_.push_back(
          {static_cast<uint32_t>(item), Code::kOk, static_cast<uint32_t>(n)});
    }
    used_ += n;
    bytes = bytes.subspan(n);
  } while (!bytes.empty());
  return Status();
}

Status AnswerWriter::Fail(size_t item, const Status& error) {
  const std::string message = OneLine(error.message());
  if (chunks_.size() == kChunksMax || message.size() > region_.size() - used_) {
    ROWFS_RETURN_IF_ERROR(Flush());
  }
  std::memcpy(region_.data() + used_, message.data(), message.size());
  chunks_.push_back({static_cast<uint32_t>(item), error.code(),
                     static_cast<uint32_t>(message.size())});
  used_ += message.size();
  return Status();
}

Status AnswerWriter::SendChunks(bool last, const Status& result) {
  WorkerMessage message;
  message.kind = WorkerFrame::kChunks;
  message.last = last;
  message.status = result;
  message.chunks = std::move(chunks_);
  chunks_.clear();
  used_ = 0;
  return SendFrame(socket_, EncodeWorkerMessage(message));
}

Status AnswerWriter::Flush() {
  if (chunks_.empty()) return Status();
  ROWFS_RETURN_IF_ERROR(SendChunks(/*last=*/false, Status()));
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan frame,
                         ReceiveFrame(socket_, 0, &buffer_));
  ROWFS_ASSIGN_OR_RETURN(const ParentMessage answer,
                         DecodeParentMessage(frame));
  if (answer.kind == ParentFrame::kContinue) return Status();
  return Status(Code::kUnavailable, "the parent broke the protocol");
}

Status AnswerWriter::Finish(const Status& result) {
  return SendChunks(/*last=*/true, result);
}

Result<WorkerServer> WorkerServer::Open(PluginHost* host, int socket,
                                        int input_fd, int output_fd) {
  WorkerServer server(host, socket, input_fd);
  ROWFS_ASSIGN_OR_RETURN(server.output_,
                         SharedRegion::Map(output_fd, kOutputRegionBytes,
                                           SharedRegion::Access::kWrite));
  ROWFS_ASSIGN_OR_RETURN(
      server.input_,
      SharedRegion::Map(input_fd, kInputMapStep, SharedRegion::Access::kRead));
  return server;
}

Result<ByteSpan> WorkerServer::Input(uint64_t size) {
  // A large mapping counts against the memory limit, so it goes again when the
  // next call needs little.
  const uint64_t wanted = (std::max<uint64_t>(size, 1) + kInputMapStep - 1) /
                          kInputMapStep * kInputMapStep;
  if (input_.bytes().size() != wanted) {
    input_ = SharedRegion();
    ROWFS_ASSIGN_OR_RETURN(
        input_,
        SharedRegion::Map(input_fd_, wanted, SharedRegion::Access::kRead));
  }
  return input_.bytes().first(size);
}

Status WorkerServer::Serve() {
  Bytes buffer;
  while (!CpuTimeIsUsedUp()) {
    const Result<ByteSpan> frame = ReceiveFrame(socket_, 0, &buffer);
    if (frame.status().code() == Code::kUnavailable) return Status();
    ROWFS_RETURN_IF_ERROR(frame.status());
    ROWFS_ASSIGN_OR_RETURN(const ParentMessage message,
                           DecodeParentMessage(frame.value()));
    ROWFS_RETURN_IF_ERROR(Answer(message));
  }
  return Status();
}

Status WorkerServer::Answer(const ParentMessage& message) {
  if (message.kind != ParentFrame::kRequest) {
    return Status(Code::kInternal, "the parent broke the protocol");
  }
  AnswerWriter out(socket_, output_.writable());
  const Result<ByteSpan> region = Input(message.size);
  if (!region.ok()) return out.Finish(region.status());
  ROWFS_ASSIGN_OR_RETURN(const WorkerRequest request,
                         DecodeRequest(region.value(), message.head_size));
  if (NeedsIndex(request.op) && !request.has_index &&
      !host_.IsOpen(request.key)) {
    WorkerMessage unknown;
    unknown.kind = WorkerFrame::kUnknownKey;
    return SendFrame(socket_, EncodeWorkerMessage(unknown));
  }
  Status result;
  WithoutExceptions(&result, [&] { return Run(request, &out); });
  return out.Finish(result);
}

Status WorkerServer::Run(const WorkerRequest& request, AnswerWriter* out) {
  if (request.op == WorkerOp::kIngest) return RunIngest(request, out);
  if (request.op == WorkerOp::kProbe) {
    ROWFS_RETURN_IF_ERROR(Expect(request, 0, 1, 1));
    ROWFS_ASSIGN_OR_RETURN(const int sure,
                           host_.Probe(request.parts[0], request.texts[0]));
    Bytes body;
    AppendU8(&body, static_cast<uint8_t>(sure));
    return out->Write(0, body);
  }
  if (request.op == WorkerOp::kForesee) {
    ROWFS_RETURN_IF_ERROR(Expect(request, 0, 1, 0));
    ROWFS_ASSIGN_OR_RETURN(const auto entries, host_.Foresee(request.texts[0]));
    return out->Write(0, EncodeEntries(entries));
  }
  PluginIndex index;
  index.key = request.key;
  index.blob_size = request.blob_size;
  index.config = request.config;
  if (request.has_index && !host_.IsOpen(request.key)) {
    const size_t parts = request.has_entries ? 2 : 1;
    if (request.parts.size() < parts) {
      return Status(Code::kInternal, "request lacks its index");
    }
    index.stream_info = CopyOf(request.parts[0]);
    if (request.has_entries) index.entries = CopyOf(request.parts[1]);
  }
  return RunWithIndex(request, index, out);
}

Status WorkerServer::RunWithIndex(const WorkerRequest& request,
                                  const PluginIndex& index, AnswerWriter* out) {
  const std::vector<std::string>& texts = request.texts;
  switch (request.op) {
    case WorkerOp::kList: {
      ROWFS_RETURN_IF_ERROR(Expect(request, 2, 1, 0));
      ROWFS_ASSIGN_OR_RETURN(
          const auto entries,
          host_.List(index, texts[0], request.numbers[0], request.numbers[1]));
      return out->Write(0, EncodeEntries(entries));
    }
    case WorkerOp::kLookup: {
      ROWFS_RETURN_IF_ERROR(Expect(request, 0, 1, 0));
      ROWFS_ASSIGN_OR_RETURN(const auto entry, host_.Lookup(index, texts[0]));
      return out->Write(0, EncodeEntries({&entry, 1}));
    }
    case WorkerOp::kSelect: {
      ROWFS_RETURN_IF_ERROR(Expect(request, 0, 3, 0));
      ROWFS_ASSIGN_OR_RETURN(const auto entries,
                             host_.Select(index, texts[0], texts[1], texts[2]));
      return out->Write(0, EncodeEntries(entries));
    }
    case WorkerOp::kPlan: {
      ROWFS_ASSIGN_OR_RETURN(const ViewPlan plan, host_.Plan(index, texts));
      return out->Write(0, EncodePlan(plan));
    }
    case WorkerOp::kDecode:
      return RunDecode(request, index, out);
    case WorkerOp::kDecodeFrom:
      return RunDecodeFrom(request, index, out);
    case WorkerOp::kProbe:
    case WorkerOp::kIngest:
    case WorkerOp::kForesee:
      break;
  }
  return Status(Code::kInternal, "no such call");
}

Status WorkerServer::RunDecode(const WorkerRequest& request,
                               const PluginIndex& index, AnswerWriter* out) {
  std::span<const ByteSpan> parts(request.parts);
  if (request.has_index) parts = parts.subspan(request.has_entries ? 2 : 1);
  if (parts.empty() || request.numbers.size() != 1 ||
      request.numbers[0] > kItemsMax) {
    return Status(Code::kInternal, "request lacks arguments");
  }
  DecodeGroup group;
  group.items.resize(request.numbers[0]);
  AppendBytes(&group.recipe, parts[0]);
  parts = parts.subspan(1);
  group.ranges.resize(parts.size());
  return host_.DecodeTo(index, group, parts, out);
}

Status WorkerServer::RunDecodeFrom(const WorkerRequest& request,
                                   const PluginIndex& index,
                                   AnswerWriter* out) {
  const size_t before =
      request.has_index ? (request.has_entries ? size_t{2} : size_t{1}) : 0;
  if (request.parts.size() != before + 1 || request.numbers.size() != 2 ||
      request.numbers[0] > kItemsMax) {
    return Status(Code::kInternal, "request lacks arguments");
  }
  DecodeGroup group;
  group.items.resize(request.numbers[0]);
  AppendBytes(&group.recipe, request.parts.back());
  // What is read takes the place of the request.
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan region, Input(kReadBytesMax));
  InputReader reader(socket_, request.numbers[1], region);
  IngestInput blob;
  blob.size = request.numbers[1];
  blob.read_at = [&](uint64_t offset, MutableByteSpan bytes) {
    return reader.ReadAt(offset, bytes);
  };
  return host_.DecodeFromTo(index, group, blob, out);
}

Status WorkerServer::RunIngest(const WorkerRequest& request,
                               AnswerWriter* out) {
  ROWFS_RETURN_IF_ERROR(Expect(request, 4, 2, 0));
  const std::vector<uint64_t>& numbers = request.numbers;
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan region, Input(kReadBytesMax));
  InputReader reader(socket_, numbers[0], region);
  IngestInput input;
  input.size = numbers[0];
  input.read_at = [&](uint64_t offset, MutableByteSpan bytes) {
    return reader.ReadAt(offset, bytes);
  };
  input.file_name = request.texts[0];
  input.config = request.texts[1];
  IngestOptions options;
  options.layout = numbers[1] == 0 ? IngestOptions::Layout::kStored
                                   : IngestOptions::Layout::kContainer;
  options.verify = numbers[2] == 0   ? IngestOptions::Verify::kOff
                   : numbers[2] == 1 ? IngestOptions::Verify::kKeys
                                     : IngestOptions::Verify::kFull;
  options.keep_container = numbers[3] != 0;
  ROWFS_ASSIGN_OR_RETURN(
      const IngestOutput result,
      host_.Ingest(input, options, [&](ByteSpan bytes) {
        ROWFS_RETURN_IF_ERROR(out->Write(0, bytes));
        return out->pending_bytes() < kPayloadBytes ? Status() : out->Flush();
      }));
  ROWFS_RETURN_IF_ERROR(out->Write(1, result.stream_info));
  ROWFS_RETURN_IF_ERROR(out->Write(2, result.entries));
  const std::byte blob_type[] = {std::byte{result.blob_type}};
  return out->Write(3, blob_type);
}

}  // namespace rowfs
