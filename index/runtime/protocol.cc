#include "index/runtime/protocol.h"

#include <algorithm>

#include "index/runtime/plugin_checks.h"

namespace rowfs {
namespace {

constexpr uint64_t kPartAlignment = 16;
constexpr std::string_view kWhat = "worker message";

void AppendString(Bytes* out, std::string_view text) {
  AppendVarint(out, text.size());
  AppendText(out, text);
}

Result<std::string> ReadString(Cursor* cursor) {
  ROWFS_ASSIGN_OR_RETURN(const uint64_t size, cursor->Varint());
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan bytes, cursor->Take(size));
  return std::string(AsText(bytes));
}

// A count of things of which each takes at least `bytes_min` of what is left.
Result<size_t> ReadCount(Cursor* cursor, size_t bytes_min) {
  ROWFS_ASSIGN_OR_RETURN(const uint64_t count, cursor->Varint());
  if (count > cursor->remaining() / bytes_min) {
    return cursor->Error("count is larger than the message");
  }
  return static_cast<size_t>(count);
}

Status ExpectEnd(const Cursor& cursor) {
  return cursor.AtEnd() ? Status() : cursor.Error("bytes are left over");
}

void AppendStatus(Bytes* out, const Status& status) {
  AppendU8(out, static_cast<uint8_t>(status.code()));
  AppendString(out, OneLine(status.ok() ? "" : status.message()));
}

Result<Code> CodeOf(const Cursor& cursor, uint8_t code) {
  if (code > static_cast<uint8_t>(Code::kInternal)) {
    return cursor.Error("no such error code");
  }
  return static_cast<Code>(code);
}

// Wrapped in a Result twice, since Result<Status> would be ambiguous.
Status ReadStatus(Cursor* cursor, Status* out) {
  ROWFS_ASSIGN_OR_RETURN(const uint8_t number, cursor->U8());
  ROWFS_ASSIGN_OR_RETURN(const Code code, CodeOf(*cursor, number));
  ROWFS_ASSIGN_OR_RETURN(std::string message, ReadString(cursor));
  if (code != Code::kOk) *out = Status(code, OneLine(message));
  return Status();
}

Status ReadChunks(Cursor* cursor, WorkerMessage* message) {
  ROWFS_ASSIGN_OR_RETURN(const uint8_t last, cursor->U8());
  message->last = last != 0;
  ROWFS_RETURN_IF_ERROR(ReadStatus(cursor, &message->status));
  ROWFS_ASSIGN_OR_RETURN(const size_t count, ReadCount(cursor, 9));
  if (count > kChunksMax) return cursor->Error("too many chunks");
  uint64_t total = 0;
  message->chunks.resize(count);
  for (OutputChunk& chunk : message->chunks) {
    ROWFS_ASSIGN_OR_RETURN(chunk.item, cursor->U32());
    ROWFS_ASSIGN_OR_RETURN(const uint8_t code, cursor->U8());
    ROWFS_ASSIGN_OR_RETURN(chunk.code, CodeOf(*cursor, code));
    ROWFS_ASSIGN_OR_RETURN(chunk.size, cursor->U32());
    total += chunk.size;
  }
  if (total > kOutputRegionBytes) {
    return cursor->Error("chunks are larger than the region");
  }
  return Status();
}

Status ReadWorkerFields(Cursor* cursor, WorkerMessage* message) {
  switch (message->kind) {
    case WorkerFrame::kMoved: {
      ROWFS_ASSIGN_OR_RETURN(message->pid, cursor->U32());
      return Status();
    }
    case WorkerFrame::kHello: {
      ROWFS_ASSIGN_OR_RETURN(message->name, ReadString(cursor));
      ROWFS_ASSIGN_OR_RETURN(message->version, ReadString(cursor));
      ROWFS_ASSIGN_OR_RETURN(message->magic, ReadString(cursor));
      return ReadStatus(cursor, &message->status);
    }
    case WorkerFrame::kReady: {
      ROWFS_ASSIGN_OR_RETURN(message->name, ReadString(cursor));
      return ReadStatus(cursor, &message->status);
    }
    case WorkerFrame::kUnknownKey:
      return Status();
    case WorkerFrame::kReadInput: {
      ROWFS_ASSIGN_OR_RETURN(message->offset, cursor->U64());
      ROWFS_ASSIGN_OR_RETURN(message->size, cursor->U64());
      if (message->size == 0 || message->size > kReadBytesMax) {
        return cursor->Error("reads too much at once");
      }
      return Status();
    }
    case WorkerFrame::kChunks:
      return ReadChunks(cursor, message);
  }
  return cursor->Error("no such frame");
}

void AppendEntry(Bytes* out, const ViewEntry& entry) {
  AppendString(out, entry.name);
  AppendU8(out, static_cast<uint8_t>(
                    (entry.is_directory ? 1 : 0) | (entry.lookup_only ? 2 : 0) |
                    (entry.is_whole ? 4 : 0) | (entry.size_exact ? 8 : 0)));
  AppendVarint(out, entry.size);
  AppendString(out, entry.media_type);
  AppendString(out, entry.canonical_path);
  AppendVarint(out, entry.attributes.size());
  for (const auto& [key, value] : entry.attributes) {
    AppendString(out, key);
    AppendString(out, value);
  }
}

Result<ViewEntry> ReadEntry(Cursor* cursor) {
  ViewEntry entry;
  ROWFS_ASSIGN_OR_RETURN(entry.name, ReadString(cursor));
  ROWFS_ASSIGN_OR_RETURN(const uint8_t flags, cursor->U8());
  entry.is_directory = (flags & 1) != 0;
  entry.lookup_only = (flags & 2) != 0;
  entry.is_whole = (flags & 4) != 0;
  entry.size_exact = (flags & 8) != 0;
  ROWFS_ASSIGN_OR_RETURN(entry.size, cursor->Varint());
  ROWFS_ASSIGN_OR_RETURN(entry.media_type, ReadString(cursor));
  ROWFS_ASSIGN_OR_RETURN(entry.canonical_path, ReadString(cursor));
  ROWFS_ASSIGN_OR_RETURN(const size_t count, ReadCount(cursor, 2));
  for (size_t i = 0; i < count; ++i) {
    ROWFS_ASSIGN_OR_RETURN(std::string key, ReadString(cursor));
    ROWFS_ASSIGN_OR_RETURN(std::string value, ReadString(cursor));
    entry.attributes.emplace_back(std::move(key), std::move(value));
  }
  ROWFS_RETURN_IF_ERROR(CheckEntry(entry));
  return entry;
}

Result<ViewSegment> ReadSegment(Cursor* cursor) {
  ViewSegment segment;
  ROWFS_ASSIGN_OR_RETURN(const uint8_t is_literal, cursor->U8());
  if (is_literal != 0) {
    ROWFS_ASSIGN_OR_RETURN(const uint64_t size, cursor->Varint());
    ROWFS_ASSIGN_OR_RETURN(const ByteSpan bytes, cursor->Take(size));
    segment.literal = std::make_shared<const Bytes>(bytes.begin(), bytes.end());
    return segment;
  }
  ROWFS_ASSIGN_OR_RETURN(segment.range.begin, cursor->Varint());
  ROWFS_ASSIGN_OR_RETURN(segment.range.end, cursor->Varint());
  return segment;
}

Result<DecodeGroup> ReadGroup(Cursor* cursor) {
  DecodeGroup group;
  ROWFS_ASSIGN_OR_RETURN(const size_t items, ReadCount(cursor, 1));
  for (size_t i = 0; i < items; ++i) {
    ROWFS_ASSIGN_OR_RETURN(const uint64_t item, cursor->Varint());
    group.items.push_back(static_cast<size_t>(item));
  }
  ROWFS_ASSIGN_OR_RETURN(const size_t ranges, ReadCount(cursor, 2));
  for (size_t i = 0; i < ranges; ++i) {
    ByteRange& range = group.ranges.emplace_back();
    ROWFS_ASSIGN_OR_RETURN(range.begin, cursor->Varint());
    ROWFS_ASSIGN_OR_RETURN(range.end, cursor->Varint());
  }
  ROWFS_ASSIGN_OR_RETURN(const uint64_t size, cursor->Varint());
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan recipe, cursor->Take(size));
  AppendBytes(&group.recipe, recipe);
  return group;
}

}  // namespace

