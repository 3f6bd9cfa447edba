#include "storage/parquet/from_arrow.h"

#include <arrow/extension_type.h>
#include <arrow/util/bit_util.h>

#include <algorithm>
#include <cstring>

#include "storage/parquet/arrow_glue.h"
#include "storage/table/array_layout.h"

namespace rowfs {
namespace {

// What an encoding may expand to in one array.
constexpr uint64_t kItemsMax = uint64_t{1} << 28;

template <typename T>
const T& As(const arrow::Array& array) {
  return dynamic_cast<const T&>(array);
}

Status Bad(std::string_view message) {
  return {Code::kCorruption, "arrow array: " + std::string(message)};
}

SharedBytes Share(Bytes bytes) {
  return std::make_shared<const Bytes>(std::move(bytes));
}

SharedBytes CopyBits(const uint8_t* bits, int64_t offset, uint64_t count) {
  if (count == 0) return Share({});
  Bytes out(count / 8 + (count % 8 != 0 ? 1 : 0));
  if (offset % 8 == 0) {
    std::memcpy(out.data(), bits + offset / 8, out.size());
    return Share(std::move(out));
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (arrow::bit_util::GetBit(bits, static_cast<uint64_t>(offset) + i)) {
      out[i / 8] |= std::byte{1} << (i % 8);
    }
  }
  return Share(std::move(out));
}

// The bytes of buffer `index` behind the array's offset, `width` a value.
Result<SharedBytes> CopyFixed(const arrow::Array& array, size_t index,
                              uint64_t width) {
  const uint64_t length = static_cast<uint64_t>(array.length());
  const auto& buffer = array.data()->buffers[index];
  if (length == 0 || width == 0) return Share({});
  const uint64_t begin = static_cast<uint64_t>(array.offset()) * width;
  if (buffer == nullptr ||
      static_cast<uint64_t>(buffer->size()) < begin + length * width) {
    return Bad("a buffer of values is too short");
  }
  Bytes out(length * width);
  std::memcpy(out.data(), buffer->data() + begin, out.size());
  return Share(std::move(out));
}

Status CopyValidity(const arrow::Array& array, Array* out) {
  const auto& buffer = array.data()->buffers[0];
  if (buffer == nullptr || array.null_count() == 0) return {};
  const int64_t bits = array.offset() + array.length();
  if (buffer->size() * 8 < bits) return Bad("too few validity bits");
  out->null_count = static_cast<uint64_t>(array.null_count());
  out->validity = CopyBits(buffer->data(), array.offset(), out->length);
  return {};
}

// Offsets from 0 on, and the range of values they cover in the source.
template <typename Offset>
Result<ByteRange> CopyOffsets(const arrow::Array& array, uint64_t values_size,
                              Array* out) {
  const uint64_t count = out->length + 1;
  const auto& buffer = array.data()->buffers[1];
  if (out->length == 0) {
    out->offsets = Share(Bytes(sizeof(Offset)));
    return ByteRange{};
  }
  const uint64_t skip = static_cast<uint64_t>(array.offset()) * sizeof(Offset);
  if (buffer == nullptr ||
      static_cast<uint64_t>(buffer->size()) < skip + count * sizeof(Offset)) {
    return Bad("too few offsets");
  }
  std::vector<Offset> offsets(count);
  std::memcpy(offsets.data(), buffer->data() + skip, count * sizeof(Offset));
  const Offset base = offsets[0];
  if (base < 0) return Bad("a negative offset");
  Offset previous = base;
  for (Offset& offset : offsets) {
    if (offset < previous || static_cast<uint64_t>(offset) > values_size) {
      return Bad("offsets that are out of order or range");
    }
    previous = offset;
    offset = static_cast<Offset>(offset - base);
  }
  Bytes bytes(count * sizeof(Offset));
  std::memcpy(bytes.data(), offsets.data(), bytes.size());
  out->offsets = Share(std::move(bytes));
  return ByteRange{static_cast<uint64_t>(base),
                   static_cast<uint64_t>(previous)};
}

template <typename Offset>
Status CopyByteLike(const arrow::Array& array, Array* out) {
  const auto& values = array.data()->buffers[2];
  const uint64_t size =
      values == nullptr ? 0 : static_cast<uint64_t>(values->size());
  ROWFS_ASSIGN_OR_RETURN(const ByteRange range,
                         CopyOffsets<Offset>(array, size, out));
  Bytes data(range.size());
  if (!range.empty()) {
    std::memcpy(data.data(), values->data() + range.begin, data.size());
  }
  out->data = Share(std::move(data));
  return {};
}

Result<Array> Convert(const arrow::Array& array, const TypePtr& type);

template <typename Offset>
Status CopyListLike(const arrow::Array& array, const arrow::Array& values,
                    Array* out) {
  ROWFS_ASSIGN_OR_RETURN(
      const ByteRange range,
      CopyOffsets<Offset>(array, static_cast<uint64_t>(values.length()), out));
  const auto part = values.Slice(static_cast<int64_t>(range.begin),
                                 static_cast<int64_t>(range.size()));
  ROWFS_ASSIGN_OR_RETURN(Array child,
                         Convert(*part, out->type->children[0].type));
  out->children.push_back(std::move(child));
  return {};
}

Status CopyFixedSizeList(const arrow::Array& array, Array* out) {
  const auto& list = As<arrow::FixedSizeListArray>(array);
  const int64_t width = out->type->width;
  const int64_t begin = list.offset() * width;
  const int64_t size = list.length() * width;
  if (list.values()->length() < begin + size) {
    return Bad("too few items in a fixed-size list");
  }
  ROWFS_ASSIGN_OR_RETURN(
      Array child,
      Convert(*list.values()->Slice(begin, size), out->type->children[0].type));
  out->children.push_back(std::move(child));
  return {};
}

Status CopyStruct(const arrow::Array& array, Array* out) {
  const auto& record = As<arrow::StructArray>(array);
  for (int i = 0; i < record.num_fields(); ++i) {
    const auto field = record.field(i);  // sliced as the struct is
    if (field->length() != array.length()) {
      return Bad("a field of another length than its struct");
    }
    ROWFS_ASSIGN_OR_RETURN(
        out->children.emplace_back(),
        Convert(*field, out->type->children[static_cast<size_t>(i)].type));
  }
  return {};
}

Status CopyDictionary(const arrow::Array& array, Array* out) {
  const auto& dictionary = As<arrow::DictionaryArray>(array);
  ROWFS_ASSIGN_OR_RETURN(Array indices, Convert(*dictionary.indices(),
                                                out->type->children[0].type));
  ROWFS_ASSIGN_OR_RETURN(Array values, Convert(*dictionary.dictionary(),
                                               out->type->children[1].type));
  out->null_count = indices.null_count;
  out->validity = std::move(indices.validity);
  out->data = std::move(indices.data);
  out->dictionary = std::make_shared<const Array>(std::move(values));
  return {};
}

// The lists of a list view, one behind the other.
template <typename ListView>
Status CopyListView(const arrow::Array& array, Array* out) {
  const auto& lists = As<ListView>(array);
  std::vector<uint64_t> items;
  std::vector<uint64_t> ends;
  for (int64_t i = 0; i < lists.length(); ++i) {
    const int64_t begin = lists.value_offset(i);
    const int64_t size = lists.IsNull(i) ? 0 : lists.value_length(i);
    if (begin < 0 || size < 0 || begin > lists.values()->length() ||
        size > lists.values()->length() - begin) {
      if (!lists.IsNull(i)) return Bad("a list view outside its values");
    }
    if (items.size() + static_cast<uint64_t>(size) > kItemsMax) {
      return {Code::kResourceExhausted, "arrow array: too many list items"};
    }
    for (int64_t j = 0; j < size; ++j) {
      items.push_back(static_cast<uint64_t>(begin + j));
    }
    ends.push_back(items.size());
  }
  ROWFS_ASSIGN_OR_RETURN(const Array values,
                         Convert(*lists.values(), out->type->children[0].type));
  out->children.push_back(TakeArray(values, items));
  Bytes offsets;
  const size_t width = HasLargeOffsets(out->type->id) ? 8 : 4;
  AppendUint(&offsets, 0, width);
  for (const uint64_t end : ends) AppendUint(&offsets, end, width);
  out->offsets = Share(std::move(offsets));
  return {};
}

Result<Array> ExpandRuns(const arrow::Array& array, const TypePtr& type) {
  const auto& runs = As<arrow::RunEndEncodedArray>(array);
  ROWFS_ASSIGN_OR_RETURN(const Array values, Convert(*runs.values(), type));
  ROWFS_ASSIGN_OR_RETURN(const Array ends, ArrayFromArrow(*runs.run_ends()));
  if (static_cast<uint64_t>(runs.length()) > kItemsMax) {
    return Status(Code::kResourceExhausted, "arrow array: too many values");
  }
  std::vector<uint64_t> places;
  uint64_t run = 0;
  for (int64_t i = runs.offset(); i < runs.offset() + runs.length(); ++i) {
    while (run < ends.length && ends.IntAt(run) <= i) ++run;
    if (run >= values.length) return Bad("run ends that end too early");
    places.push_back(run);
  }
  return TakeArray(values, places);
}

// A union as a struct of members, each null where another one is meant.
Result<Array> SpreadUnion(const arrow::Array& array, const TypePtr& type) {
  const auto& chosen = As<arrow::UnionArray>(array);
  const bool dense = array.type_id() == arrow::Type::DENSE_UNION;
  Array out{.type = type, .length = static_cast<uint64_t>(array.length())};
  for (int child = 0; child < chosen.num_fields(); ++child) {
    const TypePtr& member = type->children[static_cast<size_t>(child)].type;
    ROWFS_ASSIGN_OR_RETURN(Array values, Convert(*chosen.field(child), member));
    const Array parts[] = {values, NullArray(member, 1)};
    ROWFS_ASSIGN_OR_RETURN(const Array with_null, ConcatArrays(parts));
    std::vector<uint64_t> places;
    for (int64_t i = 0; i < array.length(); ++i) {
      uint64_t place = values.length;  // the null
      if (chosen.child_id(i) == child) {
        // A sparse union's members are sliced along with it.
        const auto at =
            dense ? static_cast<uint64_t>(static_cast<int64_t>(
                        As<arrow::DenseUnionArray>(array).value_offset(i)))
                  : static_cast<uint64_t>(i);
        if (at >= values.length) return Bad("a union outside its members");
        place = at;
      }
      places.push_back(place);
    }
    out.children.push_back(TakeArray(with_null, places));
  }
  return out;
}

// Types that are built value by value.
Result<Array> Rebuild(const arrow::Array& array, const TypePtr& type) {
  ArrayBuilder builder(type);
  for (int64_t i = 0; i < array.length(); ++i) {
    if (array.IsNull(i)) {
      builder.AppendNull();
      continue;
    }
    switch (array.type_id()) {
      case arrow::Type::STRING_VIEW:
      case arrow::Type::BINARY_VIEW:
        builder.AppendBytes(
            AsBytes(As<arrow::BinaryViewArray>(array).GetView(i)));
        break;
      case arrow::Type::DECIMAL32:
      case arrow::Type::DECIMAL64: {
        const ByteSpan value =
            FromU8(As<arrow::FixedSizeBinaryArray>(array).GetValue(i),
                   array.type_id() == arrow::Type::DECIMAL32 ? 4 : 8);
        const auto bits = static_cast<int64_t>(LoadUint(value, value.size()));
        builder.AppendInt(value.size() == 4 ? static_cast<int32_t>(bits)
                                            : bits);
        break;
      }
      case arrow::Type::INTERVAL_DAY_TIME: {
        const auto value = As<arrow::DayTimeIntervalArray>(array).GetValue(i);
        builder.child(0).AppendInt(value.days);
        builder.child(1).AppendInt(value.milliseconds);
        builder.AppendValid();
        break;
      }
      default: {
        const auto value =
            As<arrow::MonthDayNanoIntervalArray>(array).GetValue(i);
        builder.child(0).AppendInt(value.months);
        builder.child(1).AppendInt(value.days);
        builder.child(2).AppendInt(value.nanoseconds);
        builder.AppendValid();
        break;
      }
    }
  }
  return builder.Finish();
}

Status CopyInto(const arrow::Array& array, Array* out) {
  switch (array.type_id()) {
    case arrow::Type::BOOL: {
      const auto& buffer = array.data()->buffers[1];
      if (array.length() > 0 &&
          (buffer == nullptr ||
           buffer->size() * 8 < array.offset() + array.length())) {
        return Bad("too few bits");
      }
      out->data = array.length() == 0
                      ? Share({})
                      : CopyBits(buffer->data(), array.offset(), out->length);
      return {};
    }
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return CopyByteLike<int32_t>(array, out);
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      return CopyByteLike<int64_t>(array, out);
    case arrow::Type::LIST:
    case arrow::Type::MAP:
      return CopyListLike<int32_t>(array, *As<arrow::ListArray>(array).values(),
                                   out);
    case arrow::Type::LARGE_LIST:
      return CopyListLike<int64_t>(
          array, *As<arrow::LargeListArray>(array).values(), out);
    case arrow::Type::LIST_VIEW:
      return CopyListView<arrow::ListViewArray>(array, out);
    case arrow::Type::LARGE_LIST_VIEW:
      return CopyListView<arrow::LargeListViewArray>(array, out);
    case arrow::Type::FIXED_SIZE_LIST:
      return CopyFixedSizeList(array, out);
    case arrow::Type::STRUCT:
      return CopyStruct(array, out);
    default: {
      ROWFS_ASSIGN_OR_RETURN(out->data,
                             CopyFixed(array, 1, ValueWidth(*out->type)));
      return {};
    }
  }
}

Result<Array> Convert(const arrow::Array& array, const TypePtr& type) {
  switch (array.type_id()) {
    case arrow::Type::NA:
      return NullArray(type, static_cast<uint64_t>(array.length()));
    case arrow::Type::EXTENSION:
      return Convert(*As<arrow::ExtensionArray>(array).storage(), type);
    case arrow::Type::RUN_END_ENCODED:
      return ExpandRuns(array, type);
    case arrow::Type::SPARSE_UNION:
    case arrow::Type::DENSE_UNION:
      return SpreadUnion(array, type);
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BINARY_VIEW: {
      // Views point anywhere: look at all of them first.
      ROWFS_RETURN_IF_ARROW_ERROR(array.ValidateFull(), "arrow array");
      return Rebuild(array, type);
    }
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64:
    case arrow::Type::INTERVAL_DAY_TIME:
    case arrow::Type::INTERVAL_MONTH_DAY_NANO: {
      ROWFS_RETURN_IF_ARROW_ERROR(array.Validate(), "arrow array");
      return Rebuild(array, type);
    }
    default:
      break;
  }
  Array out{.type = type, .length = static_cast<uint64_t>(array.length())};
  if (array.type_id() == arrow::Type::DICTIONARY) {
    ROWFS_RETURN_IF_ERROR(CopyDictionary(array, &out));
    return out;
  }
  ROWFS_RETURN_IF_ERROR(CopyValidity(array, &out));
  ROWFS_RETURN_IF_ERROR(CopyInto(array, &out));
  return out;
}

}  // namespace

Result<Array> ArrayFromArrow(const arrow::Array& array) {
  ROWFS_ASSIGN_OR_RETURN(const TypePtr type, TypeFromArrow(*array.type()));
  ROWFS_ASSIGN_OR_RETURN(Array converted, Convert(array, type));
  ROWFS_RETURN_IF_ERROR(Validate(converted, "arrow array"));
  return converted;
}

}  // namespace rowfs
