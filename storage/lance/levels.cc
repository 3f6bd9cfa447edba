#include "storage/lance/levels.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "storage/lance/value_block.h"

namespace rowfs {
namespace {

SharedBytes Share(Bytes bytes) {
  return std::make_shared<const Bytes>(std::move(bytes));
}

bool IsList(const DataType& type) {
  return type.id == TypeId::kList || type.id == TypeId::kLargeList ||
         type.id == TypeId::kMap;
}

// Gathers a validity bitmap bit by bit.
class ValidityWriter {
 public:
  explicit ValidityWriter(uint64_t count) : bits_((count + 7) / 8) {}

  void Append(bool valid) {
    if (valid) {
      bits_[next_ / 8] |= std::byte{1} << (next_ % 8);
    } else {
      ++nulls_;
    }
    ++next_;
  }
  uint64_t count() const { return next_; }
  void MoveTo(Array* array) {
    array->null_count = nulls_;
    if (nulls_ > 0) array->validity = Share(std::move(bits_));
  }

 private:
  Bytes bits_;
  uint64_t next_ = 0;
  uint64_t nulls_ = 0;
};

// One use: from the outermost depth down, each layer looks at all entries.
class Unraveler {
 public:
  Unraveler(const ColumnPath& path, const Layers& layers, const Levels& levels,
            Array values)
      : path_(path),
        layers_(layers),
        levels_(levels),
        values_(std::move(values)) {}

  Result<Array> Run() {
    const uint64_t slots = levels_.CountVisible(layers_, 0, levels_.count);
    if (values_.length != slots) {
      return Status(Code::kCorruption, std::to_string(values_.length) +
                                           " values for " +
                                           std::to_string(slots) + " slots");
    }
    return Build(layers_.size() - 1, layers_.rep_max());
  }

 private:
  uint16_t RepAt(uint64_t i) const {
    return levels_.rep.empty() ? layers_.rep_max() : levels_.rep[i];
  }
  uint16_t DefAt(uint64_t i) const {
    return levels_.def.empty() ? 0 : levels_.def[i];
  }
  // Entries above this have no slot at layer `i`: the nearest list around it
  // is null or empty, or something farther out is null.
  uint16_t SlotMax(size_t i) const {
    for (size_t k = i + 1; k < layers_.size(); ++k) {
      if (layers_.is_list(k)) return layers_.valid_max(k);
    }
    return layers_.def_max();
  }

  // Layer `i`, inside which (itself included) are `lists` list layers.
  Result<Array> Build(size_t i, uint16_t lists) {
    const TypePtr& type = path_.types[layers_.size() - 1 - i];
    if (layers_.is_list(i)) return BuildList(i, lists, type);
    if (i == 0) return BuildLeaf();
    ROWFS_ASSIGN_OR_RETURN(Array child, Build(i - 1, lists));
    Array array{.type = type};
    const uint64_t width = type->id == TypeId::kFixedSizeList ? type->width : 1;
    if (child.length % width != 0) {
      return Status(Code::kCorruption, std::to_string(child.length) +
                                           " items in fixed-size lists of " +
                                           std::to_string(width));
    }
    array.length = child.length / width;
    ROWFS_RETURN_IF_ERROR(SetValidity(i, lists, array.length, &array));
    array.children.push_back(std::move(child));
    return array;
  }

  // The validity of structs and fixed-size lists, whose entries repeat once per
  // flattened item.
  Status SetValidity(size_t i, uint16_t lists, uint64_t length, Array* array) {
    if (levels_.def.empty()) return {};
    if (length == 0) return {};
    const uint64_t stride = SlotCount(i, lists) / length;
    if (stride == 0) {
      return {Code::kCorruption, "structs and their fields differ in number"};
    }
    const uint16_t slot_max = SlotMax(i);
    const uint16_t valid_max = layers_.valid_max(i);
    ValidityWriter validity(length);
    uint64_t slot = 0;
    for (uint64_t e = 0; e < levels_.count; ++e) {
      if (RepAt(e) < lists || levels_.def[e] > slot_max) continue;
      if (slot++ % stride != 0) continue;
      if (validity.count() == length) break;
      validity.Append(levels_.def[e] <= valid_max);
    }
    if (validity.count() != length) {
      return {Code::kCorruption, "structs and their fields differ in number"};
    }
    validity.MoveTo(array);
    return {};
  }

  uint64_t SlotCount(size_t i, uint16_t lists) const {
    const uint16_t slot_max = SlotMax(i);
    uint64_t count = 0;
    for (uint64_t e = 0; e < levels_.count; ++e) {
      count += RepAt(e) >= lists && DefAt(e) <= slot_max ? 1 : 0;
    }
    return count;
  }

