// Fields of a 2.1+ file: from leaf columns, each a list of pages, to one Array
// of the field's type.
//
// Functions; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_COLUMN_READER_H_
#define ROWFS_STORAGE_LANCE_COLUMN_READER_H_

#include <cstdint>
#include <map>
#include <string>

#include "storage/lance/file_metadata.h"
#include "storage/lance/page.h"

namespace rowfs {

// What reads of one file share. Everything outlives the call.
struct FileContext {
  const ObjectReader* object = nullptr;
  const FileMetadata* metadata = nullptr;
  const std::string* path = nullptr;
  PageStateCache* cache = nullptr;
};

// `rows` of `field`, in order. The reads of all its pages are sent together,
// in as many rounds as the worst of them needs. Children that have no column
// here come back null.
Result<Array> ReadField(const FileContext& file, const LanceField& field,
                        const std::map<int32_t, uint32_t>& columns,
                        const RowRanges& rows, BlobDetail detail);

// The same for files of format 2.0, whose pages are Arrow-like buffers and
// whose structs and lists have columns of their own. One round of reads a
// buffer.
Result<Array> ReadArrayField(const FileContext& file, const LanceField& field,
                             const std::map<int32_t, uint32_t>& columns,
                             const RowRanges& rows);

// The type a leaf's pages decode to, before FinishLeaf.
TypePtr StoredLeafType(const LanceField& field);
// Turn decoded leaf values into the field's type: dictionary values back into
// a dictionary, binary JSON into text.
Result<Array> FinishLeaf(const LanceField& field, Array values);

// Whether a field has a column of its own in 2.1+ files.
bool IsLeaf(const LanceField& field);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_COLUMN_READER_H_
