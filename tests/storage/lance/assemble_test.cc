#include "storage/lance/assemble.h"

#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

LanceField Leaf(int32_t id, const std::string& name) {
  LanceField field;
  field.id = id;
  field.field = {.name = name, .type = MakeType(TypeId::kInt32)};
  field.logical_type = "int32";
  return field;
}

LanceField Parent(int32_t id, const std::string& name, TypeId type_id,
                  std::vector<LanceField> children) {
  LanceField field;
  field.id = id;
  DataType type{.id = type_id};
  for (const LanceField& child : children) type.children.push_back(child.field);
  field.field = {.name = name, .type = MakeType(std::move(type))};
  field.children = std::move(children);
  return field;
}

Array Ints(std::vector<int32_t> values) {
  ArrayBuilder builder(MakeType(TypeId::kInt32));
  for (const int32_t value : values) builder.AppendInt(value);
  return builder.Finish();
}

// struct{a, b, c} whose row 1 is null, with the children at hand.
Array Struct(const LanceField& field, std::vector<Array> children) {
  ArrayBuilder validity(MakeType(TypeId::kInt32));
  validity.AppendInt(0);
  validity.AppendNull();
  Array out = validity.Finish();
  out.data = nullptr;
  out.type = field.field.type;
  out.children = std::move(children);
  return out;
}

const LanceField kStruct =
    Parent(1, "s", TypeId::kStruct, {Leaf(2, "a"), Leaf(3, "b"), Leaf(4, "c")});

TEST(Assemble, KnowsWhatAFileHoldsOfAField) {
  EXPECT_EQ(FindCoverage(kStruct, {{2, 0}, {3, 1}, {4, 2}}), Coverage::kAll);
  EXPECT_EQ(FindCoverage(kStruct, {{3, 0}}), Coverage::kSome);
  EXPECT_EQ(FindCoverage(kStruct, {{1, 0}}), Coverage::kNone);
  LanceField packed = kStruct;
  packed.kind = LanceFieldKind::kPackedStruct;
  EXPECT_EQ(FindCoverage(packed, {{1, 0}}), Coverage::kAll);
}

TEST(Assemble, JoinsAStructFromTwoFilesAndFillsTheRestWithNulls) {
  const LanceField first = Prune(kStruct, {{4, 0}});
  const LanceField second = Prune(kStruct, {{2, 0}});
  ASSERT_EQ(first.children.size(), 1U);
  ASSERT_EQ(first.field.type->children.size(), 1U);

  std::vector<FieldPart> parts;
  parts.push_back({first, Struct(first, {Ints({7, 0})})});
  parts.push_back({second, Struct(second, {Ints({5, 0})})});
  ASSERT_OK_AND_ASSIGN(const Array array,
                       Assemble(kStruct, std::move(parts), 2));

  ASSERT_EQ(array.children.size(), 3U);
  EXPECT_EQ(array.children[0].IntAt(0), 5);
  EXPECT_TRUE(array.children[1].IsNull(0));
  EXPECT_EQ(array.children[2].IntAt(0), 7);
  EXPECT_TRUE(array.IsNull(1));
  EXPECT_OK(Validate(array, "s"));
}

TEST(Assemble, GivesNullsForAFieldNoFileHolds) {
  ASSERT_OK_AND_ASSIGN(const Array array, Assemble(kStruct, {}, 3));

  EXPECT_EQ(array.length, 3U);
  EXPECT_EQ(array.null_count, 3U);
}

TEST(Assemble, FillsAStructInsideAList) {
  const LanceField list = Parent(9, "l", TypeId::kList, {kStruct});
  const LanceField part = Prune(list, {{3, 0}});
  ArrayBuilder builder(part.field.type);
  for (int i = 0; i < 3; ++i) {
    builder.child(0).child(0).AppendInt(i);
    builder.child(0).AppendValid();
  }
  builder.AppendValid();
  builder.AppendNull();

  std::vector<FieldPart> parts;
  parts.push_back({part, builder.Finish()});
  ASSERT_OK_AND_ASSIGN(const Array array, Assemble(list, std::move(parts), 2));

  EXPECT_OK(Validate(array, "l"));
  ASSERT_EQ(array.children[0].children.size(), 3U);
  EXPECT_EQ(array.children[0].children[1].IntAt(2), 2);
  EXPECT_TRUE(array.children[0].children[0].IsNull(2));
}

TEST(Assemble, RefusesPartsWithOtherListLengths) {
  const LanceField list = Parent(9, "l", TypeId::kList, {kStruct});
  std::vector<FieldPart> parts;
  for (const int32_t id : {2, 3}) {
    const LanceField part = Prune(list, {{id, 0}});
    ArrayBuilder builder(part.field.type);
    for (int32_t i = 0; i < id; ++i) {
      builder.child(0).child(0).AppendInt(i);
      builder.child(0).AppendValid();
    }
    builder.AppendValid();
    parts.push_back({part, builder.Finish()});
  }

  EXPECT_THAT(Assemble(list, std::move(parts), 1), HasCode(Code::kCorruption));
}

}  // namespace
}  // namespace rowfs
