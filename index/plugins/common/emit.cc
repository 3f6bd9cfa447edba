#include "index/plugins/common/emit.h"

#include <algorithm>
#include <cstring>

namespace rowfs::plugin {

Status Emit(const Entry& entry, const rowfs_entry_sink& out) {
  std::vector<rowfs_attribute> attributes;
  for (const auto& [key, value] : entry.attributes) {
    attributes.push_back({ToStr(key), ToStr(value)});
  }
  rowfs_entry e = {};
  e.struct_size = sizeof(e);
  e.kind = entry.directory ? ROWFS_ENTRY_DIRECTORY : ROWFS_ENTRY_FILE;
  e.flags = entry.flags;
  e.size = entry.size;
  e.name = ToStr(entry.name);
  e.media_type = ToStr(entry.media_type);
  e.attributes = attributes.data();
  e.attribute_count = attributes.size();
  e.canonical_path = ToStr(entry.canonical_path);
  const int32_t code = out.put(out.ctx, &e);
  return code == ROWFS_OK ? Status() : Status(code, "the host stopped");
}

int32_t Report(const Status& status, rowfs_error* error) {
  if (!status.ok() && error != nullptr) {
    const std::string& text = status.message();
    const size_t size = std::min(text.size(), sizeof(error->message) - 1);
    std::memcpy(error->message, text.data(), size);
    error->message[size] = '\0';
  }
  return status.code();
}

std::string Padded(uint64_t number, size_t digits) {
  std::string text = std::to_string(number);
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
  return text;
}

}  // namespace rowfs::plugin
