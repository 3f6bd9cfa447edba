#include "storage/lance/json_binary.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string_view>
#include <vector>

#include "storage/base/json.h"

namespace rowfs {
namespace {

constexpr int kDepthMax = 128;
constexpr uint32_t kContainerMask = 0xE0000000;
constexpr uint32_t kScalar = 0x20000000;
constexpr uint32_t kObject = 0x40000000;
constexpr uint32_t kArray = 0x80000000;
constexpr size_t kEntryBytes = 4;

enum class EntryType : uint8_t {
  kNull,
  kString,
  kNumber,
  kFalse,
  kTrue,
  kContainer,
  kExtension,
};

struct Entry {
  EntryType type = EntryType::kNull;
  uint64_t size = 0;

  static Entry Decode(uint32_t bits) {
    return {static_cast<EntryType>(bits >> 28 & 7), bits & 0x0FFFFFFF};
  }
};

// A signed big-endian integer of any width as decimal digits.
std::string Digits(ByteSpan bytes) {
  std::vector<uint8_t> magnitude;
  for (const std::byte byte : bytes) {
    magnitude.push_back(static_cast<uint8_t>(byte));
  }
  const bool negative = (magnitude[0] & 0x80) != 0;
  if (negative) {
    unsigned carry = 1;
    for (size_t i = magnitude.size(); i-- > 0;) {
      carry += static_cast<uint8_t>(~magnitude[i]);
      magnitude[i] = static_cast<uint8_t>(carry);
      carry >>= 8;
    }
  }
  std::string digits;
  bool zero = false;
  while (!zero) {
    unsigned rest = 0;
    zero = true;
    for (uint8_t& byte : magnitude) {
      rest = rest << 8 | byte;
      byte = static_cast<uint8_t>(rest / 10);
      rest %= 10;
      zero = zero && byte == 0;
    }
    digits += static_cast<char>('0' + rest);
  }
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

// `digits` with the point `scale` places from the right.
std::string PlacePoint(std::string digits, size_t scale) {
  if (scale == 0) return digits;
  const size_t sign = digits[0] == '-' ? 1 : 0;
  if (digits.size() - sign <= scale) {
    digits.insert(sign, scale + 1 - (digits.size() - sign), '0');
  }
  digits.insert(digits.size() - scale, ".");
  return digits;
}

class Decoder {
 public:
  explicit Decoder(ByteSpan bytes) : cursor_(bytes, "binary JSON") {}

  Result<std::string> Run() {
    ROWFS_RETURN_IF_ERROR(Container(0));
    if (!cursor_.AtEnd()) return cursor_.Error("bytes are left over");
    return std::move(text_);
  }

 private:
  Status Container(int depth) {
    if (depth > kDepthMax) return cursor_.Error("nested too deeply");
    ROWFS_ASSIGN_OR_RETURN(const ByteSpan bytes, cursor_.Take(kEntryBytes));
    const uint32_t header = LoadU32BigEndian(bytes);
    const uint64_t count = header & ~kContainerMask;
    switch (header & kContainerMask) {
      case kScalar: {
        ROWFS_ASSIGN_OR_RETURN(const std::vector<Entry> entries, Entries(1));
        return Value(entries[0], depth);
      }
      case kArray:
        return Array(count, depth);
      case kObject:
        return Object(count, depth);
      default:
        return cursor_.Error("an unknown container");
    }
  }

  Status Array(uint64_t count, int depth) {
    ROWFS_ASSIGN_OR_RETURN(const std::vector<Entry> entries, Entries(count));
    text_ += '[';
    for (uint64_t i = 0; i < count; ++i) {
      if (i > 0) text_ += ',';
      ROWFS_RETURN_IF_ERROR(Value(entries[i], depth));
    }
    text_ += ']';
    return {};
  }

  // All entries, keys first; then all keys, then all values.
  Status Object(uint64_t count, int depth) {
    ROWFS_ASSIGN_OR_RETURN(const std::vector<Entry> entries,
                           Entries(2 * count));
    std::vector<std::string_view> keys;
    for (uint64_t i = 0; i < count; ++i) {
      if (entries[i].type != EntryType::kString) {
        return cursor_.Error("a key that is no string");
      }
      ROWFS_ASSIGN_OR_RETURN(const ByteSpan key, cursor_.Take(entries[i].size));
      keys.push_back(AsText(key));
    }
    text_ += '{';
    for (uint64_t i = 0; i < count; ++i) {
      if (i > 0) text_ += ',';
      text_ += JsonQuote(keys[i]) + ":";
      ROWFS_RETURN_IF_ERROR(Value(entries[count + i], depth));
    }
    text_ += '}';
    return {};
  }

  Result<std::vector<Entry>> Entries(uint64_t count) {
    ROWFS_ASSIGN_OR_RETURN(const ByteSpan bytes,
                           cursor_.Take(count * kEntryBytes));
    std::vector<Entry> entries;
    for (uint64_t i = 0; i < count; ++i) {
      entries.push_back(
          Entry::Decode(LoadU32BigEndian(bytes.subspan(i * kEntryBytes))));
    }
    return entries;
  }

  Status Value(Entry entry, int depth) {
    switch (entry.type) {
      case EntryType::kNull:
        text_ += "null";
        return {};
      case EntryType::kTrue:
        text_ += "true";
        return {};
      case EntryType::kFalse:
        text_ += "false";
        return {};
      case EntryType::kString: {
        ROWFS_ASSIGN_OR_RETURN(const ByteSpan bytes, cursor_.Take(entry.size));
        text_ += JsonQuote(AsText(bytes));
        return {};
      }
      case EntryType::kNumber: {
        ROWFS_ASSIGN_OR_RETURN(const ByteSpan bytes, cursor_.Take(entry.size));
        return Number(bytes);
      }
      case EntryType::kContainer:
        return Container(depth + 1);
      case EntryType::kExtension:
        return {Code::kUnsupported, "binary JSON with an extension value"};
    }
    return cursor_.Error("an unknown entry");
  }

  Status Number(ByteSpan bytes) {
    if (bytes.empty()) return cursor_.Error("a number without bytes");
    const auto tag = static_cast<uint8_t>(bytes[0]);
    const ByteSpan digits = bytes.subspan(1);
    const bool integer = digits.size() == 1 || digits.size() == 2 ||
                         digits.size() == 4 || digits.size() == 8;
    if (tag == 0x00) {
      text_ += '0';
    } else if (tag == 0x10 || tag == 0x20 || tag == 0x30) {
      text_ += "null";  // JSON has no such numbers
    } else if (tag == 0x40 && integer) {
      text_ += Digits(digits);
    } else if (tag == 0x50 && integer) {
      uint64_t value = 0;
      for (const std::byte byte : digits) {
        value = value << 8 | static_cast<uint8_t>(byte);
      }
      text_ += std::to_string(value);
    } else if (tag == 0x60 && digits.size() == 8) {
      const uint64_t bits = LoadU64BigEndian(digits);
      double value;
      std::memcpy(&value, &bits, sizeof(value));
      std::string text = std::isfinite(value) ? ShortestDecimal(value) : "null";
      // A double stays one.
      if (text.find_first_of(".el") == text.npos) text += ".0";
      text_ += text;
    } else if (tag == 0x70 && digits.size() >= 9) {
      // Behind the value: its scale; before that, in an older form, precision.
      const size_t width = digits.size() / 8 * 8;
      if (digits.size() - width > 2) return cursor_.Error("a bad decimal");
      if (digits.size() == width) return cursor_.Error("a bad decimal");
      text_ += PlacePoint(Digits(digits.first(width)),
                          static_cast<uint8_t>(digits.back()));
    } else {
      return cursor_.Error("an unknown number");
    }
    return {};
  }

  Cursor cursor_;
  std::string text_;
};

class Encoder {
 public:
  Result<Bytes> Run(const Json& document) {
    const bool container = document.kind == Json::Kind::kArray ||
                           document.kind == Json::Kind::kObject;
    if (container) {
      ROWFS_RETURN_IF_ERROR(Container(document));
      return std::move(out_);
    }
    Bytes value;
    AppendU32BigEndian(&out_, kScalar);
    ROWFS_ASSIGN_OR_RETURN(const uint32_t entry, Value(document, &value));
    AppendU32BigEndian(&out_, entry);
    AppendBytes(&out_, value);
    return std::move(out_);
  }

 private:
  static Result<uint32_t> Describe(EntryType type, size_t size) {
    constexpr size_t kSizeMax = 0x0FFFFFFF;
    if (size > kSizeMax) {
      return Status(Code::kInvalidArgument,
                    "JSON with a part of 256 MiB and more");
    }
    return static_cast<uint32_t>(type) << 28 | static_cast<uint32_t>(size);
  }

  // The value's entry; its bytes go behind `*values`.
  static Result<uint32_t> Value(const Json& value, Bytes* values) {
    switch (value.kind) {
      case Json::Kind::kNull:
        return Describe(EntryType::kNull, 0);
      case Json::Kind::kBool:
        return Describe(value.boolean ? EntryType::kTrue : EntryType::kFalse,
                        0);
      case Json::Kind::kString:
        AppendText(values, value.text);
        return Describe(EntryType::kString, value.text.size());
      case Json::Kind::kNumber: {
        const size_t before = values->size();
        AppendNumber(value, values);
        return Describe(EntryType::kNumber, values->size() - before);
      }
      case Json::Kind::kArray:
      case Json::Kind::kObject:
        break;
    }
    ROWFS_ASSIGN_OR_RETURN(const Bytes inner, Encoder().Run(value));
    AppendBytes(values, inner);
    return Describe(EntryType::kContainer, inner.size());
  }

  static void AppendBigEndian(uint64_t value, size_t width, Bytes* out) {
    for (size_t i = width; i > 0; --i) {
      AppendU8(out, static_cast<uint8_t>(value >> (i - 1) * 8));
    }
  }

  static void AppendNumber(const Json& number, Bytes* out) {
    if (const auto whole = number.AsUint()) {
      if (*whole == 0) return AppendU8(out, 0x00);
      AppendU8(out, 0x50);
      const size_t bytes =
          (static_cast<size_t>(std::bit_width(*whole)) + 7) / 8;
      return AppendBigEndian(*whole, std::bit_ceil(bytes), out);
    }
    if (const auto whole = number.AsInt()) {
      AppendU8(out, 0x40);
      const auto bits = static_cast<uint64_t>(*whole);
      const size_t bytes =
          (static_cast<size_t>(std::bit_width(~bits)) + 1 + 7) / 8;
      return AppendBigEndian(bits, std::bit_ceil(bytes), out);
    }
    const double value = number.AsDouble().value_or(0);
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    AppendU8(out, 0x60);
    AppendBigEndian(bits, sizeof(bits), out);
  }

  Status Container(const Json& value) {
    Bytes values;
    const bool object = value.kind == Json::Kind::kObject;
    const size_t count = object ? value.members.size() : value.items.size();
    if (count > ~kContainerMask) {
      return {Code::kInvalidArgument, "JSON with too many items"};
    }
    AppendU32BigEndian(
        &out_, (object ? kObject : kArray) | static_cast<uint32_t>(count));
    std::vector<const Json*> items;
    if (object) {
      std::vector<size_t> order(count);
      std::iota(order.begin(), order.end(), size_t{0});
      std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return value.members[a].first < value.members[b].first;
      });
      for (const size_t i : order) {
        const auto& [key, item] = value.members[i];
        ROWFS_ASSIGN_OR_RETURN(const uint32_t entry,
                               Describe(EntryType::kString, key.size()));
        AppendU32BigEndian(&out_, entry);
        AppendText(&values, key);
        items.push_back(&item);
      }
    } else {
      for (const Json& item : value.items) items.push_back(&item);
    }
    for (const Json* item : items) {
      ROWFS_ASSIGN_OR_RETURN(const uint32_t entry, Value(*item, &values));
      AppendU32BigEndian(&out_, entry);
    }
    AppendBytes(&out_, values);
    return {};
  }

  Bytes out_;
};

}  // namespace

Result<Bytes> EncodeJsonBinary(std::string_view text) {
  ROWFS_ASSIGN_OR_RETURN(const Json document, ParseJson(text));
  return Encoder().Run(document);
}

Result<std::string> DecodeJsonBinary(ByteSpan bytes) {
  return Decoder(bytes).Run();
}

}  // namespace rowfs