  Result<Array> BuildLeaf() {
    Array array = std::move(values_);
    array.type = path_.types.back();
    if (levels_.def.empty() || array.type->id == TypeId::kNull ||
        layers_.leaf_never_null()) {
      return array;
    }
    const uint16_t slot_max = layers_.visible_max();
    ValidityWriter validity(array.length);
    for (const uint16_t def : levels_.def) {
      if (def <= slot_max) validity.Append(def == 0);
    }
    validity.MoveTo(&array);
    return array;
  }

  Result<Array> BuildList(size_t i, uint16_t lists, const TypePtr& type) {
    const bool large = type->id == TypeId::kLargeList;
    std::vector<uint64_t> offsets(levels_.count + 1);
    const uint64_t length = levels_.rep.empty()
                                ? FindLists<false>(i, lists, &offsets)
                                : FindLists<true>(i, lists, &offsets);
    if (length == kNoLists) {
      return Status(Code::kCorruption,
                    "a list goes on at an entry that has no item");
    }
    const uint64_t items = offsets[length];
    offsets.resize(length + 1);
    Array array{.type = type, .length = length};
    SetListValidity(i, lists, &array);
    ROWFS_ASSIGN_OR_RETURN(Array child,
                           Build(i - 1, static_cast<uint16_t>(lists - 1)));
    const uint64_t stride = child.length == 0 ? 1 : items / child.length;
    if (stride == 0 || child.length * stride != items) {
      return Status(Code::kCorruption, "lists and their items do not agree");
    }
    array.offsets = PackOffsets(offsets, stride, large);
    array.children.push_back(std::move(child));
    return array;
  }

  static constexpr uint64_t kNoLists = UINT64_MAX;

  // Where each list of layer `i` starts, and the number of items behind the
  // last; returns the number of lists. No branches: which entry is what is as
  // good as random.
  template <bool kHasRep>
  uint64_t FindLists(size_t i, uint16_t lists,
                     std::vector<uint64_t>* offsets) const {
    const uint16_t slot_max = SlotMax(i);
    const uint16_t valid_max = layers_.valid_max(i);
    const uint16_t* const defs =
        levels_.def.empty() ? nullptr : levels_.def.data();
    uint64_t* const out = offsets->data();
    uint64_t found = 0;
    uint64_t items = 0;
    bool good = true;
    for (uint64_t e = 0; e < levels_.count; ++e) {
      const uint16_t rep = kHasRep ? levels_.rep[e] : layers_.rep_max();
      const uint16_t def = defs == nullptr ? uint16_t{0} : defs[e];
      const bool starts = rep >= lists;
      const bool has_item = def <= valid_max;
      good &= starts | (has_item & (found > 0));
      out[found] = items;
      found += static_cast<uint64_t>(starts & (def <= slot_max));
      items += static_cast<uint64_t>(has_item & (rep + 1 >= lists));
    }
    out[found] = items;
    return good ? found : kNoLists;
  }

  void SetListValidity(size_t i, uint16_t lists, Array* array) const {
    const uint16_t slot_max = SlotMax(i);
    const uint16_t valid_max = layers_.valid_max(i);
    const uint16_t empty = layers_.empty_level(i);
    // No level says "null" here.
    if (slot_max == valid_max + (empty == 0 ? 0 : 1)) return;
    if (levels_.def.empty()) return;
    ValidityWriter validity(array->length);
    for (uint64_t e = 0; e < levels_.count; ++e) {
      const uint16_t def = levels_.def[e];
      if (RepAt(e) < lists || def > slot_max) continue;
      validity.Append(def <= valid_max || def == empty);
    }
    validity.MoveTo(array);
  }

  template <typename T>
  static SharedBytes PackOffsetsAs(const std::vector<uint64_t>& offsets,
                                   uint64_t stride) {
    Bytes packed(offsets.size() * sizeof(T));
    for (size_t i = 0; i < offsets.size(); ++i) {
      const T offset =
          static_cast<T>(stride == 1 ? offsets[i] : offsets[i] / stride);
      std::memcpy(packed.data() + i * sizeof(T), &offset, sizeof(T));
    }
    return Share(std::move(packed));
  }

  static SharedBytes PackOffsets(const std::vector<uint64_t>& offsets,
                                 uint64_t stride, bool large) {
    return large ? PackOffsetsAs<uint64_t>(offsets, stride)
                 : PackOffsetsAs<uint32_t>(offsets, stride);
  }

