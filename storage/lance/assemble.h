// Putting one field together from several data files: a fragment may hold some
// leaves of a struct in one file, others in another, and some nowhere.
//
// Pure functions; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_ASSEMBLE_H_
#define ROWFS_STORAGE_LANCE_ASSEMBLE_H_

#include <cstdint>
#include <map>
#include <vector>

#include "storage/lance/schema.h"

namespace rowfs {

// Field id -> column index of one data file.
using ColumnMap = std::map<int32_t, uint32_t>;

enum class Coverage : uint8_t { kNone, kSome, kAll };

// How much of `field` the file with `columns` holds.
Coverage FindCoverage(const LanceField& field, const ColumnMap& columns);

// `field` without what `columns` does not hold. Requires: coverage not kNone.
LanceField Prune(const LanceField& field, const ColumnMap& columns);

struct FieldPart {
  LanceField field;  // pruned
  Array array;
};

// `field` from its parts, each of `length` values; what no part holds is null.
// kCorruption when parts disagree about a list's lengths.
Result<Array> Assemble(const LanceField& field, std::vector<FieldPart> parts,
                       uint64_t length);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_ASSEMBLE_H_
