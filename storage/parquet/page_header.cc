#include "storage/parquet/page_header.h"

#include <string>
#include <string_view>

namespace rowfs {
namespace {

constexpr size_t kDepthMax = 16;

enum Type : uint8_t {
  kStop = 0,
  kTrue = 1,
  kFalse = 2,
  kByte = 3,
  kI16 = 4,
  kI32 = 5,
  kI64 = 6,
  kDouble = 7,
  kBinary = 8,
  kList = 9,
  kSet = 10,
  kMap = 11,
  kStruct = 12,
};

Status Bad(std::string_view message) {
  return {Code::kCorruption, "page header: " + std::string(message)};
}

// Reads forward; running out of bytes is kOutOfRange, unlike in Cursor.
class Thrift {
 public:
  explicit Thrift(ByteSpan bytes) : bytes_(bytes) {}
  size_t position() const { return at_; }

  Result<uint8_t> Byte() {
    if (at_ >= bytes_.size()) return Ended();
    return static_cast<uint8_t>(bytes_[at_++]);
  }
  Result<uint64_t> Varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      ROWFS_ASSIGN_OR_RETURN(const uint8_t byte, Byte());
      value |= static_cast<uint64_t>(byte & 127U) << shift;
      if (byte < 128) return value;
    }
    return Bad("a number that does not end");
  }
  Result<int64_t> Int() {
    ROWFS_ASSIGN_OR_RETURN(const uint64_t value, Varint());
    return static_cast<int64_t>(value >> 1U) ^
           -static_cast<int64_t>(value & 1U);
  }
  Status Skip(uint64_t count) {
    if (count > bytes_.size() - at_) return Ended();
    at_ += static_cast<size_t>(count);
    return {};
  }

  struct FieldHead {
    uint8_t type = kStop;
    int64_t id = 0;
  };
  // The next field of a struct whose last field was `last`.
  Result<FieldHead> Field(int64_t last) {
    ROWFS_ASSIGN_OR_RETURN(const uint8_t byte, Byte());
    FieldHead field{static_cast<uint8_t>(byte & 15U), last + (byte >> 4U)};
    if (field.type != kStop && byte >> 4U == 0) {
      ROWFS_ASSIGN_OR_RETURN(field.id, Int());
    }
    return field;
  }

  Status SkipValue(uint8_t type, size_t depth) {
    if (depth > kDepthMax) return Bad("nested too deeply");
    switch (type) {
      case kTrue:
      case kFalse:
        return {};
      case kByte:
        return Skip(1);
      case kI16:
      case kI32:
      case kI64:
        return Varint().status();
      case kDouble:
        return Skip(8);
      case kBinary: {
        ROWFS_ASSIGN_OR_RETURN(const uint64_t size, Varint());
        return Skip(size);
      }
      case kList:
      case kSet:
        return SkipItems(depth);
      case kStruct: {
        FieldHead field;
        for (;;) {
          ROWFS_ASSIGN_OR_RETURN(field, Field(field.id));
          if (field.type == kStop) return {};
          ROWFS_RETURN_IF_ERROR(SkipValue(field.type, depth + 1));
        }
      }
      default:
        return Bad("a value of an unknown type");
    }
  }

 private:
  Status Ended() const {
    return {Code::kOutOfRange, "page header: the bytes end inside it"};
  }

  Status SkipItems(size_t depth) {
    ROWFS_ASSIGN_OR_RETURN(const uint8_t head, Byte());
    uint64_t count = head >> 4U;
    if (count == 15) {
      ROWFS_ASSIGN_OR_RETURN(count, Varint());
    }
    const auto type = static_cast<uint8_t>(head & 15U);
    for (uint64_t i = 0; i < count; ++i) {
      // In a list a bool takes a byte; that also bounds the loop.
      const bool is_bool = type == kTrue || type == kFalse;
      ROWFS_RETURN_IF_ERROR(is_bool ? Skip(1) : SkipValue(type, depth + 1));
    }
    return {};
  }

  const ByteSpan bytes_;
  size_t at_ = 0;
};

Result<uint64_t> Count(Thrift* in) {
  ROWFS_ASSIGN_OR_RETURN(const int64_t value, in->Int());
  if (value < 0) return Bad("a negative count");
  return static_cast<uint64_t>(value);
}

// DataPageHeader(V2) and DictionaryPageHeader: field 1 counts values; of V2
// field 3 counts rows.
Status ParseCounts(Thrift* in, bool has_rows, PageHeader* out) {
  Thrift::FieldHead field;
  for (;;) {
    ROWFS_ASSIGN_OR_RETURN(field, in->Field(field.id));
    if (field.type == kStop) return {};
    if (field.type == kI32 && field.id == 1) {
      ROWFS_ASSIGN_OR_RETURN(out->value_count, Count(in));
    } else if (field.type == kI32 && field.id == 3 && has_rows) {
      ROWFS_ASSIGN_OR_RETURN(out->row_count, Count(in));
    } else {
      ROWFS_RETURN_IF_ERROR(in->SkipValue(field.type, 2));
    }
  }
}

}  // namespace

Result<PageHeader> ParsePageHeader(ByteSpan bytes) {
  Thrift in(bytes);
  PageHeader header;
  bool has_kind = false;
  bool has_size = false;
  Thrift::FieldHead field;
  for (;;) {
    ROWFS_ASSIGN_OR_RETURN(field, in.Field(field.id));
    if (field.type == kStop) break;
    if (field.type == kI32 && field.id == 1) {
      ROWFS_ASSIGN_OR_RETURN(const uint64_t kind, Count(&in));
      header.kind = kind < 4 ? static_cast<PageHeader::Kind>(kind)
                             : PageHeader::Kind::kOther;
      has_kind = true;
    } else if (field.type == kI32 && field.id == 3) {
      ROWFS_ASSIGN_OR_RETURN(header.compressed_size, Count(&in));
      has_size = true;
    } else if (field.type == kStruct &&
               (field.id == 5 || field.id == 7 || field.id == 8)) {
      ROWFS_RETURN_IF_ERROR(ParseCounts(&in, field.id == 8, &header));
    } else {
      ROWFS_RETURN_IF_ERROR(in.SkipValue(field.type, 1));
    }
  }
  if (!has_kind || !has_size) return Bad("no page type or size");
  header.header_size = in.position();
  return header;
}

}  // namespace rowfs
