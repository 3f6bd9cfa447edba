// The end of a Lance data file (facts: data file framing): descriptor, column
// metadata, their tables, 40 bytes. Writing it, and checking what was written.
//
// Pure functions; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_FILE_FOOTER_H_
#define ROWFS_STORAGE_LANCE_FILE_FOOTER_H_

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/status.h"
#include "storage/lance/file.pb.h"
#include "storage/lance/file_reader.h"
#include "storage/lance/schema.h"

namespace rowfs {

// Buffers of a file start at multiples of this.
inline constexpr uint64_t kBufferAlignment = 64;

// `begin`: where in the file the footer will be, a multiple of the alignment.
Bytes EncodeFooter(uint64_t begin, const lance::pb::FileDescriptor& descriptor,
                   const std::vector<lance::pb::ColumnMetadata>& columns,
                   LanceFileVersion version);

// Read a footer back as a reader would and check that column i has
// `column_rows[i]` rows and every buffer lies aligned before `begin`. kInternal
// names what does not fit.
Status CheckFooter(ByteSpan footer, uint64_t begin,
                   std::span<const uint64_t> column_rows);

// An encoding message as metadata holds it.
lance::pb::Encoding DirectEncoding(std::string_view type_url,
                                   std::string_view value);

// The footer's schema: the fields as stored, blobs as their descriptors.
// `with_info`: by field id, whether a blob column carries blob_info.
lance::pb::Schema PhysicalSchema(const LanceSchema& schema,
                                 const std::map<int32_t, bool>& with_info);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_FILE_FOOTER_H_
