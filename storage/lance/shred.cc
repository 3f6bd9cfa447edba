#include "storage/lance/shred.h"

#include <algorithm>
#include <utility>

#include "storage/lance/stored_form.h"

namespace rowfs {
namespace {

// Fixed-size lists of structs are flattened before everything else.
Status CheckFixedList(const LanceField& field, const LeafColumn& above) {
  if (field.field.type->width == 0) {
    return {Code::kUnsupported, above.name + ": fixed-size lists of 0 items"};
  }
  if (field.children[0].kind == LanceFieldKind::kBlobV2) {
    return {Code::kUnsupported,
            above.name + ": fixed-size lists of blobs cannot be stored"};
  }
  const bool in_list = std::any_of(
      above.steps.begin(), above.steps.end(),
      [](const ShredStep& step) { return step.kind == LayerKind::kList; });
  if (!in_list) return {};
  return {Code::kUnsupported,
          above.name +
              ": fixed-size lists of structs inside lists cannot be stored"};
}

Status FindLayout(const LanceField& field, LeafColumn* leaf) {
  TypePtr type = field.field.type;
  if (field.logical_type == "json") type = MakeType(TypeId::kLargeBinary);
  // A struct without members is stored as a column of nulls; what readers make
  // of one inside of something differs.
  if (type->id == TypeId::kStruct && type->children.empty()) {
    if (!leaf->steps.empty()) {
      return {Code::kUnsupported,
              leaf->name +
                  ": structs without fields are stored as columns "
                  "only, not inside others"};
    }
    type = MakeType(TypeId::kNull);
  }
  if (field.kind == LanceFieldKind::kPackedStruct && !field.children.empty()) {
    auto form = FindPackedForm(field);
    if (!form.ok()) return form.status().With(leaf->name);
    leaf->packed = std::move(form.value().encoding);
    if (form.value().row_bytes > 0) {
      leaf->layout.width = static_cast<uint32_t>(form.value().row_bytes);
    } else {
      leaf->layout.shape = LeafShape::kVariable;
      leaf->layout.offset_bits = 32;
    }
    return {};
  }
  auto layout = MakeLeafLayout(*type);
  if (!layout.ok()) return layout.status().With(leaf->name);
  leaf->layout = std::move(layout).value();
  return {};
}

Status FindBelow(const LanceField& field, LeafColumn above,
                 std::vector<LeafColumn>* out) {
  if (!above.name.empty()) above.name += '.';
  above.name += field.field.name;
  const DataType& type = *field.field.type;
  const bool has_children =
      field.kind == LanceFieldKind::kPlain && !field.children.empty();
  const bool fixed_list = has_children && type.id == TypeId::kFixedSizeList;
  if (fixed_list) {
    ROWFS_RETURN_IF_ERROR(CheckFixedList(field, above));
    above.entries_per_row *= type.width;
  }
  if (!has_children) {
    ROWFS_RETURN_IF_ERROR(FindLayout(field, &above));
    above.field_id = field.id;
    above.metadata = field.field.metadata;
    above.layers.push_back(LayerKind::kItem);
    for (size_t i = above.steps.size(); i > 0; --i) {
      above.layers.push_back(above.steps[i - 1].kind);
      if (above.steps[i - 1].kind == LayerKind::kList) ++above.lists;
    }
    out->push_back(std::move(above));
    return {};
  }
  const bool list = type.id != TypeId::kStruct && !fixed_list;
  for (size_t i = 0; i < field.children.size(); ++i) {
    LeafColumn below = above;
    below.steps.push_back({list ? LayerKind::kList : LayerKind::kItem, i});
    ROWFS_RETURN_IF_ERROR(FindBelow(field.children[i], std::move(below), out));
  }
  return {};
}

// One level entry on its way down: where it is in the array of the current
// layer, or the definition level that ended it.
struct Entry {
  uint64_t source = 0;
  uint16_t rep = 0;
  uint16_t def = 0;
};

uint64_t IndexAt(const Array& array, uint64_t i) {
  const uint32_t width = FixedWidth(*array.type->children[0].type).value_or(1);
  return LoadUint(ByteSpan(*array.data).subspan(i * width), width);
}

// Types without values: every slot is a null.
bool IsEmptyType(const Array& array) {
  return array.type->id == TypeId::kNull ||
         (array.type->id == TypeId::kStruct && array.children.empty());
}

bool LeafIsNull(const Array& array, uint64_t i) {
  if (IsEmptyType(array) || array.IsNull(i)) return true;
  return array.dictionary != nullptr && array.dictionary->null_count > 0 &&
         array.dictionary->IsNull(IndexAt(array, i));
}

bool LeafHasNulls(const Array& array) {
  return IsEmptyType(array) || array.null_count > 0 ||
         (array.dictionary != nullptr && array.dictionary->null_count > 0);
}

// Values of one leaf array, appended to a page.
class ValueAppender {
 public:
  ValueAppender(const Array& array, const LeafLayout& layout, LeafPage* page)
      : array_(array), layout_(layout), page_(page) {
    page_->item_validity.resize(layout.dimensions.size());
  }

