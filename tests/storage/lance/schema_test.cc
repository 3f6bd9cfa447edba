#include "storage/lance/schema.h"

#include <gtest/gtest.h>

#include "storage/lance/logical_type.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

StoredField Stored(int32_t id, int32_t parent, std::string name,
                   std::string logical_type) {
  return {.id = id,
          .parent_id = parent,
          .name = std::move(name),
          .logical_type = std::move(logical_type),
          .nullable = true};
}

// What a single field of that logical type becomes.
std::string TypeText(const std::string& logical_type) {
  const auto type = DecodeLogicalType(logical_type);
  return type.ok() ? type.value()->ToString()
                   : std::string(type.status().message());
}

TEST(LogicalType, NamesEveryLeafType) {
  EXPECT_EQ(TypeText("int32"), "int32");
  EXPECT_EQ(TypeText("halffloat"), "halffloat");
  EXPECT_EQ(TypeText("large_string"), "large_string");
  EXPECT_EQ(TypeText("date32:day"), "date32[day]");
  EXPECT_EQ(TypeText("time64:ns"), "time64[ns]");
  EXPECT_EQ(TypeText("duration:ms"), "duration[ms]");
  EXPECT_EQ(TypeText("timestamp:us:-"), "timestamp[us]");
  EXPECT_EQ(TypeText("timestamp:ms:+02:30"), "timestamp[ms, tz=+02:30]");
  EXPECT_EQ(TypeText("decimal:128:10:2"), "decimal128(10, 2)");
  EXPECT_EQ(TypeText("decimal:256:60:7"), "decimal256(60, 7)");
  EXPECT_EQ(TypeText("fixed_size_binary:3"), "fixed_size_binary[3]");
  EXPECT_EQ(TypeText("dict:string:int8:false"),
            "dictionary<values=string, indices=int8, ordered=0>");
  EXPECT_EQ(TypeText("fixed_size_list:fixed_size_list:int16:2:3"),
            "fixed_size_list<item: fixed_size_list<item: int16>[2]>[3]");
  EXPECT_EQ(TypeText("fixed_size_list:lance.bfloat16:4"),
            "fixed_size_list<item: fixed_size_binary[2]>[4]");
}

TEST(LogicalType, RefusesWhatItDoesNotKnow) {
  for (const char* bad :
       {"", "int33", "timestamp:x:-", "decimal:64:10:2", "decimal:128:99:2",
        "fixed_size_list:int32:0", "fixed_size_list:int32",
        "fixed_size_binary:-1", "dict:string:string:false",
        "dict:string:int8:maybe", "list", "struct"}) {
    EXPECT_FALSE(DecodeLogicalType(bad).ok()) << bad;
  }
}

TEST(LogicalType, EncodesWhatItDecodes) {
  for (const char* text :
       {"null", "bool", "uint64", "double", "binary", "large_binary",
        "date64:ms", "time32:s", "duration:ns", "timestamp:ns:Europe/Berlin",
        "timestamp:s:-", "decimal:128:38:10", "fixed_size_binary:16",
        "fixed_size_list:fixed_size_list:float:2:3",
        "fixed_size_list:lance.bfloat16:4", "dict:large_string:uint16:true"}) {
    ASSERT_OK_AND_ASSIGN(const TypePtr type, DecodeLogicalType(text));
    ASSERT_OK_AND_ASSIGN(const std::string again, EncodeLogicalType(*type));

    EXPECT_EQ(again, text);
  }
}

TEST(Schema, BuildsTheTreeFromParentIds) {
  ASSERT_OK_AND_ASSIGN(
      const LanceSchema schema,
      DecodeSchema(
          {Stored(0, -1, "id", "int64"), Stored(7, -1, "tags", "list.struct"),
           Stored(9, 7, "item", "struct"), Stored(11, 9, "a", "string"),
           Stored(10, 9, "b", "float"), Stored(3, -1, "m", "map"),
           Stored(4, 3, "entries", "struct"), Stored(5, 4, "key", "string"),
           Stored(6, 4, "value", "int32"),
           Stored(20, -1, "f", "fixed_size_list:struct:2"),
           Stored(21, 20, "item", "struct"), Stored(22, 21, "x", "int8")},
          {}));

  ASSERT_EQ(schema.fields.size(), 4);
  EXPECT_EQ(schema.fields[1].field.type->ToString(),
            "list<item: struct<a: string, b: float>>");
  EXPECT_EQ(schema.fields[1].children[0].children[1].id, 10);
  EXPECT_EQ(schema.fields[2].field.type->ToString(), "map<string, int32>");
  EXPECT_EQ(schema.fields[3].field.type->ToString(),
            "fixed_size_list<item: struct<x: int8>>[2]");
}

