#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>
#include <string>
#include <unordered_map>

#include "storage/table/array_layout.h"

namespace rowfs {
namespace {

// `length` values of `array` from `begin` on. Slice, Take and Concat are all
// one list of these, gathered in order.
struct Piece {
  const Array* array = nullptr;
  uint64_t begin = 0;
  uint64_t length = 0;
};

using Pieces = std::vector<Piece>;

SharedBytes Share(Bytes bytes) {
  return std::make_shared<const Bytes>(std::move(bytes));
}

uint64_t TotalLength(const Pieces& pieces) {
  uint64_t total = 0;
  for (const Piece& piece : pieces) total += piece.length;
  return total;
}

bool BitAt(const Bytes& bits, uint64_t i) {
  return ((static_cast<unsigned>(bits[i / 8]) >> (i % 8)) & 1U) != 0;
}

// Appends bits to a bitmap made large enough beforehand.
struct BitWriter {
  Bytes bits;
  uint64_t next = 0;

  explicit BitWriter(uint64_t count) : bits(count / 8 + 1) {}

  void Append(bool value) {
    if (value) bits[next / 8] |= std::byte{1} << (next % 8);
    ++next;
  }
  void Copy(const Bytes& from, uint64_t begin, uint64_t count) {
    uint64_t i = 0;
    if (begin % 8 == 0 && next % 8 == 0 && count >= 8) {
      std::memcpy(bits.data() + next / 8, from.data() + begin / 8, count / 8);
      i = count / 8 * 8;
      next += i;
    }
    for (; i < count; ++i) Append(BitAt(from, begin + i));
  }
  void Fill(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) Append(true);
  }
};

void GatherValidity(const Pieces& pieces, Array* out) {
  if (out->type->id == TypeId::kNull) {
    out->null_count = out->length;
    return;
  }
  const bool any = std::any_of(
      pieces.begin(), pieces.end(),
      [](const Piece& piece) { return piece.array->validity != nullptr; });
  if (!any) return;
  BitWriter writer(out->length);
  for (const Piece& piece : pieces) {
    const SharedBytes& from = piece.array->validity;
    if (from == nullptr) {
      writer.Fill(piece.length);
    } else {
      writer.Copy(*from, piece.begin, piece.length);
    }
  }
  uint64_t valid = 0;
  for (uint64_t i = 0; i < out->length; ++i) valid += BitAt(writer.bits, i);
  out->null_count = out->length - valid;
  if (out->null_count > 0) out->validity = Share(std::move(writer.bits));
}

SharedBytes GatherBits(const Pieces& pieces, uint64_t length) {
  BitWriter writer(length);
  for (const Piece& piece : pieces) {
    if (piece.length == 0) continue;
    writer.Copy(*piece.array->data, piece.begin, piece.length);
  }
  return Share(std::move(writer.bits));
}

SharedBytes GatherFixed(const Pieces& pieces, uint64_t length, uint32_t width) {
  Bytes data;
  data.reserve(length * width);
  for (const Piece& piece : pieces) {
    if (piece.length == 0) continue;
    AppendBytes(&data, ByteSpan(*piece.array->data)
                           .subspan(piece.begin * width, piece.length * width));
  }
  return Share(std::move(data));
}

// What the pieces' offsets span: for strings bytes of `data`, for lists items
// of the child, `array` meaning the child there.
Pieces ValueRanges(const Pieces& pieces, bool of_child) {
  Pieces ranges;
  for (const Piece& piece : pieces) {
    const uint64_t begin = piece.array->OffsetAt(piece.begin);
    const uint64_t end = piece.array->OffsetAt(piece.begin + piece.length);
    if (begin == end) continue;
    const Array* of = of_child ? &piece.array->children[0] : piece.array;
    ranges.push_back({of, begin, end - begin});
  }
  return ranges;
}

// Offsets `begin` + 1 to `begin` + `length`, as if the first of them began at
// `base`.
template <typename From, typename To>
void CopyOffsets(const Bytes& from, const Piece& piece, uint64_t base, To* to) {
  From previous;
  const std::byte* at = from.data() + piece.begin * sizeof(From);
  std::memcpy(&previous, at, sizeof(From));
  const uint64_t shift = base - static_cast<uint64_t>(previous);
  for (uint64_t i = 0; i < piece.length; ++i) {
    From offset;
    std::memcpy(&offset, at + (i + 1) * sizeof(From), sizeof(From));
    to[i] = static_cast<To>(static_cast<uint64_t>(offset) + shift);
  }
}

template <typename To>
SharedBytes GatherOffsetsAs(const Pieces& pieces, uint64_t length) {
  std::vector<To> offsets(length + 1);
  To* to = offsets.data() + 1;
  uint64_t base = 0;
  for (const Piece& piece : pieces) {
    if (piece.length == 0) continue;
    const Bytes& from = *piece.array->offsets;
    if (HasLargeOffsets(piece.array->type->id)) {
      CopyOffsets<uint64_t>(from, piece, base, to);
    } else {
      CopyOffsets<uint32_t>(from, piece, base, to);
    }
    to += piece.length;
    base = static_cast<uint64_t>(to[-1]);
  }
  const ByteSpan bytes = std::as_bytes(std::span<const To>(offsets));
  return Share(Bytes(bytes.begin(), bytes.end()));
}

// Offsets that start at 0 again, 32 bits wide if they fit, else of the type's
// large form.
void GatherOffsets(const Pieces& pieces, uint64_t value_count, Array* out) {
  bool large = HasLargeOffsets(out->type->id) || value_count > kSmallOffsetMax;
  for (const Piece& piece : pieces) {
    large = large || HasLargeOffsets(piece.array->type->id);
  }
  if (large && !HasLargeOffsets(out->type->id)) {
    DataType type = *out->type;
    type.id = LargeForm(type.id);
    out->type = MakeType(std::move(type));
  }
  out->offsets = large ? GatherOffsetsAs<uint64_t>(pieces, out->length)
                       : GatherOffsetsAs<uint32_t>(pieces, out->length);
}

Result<Array> Gather(const Pieces& pieces, const Array& like);

Result<Array> GatherChild(const Pieces& pieces, const Array& like, size_t i,
                          uint64_t width) {
  Pieces parts;
  parts.reserve(pieces.size());
  for (const Piece& piece : pieces) {
    parts.push_back(
        {&piece.array->children[i], piece.begin * width, piece.length * width});
  }
  return Gather(parts, like.children[i]);
}

// The bytes of a dictionary value, for telling equal ones; absent for types
// where that takes more than comparing bytes.
std::optional<ByteSpan> KeyOf(const Array& values, uint64_t i) {
  if (IsByteLike(values.type->id)) return values.BytesAt(i);
  if (ValueWidth(*values.type) > 0 && values.type->id != TypeId::kDictionary) {
    return values.FixedAt(i);
  }
  return std::nullopt;
}

// One dictionary that has the values of several, and where each went.
class DictionaryMerge {
 public:
  // Returns the new number of each of `values`' values.
  const std::vector<uint64_t>& Add(const Array* values) {
    const auto [at, is_new] = numbers_.try_emplace(values);
    if (!is_new) return at->second;
    for (uint64_t i = 0; i < values->length; ++i) {
      at->second.push_back(Number(*values, i));
    }
    return at->second;
  }
  uint64_t size() const { return next_; }
  Result<Array> Finish(const Array& like) const { return Gather(kept_, like); }

