#include "storage/table/array.h"

#include <functional>

#include "storage/base/hash.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

Field Child(std::string name, TypePtr type) {
  return {std::move(name), std::move(type), true, {}};
}

TypePtr Nested(TypeId id, std::vector<Field> children, uint32_t width = 0) {
  DataType type;
  type.id = id;
  type.children = std::move(children);
  type.width = width;
  return MakeType(std::move(type));
}

TypePtr MapType() {
  return Nested(
      TypeId::kMap,
      {Child("entries", Nested(TypeId::kStruct,
                               {Child("key", MakeType(TypeId::kString)),
                                Child("value", MakeType(TypeId::kInt64))}))});
}

TypePtr DictionaryType(TypeId index = TypeId::kInt8) {
  return Nested(TypeId::kDictionary,
                {Child("indices", MakeType(index)),
                 Child("values", MakeType(TypeId::kString))});
}

TypePtr FixedBinaryType() {
  DataType type;
  type.id = TypeId::kFixedSizeBinary;
  type.width = 3;
  return MakeType(std::move(type));
}

// One of every layout.
std::vector<TypePtr> AllTypes() {
  const Field item = Child("item", MakeType(TypeId::kInt16));
  std::vector<TypePtr> types;
  for (auto id = static_cast<int>(TypeId::kNull);
       id <= static_cast<int>(TypeId::kDecimal256); ++id) {
    if (static_cast<TypeId>(id) == TypeId::kFixedSizeBinary) continue;
    types.push_back(MakeType(static_cast<TypeId>(id)));
  }
  types.push_back(FixedBinaryType());
  types.push_back(
      Nested(TypeId::kStruct, {item, Child("s", MakeType(TypeId::kString))}));
  types.push_back(Nested(TypeId::kStruct, {}));
  types.push_back(Nested(TypeId::kList, {item}));
  types.push_back(Nested(TypeId::kLargeList, {item}));
  types.push_back(Nested(TypeId::kFixedSizeList, {item}, 2));
  types.push_back(MapType());
  types.push_back(DictionaryType());
  types.push_back(MakeType(TypeId::kBlob));
  types.push_back(Nested(
      TypeId::kList,
      {Child("item", Nested(TypeId::kStruct,
                            {Child("list", Nested(TypeId::kList, {item})),
                             Child("dict", DictionaryType())}))}));
  return types;
}

void AppendValue(ArrayBuilder& builder, const DataType& type, uint64_t seed);

void AppendNestedValue(ArrayBuilder& builder, const DataType& type,
                       uint64_t seed) {
  uint64_t items = seed % 3;
  if (type.id == TypeId::kFixedSizeList) items = type.width;
  if (type.id == TypeId::kStruct) items = 1;
  for (size_t i = 0; i < type.children.size(); ++i) {
    for (uint64_t k = 0; k < items; ++k) {
      AppendValue(builder.child(i), *type.children[i].type, seed + k);
    }
  }
  builder.AppendValid();
}

// Append value number `seed` to `builder`; equal seeds, equal values.
void AppendValue(ArrayBuilder& builder, const DataType& type, uint64_t seed) {
  const std::string text = "text " + std::to_string(seed);
  const TypeId id = type.id;
  if (id == TypeId::kNull) return builder.AppendNull();
  if (id == TypeId::kBool) return builder.AppendBool(seed % 2 == 0);
  if (id >= TypeId::kString && id <= TypeId::kLargeBinary) {
    return builder.AppendBytes(AsBytes(text));
  }
  if (id == TypeId::kFixedSizeBinary) {
    return builder.AppendFixed(AsBytes(text).last(3));
  }
  if (id == TypeId::kBlob) {
    BlobCell cell;
    cell.object = text;
    return builder.AppendBlob(std::move(cell));
  }
  if (id == TypeId::kDictionary) {
    while (builder.child(0).length() < 5) {
      const uint64_t i = builder.child(0).length();
      builder.child(0).AppendBytes(AsBytes("d" + std::to_string(i)));
    }
    return builder.AppendInt(static_cast<int64_t>(seed % 5));
  }
  if (id >= TypeId::kStruct) return AppendNestedValue(builder, type, seed);
  builder.AppendInt(static_cast<int64_t>(seed) - 7);
}

