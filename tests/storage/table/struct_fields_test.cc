#include "storage/table/struct_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/generated_table.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TypePtr StructOf(std::vector<Field> children) {
  return MakeType(
      DataType{.id = TypeId::kStruct, .children = std::move(children)});
}

Field IntField(const std::string& name) {
  return {.name = name, .type = MakeType(TypeId::kInt64), .nullable = false};
}

// s: struct<a, t: struct<u, x.y>>; "s.a" beside it; n: int64.
Schema MakeSchema() {
  const TypePtr inner = StructOf({IntField("u"), IntField("x.y")});
  return {.fields = {
              {.name = "s",
               .type = StructOf({IntField("a"), {.name = "t", .type = inner}})},
              IntField("s.a"),
              IntField("n")}};
}

TEST(StructFields, FindsFieldsByTheirDottedNames) {
  const Schema schema = MakeSchema();
  ASSERT_OK_AND_ASSIGN(const FieldPath u, FindField(schema, "s.t.u"));
  ASSERT_OK_AND_ASSIGN(const FieldPath xy, FindField(schema, "s.t.x.y"));

  EXPECT_THAT(u.children, ElementsAre(1, 0));
  EXPECT_THAT(xy.children, ElementsAre(1, 1));
  EXPECT_EQ(FieldAt(schema, xy).name, "s.t.x.y");
  EXPECT_TRUE(FieldAt(schema, xy).nullable);  // s may be null
}

TEST(StructFields, AColumnWithADotInItsNameWins) {
  ASSERT_OK_AND_ASSIGN(const FieldPath path, FindField(MakeSchema(), "s.a"));

  EXPECT_EQ(path.column, 1U);
  EXPECT_TRUE(path.children.empty());
}

TEST(StructFields, SaysWhatIsNotThere) {
  const Schema schema = MakeSchema();

  EXPECT_THAT(FindField(schema, "q.a").status().message(),
              HasSubstr("\"q.a\""));
  EXPECT_THAT(FindField(schema, "s.b").status().message(),
              HasSubstr("it has: a t"));
  EXPECT_THAT(FindField(schema, "n.b").status().message(),
              HasSubstr("no struct"));
  EXPECT_THAT(FindField(schema, "s.").status(), HasCode(Code::kNotFound));
}

TEST(StructFields, AFieldIsNullWhereItsStructIs) {
  const TypePtr type =
      StructOf({{.name = "a", .type = MakeType(TypeId::kInt64)}});
  ArrayBuilder builder(type);
  for (int64_t i = 0; i < 20; ++i) {
    if (i % 5 == 0) {
      builder.AppendNull();
      continue;
    }
    if (i % 7 == 0) {
      builder.child(0).AppendNull();
    } else {
      builder.child(0).AppendInt(i);
    }
    builder.AppendValid();
  }

  const Array values = ValuesAt(builder.Finish(), {0, {0}});

  ASSERT_EQ(values.length, 20U);
  EXPECT_EQ(values.null_count, 6U);
  for (uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(values.IsNull(i), i % 5 == 0 || i % 7 == 0) << i;
  }
  EXPECT_EQ(values.IntAt(19), 19);
}

TEST(StructFields, AnySourceCanBeAskedForFields) {
  const TypePtr type = StructOf(
      {IntField("a"), {.name = "b", .type = MakeType(TypeId::kString)}});
  GeneratedTable whole(
      {.fields = {IntField("n"), {.name = "s", .type = type}}}, 10,
      [](uint64_t row, size_t field, ArrayBuilder& out) {
        if (field == 0) return out.AppendInt(static_cast<int64_t>(row));
        if (row == 3) return out.AppendNull();
        out.child(0).AppendInt(static_cast<int64_t>(row * 2));
        out.child(1).AppendBytes(AsBytes("text"));
        out.AppendValid();
      },
      nullptr);
  const FieldPath paths[] = {{1, {1}}, {0, {}}, {1, {0}}};
  const auto table = SelectFields(whole, paths);
  const uint64_t rows[] = {3, 4};
  const size_t columns[] = {2, 1};

  ASSERT_OK_AND_ASSIGN(const RecordBatch taken,
                       table->Take(rows, columns, BlobDetail::kFull));
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       table->Scan(columns, 3, 5, 10, BlobDetail::kFull));
  ASSERT_OK_AND_ASSIGN(const RecordBatch scanned, reader->Next());

  for (const RecordBatch& batch : {taken, scanned}) {
    ASSERT_EQ(batch.columns.size(), 2U);
    EXPECT_EQ(batch.schema.fields[0].name, "s.a");
    EXPECT_TRUE(batch.columns[0].IsNull(0));
    EXPECT_EQ(batch.columns[0].IntAt(1), 8);
    EXPECT_EQ(batch.columns[1].IntAt(1), 4);
  }
}

}  // namespace
}  // namespace rowfs