bool NeedsIndex(WorkerOp op) {
  return op != WorkerOp::kProbe && op != WorkerOp::kIngest &&
         op != WorkerOp::kForesee;
}

Bytes EncodeRequestHead(const WorkerRequest& request) {
  Bytes out;
  AppendU8(&out, static_cast<uint8_t>(request.op));
  AppendU8(&out, static_cast<uint8_t>((request.has_index ? 1 : 0) |
                                      (request.has_entries ? 2 : 0)));
  AppendU64(&out, request.key);
  AppendU64(&out, request.blob_size);
  AppendString(&out, request.config);
  AppendVarint(&out, request.numbers.size());
  for (const uint64_t number : request.numbers) AppendVarint(&out, number);
  AppendVarint(&out, request.texts.size());
  for (const std::string& text : request.texts) AppendString(&out, text);
  AppendVarint(&out, request.parts.size());
  for (const ByteSpan part : request.parts) AppendVarint(&out, part.size());
  return out;
}

Result<std::vector<uint64_t>> PartOffsets(uint64_t head_size,
                                          std::span<const uint64_t> sizes) {
  std::vector<uint64_t> offsets;
  offsets.reserve(sizes.size() + 1);
  uint64_t at = head_size;
  for (const uint64_t size : sizes) {
    at = (at + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
    offsets.push_back(at);
    if (at > kInputRegionBytes || size > kInputRegionBytes - at) {
      return Status(Code::kResourceExhausted,
                    "one call needs more than " +
                        std::to_string(kInputRegionBytes >> 20) +
                        " MiB of input");
    }
    at += size;
  }
  offsets.push_back(at);
  return offsets;
}

Result<WorkerRequest> DecodeRequest(ByteSpan region, uint64_t head_size) {
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan head,
                         Slice(region, 0, head_size, kWhat));
  Cursor cursor(head, kWhat);
  WorkerRequest request;
  ROWFS_ASSIGN_OR_RETURN(const uint8_t op, cursor.U8());
  if (op < static_cast<uint8_t>(WorkerOp::kProbe) ||
      op > static_cast<uint8_t>(WorkerOp::kDecodeFrom)) {
    return cursor.Error("no such call");
  }
  request.op = static_cast<WorkerOp>(op);
  ROWFS_ASSIGN_OR_RETURN(const uint8_t flags, cursor.U8());
  request.has_index = (flags & 1) != 0;
  request.has_entries = (flags & 2) != 0;
  ROWFS_ASSIGN_OR_RETURN(request.key, cursor.U64());
  ROWFS_ASSIGN_OR_RETURN(request.blob_size, cursor.U64());
  ROWFS_ASSIGN_OR_RETURN(request.config, ReadString(&cursor));
  ROWFS_ASSIGN_OR_RETURN(const size_t numbers, ReadCount(&cursor, 1));
  request.numbers.resize(numbers);
  for (uint64_t& number : request.numbers) {
    ROWFS_ASSIGN_OR_RETURN(number, cursor.Varint());
  }
  ROWFS_ASSIGN_OR_RETURN(const size_t texts, ReadCount(&cursor, 1));
  request.texts.resize(texts);
  for (std::string& text : request.texts) {
    ROWFS_ASSIGN_OR_RETURN(text, ReadString(&cursor));
  }
  ROWFS_ASSIGN_OR_RETURN(const size_t parts, ReadCount(&cursor, 1));
  std::vector<uint64_t> sizes(parts);
  for (uint64_t& size : sizes) {
    ROWFS_ASSIGN_OR_RETURN(size, cursor.Varint());
  }
  ROWFS_RETURN_IF_ERROR(ExpectEnd(cursor));
  ROWFS_ASSIGN_OR_RETURN(const auto offsets, PartOffsets(head_size, sizes));
  for (size_t i = 0; i < parts; ++i) {
    ROWFS_ASSIGN_OR_RETURN(const ByteSpan part,
                           Slice(region, offsets[i], sizes[i], kWhat));
    request.parts.push_back(part);
  }
  return request;
}

