// Columns in memory: types, schemas and arrays in the Arrow layout (Arrow
// columnar format 1.x), so that any table format can fill them and any writer
// can hand them on without conversion. Our own small model: nothing above
// storage/parquet includes an Arrow header.
//
// Values with shared immutable buffers; thread-safe to read.
#ifndef ROWFS_STORAGE_TABLE_ARRAY_H_
#define ROWFS_STORAGE_TABLE_ARRAY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/status.h"
#include "storage/table/blob.h"

namespace rowfs {

enum class TypeId : uint8_t {
  kNull,
  kBool,
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kHalfFloat,
  kFloat,
  kDouble,
  kString,
  kLargeString,
  kBinary,
  kLargeBinary,
  kFixedSizeBinary,  // `width` bytes
  kDate32,           // days
  kDate64,           // milliseconds
  kTime32,           // `unit` s or ms
  kTime64,           // `unit` us or ns
  kTimestamp,        // `unit`, `zone`
  kDuration,         // `unit`
  kDecimal128,       // `precision`, `scale`
  kDecimal256,
  kStruct,         // `children`
  kList,           // one child, 32-bit offsets
  kLargeList,      // one child, 64-bit offsets
  kFixedSizeList,  // one child, `width` items
  kMap,            // one child: struct<key, value>, 32-bit offsets
  kDictionary,     // `children` = {index, value}
  kBlob,           // a cell that is a file: Array::blobs
};

enum class TimeUnit : uint8_t { kSecond, kMilli, kMicro, kNano };

struct DataType;

using Metadata = std::vector<std::pair<std::string, std::string>>;

struct Field {
  std::string name;
  std::shared_ptr<const DataType> type;
  bool nullable = true;
  Metadata metadata;  // in stored order

  // Absent when the key is not there.
  std::optional<std::string> FindMetadata(std::string_view key) const;
};

struct DataType {
  TypeId id = TypeId::kNull;
  uint32_t width = 0;  // kFixedSizeBinary, kFixedSizeList
  TimeUnit unit = TimeUnit::kSecond;
  std::string zone;  // kTimestamp; empty = none
  int32_t precision = 0;
  int32_t scale = 0;
  bool ordered = false;  // kDictionary
  std::vector<Field> children;

  // As pyarrow prints it: "int64", "list<item: string>".
  std::string ToString() const;
};

using TypePtr = std::shared_ptr<const DataType>;
TypePtr MakeType(TypeId id);
TypePtr MakeType(DataType type);

struct Schema {
  std::vector<Field> fields;
  Metadata metadata;

  std::optional<size_t> Find(std::string_view name) const;
};

// Bytes per value of a fixed-width type (kBool: 0, it is one bit); absent for
// types without one.
std::optional<uint32_t> FixedWidth(const DataType& type);

// `length` values of one type. Buffers by the Arrow layout, offset always 0:
//   fixed width       data
//   kBool             data, one bit a value, LSB first
//   string, binary    offsets (i32, or i64 for large_*), data
//   lists, map        offsets, children[0]
//   fixed-size list   children[0] with length * width values
//   struct            children
//   dictionary        data = indices, of type->children[0]; `dictionary`
//   kBlob             blobs[i], null where validity says so
struct Array {
  TypePtr type;
  uint64_t length = 0;
  uint64_t null_count = 0;
  SharedBytes
      validity;  // one bit a value, LSB first, 1 = valid; null: all valid
  SharedBytes offsets;
  SharedBytes data;
  std::vector<Array> children;
  std::shared_ptr<const Array> dictionary;  // kDictionary: the values
  std::vector<BlobCell> blobs;              // kBlob

  bool IsNull(uint64_t i) const;
  // Requires: kString, kBinary or large_*; `i` < length.
  ByteSpan BytesAt(uint64_t i) const;
  // Offset `i` (0..length) of a list, map, string or binary.
  uint64_t OffsetAt(uint64_t i) const;
  // The bytes of fixed-width value `i`. Requires: not kBool.
  ByteSpan FixedAt(uint64_t i) const;
  bool BoolAt(uint64_t i) const;
  // Integer value of any integer, date, time, timestamp or duration type.
  int64_t IntAt(uint64_t i) const;
};

struct RecordBatch {
  Schema schema;
  uint64_t row_count = 0;
  std::vector<Array> columns;
};

// Check that lengths, buffers and offsets agree, all the way down: what a
// reader calls on an array made from untrusted bytes. kCorruption names the
// column.
Status Validate(const Array& array, std::string_view what);

// The next four never wrap an offset: values that together pass what 32-bit
// offsets reach come back in the large form of their type (large_string for
// string, ..., large_list for list and map).

// `length` values of `array` starting at `begin`, as an array of its own.
// Requires: begin + length <= array.length.
Array SliceArray(const Array& array, uint64_t begin, uint64_t length);
// Values at `indices`, in that order. Requires: each < array.length.
Array TakeArray(const Array& array, std::span<const uint64_t> indices);
// All values of `arrays`, one behind the other. kInvalidArgument when there are
// none or their types differ by more than the width of offsets,
// kResourceExhausted when different dictionaries together have more values than
// the index type can tell apart.
Result<Array> ConcatArrays(std::span<const Array> arrays);
// `length` nulls of `type`.
Array NullArray(TypePtr type, uint64_t length);

// Appends values of one type; what readers and tests build arrays with.
// One thread.
class ArrayBuilder {
 public:
  explicit ArrayBuilder(TypePtr type);

  void AppendNull();
  void AppendBool(bool value);
  void AppendFixed(ByteSpan value);  // Requires: FixedWidth bytes
  void AppendInt(int64_t value);     // integers, dates, times: by width
  void AppendDouble(double value);   // float, double
  void AppendBytes(ByteSpan value);  // strings and binaries
  void AppendBlob(BlobCell value);
  // Lists, maps, fixed-size lists: append the items to child(0) first, then
  // close the list. Structs: append to every child, then this. (AppendNull
  // fills the children of structs and fixed-size lists itself.) Dictionaries:
  // child(0) takes the values, AppendInt the indices.
  void AppendValid();
  ArrayBuilder& child(size_t i) { return *children_[i]; }
  uint64_t length() const { return length_; }

  Array Finish();

 private:
  void AppendValidity(bool valid);

  TypePtr type_;
  uint64_t length_ = 0;
  uint64_t null_count_ = 0;
  Bytes validity_;
  Bytes offsets_;
  Bytes data_;
  std::vector<BlobCell> blobs_;
  std::vector<std::unique_ptr<ArrayBuilder>> children_;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_TABLE_ARRAY_H_