  const ColumnPath& path_;
  const Layers& layers_;
  const Levels& levels_;
  Array values_;
};

}  // namespace

uint64_t ColumnPath::entries_per_row() const {
  uint64_t product = 1;
  for (size_t i = 0; i + 1 < fields.size(); ++i) {
    if (types[i]->id == TypeId::kFixedSizeList) product *= types[i]->width;
  }
  return product;
}

ColumnPath MakePath(std::vector<const LanceField*> fields, TypePtr leaf_type) {
  ColumnPath path{.fields = std::move(fields)};
  path.types.resize(path.fields.size());
  path.types.back() = std::move(leaf_type);
  for (size_t i = path.fields.size() - 1; i-- > 0;) {
    DataType type = *path.fields[i]->field.type;
    Field child = path.fields[i + 1]->field;
    child.type = path.types[i + 1];
    type.children = {std::move(child)};
    path.types[i] = MakeType(std::move(type));
  }
  return path;
}

Result<Layers> Layers::Make(const google::protobuf::RepeatedField<int>& layers,
                            const ColumnPath& path) {
  Layers made;
  uint16_t next = 0;
  bool seen_list = false;
  if (layers.empty() || layers.size() > 128) {
    return Status(Code::kCorruption,
                  "a page of " + std::to_string(layers.size()) + " layers");
  }
  for (const int kind : layers) {
    Layer layer{.list = kind == lance::pb::LAYER_ALL_VALID_LIST ||
                        kind >= lance::pb::LAYER_NULLABLE_LIST,
                .valid_max = next};
    if (layer.list && !seen_list) made.visible_max_ = next;
    seen_list = seen_list || layer.list;
    switch (kind) {
      case lance::pb::LAYER_ALL_VALID_ITEM:
      case lance::pb::LAYER_ALL_VALID_LIST:
        break;
      case lance::pb::LAYER_NULLABLE_ITEM:
      case lance::pb::LAYER_NULLABLE_LIST:
        ++next;
        break;
      case lance::pb::LAYER_EMPTYABLE_LIST:
        layer.empty = ++next;
        break;
      case lance::pb::LAYER_NULL_AND_EMPTY_LIST:
        next = static_cast<uint16_t>(next + 2);
        layer.empty = next;
        break;
      default:
        return Status(Code::kCorruption,
                      "layer kind " + std::to_string(kind) + " is not known");
    }
    if (layer.list) ++made.rep_max_;
    made.layers_.push_back(layer);
  }
  made.def_max_ = next;
  if (!seen_list) made.visible_max_ = next;
  ROWFS_RETURN_IF_ERROR(made.CheckPath(path));
  return made;
}

Layers Layers::Leaf(bool nullable) {
  Layers made;
  made.layers_.push_back({});
  made.def_max_ = made.visible_max_ = nullable ? 1 : 0;
  return made;
}

Status Layers::CheckPath(const ColumnPath& path) {
  const size_t depth = path.types.size();
  // Early writers count the members of a packed struct as a layer of their own,
  // and have nulls in the one of the struct. Lance itself looks at the first
  // only: null blobs of such files are empty ones to everybody.
  if (layers_.size() == depth + 1 && !layers_[0].list &&
      layers_[1].valid_max == 0 &&
      (path.leaf().kind == LanceFieldKind::kBlobV2 ||
       path.leaf().kind == LanceFieldKind::kPackedStruct)) {
    layers_.erase(layers_.begin());
    leaf_never_null_ = true;
  }
  bool same = layers_.size() == depth;
  for (size_t i = 0; same && i < depth; ++i) {
    same = layers_[i].list == (i > 0 && IsList(*path.types[depth - 1 - i]));
  }
  if (same) return {};
  return {Code::kCorruption, "the page's " + std::to_string(layers_.size()) +
                                 " layers do not fit the type " +
                                 path.types[0]->ToString()};
}

void Levels::Append(const Levels& other) {
  count += other.count;
  rep.insert(rep.end(), other.rep.begin(), other.rep.end());
  def.insert(def.end(), other.def.begin(), other.def.end());
}

void Levels::Trim(uint64_t begin, uint64_t end) {
  const auto cut = [begin, end](std::vector<uint16_t>* levels) {
    if (levels->empty()) return;
    levels->resize(end);
    levels->erase(levels->begin(),
                  levels->begin() + static_cast<std::ptrdiff_t>(begin));
  };
  cut(&rep);
  cut(&def);
  count = end - begin;
}

uint64_t Levels::CountVisible(const Layers& layers, uint64_t begin,
                              uint64_t end) const {
  if (def.empty()) return end - begin;
  const uint16_t visible_max = layers.visible_max();
  uint64_t visible = 0;
  for (uint64_t i = begin; i < end; ++i) {
    visible += def[i] <= visible_max ? 1 : 0;
  }
  return visible;
}

Result<Array> Unravel(const ColumnPath& path, const Layers& layers,
                      const Levels& levels, Array values) {
  return Unraveler(path, layers, levels, std::move(values)).Run();
}

}  // namespace rowfs