Bytes EncodeParentMessage(const ParentMessage& message) {
  Bytes out;
  AppendU8(&out, static_cast<uint8_t>(message.kind));
  AppendU8(&out, message.failed ? 1 : 0);
  AppendU64(&out, message.head_size);
  AppendU64(&out, message.size);
  return out;
}

Result<ParentMessage> DecodeParentMessage(ByteSpan frame) {
  Cursor cursor(frame, kWhat);
  ParentMessage message;
  ROWFS_ASSIGN_OR_RETURN(const uint8_t kind, cursor.U8());
  if (kind < static_cast<uint8_t>(ParentFrame::kRequest) ||
      kind > static_cast<uint8_t>(ParentFrame::kContinue)) {
    return cursor.Error("no such frame");
  }
  message.kind = static_cast<ParentFrame>(kind);
  ROWFS_ASSIGN_OR_RETURN(const uint8_t failed, cursor.U8());
  message.failed = failed != 0;
  ROWFS_ASSIGN_OR_RETURN(message.head_size, cursor.U64());
  ROWFS_ASSIGN_OR_RETURN(message.size, cursor.U64());
  if (message.size > kInputRegionBytes || message.head_size > message.size) {
    return cursor.Error("more than the region holds");
  }
  ROWFS_RETURN_IF_ERROR(ExpectEnd(cursor));
  return message;
}