// Value `i` of `array` as text, whatever its type: what "equal values" means.
std::string Show(const Array& array, uint64_t i) {
  if (array.IsNull(i)) return "null";
  const TypeId id = array.type->id;
  std::string text;
  if (id == TypeId::kBool) return array.BoolAt(i) ? "true" : "false";
  if (id == TypeId::kBlob) return array.blobs[i].object;
  if (id == TypeId::kDictionary) {
    return Show(*array.dictionary, static_cast<uint64_t>(array.IntAt(i)));
  }
  if (id >= TypeId::kString && id <= TypeId::kLargeBinary) {
    return std::string(AsText(array.BytesAt(i)));
  }
  if (id == TypeId::kStruct) {
    for (const Array& child : array.children) text += Show(child, i) + ",";
    return "{" + text + "}";
  }
  if (array.children.empty()) return ToHex(array.FixedAt(i));
  const bool fixed = id == TypeId::kFixedSizeList;
  const uint64_t width = array.type->width;
  const uint64_t begin = fixed ? i * width : array.OffsetAt(i);
  const uint64_t end = fixed ? begin + width : array.OffsetAt(i + 1);
  for (uint64_t k = begin; k < end; ++k) {
    text += Show(array.children[0], k) + ",";
  }
  return "[" + text + "]";
}

std::vector<std::string> ShowAll(const Array& array) {
  std::vector<std::string> all;
  for (uint64_t i = 0; i < array.length; ++i) all.push_back(Show(array, i));
  return all;
}

// `count` values, every `null_every`th of them null (0: none).
Array Sample(const TypePtr& type, uint64_t count, uint64_t null_every = 4,
             uint64_t seed = 0) {
  ArrayBuilder builder(type);
  for (uint64_t i = 0; i < count; ++i) {
    if (null_every != 0 && i % null_every == 3) {
      builder.AppendNull();
    } else {
      AppendValue(builder, *type, seed + i);
    }
  }
  return builder.Finish();
}

TEST(ArrayBuilder, MakesArraysOfEveryTypeThatValidate) {
  for (const TypePtr& type : AllTypes()) {
    SCOPED_TRACE(type->ToString());
    const Array array = Sample(type, 37);

    EXPECT_OK(Validate(array, "column"));
    EXPECT_EQ(array.length, 37U);
    EXPECT_TRUE(array.IsNull(3));
    EXPECT_EQ(array.IsNull(4), type->id == TypeId::kNull);
  }
}

TEST(ArrayBuilder, KeepsNoValidityBitmapWithoutNulls) {
  const Array array = Sample(MakeType(TypeId::kInt32), 9, 0);

  EXPECT_EQ(array.validity, nullptr);
  EXPECT_EQ(array.IntAt(0), -7);
  EXPECT_EQ(array.IntAt(8), 1);
}

TEST(ArrayBuilder, NullsOfAStructFillItsChildrenOnce) {
  ArrayBuilder builder(
      Nested(TypeId::kStruct, {Child("a", MakeType(TypeId::kInt8))}));
  builder.AppendNull();
  builder.child(0).AppendInt(5);
  builder.AppendNull();
  builder.child(0).AppendInt(6);
  builder.AppendValid();

  const Array array = builder.Finish();

  EXPECT_OK(Validate(array, "column"));
  EXPECT_EQ(ShowAll(array),
            (std::vector<std::string>{"null", "null", "{06,}"}));
}

TEST(ArrayBuilder, FillsDecimalsWithTheSign) {
  ArrayBuilder builder(MakeType(TypeId::kDecimal128));
  builder.AppendInt(-2);

  EXPECT_EQ(ToHex(builder.Finish().FixedAt(0)),
            "feffffffffffffffffffffffffffffff");
}

TEST(Array, ReadsSignedAndUnsignedValuesByWidth) {
  ArrayBuilder small(MakeType(TypeId::kInt8));
  small.AppendInt(-128);
  ArrayBuilder unsigned_small(MakeType(TypeId::kUint8));
  unsigned_small.AppendInt(200);
  ArrayBuilder date(MakeType(TypeId::kDate32));
  date.AppendInt(-1);
  ArrayBuilder number(MakeType(TypeId::kFloat));
  number.AppendDouble(1.5);

  EXPECT_EQ(small.Finish().IntAt(0), -128);
  EXPECT_EQ(unsigned_small.Finish().IntAt(0), 200);
  EXPECT_EQ(date.Finish().IntAt(0), -1);
  EXPECT_EQ(ToHex(number.Finish().FixedAt(0)), "0000c03f");
}

TEST(Array, SlicesEqualTheirPartOfTheWhole) {
  for (const TypePtr& type : AllTypes()) {
    SCOPED_TRACE(type->ToString());
    const Array array = Sample(type, 30);

    for (const uint64_t begin : {0U, 1U, 8U, 13U, 30U}) {
      const uint64_t length = (30 - begin) / 2;
      const Array slice = SliceArray(array, begin, length);

      EXPECT_OK(Validate(slice, "slice"));
      ASSERT_EQ(slice.length, length);
      for (uint64_t i = 0; i < length; ++i) {
        EXPECT_EQ(Show(slice, i), Show(array, begin + i));
      }
    }
  }
}

