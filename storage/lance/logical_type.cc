#include "storage/lance/logical_type.h"

#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

namespace rowfs {
namespace {

constexpr int kNestingMax = 16;
constexpr uint32_t kWidthMax = 1u << 30;

struct PlainName {
  std::string_view name;
  TypeId id;
  TimeUnit unit = TimeUnit::kSecond;
};

constexpr std::array kPlainNames = {
    PlainName{"null", TypeId::kNull},
    PlainName{"bool", TypeId::kBool},
    PlainName{"int8", TypeId::kInt8},
    PlainName{"uint8", TypeId::kUint8},
    PlainName{"int16", TypeId::kInt16},
    PlainName{"uint16", TypeId::kUint16},
    PlainName{"int32", TypeId::kInt32},
    PlainName{"uint32", TypeId::kUint32},
    PlainName{"int64", TypeId::kInt64},
    PlainName{"uint64", TypeId::kUint64},
    PlainName{"halffloat", TypeId::kHalfFloat},
    PlainName{"float", TypeId::kFloat},
    PlainName{"double", TypeId::kDouble},
    PlainName{"string", TypeId::kString},
    PlainName{"large_string", TypeId::kLargeString},
    PlainName{"binary", TypeId::kBinary},
    PlainName{"large_binary", TypeId::kLargeBinary},
    PlainName{"json", TypeId::kString},
    PlainName{"blob", TypeId::kLargeBinary},
    PlainName{"date32:day", TypeId::kDate32},
    PlainName{"date64:ms", TypeId::kDate64, TimeUnit::kMilli},
    PlainName{"time32:s", TypeId::kTime32, TimeUnit::kSecond},
    PlainName{"time32:ms", TypeId::kTime32, TimeUnit::kMilli},
    PlainName{"time64:us", TypeId::kTime64, TimeUnit::kMicro},
    PlainName{"time64:ns", TypeId::kTime64, TimeUnit::kNano},
    PlainName{"duration:s", TypeId::kDuration, TimeUnit::kSecond},
    PlainName{"duration:ms", TypeId::kDuration, TimeUnit::kMilli},
    PlainName{"duration:us", TypeId::kDuration, TimeUnit::kMicro},
    PlainName{"duration:ns", TypeId::kDuration, TimeUnit::kNano},
};

constexpr std::array kUnitNames = {
    std::pair<std::string_view, TimeUnit>{"s", TimeUnit::kSecond},
    std::pair<std::string_view, TimeUnit>{"ms", TimeUnit::kMilli},
    std::pair<std::string_view, TimeUnit>{"us", TimeUnit::kMicro},
    std::pair<std::string_view, TimeUnit>{"ns", TimeUnit::kNano},
};

Status Unknown(std::string_view text) {
  return {Code::kUnsupported,
          "logical type \"" + std::string(text) + "\" is not known"};
}

Status Bad(std::string_view text) {
  return {Code::kCorruption,
          "logical type \"" + std::string(text) + "\" is malformed"};
}

template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

// The part before the first ':'; `*text` keeps what is behind it.
std::string_view TakeFront(std::string_view* text) {
  const size_t colon = text->find(':');
  const std::string_view front = text->substr(0, colon);
  *text = colon == std::string_view::npos ? std::string_view()
                                          : text->substr(colon + 1);
  return front;
}

// The part behind the last ':'; `*text` keeps what is before it.
std::string_view TakeBack(std::string_view* text) {
  const size_t colon = text->rfind(':');
  if (colon == std::string_view::npos) return std::exchange(*text, {});
  const std::string_view back = text->substr(colon + 1);
  *text = text->substr(0, colon);
  return back;
}

Result<TypePtr> Decode(std::string_view text, int depth);

Result<TypePtr> DecodeTimestamp(std::string_view text, std::string_view rest) {
  DataType type{.id = TypeId::kTimestamp};
  const std::string_view unit = TakeFront(&rest);
  for (const auto& [name, value] : kUnitNames) {
    if (name != unit) continue;
    type.unit = value;
    // A zone may hold colons itself: "+02:30".
    if (rest != "-") type.zone = rest;
    return MakeType(std::move(type));
  }
  return Bad(text);
}

Result<TypePtr> DecodeDecimal(std::string_view text, std::string_view rest) {
  const std::string_view bits = TakeFront(&rest);
  const std::string_view precision_text = TakeFront(&rest);
  const auto precision = ParseNumber<int32_t>(precision_text);
  const auto scale = ParseNumber<int32_t>(rest);
  if ((bits != "128" && bits != "256") || !precision || !scale) {
    return Bad(text);
  }
  const int32_t precision_max = bits == "128" ? 38 : 76;
  if (*precision < 1 || *precision > precision_max || *scale < -128 ||
      *scale > 127) {
    return Bad(text);
  }
  return MakeType(
      DataType{.id = bits == "128" ? TypeId::kDecimal128 : TypeId::kDecimal256,
               .precision = *precision,
               .scale = *scale});
}

Result<TypePtr> DecodeFixedSizeList(std::string_view text,
                                    std::string_view rest, int depth) {
  const auto width = ParseNumber<uint32_t>(TakeBack(&rest));
  if (!width || *width == 0 || *width > kWidthMax || depth >= kNestingMax) {
    return Bad(text);
  }
  Field item{.name = "item"};
  if (rest == kBfloat16Extension) {
    item.type = MakeType(DataType{.id = TypeId::kFixedSizeBinary, .width = 2});
    item.metadata = {{std::string(kExtensionName), std::string(rest)}};
  } else {
    ROWFS_ASSIGN_OR_RETURN(item.type, Decode(rest, depth + 1));
  }
  return MakeType(DataType{.id = TypeId::kFixedSizeList,
                           .width = *width,
                           .children = {std::move(item)}});
}

Result<TypePtr> DecodeDictionary(std::string_view text, std::string_view rest,
                                 int depth) {
  const std::string_view ordered = TakeBack(&rest);
  const std::string_view index_name = TakeBack(&rest);
  if ((ordered != "true" && ordered != "false") || depth >= kNestingMax) {
    return Bad(text);
  }
  ROWFS_ASSIGN_OR_RETURN(TypePtr index, Decode(index_name, depth + 1));
  if (index->id < TypeId::kInt8 || index->id > TypeId::kUint64) {
    return Bad(text);
  }
  ROWFS_ASSIGN_OR_RETURN(TypePtr value, Decode(rest, depth + 1));
  if (value->id == TypeId::kDictionary) return Bad(text);
  return MakeType(DataType{
      .id = TypeId::kDictionary,
      .ordered = ordered == "true",
      .children = {{"index", std::move(index)}, {"value", std::move(value)}}});
}

Result<TypePtr> Decode(std::string_view text, int depth) {
  for (const PlainName& plain : kPlainNames) {
    if (plain.name == text) {
      return MakeType(DataType{.id = plain.id, .unit = plain.unit});
    }
  }
  std::string_view rest = text;
  const std::string_view front = TakeFront(&rest);
  if (rest.empty()) return Unknown(text);
  if (front == "timestamp") return DecodeTimestamp(text, rest);
  if (front == "decimal") return DecodeDecimal(text, rest);
  if (front == "fixed_size_list") {
    return DecodeFixedSizeList(text, rest, depth);
  }
  if (front == "dict") return DecodeDictionary(text, rest, depth);
  if (front == "fixed_size_binary") {
    const auto width = ParseNumber<uint32_t>(rest);
    if (!width || *width > kWidthMax) return Bad(text);
    return MakeType(DataType{.id = TypeId::kFixedSizeBinary, .width = *width});
  }
  return Unknown(text);
}

std::string_view UnitName(TimeUnit unit) {
  for (const auto& [name, value] : kUnitNames) {
    if (value == unit) return name;
  }
  return "s";
}

}  // namespace

Result<TypePtr> DecodeLogicalType(std::string_view logical_type) {
  return Decode(logical_type, 0);
}

Result<std::string> EncodeLogicalType(const DataType& type) {
  for (const PlainName& plain : kPlainNames) {
    if (plain.id == type.id && plain.unit == type.unit) {
      return std::string(plain.name);
    }
  }
  if (type.id == TypeId::kTimestamp) {
    return "timestamp:" + std::string(UnitName(type.unit)) + ":" +
           (type.zone.empty() ? "-" : type.zone);
  }
  if (type.id == TypeId::kDecimal128 || type.id == TypeId::kDecimal256) {
    return std::string(type.id == TypeId::kDecimal128 ? "decimal:128:"
                                                      : "decimal:256:") +
           std::to_string(type.precision) + ":" + std::to_string(type.scale);
  }
  if (type.id == TypeId::kFixedSizeBinary) {
    return "fixed_size_binary:" + std::to_string(type.width);
  }
  if (type.id == TypeId::kFixedSizeList) {
    const Field& item = type.children[0];
    std::string inner(kBfloat16Extension);
    if (item.FindMetadata(kExtensionName) != kBfloat16Extension) {
      ROWFS_ASSIGN_OR_RETURN(inner, EncodeLogicalType(*item.type));
    }
    return "fixed_size_list:" + inner + ":" + std::to_string(type.width);
  }
  if (type.id == TypeId::kDictionary) {
    ROWFS_ASSIGN_OR_RETURN(const std::string index,
                           EncodeLogicalType(*type.children[0].type));
    ROWFS_ASSIGN_OR_RETURN(const std::string value,
                           EncodeLogicalType(*type.children[1].type));
    return "dict:" + value + ":" + index + (type.ordered ? ":true" : ":false");
  }
  return Status(Code::kUnsupported,
                "type " + type.ToString() + " has no Lance name");
}

void SetJsonExtension(Metadata* metadata) {
  std::erase_if(*metadata, [](const auto& entry) {
    return entry.first == kExtensionName;
  });
  metadata->emplace_back(kExtensionName, kJsonExtension);
}

}  // namespace rowfs