Bytes EncodeWorkerMessage(const WorkerMessage& message) {
  Bytes out;
  AppendU8(&out, static_cast<uint8_t>(message.kind));
  switch (message.kind) {
    case WorkerFrame::kMoved:
      AppendU32(&out, message.pid);
      break;
    case WorkerFrame::kHello:
      AppendString(&out, message.name);
      AppendString(&out, message.version);
      AppendString(&out, message.magic);
      AppendStatus(&out, message.status);
      break;
    case WorkerFrame::kReady:
      AppendString(&out, message.name);
      AppendStatus(&out, message.status);
      break;
    case WorkerFrame::kUnknownKey:
      break;
    case WorkerFrame::kReadInput:
      AppendU64(&out, message.offset);
      AppendU64(&out, message.size);
      break;
    case WorkerFrame::kChunks:
      AppendU8(&out, message.last ? 1 : 0);
      AppendStatus(&out, message.status);
      AppendVarint(&out, message.chunks.size());
      for (const OutputChunk& chunk : message.chunks) {
        AppendU32(&out, chunk.item);
        AppendU8(&out, static_cast<uint8_t>(chunk.code));
        AppendU32(&out, chunk.size);
      }
      break;
  }
  return out;
}

Result<WorkerMessage> DecodeWorkerMessage(ByteSpan frame) {
  Cursor cursor(frame, kWhat);
  WorkerMessage message;
  ROWFS_ASSIGN_OR_RETURN(const uint8_t kind, cursor.U8());
  if (kind < static_cast<uint8_t>(WorkerFrame::kMoved) ||
      kind > static_cast<uint8_t>(WorkerFrame::kChunks)) {
    return cursor.Error("no such frame");
  }
  message.kind = static_cast<WorkerFrame>(kind);
  ROWFS_RETURN_IF_ERROR(ReadWorkerFields(&cursor, &message));
  ROWFS_RETURN_IF_ERROR(ExpectEnd(cursor));
  return message;
}

