// Our arrays as the Arrow C data interface has them, so that any Arrow
// implementation in the process can read them without a copy.
//
// One thread.
#ifndef ROWFS_TESTS_ORACLE_ARROW_EXPORT_H_
#define ROWFS_TESTS_ORACLE_ARROW_EXPORT_H_

#include <cstdint>

#include "storage/table/table_source.h"

// The structs of the Arrow C data interface, in its own names.
extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
}

namespace rowfs {

// `batch` as a struct array and its type. Blob columns become structs of kind,
// object, offset, size, base, blob_type, stream_info, entries. The caller
// releases both.
void ExportBatch(RecordBatch batch, ArrowSchema* schema, ArrowArray* array);

// What is left of a scan. The caller releases it.
void ExportStream(std::unique_ptr<BatchReader> reader, Schema schema,
                  ArrowArrayStream* out);

}  // namespace rowfs
#endif  // ROWFS_TESTS_ORACLE_ARROW_EXPORT_H_