  // Values [begin, begin + count), all valid.
  void Append(uint64_t begin, uint64_t count) {
    if (count == 0) return;
    if (array_.dictionary != nullptr) {
      for (uint64_t i = begin; i < begin + count; ++i) {
        AppendDictionary(IndexAt(array_, i));
      }
    } else if (layout_.shape == LeafShape::kVariable) {
      AppendVariable(array_, begin, count);
    } else if (layout_.shape != LeafShape::kNull) {
      AppendElements(begin, count);
    }
    page_->slots += count;
  }

  // Slots without a value: zeros, nothing.
  void AppendEmpty(uint64_t count) {
    uint64_t elements = 1;
    for (size_t i = 0; i < layout_.dimensions.size(); ++i) {
      elements *= layout_.dimensions[i];
      BitBuffer& valid = page_->item_validity[i];
      if (valid.size() > 0) valid.AppendRun(false, count * elements);
    }
    switch (layout_.shape) {
      case LeafShape::kNull:
        break;
      case LeafShape::kBits:
        page_->bits.AppendRun(false, count * elements);
        break;
      case LeafShape::kFixed:
        page_->data.resize(page_->data.size() +
                           count * elements * layout_.width);
        break;
      case LeafShape::kVariable:
        page_->ends.resize(page_->ends.size() + count, page_->data.size());
        break;
    }
    page_->slots += count;
  }

 private:
  void AppendDictionary(uint64_t index) {
    const Array& values = *array_.dictionary;
    if (layout_.shape == LeafShape::kVariable) {
      AppendVariable(values, index, 1);
    } else {
      AppendBytes(&page_->data, values.FixedAt(index));
    }
  }

  void AppendVariable(const Array& array, uint64_t begin, uint64_t count) {
    const uint64_t first = array.OffsetAt(begin);
    const uint64_t base = page_->data.size();
    for (uint64_t i = begin + 1; i <= begin + count; ++i) {
      page_->ends.push_back(base + array.OffsetAt(i) - first);
    }
    const uint64_t size = page_->ends.back() - base;
    if (size == 0) return;
    AppendBytes(&page_->data, ByteSpan(*array.data).subspan(first, size));
  }

  // Items of lists that are null themselves do not count.
  static bool HasNulls(const Array& items, uint64_t begin, uint64_t count) {
    for (uint64_t i = begin; items.null_count > 0 && i < begin + count; ++i) {
      if (items.IsNull(i)) return true;
    }
    return false;
  }

  // Through the fixed-size lists down to the elements.
  void AppendElements(uint64_t begin, uint64_t count) {
    const Array* array = &array_;
    uint64_t before = page_->slots;
    for (size_t i = 0; i < layout_.dimensions.size(); ++i) {
      array = &array->children[0];
      begin *= layout_.dimensions[i];
      count *= layout_.dimensions[i];
      before *= layout_.dimensions[i];
      BitBuffer& valid = page_->item_validity[i];
      if (HasNulls(*array, begin, count)) {
        if (valid.size() == 0) valid.AppendRun(true, before);
        valid.AppendFrom(*array->validity, begin, count);
      } else if (valid.size() > 0) {
        valid.AppendRun(true, count);
      }
    }
    if (layout_.shape == LeafShape::kBits) {
      page_->bits.AppendFrom(*array->data, begin, count);
    } else {
      AppendBytes(&page_->data,
                  ByteSpan(*array->data)
                      .subspan(begin * layout_.width, count * layout_.width));
    }
  }