 private:
  uint64_t Number(const Array& values, uint64_t i) {
    if (!values.IsNull(i)) {
      if (const auto key = KeyOf(values, i)) {
        const auto [at, is_new] =
            by_value_.try_emplace(std::string(AsText(*key)), next_);
        if (!is_new) return at->second;
      }
    }
    kept_.push_back({&values, i, 1});
    return next_++;
  }

  std::unordered_map<const Array*, std::vector<uint64_t>> numbers_;
  std::unordered_map<std::string, uint64_t> by_value_;
  Pieces kept_;
  uint64_t next_ = 0;
};

Status GatherDictionary(const Pieces& pieces, Array* out) {
  const uint32_t width = ValueWidth(*out->type);
  const Array* first = pieces.front().array->dictionary.get();
  const bool shared =
      std::all_of(pieces.begin(), pieces.end(), [first](const Piece& piece) {
        return piece.array->dictionary.get() == first;
      });
  if (shared) {
    out->dictionary = pieces.front().array->dictionary;
    out->data = GatherFixed(pieces, out->length, width);
    return {};
  }
  DictionaryMerge merge;
  Bytes data;
  data.reserve(out->length * width);
  for (const Piece& piece : pieces) {
    const Array& array = *piece.array;
    const std::vector<uint64_t>& numbers = merge.Add(array.dictionary.get());
    for (uint64_t i = piece.begin; i < piece.begin + piece.length; ++i) {
      const bool null = array.IsNull(i);
      AppendUint(&data,
                 null ? 0 : numbers[static_cast<uint64_t>(array.IntAt(i))],
                 width);
    }
  }
  const TypeId index = out->type->children[0].type->id;
  const uint64_t most =
      ~uint64_t{0} >> (64 - width * 8 + (IsUnsigned(index) ? 0 : 1));
  if (merge.size() > 0 && merge.size() - 1 > most) {
    return {Code::kResourceExhausted,
            "the merged dictionary has " + std::to_string(merge.size()) +
                " values, more than its " +
                out->type->children[0].type->ToString() +
                " indices can tell apart"};
  }
  ROWFS_ASSIGN_OR_RETURN(Array values, merge.Finish(*first));
  out->dictionary = std::make_shared<const Array>(std::move(values));
  out->data = Share(std::move(data));
  return {};
}

Status GatherNested(const Pieces& pieces, const Array& like, Array* out) {
  if (IsListLike(out->type->id)) {
    const Pieces ranges = ValueRanges(pieces, true);
    ROWFS_ASSIGN_OR_RETURN(Array items, Gather(ranges, like.children[0]));
    GatherOffsets(pieces, items.length, out);
    out->children.push_back(std::move(items));
  } else {
    const bool is_list = out->type->id == TypeId::kFixedSizeList;
    const uint64_t width = is_list ? out->type->width : 1;
    for (size_t i = 0; i < like.children.size(); ++i) {
      ROWFS_ASSIGN_OR_RETURN(Array child, GatherChild(pieces, like, i, width));
      out->children.push_back(std::move(child));
    }
  }
  AdoptChildTypes(out);
  return {};
}

// The values of `pieces`, one behind the other; `like` has their type. Fails
// only where dictionaries have to be merged.
Result<Array> Gather(const Pieces& pieces, const Array& like) {
  Array out;
  out.type = like.type;
  out.length = TotalLength(pieces);
  GatherValidity(pieces, &out);
  const TypeId id = out.type->id;
  if (id == TypeId::kDictionary) {
    if (pieces.empty()) {
      out.dictionary = like.dictionary;
      out.data = Share({});
      return out;
    }
    ROWFS_RETURN_IF_ERROR(GatherDictionary(pieces, &out));
  } else if (IsByteLike(id)) {
    const Pieces ranges = ValueRanges(pieces, false);
    out.data = GatherFixed(ranges, TotalLength(ranges), 1);
    GatherOffsets(pieces, out.data->size(), &out);
  } else if (id == TypeId::kBool) {
    out.data = GatherBits(pieces, out.length);
  } else if (const uint32_t width = ValueWidth(*out.type); width > 0) {
    out.data = GatherFixed(pieces, out.length, width);
  } else if (id == TypeId::kBlob) {
    out.blobs.reserve(out.length);
    for (const Piece& piece : pieces) {
      const auto first =
          piece.array->blobs.begin() + static_cast<int64_t>(piece.begin);
      out.blobs.insert(out.blobs.end(), first,
                       first + static_cast<int64_t>(piece.length));
    }
  } else if (!like.children.empty()) {
    ROWFS_RETURN_IF_ERROR(GatherNested(pieces, like, &out));
  }
  return out;
}

// One array never needs a dictionary merged, so this does not fail.
Array GatherOne(const Pieces& pieces, const Array& like) {
  Result<Array> gathered = Gather(pieces, like);
  assert(gathered.ok());
  return std::move(gathered).value();
}

// Alike but for the width of their offsets, which Gather brings together.
bool CanConcat(const DataType& a, const DataType& b) {
  if (a.children.size() != b.children.size()) return false;
  for (size_t i = 0; i < a.children.size(); ++i) {
    if (!CanConcat(*a.children[i].type, *b.children[i].type)) return false;
  }
  if (a.children.empty() && !IsByteLike(a.id)) return SameType(a, b);
  return LargeForm(a.id) == LargeForm(b.id) && a.width == b.width;
}

}  // namespace