TEST(Array, TakesValuesInAnyOrderAndRepeated) {
  const std::vector<uint64_t> indices = {29, 3, 4, 5, 6, 0, 0, 7, 29};
  for (const TypePtr& type : AllTypes()) {
    SCOPED_TRACE(type->ToString());
    const Array array = Sample(type, 30);

    const Array taken = TakeArray(array, indices);

    EXPECT_OK(Validate(taken, "taken"));
    ASSERT_EQ(taken.length, indices.size());
    for (size_t i = 0; i < indices.size(); ++i) {
      EXPECT_EQ(Show(taken, i), Show(array, indices[i]));
    }
    EXPECT_OK(Validate(TakeArray(array, {}), "nothing"));
  }
}

TEST(Array, ConcatenatesEveryType) {
  for (const TypePtr& type : AllTypes()) {
    SCOPED_TRACE(type->ToString());
    const std::vector<Array> parts = {Sample(type, 5), Sample(type, 0),
                                      Sample(type, 11, 0, 3),
                                      Sample(type, 8, 4, 20)};

    ASSERT_OK_AND_ASSIGN(const Array whole, ConcatArrays(parts));

    EXPECT_OK(Validate(whole, "whole"));
    std::vector<std::string> expected;
    for (const Array& part : parts) {
      for (const std::string& value : ShowAll(part)) expected.push_back(value);
    }
    EXPECT_EQ(ShowAll(whole), expected);
  }
}

TEST(Array, ConcatRefusesDifferentTypes) {
  const std::vector<Array> parts = {Sample(MakeType(TypeId::kInt32), 1),
                                    Sample(MakeType(TypeId::kInt64), 1)};

  EXPECT_THAT(ConcatArrays(parts), HasCode(Code::kInvalidArgument));
  EXPECT_THAT(ConcatArrays({}), HasCode(Code::kInvalidArgument));
}

TEST(Array, ConcatJoinsSmallAndLargeOffsets) {
  const std::vector<Array> parts = {Sample(MakeType(TypeId::kString), 3),
                                    Sample(MakeType(TypeId::kLargeString), 3)};

  ASSERT_OK_AND_ASSIGN(const Array whole, ConcatArrays(parts));

  EXPECT_EQ(whole.type->id, TypeId::kLargeString);
  EXPECT_OK(Validate(whole, "whole"));
  EXPECT_EQ(Show(whole, 5), "text 2");
}

// Byte-sized indices tell 128 values apart: 120 different ones fit, 200 do not.
TEST(Array, ConcatMergesDictionariesByValue) {
  const auto with_values = [](int from) {
    ArrayBuilder builder(DictionaryType());
    for (int i = 0; i < 100; ++i) {
      builder.child(0).AppendBytes(AsBytes(std::to_string(from + i)));
      builder.AppendInt(99 - i);
    }
    return builder.Finish();
  };
  const std::vector<Array> alike = {with_values(0), with_values(20)};
  const std::vector<Array> different = {with_values(0), with_values(100)};

  ASSERT_OK_AND_ASSIGN(const Array whole, ConcatArrays(alike));

  EXPECT_EQ(whole.dictionary->length, 120U);
  EXPECT_EQ(Show(whole, 0), "99");
  EXPECT_EQ(Show(whole, 100), "119");
  EXPECT_THAT(ConcatArrays(different), HasCode(Code::kResourceExhausted));
}

TEST(Array, NullArraysOfEveryTypeValidate) {
  for (const TypePtr& type : AllTypes()) {
    SCOPED_TRACE(type->ToString());
    const Array nulls = NullArray(type, 9);

    EXPECT_OK(Validate(nulls, "nulls"));
    EXPECT_EQ(nulls.null_count, 9U);
    EXPECT_TRUE(nulls.IsNull(8));
  }
}

TEST(DataType, PrintsAsPyarrowDoes) {
  DataType timestamp;
  timestamp.id = TypeId::kTimestamp;
  timestamp.unit = TimeUnit::kNano;
  timestamp.zone = "UTC";
  DataType decimal;
  decimal.id = TypeId::kDecimal128;
  decimal.precision = 10;
  decimal.scale = 2;
  const Field item = Child("item", MakeType(TypeId::kString));
  Field required = item;
  required.nullable = false;

  EXPECT_EQ(MakeType(timestamp)->ToString(), "timestamp[ns, tz=UTC]");
  EXPECT_EQ(MakeType(decimal)->ToString(), "decimal128(10, 2)");
  EXPECT_EQ(FixedBinaryType()->ToString(), "fixed_size_binary[3]");
  EXPECT_EQ(Nested(TypeId::kList, {required})->ToString(),
            "list<item: string not null>");
  EXPECT_EQ(Nested(TypeId::kFixedSizeList, {item}, 3)->ToString(),
            "fixed_size_list<item: string>[3]");
  EXPECT_EQ(MapType()->ToString(), "map<string, int64>");
  EXPECT_EQ(DictionaryType()->ToString(),
            "dictionary<values=string, indices=int8, ordered=0>");
}