  const Array& array_;
  const LeafLayout& layout_;
  LeafPage* page_;
};

// A column that is its own leaf: no entries needed.
void ShredFlat(const Array& array, const LeafColumn& leaf, LeafPage* page) {
  ValueAppender values(array, leaf.layout, page);
  if (!LeafHasNulls(array)) {
    values.Append(0, array.length);
    page->AppendDef(0, array.length);
    return;
  }
  uint64_t begin = 0;
  while (begin < array.length) {
    const bool null = LeafIsNull(array, begin);
    uint64_t end = begin + 1;
    while (end < array.length && LeafIsNull(array, end) == null) ++end;
    if (null) {
      values.AppendEmpty(end - begin);
    } else {
      values.Append(begin, end - begin);
    }
    page->AppendDef(null ? 1 : 0, end - begin);
    begin = end;
  }
}

void MarkNulls(const Array& array, uint16_t def, std::vector<Entry>* entries) {
  if (array.null_count == 0) return;
  for (Entry& entry : *entries) {
    if (entry.def == 0 && array.IsNull(entry.source)) entry.def = def;
  }
}

// Replace the entries of a list array by those of its items. `rep` is the level
// of the second and later items of a list.
std::vector<Entry> Expand(const Array& array, uint16_t null_def, uint16_t rep,
                          const std::vector<Entry>& entries) {
  std::vector<Entry> items;
  items.reserve(entries.size());
  for (Entry entry : entries) {
    if (entry.def == 0 && array.IsNull(entry.source)) entry.def = null_def;
    if (entry.def != 0) {
      items.push_back(entry);
      continue;
    }
    const uint64_t begin = array.OffsetAt(entry.source);
    const uint64_t end = array.OffsetAt(entry.source + 1);
    if (begin == end) {
      entry.def = static_cast<uint16_t>(null_def + 1);
      items.push_back(entry);
    }
    for (uint64_t i = begin; i < end; ++i) {
      items.push_back({i, i == begin ? entry.rep : rep, 0});
    }
  }
  return items;
}

// Replace the entries of a fixed-size list array by those of its items, each
// of which starts like a row.
std::vector<Entry> Flatten(const Array& array,
                           const std::vector<Entry>& entries) {
  const uint64_t width = array.type->width;
  std::vector<Entry> items;
  items.reserve(entries.size() * width);
  for (const Entry& entry : entries) {
    for (uint64_t i = 0; i < width; ++i) {
      items.push_back({entry.source * width + i, entry.rep, entry.def});
    }
  }
  return items;
}

// The first definition level of each layer, innermost first.
std::vector<uint16_t> FirstLevels(const std::vector<LayerKind>& layers) {
  std::vector<uint16_t> first;
  uint16_t next = 1;
  for (const LayerKind kind : layers) {
    first.push_back(next);
    next = static_cast<uint16_t>(next + (kind == LayerKind::kList ? 2 : 1));
  }
  return first;
}

void AppendEntries(const std::vector<Entry>& entries, ValueAppender* values,
                   LeafPage* page) {
  uint64_t run = 0;  // valid entries with consecutive sources before `i`
  for (size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    if (run > 0 &&
        (entry.def != 0 || entry.source != entries[i - 1].source + 1)) {
      values->Append(entries[i - run].source, run);
      run = 0;
    }
    if (entry.def == 0) {
      ++run;
    } else if (entry.def <= page->max_visible) {
      values->AppendEmpty(1);
    }
    page->AppendDef(entry.def);
  }
  if (run > 0) values->Append(entries[entries.size() - run].source, run);
}

}  // namespace

Result<std::vector<LeafColumn>> FindLeaves(const LanceField& field) {
  std::vector<LeafColumn> leaves;
  ROWFS_RETURN_IF_ERROR(FindBelow(field, {}, &leaves));
  return leaves;
}

void Shred(const Array& column, const LeafColumn& leaf, LeafPage* page) {
  page->rows += column.length * leaf.entries_per_row;
  page->max_visible = MaxVisibleLevel(leaf.layers);
  if (leaf.steps.empty()) {
    ShredFlat(column, leaf, page);
    return;
  }
  const std::vector<uint16_t> first = FirstLevels(leaf.layers);
  std::vector<Entry> entries(column.length);
  for (uint64_t i = 0; i < column.length; ++i) {
    entries[i] = {i, leaf.lists, 0};
  }
  const Array* array = &column;
  uint16_t lists = leaf.lists;  // list layers from here on inwards
  for (size_t i = 0; i < leaf.steps.size(); ++i) {
    const uint16_t def = first[leaf.steps.size() - i];
    if (leaf.steps[i].kind == LayerKind::kList) {
      --lists;
      entries = Expand(*array, def, lists, entries);
    } else {
      MarkNulls(*array, def, &entries);
      if (array->type->id == TypeId::kFixedSizeList) {
        entries = Flatten(*array, entries);
      }
    }
    array = &array->children[leaf.steps[i].child];
  }
  if (LeafHasNulls(*array)) {
    for (Entry& entry : entries) {
      if (entry.def == 0 && LeafIsNull(*array, entry.source)) entry.def = 1;
    }
  }
  if (leaf.lists > 0) {
    for (const Entry& entry : entries) page->rep.push_back(entry.rep);
  }
  ValueAppender values(*array, leaf.layout, page);
  AppendEntries(entries, &values, page);
}

}  // namespace rowfs