TEST(Schema, KnowsBlobsPackedStructsAndJson) {
  StoredField v1 = Stored(0, -1, "v1", "large_binary");
  v1.metadata = {{"lance-encoding:blob", "true"}};
  StoredField v2 = Stored(1, -1, "v2", "struct");
  v2.extension_name = "lance.blob.v2";
  StoredField packed = Stored(4, -1, "packed", "struct");
  packed.metadata = {{"packed", "true"}};
  StoredField json = Stored(6, -1, "json", "json");
  json.metadata = {{"ARROW:extension:name", "lance.json"}};

  ASSERT_OK_AND_ASSIGN(
      const LanceSchema schema,
      DecodeSchema({v1, v2, Stored(2, 1, "data", "large_binary"),
                    Stored(3, 1, "uri", "string"), packed,
                    Stored(5, 4, "x", "int8"), json},
                   {}));

  EXPECT_EQ(schema.fields[0].kind, LanceFieldKind::kBlobV1);
  EXPECT_EQ(schema.fields[0].field.type->id, TypeId::kBlob);
  EXPECT_EQ(schema.fields[1].kind, LanceFieldKind::kBlobV2);
  EXPECT_EQ(schema.fields[1].field.type->id, TypeId::kBlob);
  EXPECT_EQ(schema.fields[2].kind, LanceFieldKind::kPackedStruct);
  EXPECT_EQ(schema.fields[3].field.type->id, TypeId::kString);
  EXPECT_EQ(schema.fields[3].field.FindMetadata("ARROW:extension:name"),
            "arrow.json");
}

TEST(Schema, TreesThatAreNoneAreCorruption) {
  const auto code = [](std::vector<StoredField> fields) {
    return DecodeSchema(fields, {}).status().code();
  };

  EXPECT_EQ(code({Stored(0, 5, "orphan", "int8")}), Code::kCorruption);
  EXPECT_EQ(code({Stored(0, -1, "a", "int8"), Stored(0, -1, "b", "int8")}),
            Code::kCorruption);
  EXPECT_EQ(code({Stored(0, 1, "a", "struct"), Stored(1, 0, "b", "struct")}),
            Code::kCorruption);
  EXPECT_EQ(code({Stored(0, -1, "childless", "list")}), Code::kCorruption);
  EXPECT_EQ(code({Stored(0, -1, "leaf", "int8"), Stored(1, 0, "c", "int8")}),
            Code::kCorruption);
  EXPECT_EQ(code({Stored(0, -1, "new", "float8")}), Code::kUnsupported);
}

TEST(Schema, EncodesDepthFirstAndReadsBack) {
  const Schema schema{
      .fields = {
          {"id", MakeType(TypeId::kInt64), false},
          {"tags", MakeType(DataType{
                       .id = TypeId::kList,
                       .children = {{"item", MakeType(TypeId::kString)}}})},
          {"clip", MakeType(TypeId::kBlob)},
          {"doc",
           MakeType(DataType{.id = TypeId::kStruct,
                             .children = {{"x", MakeType(TypeId::kFloat)}}})}}};

  ASSERT_OK_AND_ASSIGN(const std::vector<StoredField> stored,
                       EncodeSchema(schema, 10));
  ASSERT_OK_AND_ASSIGN(const LanceSchema again, DecodeSchema(stored, {}));

  ASSERT_EQ(stored.size(), 8);
  EXPECT_EQ(stored[0].id, 10);
  EXPECT_EQ(stored[2].parent_id, 11);
  EXPECT_EQ(stored[3].extension_name, "lance.blob.v2");
  EXPECT_EQ(stored[4].name, "data");
  EXPECT_EQ(stored[5].name, "uri");
  ASSERT_EQ(again.fields.size(), 4);
  EXPECT_EQ(again.fields[1].field.type->ToString(), "list<item: string>");
  EXPECT_EQ(again.fields[2].kind, LanceFieldKind::kBlobV2);
  EXPECT_FALSE(again.fields[0].field.nullable);
}

}  // namespace
}  // namespace rowfs
