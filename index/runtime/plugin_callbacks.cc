#include "index/runtime/plugin_callbacks.h"

#include <algorithm>
#include <exception>
#include <new>

#include "index/runtime/plugin_checks.h"

namespace rowfs {
namespace {

// The fields of the structs in version 1: what any plugin fills in.
constexpr uint32_t kEntrySizeMin =
    offsetof(rowfs_entry, canonical_path) + sizeof(rowfs_entry::canonical_path);

Status Wrong(const char* what) { return Status(Code::kInternal, what); }

// A view of `text`; an error when it claims bytes at NULL or is too long.
Result<std::string_view> TextOf(rowfs_str text) {
  if (text.size > kEntryTextBytesMax) return Wrong("plugin gave a long text");
  if (text.size == 0) return std::string_view();
  if (text.data == nullptr) return Wrong("plugin gave a text at NULL");
  return std::string_view(text.data, text.size);
}

Status CopyAttributes(const rowfs_entry& entry, ViewEntry* out) {
  if (entry.attribute_count > kEntryAttributesMax) {
    return Wrong("plugin gave too many attributes");
  }
  if (entry.attribute_count != 0 && entry.attributes == nullptr) {
    return Wrong("plugin gave attributes at NULL");
  }
  for (size_t i = 0; i < entry.attribute_count; ++i) {
    ROWFS_ASSIGN_OR_RETURN(const auto key, TextOf(entry.attributes[i].key));
    ROWFS_ASSIGN_OR_RETURN(const auto value, TextOf(entry.attributes[i].value));
    out->attributes.emplace_back(key, value);
  }
  return Status();
}

Result<ViewEntry> EntryOf(const rowfs_entry* entry) {
  if (entry == nullptr) return Wrong("plugin gave an entry at NULL");
  if (entry->struct_size < kEntrySizeMin) {
    return Wrong("plugin gave an entry of an unknown size");
  }
  if (entry->kind != ROWFS_ENTRY_FILE && entry->kind != ROWFS_ENTRY_DIRECTORY) {
    return Wrong("plugin gave an entry of an unknown kind");
  }
  ViewEntry out;
  ROWFS_ASSIGN_OR_RETURN(out.name, TextOf(entry->name));
  out.is_directory = entry->kind == ROWFS_ENTRY_DIRECTORY;
  out.lookup_only = (entry->flags & ROWFS_ENTRY_LOOKUP_ONLY) != 0;
  out.is_whole = (entry->flags & ROWFS_ENTRY_WHOLE) != 0;
  out.size_exact = (entry->flags & ROWFS_ENTRY_SIZE_EXACT) != 0;
  out.size = out.is_directory ? 0 : entry->size;
  ROWFS_ASSIGN_OR_RETURN(out.media_type, TextOf(entry->media_type));
  ROWFS_ASSIGN_OR_RETURN(out.canonical_path, TextOf(entry->canonical_path));
  ROWFS_RETURN_IF_ERROR(CopyAttributes(*entry, &out));
  ROWFS_RETURN_IF_ERROR(CheckEntry(out));
  return out;
}

}  // namespace

OutputCollector::OutputCollector(size_t count)
    : outputs_(count, Wrong("plugin made no output for this item")),
      failed_(count, false) {}

Status OutputCollector::Write(size_t item, ByteSpan bytes) {
  if (item >= outputs_.size() || failed_[item]) {
    return Wrong("output was not asked for");
  }
  if (bytes.size() > kOutputBytesMax - bytes_) {
    return Status(Code::kResourceExhausted, "output is too large");
  }
  bytes_ += bytes.size();
  if (!outputs_[item].ok()) outputs_[item] = Bytes();
  AppendBytes(&outputs_[item].value(), bytes);
  return Status();
}

Status OutputCollector::Fail(size_t item, const Status& error) {
  if (item >= outputs_.size()) return Wrong("output was not asked for");
  failed_[item] = true;
  outputs_[item] = error;
  return Status();
}

bool OutputCollector::Restart() {
  *this = OutputCollector(outputs_.size());
  return true;
}

int32_t WithoutExceptions(Status* error, const std::function<Status()>& body) {
  try {
    if (error->ok()) *error = body();
  } catch (const std::bad_alloc&) {
    *error = Status(Code::kResourceExhausted, "out of memory");
  } catch (const std::exception& e) {
    *error = Status(Code::kInternal, std::string("exception: ") + e.what());
  } catch (...) {
    *error = Status(Code::kInternal, "exception of an unknown type");
  }
  if (error->ok()) return ROWFS_OK;
  return error->code() == Code::kResourceExhausted ? ROWFS_E_LIMIT : ROWFS_E_IO;
}

int32_t EntryCollector::Put(void* ctx, const rowfs_entry* entry) {
  auto& self = *static_cast<EntryCollector*>(ctx);
  return WithoutExceptions(&self.error_, [&] { return self.Add(entry); });
}

Status EntryCollector::Add(const rowfs_entry* entry) {
  if (entries_.size() >= limit_) {
    return Wrong("plugin gave more entries than were asked for");
  }
  ROWFS_ASSIGN_OR_RETURN(ViewEntry copy, EntryOf(entry));
  bytes_ += EntryBytes(copy);
  if (bytes_ > kIndexBytesMax) {
    return Status(Code::kResourceExhausted, "listing is too large");
  }
  entries_.push_back(std::move(copy));
  return Status();
}

Status PlanCollector::Answer(size_t item) {
  if (item >= answered_.size()) {
    return Wrong("plugin planned an item that was not asked for");
  }
  if (answered_[item]) return Wrong("plugin planned an item twice");
  answered_[item] = true;
  return Status();
}

int32_t PlanCollector::Segments(void* ctx, size_t item,
                                const rowfs_segment* segments,
                                size_t segment_count) {
  auto& self = *static_cast<PlanCollector*>(ctx);
  return WithoutExceptions(&self.error_, [&] {
    if (segment_count > kSegmentsMax - self.segment_count_) {
      return Wrong("plan is too large");
    }
    self.segment_count_ += segment_count;
    if (segment_count != 0 && segments == nullptr) {
      return Wrong("plugin gave segments at NULL");
    }
    return self.AddSegments(item, {segments, segment_count});
  });
}

Status PlanCollector::AddSegments(size_t item,
                                  std::span<const rowfs_segment> segments) {
  ROWFS_RETURN_IF_ERROR(Answer(item));
  std::vector<ViewSegment>& out = plan_.segments[item];
  out.reserve(std::max<size_t>(segments.size(), 1));
  for (const rowfs_segment& segment : segments) {
    ViewSegment& copy = out.emplace_back();
    if (segment.literal.data == nullptr) {
      copy.range = {segment.range.begin, segment.range.end};
      continue;
    }
    // Not kept as a sum alone: the size may be hostile, the bytes are not
    // there.
    if (segment.literal.size > kIndexBytesMax - literal_bytes_) {
      return Status(Code::kResourceExhausted,
                    "plan has too many literal bytes");
    }
    literal_bytes_ += segment.literal.size;
    const ByteSpan bytes = FromU8(segment.literal.data, segment.literal.size);
    copy.literal = std::make_shared<const Bytes>(bytes.begin(), bytes.end());
  }
  // An empty file: no segments would read as "in a group".
  if (out.empty()) out.emplace_back().literal = std::make_shared<const Bytes>();
  return Status();
}

int32_t PlanCollector::Decode(void* ctx, const size_t* items, size_t item_count,
                              const rowfs_range* ranges, size_t range_count,
                              rowfs_bytes recipe) {
  auto& self = *static_cast<PlanCollector*>(ctx);
  return WithoutExceptions(&self.error_, [&]() -> Status {
    if (item_count == 0 || items == nullptr) {
      return Wrong("plugin planned a decode without items");
    }
    if (item_count > self.answered_.size() ||
        range_count > kRangesMax - self.range_count_ ||
        recipe.size > kRecipeBytesMax) {
      return Wrong("plan is too large");
    }
    if ((range_count != 0 && ranges == nullptr) ||
        (recipe.size != 0 && recipe.data == nullptr)) {
      return Wrong("plugin gave a plan at NULL");
    }
    self.range_count_ += range_count;
    DecodeGroup& group = self.plan_.groups.emplace_back();
    for (size_t i = 0; i < item_count; ++i) {
      ROWFS_RETURN_IF_ERROR(self.Answer(items[i]));
      group.items.push_back(items[i]);
    }
    for (size_t i = 0; i < range_count; ++i) {
      group.ranges.push_back({ranges[i].begin, ranges[i].end});
    }
    AppendBytes(&group.recipe, FromU8(recipe.data, recipe.size));
    return Status();
  });
}

int32_t OutputForwarder::Write(void* ctx, size_t item, const uint8_t* data,
                               size_t size) {
  auto& self = *static_cast<OutputForwarder*>(ctx);
  return WithoutExceptions(&self.error_, [&]() -> Status {
    if (item >= self.item_count_) {
      return Wrong("plugin wrote an output that was not asked for");
    }
    if (size != 0 && data == nullptr) {
      return Wrong("plugin gave an output at NULL");
    }
    if (size > kOutputBytesMax - self.bytes_) {
      return Status(Code::kResourceExhausted, "output is too large");
    }
    self.bytes_ += size;
    return self.out_.Write(item, FromU8(data, size));
  });
}

int32_t OutputForwarder::Fail(void* ctx, size_t item, int32_t code,
                              rowfs_str message) {
  auto& self = *static_cast<OutputForwarder*>(ctx);
  return WithoutExceptions(&self.error_, [&]() -> Status {
    if (item >= self.item_count_) {
      return Wrong("plugin failed an output that was not asked for");
    }
    ROWFS_ASSIGN_OR_RETURN(const auto text, TextOf(message));
    return self.out_.Fail(
        item,
        StatusFromPlugin(code == ROWFS_OK ? ROWFS_E_INTERNAL : code, text));
  });
}

int32_t ReaderSource::ReadAt(void* ctx, uint64_t offset, uint8_t* out,
                             size_t size) {
  auto& self = *static_cast<ReaderSource*>(ctx);
  // Not remembered: demuxers probe past the end of a cut file and go on.
  if (offset > self.input_.size || size > self.input_.size - offset) {
    return ROWFS_E_IO;
  }
  return WithoutExceptions(&self.error_, [&]() -> Status {
    if (size == 0) return Status();
    if (out == nullptr) return Wrong("plugin read to NULL");
    return self.input_.read_at(offset,
                               std::as_writable_bytes(std::span(out, size)));
  });
}

int32_t ByteForwarder::Write(void* ctx, const uint8_t* data, size_t size) {
  auto& self = *static_cast<ByteForwarder*>(ctx);
  return WithoutExceptions(&self.error_, [&]() -> Status {
    if (size == 0) return Status();
    if (data == nullptr) return Wrong("plugin wrote from NULL");
    return self.write_(FromU8(data, size));
  });
}

}  // namespace rowfs
