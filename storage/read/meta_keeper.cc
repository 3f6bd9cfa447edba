#include "storage/read/meta_keeper.h"

namespace rowfs {
namespace {

constexpr uint64_t kValueBytesMax = 64 << 20;

// Keys of facts and keys of blocks share one disk cache.
std::string DiskKey(const std::string& key) { return "fact " + key; }

void AppendString(Bytes* out, const std::string& text) {
  AppendVarint(out, text.size());
  AppendText(out, text);
}

Result<std::string> TakeString(Cursor& cursor) {
  ROWFS_ASSIGN_OR_RETURN(const uint64_t size, cursor.Varint());
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan bytes, cursor.Take(size));
  return std::string(AsText(bytes));
}

void AppendMeta(Bytes* out, const ObjectMeta& meta) {
  AppendU64(out, meta.size);
  AppendZigzag(out, meta.mtime_ns);
  AppendString(out, meta.etag);
}

Result<ObjectMeta> TakeMeta(Cursor& cursor) {
  ObjectMeta meta;
  ROWFS_ASSIGN_OR_RETURN(meta.size, cursor.U64());
  ROWFS_ASSIGN_OR_RETURN(meta.mtime_ns, cursor.Zigzag());
  ROWFS_ASSIGN_OR_RETURN(meta.etag, TakeString(cursor));
  return meta;
}

Result<std::vector<ListEntry>> TakeListing(Cursor& cursor) {
  std::vector<ListEntry> entries;
  while (!cursor.AtEnd()) {
    ListEntry& entry = entries.emplace_back();
    ROWFS_ASSIGN_OR_RETURN(const uint8_t kind, cursor.U8());
    entry.is_directory = kind == 1;
    ROWFS_ASSIGN_OR_RETURN(entry.name, TakeString(cursor));
    ROWFS_ASSIGN_OR_RETURN(entry.meta, TakeMeta(cursor));
  }
  return entries;
}

}  // namespace

void MetaKeeper::Put(const std::string& key, ByteSpan value) {
  if (value.size() > kValueBytesMax) return;
  const auto known = Get(key);
  if (known && AsText(*known) == AsText(value)) return;
  Bytes record;
  AppendU64(&record, value.size());
  AppendBytes(&record, value);
  disk_.Put(DiskKey(key), 0, record);
}

std::optional<Bytes> MetaKeeper::Get(const std::string& key) {
  constexpr uint64_t kSizeBytes = 8;
  Bytes head(kSizeBytes);
  if (!disk_.Read(DiskKey(key), {0, kSizeBytes}, head).empty()) return {};
  const uint64_t size = LoadU64(head);
  if (size > kValueBytesMax) return {};
  Bytes value(size);
  if (size == 0) return value;
  const ByteRange rest =
      disk_.Read(DiskKey(key), {kSizeBytes, kSizeBytes + size}, value);
  if (!rest.empty()) return {};
  return value;
}

void MetaKeeper::PutMeta(const std::string& key, const ObjectMeta& meta) {
  Bytes value;
  AppendMeta(&value, meta);
  Put(key, value);
}

std::optional<ObjectMeta> MetaKeeper::GetMeta(const std::string& key) {
  const auto value = Get(key);
  if (!value) return {};
  Cursor cursor(*value, "kept size and etag");
  const auto meta = TakeMeta(cursor);
  if (!meta.ok() || !cursor.AtEnd()) return {};
  return meta.value();
}

void MetaKeeper::PutListing(const std::string& key,
                            const std::vector<ListEntry>& entries) {
  Bytes value;
  for (const ListEntry& entry : entries) {
    AppendU8(&value, entry.is_directory ? 1 : 0);
    AppendString(&value, entry.name);
    AppendMeta(&value, entry.meta);
  }
  Put(key, value);
}

std::optional<std::vector<ListEntry>> MetaKeeper::GetListing(
    const std::string& key) {
  const auto value = Get(key);
  if (!value) return {};
  Cursor cursor(*value, "kept listing");
  auto entries = TakeListing(cursor);
  if (!entries.ok()) return {};
  return std::move(entries).value();
}

}  // namespace rowfs