// Takes a sound array of `type` and breaks it in one way.
struct Breakage {
  std::string what;
  TypePtr type;
  std::function<void(Array&)> apply;
};

SharedBytes Cut(const SharedBytes& bytes, size_t by) {
  return std::make_shared<const Bytes>(bytes->begin(),
                                       bytes->end() - static_cast<int64_t>(by));
}

SharedBytes WithU32(const SharedBytes& bytes, size_t at, uint32_t value) {
  Bytes changed(bytes->begin(), bytes->begin() + static_cast<int64_t>(at * 4));
  AppendU32(&changed, value);
  changed.insert(changed.end(),
                 bytes->begin() + static_cast<int64_t>(changed.size()),
                 bytes->end());
  return std::make_shared<const Bytes>(std::move(changed));
}

void MakeLengthOverflow(Array& array) {
  array.length = (UINT64_MAX / 8) + 2;
  array.validity = nullptr;
  array.null_count = 0;
}

std::vector<Breakage> Breakages() {
  const TypePtr string = MakeType(TypeId::kString);
  const TypePtr number = MakeType(TypeId::kInt64);
  const Field item = Child("item", number);
  const TypePtr list = Nested(TypeId::kList, {item});
  const TypePtr fixed = Nested(TypeId::kFixedSizeList, {item}, 2);
  const TypePtr record = Nested(TypeId::kStruct, {item});
  const TypePtr words = DictionaryType();
  using A = Array;
  return {
      {"no type", number, [](A& a) { a.type = nullptr; }},
      {"short data", number, [](A& a) { a.data = Cut(a.data, 1); }},
      {"no data", number, [](A& a) { a.data = nullptr; }},
      {"huge length", number, [](A& a) { a.length = UINT64_MAX; }},
      {"overflowing length", number, MakeLengthOverflow},
      {"overflowing offset count", string, MakeLengthOverflow},
      {"short bits", number, [](A& a) { a.validity = Cut(a.validity, 1); }},
      {"wrong null count", number, [](A& a) { ++a.null_count; }},
      {"nulls without bits", number, [](A& a) { a.validity = nullptr; }},
      {"short offsets", string, [](A& a) { a.offsets = Cut(a.offsets, 1); }},
      {"no offsets", string, [](A& a) { a.offsets = nullptr; }},
      {"offsets past data", string, [](A& a) { a.data = Cut(a.data, 1); }},
      {"negative offset", string,
       [](A& a) { a.offsets = WithU32(a.offsets, 0, 0x80000000U); }},
      {"falling offsets", string,
       [](A& a) { a.offsets = WithU32(a.offsets, 1, 1000); }},
      {"list without items", list, [](A& a) { a.children.clear(); }},
      {"list past its items", list, [](A& a) { --a.children[0].length; }},
      {"items of another type", list,
       [](A& a) { a.children[0] = NullArray(MakeType(TypeId::kNull), 99); }},
      {"too few items", fixed, [](A& a) { --a.children[0].length; }},
      {"struct with a short field", record,
       [](A& a) { --a.children[0].length; }},
      {"index past the dictionary", words,
       [](A& a) {
         const Array few = SliceArray(*a.dictionary, 0, 2);
         a.dictionary = std::make_shared<const Array>(few);
       }},
      {"no dictionary", words, [](A& a) { a.dictionary = nullptr; }},
      {"missing blobs", MakeType(TypeId::kBlob),
       [](A& a) { a.blobs.pop_back(); }},
      {"type without children", list,
       [](A& a) { a.type = MakeType(TypeId::kList); }},
      {"map of numbers", list,
       [item](A& a) { a.type = Nested(TypeId::kMap, {item}); }},
  };
}

TEST(Validate, NamesEveryKindOfBrokenArray) {
  for (const Breakage& breakage : Breakages()) {
    SCOPED_TRACE(breakage.what);
    Array array = Sample(breakage.type, 12);
    ASSERT_OK(Validate(array, "column"));

    breakage.apply(array);

    EXPECT_THAT(Validate(array, "column"), HasCode(Code::kCorruption));
  }
}

TEST(Validate, RefusesNestingWithoutEnd) {
  Array array = NullArray(MakeType(TypeId::kInt8), 1);
  for (int i = 0; i < 100; ++i) {
    Array outer;
    outer.type = Nested(TypeId::kStruct, {Child("x", array.type)});
    outer.length = 1;
    outer.children.push_back(std::move(array));
    array = std::move(outer);
  }

  EXPECT_THAT(Validate(array, "column"), HasCode(Code::kCorruption));
}

}  // namespace
}  // namespace rowfs
