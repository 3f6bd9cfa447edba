// Repetition and definition levels: how pages flatten lists, structs and nulls,
// and back. A column path is what lies from a top-level field down to one leaf;
// its shape is rebuilt as a chain, an Array of that path alone.
//
// Values and pure functions; thread-safe to read.
#ifndef ROWFS_STORAGE_LANCE_LEVELS_H_
#define ROWFS_STORAGE_LANCE_LEVELS_H_

#include <cstdint>
#include <vector>

#include "storage/base/status.h"
#include "storage/lance/encodings.pb.h"
#include "storage/lance/schema.h"
#include "storage/table/array.h"

namespace rowfs {

// From a top-level field down to a leaf.
struct ColumnPath {
  std::vector<const LanceField*> fields;  // outermost first, the leaf last
  // The chain's type at each depth: `types[0]` is a struct of a list of ...
  // with one child each. The leaf's is what its page decodes to.
  std::vector<TypePtr> types;

  const LanceField& leaf() const { return *fields.back(); }
  // Values of a fixed-size list of structs are flattened before everything
  // else: so many level entries stand for one value. 1 without such lists.
  uint64_t entries_per_row() const;
};

ColumnPath MakePath(std::vector<const LanceField*> fields, TypePtr leaf_type);

// What a page says about each depth, innermost first, with the definition
// levels it takes.
class Layers {
 public:
  // kCorruption unless there is one layer a field of the path, lists for lists.
  static Result<Layers> Make(const google::protobuf::RepeatedField<int>& layers,
                             const ColumnPath& path);
  // Just one layer, of values that may be null or not.
  static Layers Leaf(bool nullable);

  size_t size() const { return layers_.size(); }
  bool is_list(size_t i) const { return layers_[i].list; }
  // Number of list layers: the repetition level that starts a row.
  uint16_t rep_max() const { return rep_max_; }
  uint16_t def_max() const { return def_max_; }
  // The largest definition level of an entry that has a value slot.
  uint16_t visible_max() const { return visible_max_; }
  // The writer kept nulls in a layer that readers of the column never look at:
  // such values are blank instead.
  bool leaf_never_null() const { return leaf_never_null_; }
  // Levels above this stop at layer `i` or farther out.
  uint16_t valid_max(size_t i) const { return layers_[i].valid_max; }
  // The level that means "empty list" here; 0 when none does.
  uint16_t empty_level(size_t i) const { return layers_[i].empty; }

 private:
  Status CheckPath(const ColumnPath& path);

  struct Layer {
    bool list = false;
    uint16_t valid_max = 0;
    uint16_t empty = 0;
  };
  std::vector<Layer> layers_;
  uint16_t rep_max_ = 0;
  uint16_t def_max_ = 0;
  uint16_t visible_max_ = 0;
  bool leaf_never_null_ = false;
};

// Level entries of whole rows; `rep` and `def` are empty where a page has none.
struct Levels {
  uint64_t count = 0;
  std::vector<uint16_t> rep;
  std::vector<uint16_t> def;

  void Append(const Levels& other);
  // Keep entries [begin, end).
  void Trim(uint64_t begin, uint64_t end);
  // Entries in [begin, end) that have a value slot.
  uint64_t CountVisible(const Layers& layers, uint64_t begin,
                        uint64_t end) const;
};

// Rebuild the chain from levels and one value per slot. kCorruption when they
// contradict each other.
Result<Array> Unravel(const ColumnPath& path, const Layers& layers,
                      const Levels& levels, Array values);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_LEVELS_H_
