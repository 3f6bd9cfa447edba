#include "storage/lance/flatbuffer.h"

namespace rowfs {
namespace {

constexpr std::string_view kWhat = "flatbuffer";

Result<uint64_t> Load(ByteSpan buffer, uint64_t position, size_t width) {
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan bytes,
                         Slice(buffer, position, width, kWhat));
  return LoadUint(bytes, width);
}

}  // namespace

Result<FlatTable> FlatTable::At(ByteSpan buffer, uint64_t position) {
  ROWFS_RETURN_IF_ERROR(Load(buffer, position, 4).status());
  return FlatTable(buffer, position);
}

Result<FlatTable> FlatTable::Root(ByteSpan buffer) {
  ROWFS_ASSIGN_OR_RETURN(const uint64_t position, Load(buffer, 0, 4));
  return At(buffer, position);
}

Result<std::optional<uint64_t>> FlatTable::Find(size_t index) const {
  // A table starts with the signed distance back to its vtable: u16 size of
  // the vtable, u16 size of the table, u16 offset of each field.
  ROWFS_ASSIGN_OR_RETURN(const uint64_t back, Load(buffer_, position_, 4));
  const auto distance = static_cast<int32_t>(static_cast<uint32_t>(back));
  const int64_t vtable = static_cast<int64_t>(position_) - distance;
  if (vtable < 0) return Status(Code::kCorruption, "flatbuffer: vtable");
  const auto start = static_cast<uint64_t>(vtable);
  ROWFS_ASSIGN_OR_RETURN(const uint64_t size, Load(buffer_, start, 2));
  const uint64_t entry = 4 + index * 2;
  if (entry + 2 > size) return std::optional<uint64_t>();
  ROWFS_ASSIGN_OR_RETURN(const uint64_t offset,
                         Load(buffer_, start + entry, 2));
  if (offset == 0) return std::optional<uint64_t>();
  return std::optional<uint64_t>(position_ + offset);
}

Result<uint64_t> FlatTable::Follow(uint64_t position) const {
  ROWFS_ASSIGN_OR_RETURN(const uint64_t distance, Load(buffer_, position, 4));
  return position + distance;
}

Result<uint64_t> FlatTable::Integer(size_t index, size_t width,
                                    uint64_t missing) const {
  ROWFS_ASSIGN_OR_RETURN(const auto position, Find(index));
  if (!position) return missing;
  return Load(buffer_, *position, width);
}

Result<std::optional<FlatTable>> FlatTable::Table(size_t index) const {
  ROWFS_ASSIGN_OR_RETURN(const auto position, Find(index));
  if (!position) return std::optional<FlatTable>();
  ROWFS_ASSIGN_OR_RETURN(const uint64_t target, Follow(*position));
  ROWFS_ASSIGN_OR_RETURN(const FlatTable table, At(buffer_, target));
  return std::optional<FlatTable>(table);
}

Result<FlatTable::Vector> FlatTable::Elements(size_t index,
                                              uint64_t element_bytes) const {
  Vector out;
  ROWFS_ASSIGN_OR_RETURN(const auto position, Find(index));
  if (!position) return out;
  ROWFS_ASSIGN_OR_RETURN(const uint64_t start, Follow(*position));
  ROWFS_ASSIGN_OR_RETURN(out.count, Load(buffer_, start, 4));
  out.offset = start + 4;
  ROWFS_ASSIGN_OR_RETURN(
      out.bytes, Slice(buffer_, out.offset, out.count * element_bytes, kWhat));
  return out;
}

Result<FlatTable> FlatTable::TableAt(const Vector& vector, uint64_t i) const {
  ROWFS_ASSIGN_OR_RETURN(const uint64_t target, Follow(vector.offset + i * 4));
  return At(buffer_, target);
}

}  // namespace rowfs