Bytes EncodeEntries(std::span<const ViewEntry> entries) {
  Bytes out;
  AppendVarint(&out, entries.size());
  for (const ViewEntry& entry : entries) AppendEntry(&out, entry);
  return out;
}

Result<std::vector<ViewEntry>> DecodeEntries(ByteSpan body, uint64_t limit) {
  Cursor cursor(body, kWhat);
  ROWFS_ASSIGN_OR_RETURN(const size_t count, ReadCount(&cursor, 6));
  if (count > limit) return cursor.Error("more entries than asked for");
  std::vector<ViewEntry> entries;
  // Entries take far more memory than bytes of the message, so their number is
  // not believed beforehand.
  uint64_t bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    ROWFS_ASSIGN_OR_RETURN(ViewEntry entry, ReadEntry(&cursor));
    bytes += EntryBytes(entry);
    if (bytes > kIndexBytesMax) return cursor.Error("listing is too large");
    entries.push_back(std::move(entry));
  }
  ROWFS_RETURN_IF_ERROR(ExpectEnd(cursor));
  return entries;
}

Bytes EncodePlan(const ViewPlan& plan) {
  Bytes out;
  AppendVarint(&out, plan.segments.size());
  for (const auto& segments : plan.segments) {
    AppendVarint(&out, segments.size());
    for (const ViewSegment& segment : segments) {
      AppendU8(&out, segment.literal ? 1 : 0);
      if (segment.literal) {
        AppendString(&out, AsText(*segment.literal));
      } else {
        AppendVarint(&out, segment.range.begin);
        AppendVarint(&out, segment.range.end);
      }
    }
  }
  AppendVarint(&out, plan.groups.size());
  for (const DecodeGroup& group : plan.groups) {
    AppendVarint(&out, group.items.size());
    for (const size_t item : group.items) AppendVarint(&out, item);
    AppendVarint(&out, group.ranges.size());
    for (const ByteRange& range : group.ranges) {
      AppendVarint(&out, range.begin);
      AppendVarint(&out, range.end);
    }
    AppendString(&out, AsText(group.recipe));
  }
  return out;
}

Result<ViewPlan> DecodePlan(ByteSpan body, size_t path_count,
                            uint64_t blob_size) {
  Cursor cursor(body, kWhat);
  ViewPlan plan;
  ROWFS_ASSIGN_OR_RETURN(const size_t items, ReadCount(&cursor, 1));
  if (items != path_count) return cursor.Error("another number of items");
  plan.segments.resize(items);
  uint64_t segment_count = 0;
  for (auto& segments : plan.segments) {
    ROWFS_ASSIGN_OR_RETURN(const size_t count, ReadCount(&cursor, 2));
    segment_count += count;
    if (segment_count > kSegmentsMax) return cursor.Error("too many segments");
    segments.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      ROWFS_ASSIGN_OR_RETURN(ViewSegment segment, ReadSegment(&cursor));
      segments.push_back(std::move(segment));
    }
  }
  ROWFS_ASSIGN_OR_RETURN(const size_t groups, ReadCount(&cursor, 3));
  if (groups > path_count) return cursor.Error("more decodes than items");
  uint64_t range_count = 0;
  for (size_t i = 0; i < groups; ++i) {
    ROWFS_ASSIGN_OR_RETURN(DecodeGroup group, ReadGroup(&cursor));
    range_count += group.ranges.size();
    if (range_count > kRangesMax) return cursor.Error("too many ranges");
    plan.groups.push_back(std::move(group));
  }
  ROWFS_RETURN_IF_ERROR(ExpectEnd(cursor));
  ROWFS_RETURN_IF_ERROR(CheckPlan(plan, path_count, blob_size));
  return plan;
}

}  // namespace rowfs
