#include "storage/parquet/leaf_merge.h"

#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

Field MakeField(std::string name, TypePtr type) {
  Field field;
  field.name = std::move(name);
  field.type = std::move(type);
  return field;
}

TypePtr StructOf(std::vector<Field> fields) {
  DataType type{.id = TypeId::kStruct};
  type.children = std::move(fields);
  return MakeType(std::move(type));
}

TypePtr ListOf(TypePtr item) {
  DataType type{.id = TypeId::kList};
  type.children = {MakeField("item", std::move(item))};
  return MakeType(std::move(type));
}

// Lists [[{7}], [{8}, {9}]] of a struct with one field.
Array ListsOf(const std::string& field, const std::vector<int64_t>& lengths) {
  ArrayBuilder builder(
      ListOf(StructOf({MakeField(field, MakeType(TypeId::kInt64))})));
  int64_t next = 7;
  for (const int64_t length : lengths) {
    for (int64_t i = 0; i < length; ++i) {
      builder.child(0).child(0).AppendInt(next++);
      builder.child(0).AppendValid();
    }
    builder.AppendValid();
  }
  return builder.Finish();
}

TypePtr Whole() {
  return ListOf(StructOf({MakeField("a", MakeType(TypeId::kInt64)),
                          MakeField("b", MakeType(TypeId::kInt64))}));
}

TEST(LeafMerge, PutsFieldsOfAStructInAListTogether) {
  const Array leaves[] = {ListsOf("a", {1, 2}), ListsOf("b", {1, 2})};
  ASSERT_EQ(CountLeaves(*Whole()), 2U);

  ASSERT_OK_AND_ASSIGN(const Array merged, MergeLeaves(Whole(), leaves));

  EXPECT_OK(Validate(merged, "merged"));
  EXPECT_EQ(merged.children[0].children[1].IntAt(2), 9);
}

TEST(LeafMerge, RefusesLeavesWithOtherLists) {
  const Array leaves[] = {ListsOf("a", {1, 2}), ListsOf("b", {2, 1})};

  EXPECT_THAT(MergeLeaves(Whole(), leaves), HasCode(Code::kCorruption));
}

}  // namespace
}  // namespace rowfs
