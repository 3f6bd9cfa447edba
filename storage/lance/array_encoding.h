// Pages of format 2.0: Arrow-like buffers described by a tree of array
// encodings. Read only; written by releases before 5.
//
// One page read at a time; one thread.
#ifndef ROWFS_STORAGE_LANCE_ARRAY_ENCODING_H_
#define ROWFS_STORAGE_LANCE_ARRAY_ENCODING_H_

#include <cstdint>
#include <span>
#include <vector>

#include "storage/lance/encodings.pb.h"
#include "storage/lance/file_metadata.h"
#include "storage/lance/page.h"
#include "storage/lance/value_block.h"

namespace rowfs {

class ArrayPage {
 public:
  // Everything outlives the page. `field_type` is the column's: it decides how
  // dictionaries count.
  ArrayPage(const ObjectReader& object, const FileMetadata& file,
            const ColumnPages& column, const PageMetadata& page,
            const DataType& field_type)
      : object_(object),
        file_(file),
        column_(column),
        page_(page),
        strings_from_one_(field_type.id != TypeId::kDictionary) {}

  // `rows` of what `encoding` describes, as an array of `type`. One read a
  // buffer that holds some of it, two for the bytes of strings.
  Result<Array> Decode(const lance::pb::ArrayEncoding& encoding,
                       const TypePtr& type, const RowRanges& rows) const;

  // The unsigned integers that `encoding` describes: offsets, indices.
  Result<std::vector<uint64_t>> Integers(
      const lance::pb::ArrayEncoding& encoding, const RowRanges& rows) const;

  // Where each of `rows` begins and ends in what offsets that omit the leading
  // zero point into; nulls are marked by an added `null_adjustment`.
  struct Extent {
    uint64_t begin = 0;
    uint64_t end = 0;
    bool null = false;
  };
  Result<std::vector<Extent>> Extents(const lance::pb::ArrayEncoding& ends,
                                      uint64_t null_adjustment,
                                      const RowRanges& rows) const;

 private:
  using Encoding = lance::pb::ArrayEncoding;

  Result<ByteRange> Find(const Encoding::Buffer& buffer) const;
  Result<Bytes> ReadValues(const Encoding::Buffer& buffer, uint64_t bits,
                           const RowRanges& rows) const;
  Result<Bytes> Decompressed(const Encoding::Flat& flat,
                             const RowRanges& rows) const;
  Result<ValueBlock> Fixed(const Encoding& encoding,
                           const RowRanges& rows) const;
  Result<ValueBlock> Unpacked(const Encoding::BitpackedNonNegative& packed,
                              const RowRanges& rows) const;
  Result<Array> Nullable(const Encoding::Nullable& nullable,
                         const TypePtr& type, const RowRanges& rows) const;
  Result<Array> Binary(const Encoding::Binary& binary, const TypePtr& type,
                       const RowRanges& rows) const;
  Result<Array> Dictionary(const Encoding::Dictionary& dictionary,
                           const TypePtr& type, const RowRanges& rows) const;
  Result<Array> List(const Encoding::FixedSizeList& list, const TypePtr& type,
                     const RowRanges& rows) const;
  Result<Array> Fsst(const Encoding::Fsst& fsst, const TypePtr& type,
                     const RowRanges& rows) const;
  Result<Array> Packed(const Encoding::PackedStruct& packed,
                       const TypePtr& type, const RowRanges& rows) const;

  const ObjectReader& object_;
  const FileMetadata& file_;
  const ColumnPages& column_;
  const PageMetadata& page_;
  const bool strings_from_one_;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_ARRAY_ENCODING_H_
