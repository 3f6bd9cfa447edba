#include "index/dataset/value_text.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "index/dataset/temporal_text.h"
#include "storage/base/hash.h"

namespace rowfs {
namespace {

template <typename T>
T Load(ByteSpan bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

// IEEE 754 binary16; every value is exact in a float.
float HalfToFloat(uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const auto fraction = static_cast<float>(half & 1023);
  float value = 0;
  if (exponent == 31) {
    value = fraction == 0 ? std::numeric_limits<float>::infinity()
                          : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else {
    value = std::ldexp(fraction + 1024, exponent - 25);
  }
  return (half & 0x8000) != 0 ? -value : value;
}

// The shortest decimal that a half reads back as itself, by trying digits.
std::string HalfText(uint16_t half) {
  const float value = HalfToFloat(half);
  if (!std::isfinite(value)) return ShortestDecimal(value);
  for (int digits = 1; digits <= 5; ++digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*g", digits,
                  static_cast<double>(value));
    const float read = std::strtof(text, nullptr);
    // Half the distance to the neighbours is the largest error that still
    // rounds to this half.
    const float step = std::ldexp(
        1.0F, std::max(std::ilogb(value == 0 ? 1.0F : value), -14) - 11);
    if (std::abs(read - value) < step || read == value) {
      return ShortestDecimal(read);
    }
  }
  return ShortestDecimal(value);
}

// Little-endian two's complement of any width as decimal digits.
std::string BigIntText(ByteSpan bytes) {
  Bytes number(bytes.begin(), bytes.end());
  const bool negative = (static_cast<uint8_t>(number.back()) & 0x80) != 0;
  if (negative) {
    unsigned carry = 1;
    for (std::byte& byte : number) {
      const unsigned sum = (static_cast<uint8_t>(~byte)) + carry;
      byte = static_cast<std::byte>(sum);
      carry = sum >> 8;
    }
  }
  std::string digits;
  while (std::any_of(number.begin(), number.end(),
                     [](std::byte b) { return b != std::byte{0}; })) {
    unsigned remainder = 0;
    for (size_t i = number.size(); i-- > 0;) {
      const unsigned value = remainder * 256 + static_cast<uint8_t>(number[i]);
      number[i] = static_cast<std::byte>(value / 10);
      remainder = value % 10;
    }
    digits += static_cast<char>('0' + remainder);
  }
  if (digits.empty()) digits = "0";
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string DecimalText(ByteSpan bytes, int32_t scale) {
  std::string text = BigIntText(bytes);
  const bool negative = text[0] == '-';
  std::string digits = text.substr(negative ? 1 : 0);
  if (scale <= 0) {
    if (digits != "0") digits.append(static_cast<size_t>(-scale), '0');
  } else {
    const auto places = static_cast<size_t>(scale);
    if (digits.size() <= places) {
      digits.insert(0, places + 1 - digits.size(), '0');
    }
    digits.insert(digits.size() - places, ".");
  }
  return (negative ? "-" : "") + digits;
}

bool IsFloat(TypeId id) {
  return id == TypeId::kHalfFloat || id == TypeId::kFloat ||
         id == TypeId::kDouble;
}

// NumPy's name of a number type, empty when it has none.
std::string_view NpyType(TypeId id) {
  switch (id) {
    case TypeId::kBool:
      return "|b1";
    case TypeId::kInt8:
      return "|i1";
    case TypeId::kUint8:
      return "|u1";
    case TypeId::kInt16:
      return "<i2";
    case TypeId::kUint16:
      return "<u2";
    case TypeId::kInt32:
      return "<i4";
    case TypeId::kUint32:
      return "<u4";
    case TypeId::kInt64:
      return "<i8";
    case TypeId::kUint64:
      return "<u8";
    case TypeId::kHalfFloat:
      return "<f2";
    case TypeId::kFloat:
      return "<f4";
    case TypeId::kDouble:
      return "<f8";
    case TypeId::kNull:
    case TypeId::kString:
    case TypeId::kLargeString:
    case TypeId::kBinary:
    case TypeId::kLargeBinary:
    case TypeId::kFixedSizeBinary:
    case TypeId::kDate32:
    case TypeId::kDate64:
    case TypeId::kTime32:
    case TypeId::kTime64:
    case TypeId::kTimestamp:
    case TypeId::kDuration:
    case TypeId::kDecimal128:
    case TypeId::kDecimal256:
    case TypeId::kStruct:
    case TypeId::kList:
    case TypeId::kLargeList:
    case TypeId::kFixedSizeList:
    case TypeId::kMap:
    case TypeId::kDictionary:
    case TypeId::kBlob:
      return "";
  }
  return "";
}

struct TensorShape {
  std::string header;  // padded as the .npy format wants it
  uint64_t items = 1;
  uint64_t item_bytes = 1;
  TypeId item = TypeId::kNull;
};

TensorShape ShapeOf(const DataType& type) {
  TensorShape shape;
  std::string dimensions;
  const DataType* level = &type;
  size_t count = 0;
  for (; level->id == TypeId::kFixedSizeList;
       level = level->children[0].type.get()) {
    shape.items *= level->width;
    dimensions += (count++ == 0 ? "" : ", ") + std::to_string(level->width);
  }
  if (count == 1) dimensions += ",";
  shape.item = level->id;
  shape.item_bytes = std::max(FixedWidth(*level).value_or(1), 1U);
  std::string dict = "{'descr': '" + std::string(NpyType(level->id)) +
                     "', 'fortran_order': False, 'shape': (" + dimensions +
                     "), }";
  // Magic, version and length take 10 bytes; all of it a multiple of 64.
  dict.append((64 - (10 + dict.size() + 1) % 64) % 64, ' ');
  shape.header = dict + "\n";
  return shape;
}

void AppendNaN(Bytes* out, TypeId id) {
  if (id == TypeId::kHalfFloat) {
    AppendU16(out, 0x7E00);
  } else if (id == TypeId::kFloat) {
    AppendU32(out, 0x7FC00000);
  } else {
    AppendU64(out, 0x7FF8000000000000);
  }
}

// The items of fixed-size list `index`, down to the numbers.
Status AppendItems(const Array& array, uint64_t index, Bytes* out) {
  const Array& items = array.children[0];
  const uint64_t width = array.type->width;
  for (uint64_t i = index * width; i < (index + 1) * width; ++i) {
    const bool null = items.IsNull(i);
    const TypeId id = items.type->id;
    if (null && !IsFloat(id)) {
      return {Code::kUnsupported, "a tensor with null items is no array"};
    }
    if (id == TypeId::kFixedSizeList) {
      ROWFS_RETURN_IF_ERROR(AppendItems(items, i, out));
    } else if (null) {
      AppendNaN(out, id);
    } else if (id == TypeId::kBool) {
      AppendU8(out, items.BoolAt(i) ? 1 : 0);
    } else {
      AppendBytes(out, items.FixedAt(i));
    }
  }
  return {};
}

// Text of a number, date or time; absent for other types.
std::optional<std::string> ScalarText(const Array& array, uint64_t index) {
  const DataType& type = *array.type;
  switch (type.id) {
    case TypeId::kBool:
      return array.BoolAt(index) ? "true" : "false";
    case TypeId::kUint64:
      return std::to_string(LoadU64(array.FixedAt(index)));
    case TypeId::kInt8:
    case TypeId::kUint8:
    case TypeId::kInt16:
    case TypeId::kUint16:
    case TypeId::kInt32:
    case TypeId::kUint32:
    case TypeId::kInt64:
      return std::to_string(array.IntAt(index));
    case TypeId::kHalfFloat:
      return HalfText(LoadU16(array.FixedAt(index)));
    case TypeId::kFloat:
      return ShortestDecimal(Load<float>(array.FixedAt(index)));
    case TypeId::kDouble:
      return ShortestDecimal(Load<double>(array.FixedAt(index)));
    case TypeId::kDecimal128:
    case TypeId::kDecimal256:
      return DecimalText(array.FixedAt(index), type.scale);
    case TypeId::kDate32:
      return DateText(array.IntAt(index));
    case TypeId::kDate64: {
      const int64_t ms = array.IntAt(index);
      // A date64 is a whole number of days by the Arrow format; one that is not
      // keeps its time.
      if (ms % 86'400'000 == 0) return DateText(ms / 86'400'000);
      return TimestampText(ms, TimeUnit::kMilli, "");
    }
    case TypeId::kTime32:
    case TypeId::kTime64:
      return TimeText(array.IntAt(index), type.unit);
    case TypeId::kTimestamp:
      return TimestampText(array.IntAt(index), type.unit, type.zone);
    case TypeId::kDuration:
      return DurationText(array.IntAt(index), type.unit);
    case TypeId::kNull:
    case TypeId::kString:
    case TypeId::kLargeString:
    case TypeId::kBinary:
    case TypeId::kLargeBinary:
    case TypeId::kFixedSizeBinary:
    case TypeId::kStruct:
    case TypeId::kList:
    case TypeId::kLargeList:
    case TypeId::kFixedSizeList:
    case TypeId::kMap:
    case TypeId::kDictionary:
    case TypeId::kBlob:
      return std::nullopt;
  }
  return std::nullopt;
}

bool IsJsonNumber(TypeId id) {
  return id >= TypeId::kInt8 && id <= TypeId::kDouble;
}

// Writes one value and remembers the way down to it.
class JsonMaker {
 public:
  explicit JsonMaker(const BlobJson& blob_json) : blob_json_(blob_json) {}

  Json Value(const Array& array, uint64_t index) {
    if (array.type->id == TypeId::kNull || array.IsNull(index)) return {};
    if (const auto text = ScalarText(array, index)) {
      return Scalar(array.type->id, *text);
    }
    const TypeId id = array.type->id;
    if (id == TypeId::kString || id == TypeId::kLargeString) {
      return Json::String(AsText(array.BytesAt(index)));
    }
    if (id == TypeId::kBinary || id == TypeId::kLargeBinary) {
      return Json::String(ToBase64(array.BytesAt(index)));
    }
    if (id == TypeId::kFixedSizeBinary) {
      return Json::String(ToBase64(array.FixedAt(index)));
    }
    if (id == TypeId::kBlob) return blob_json_(array, index, steps_);
    if (id == TypeId::kDictionary) return Dictionary(array, index);
    if (id == TypeId::kStruct) return Struct(array, index);
    return Items(array, index);
  }

 private:
  static Json Scalar(TypeId id, const std::string& text) {
    if (id == TypeId::kBool) return Json::Bool(text == "true");
    const bool finite =
        text.find_first_of("Na") == text.npos && text.find("Inf") == text.npos;
    if (!IsJsonNumber(id) || !finite) return Json::String(text);
    Json number;
    number.kind = Json::Kind::kNumber;
    number.text = text;
    return number;
  }

  Json Dictionary(const Array& array, uint64_t index) {
    const uint32_t width =
        FixedWidth(*array.type->children[0].type).value_or(4);
    const uint64_t key =
        LoadUint(ByteSpan(*array.data).subspan(index * width), width);
    if (!array.dictionary || key >= array.dictionary->length) return {};
    return Value(*array.dictionary, key);
  }

  Json Struct(const Array& array, uint64_t index) {
    Json object = Json::Object();
    for (size_t c = 0; c < array.children.size(); ++c) {
      steps_.push_back(static_cast<uint32_t>(c));
      object.Add(array.type->children[c].name, Value(array.children[c], index));
      steps_.pop_back();
    }
    return object;
  }

  Json Items(const Array& array, uint64_t index) {
    const bool fixed = array.type->id == TypeId::kFixedSizeList;
    const uint64_t begin =
        fixed ? index * array.type->width : array.OffsetAt(index);
    const uint64_t end =
        fixed ? begin + array.type->width : array.OffsetAt(index + 1);
    const bool map = array.type->id == TypeId::kMap;
    Json list = Json::Array();
    for (uint64_t i = begin; i < end; ++i) {
      steps_.push_back(static_cast<uint32_t>(i - begin));
      Json item = Value(array.children[0], i);
      if (map && item.kind == Json::Kind::kObject) {
        Json pair = Json::Array();
        for (auto& [key, value] : item.members) {
          pair.items.push_back(std::move(value));
        }
        item = std::move(pair);
      }
      list.items.push_back(std::move(item));
      steps_.pop_back();
    }
    return list;
  }

  const BlobJson& blob_json_;
  std::vector<uint32_t> steps_;
};

}  // namespace

Json ValueJson(const Array& array, uint64_t index, const BlobJson& blob_json) {
  return JsonMaker(blob_json).Value(array, index);
}

std::string NumberText(const Array& array, uint64_t index) {
  if (array.type->id == TypeId::kDictionary) {
    const Json value = ValueJson(array, index, {});
    return value.kind == Json::Kind::kString ? value.text : WriteJson(value);
  }
  return ScalarText(array, index).value_or("");
}

bool IsTensor(const DataType& type) {
  const DataType* level = &type;
  while (level->id == TypeId::kFixedSizeList) {
    level = level->children[0].type.get();
  }
  return level != &type && !NpyType(level->id).empty();
}

uint64_t NpySize(const DataType& type) {
  const TensorShape shape = ShapeOf(type);
  return 10 + shape.header.size() + shape.items * shape.item_bytes;
}

Result<Bytes> NpyBytes(const Array& array, uint64_t index) {
  const TensorShape shape = ShapeOf(*array.type);
  Bytes out = ToBytes("\x93NUMPY");
  AppendU8(&out, 1);
  AppendU8(&out, 0);
  AppendU16(&out, static_cast<uint16_t>(shape.header.size()));
  AppendText(&out, shape.header);
  ROWFS_RETURN_IF_ERROR(AppendItems(array, index, &out));
  return out;
}

}  // namespace rowfs
