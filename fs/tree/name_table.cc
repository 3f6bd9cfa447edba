#include "fs/tree/name_table.h"

#include <cassert>

#include "storage/base/hash.h"

namespace rowfs {

std::string_view NameTable::at(uint64_t number) const {
  assert(number < size());
  return std::string_view(text_).substr(begins_[number],
                                        begins_[number + 1] - begins_[number]);
}

size_t NameTable::SlotOf(std::string_view name) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = Hash64(AsBytes(name)) & mask;
  while (slots_[slot] != 0 && at(slots_[slot] - 1) != name) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

void NameTable::Grow() {
  slots_.assign(slots_.empty() ? 64 : slots_.size() * 2, 0);
  for (uint64_t i = 0; i < size(); ++i) slots_[SlotOf(at(i))] = i + 1;
}

std::pair<uint64_t, bool> NameTable::Add(std::string_view name) {
  if ((size() + 1) * 2 > slots_.size()) Grow();
  const size_t slot = SlotOf(name);
  if (slots_[slot] != 0) return {slots_[slot] - 1, false};
  text_ += name;
  begins_.push_back(text_.size());
  slots_[slot] = size();
  return {size() - 1, true};
}

std::optional<uint64_t> NameTable::Find(std::string_view name) const {
  if (slots_.empty()) return {};
  const uint64_t found = slots_[SlotOf(name)];
  if (found == 0) return {};
  return found - 1;
}

}  // namespace rowfs