void AdoptChildTypes(Array* array) {
  const std::vector<Field>& fields = array->type->children;
  bool same = true;
  for (size_t i = 0; i < array->children.size(); ++i) {
    same = same && array->children[i].type == fields[i].type;
  }
  if (same) return;
  DataType type = *array->type;
  for (size_t i = 0; i < array->children.size(); ++i) {
    type.children[i].type = array->children[i].type;
  }
  array->type = MakeType(std::move(type));
}

Array SliceArray(const Array& array, uint64_t begin, uint64_t length) {
  assert(begin <= array.length && length <= array.length - begin);
  if (begin == 0 && length == array.length) return array;
  return GatherOne({{&array, begin, length}}, array);
}

Array TakeArray(const Array& array, std::span<const uint64_t> indices) {
  Pieces pieces;
  for (const uint64_t i : indices) {
    assert(i < array.length);
    if (!pieces.empty() && pieces.back().begin + pieces.back().length == i) {
      ++pieces.back().length;
    } else {
      pieces.push_back({&array, i, 1});
    }
  }
  return GatherOne(pieces, array);
}

Result<Array> ConcatArrays(std::span<const Array> arrays) {
  if (arrays.empty()) {
    return Status(Code::kInvalidArgument, "no arrays to put together");
  }
  if (arrays.size() == 1) return arrays[0];
  Pieces pieces;
  for (const Array& array : arrays) {
    if (!CanConcat(*array.type, *arrays[0].type)) {
      return Status(Code::kInvalidArgument,
                    "cannot put " + array.type->ToString() + " behind " +
                        arrays[0].type->ToString());
    }
    pieces.push_back({&array, 0, array.length});
  }
  return Gather(pieces, arrays[0]);
}

}  // namespace rowfs
