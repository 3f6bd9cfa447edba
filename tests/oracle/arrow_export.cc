#include "tests/oracle/arrow_export.h"

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "storage/table/array_layout.h"

namespace rowfs {
namespace {

struct SchemaParts {
  std::string format;
  std::string name;
  std::string metadata;
  std::vector<std::unique_ptr<ArrowSchema>> children;
  std::vector<ArrowSchema*> pointers;
  std::unique_ptr<ArrowSchema> dictionary;
};

struct ArrayParts {
  Array array;
  std::vector<const void*> buffers;
  std::vector<std::unique_ptr<ArrowArray>> children;
  std::vector<ArrowArray*> pointers;
  std::unique_ptr<ArrowArray> dictionary;
};

template <typename Struct, typename Parts>
void Release(Struct* released) {
  auto* parts = static_cast<Parts*>(released->private_data);
  for (auto& child : parts->children) {
    if (child->release != nullptr) child->release(child.get());
  }
  if (parts->dictionary && parts->dictionary->release != nullptr) {
    parts->dictionary->release(parts->dictionary.get());
  }
  delete parts;
  released->release = nullptr;
}

char UnitLetter(TimeUnit unit) { return "smun"[static_cast<size_t>(unit)]; }

std::string Format(const DataType& type) {
  switch (type.id) {
    case TypeId::kNull:
      return "n";
    case TypeId::kBool:
      return "b";
    case TypeId::kInt8:
      return "c";
    case TypeId::kUint8:
      return "C";
    case TypeId::kInt16:
      return "s";
    case TypeId::kUint16:
      return "S";
    case TypeId::kInt32:
      return "i";
    case TypeId::kUint32:
      return "I";
    case TypeId::kInt64:
      return "l";
    case TypeId::kUint64:
      return "L";
    case TypeId::kHalfFloat:
      return "e";
    case TypeId::kFloat:
      return "f";
    case TypeId::kDouble:
      return "g";
    case TypeId::kString:
      return "u";
    case TypeId::kLargeString:
      return "U";
    case TypeId::kBinary:
      return "z";
    case TypeId::kLargeBinary:
      return "Z";
    case TypeId::kFixedSizeBinary:
      return "w:" + std::to_string(type.width);
    case TypeId::kDate32:
      return "tdD";
    case TypeId::kDate64:
      return "tdm";
    case TypeId::kTime32:
    case TypeId::kTime64:
      return std::string("tt") + UnitLetter(type.unit);
    case TypeId::kTimestamp:
      return std::string("ts") + UnitLetter(type.unit) + ":" + type.zone;
    case TypeId::kDuration:
      return std::string("tD") + UnitLetter(type.unit);
    case TypeId::kDecimal128:
      return "d:" + std::to_string(type.precision) + "," +
             std::to_string(type.scale);
    case TypeId::kDecimal256:
      return "d:" + std::to_string(type.precision) + "," +
             std::to_string(type.scale) + ",256";
    case TypeId::kStruct:
    case TypeId::kBlob:
      return "+s";
    case TypeId::kList:
      return "+l";
    case TypeId::kLargeList:
      return "+L";
    case TypeId::kFixedSizeList:
      return "+w:" + std::to_string(type.width);
    case TypeId::kMap:
      return "+m";
    case TypeId::kDictionary:
      return Format(*type.children[0].type);
  }
  return {};
}

std::string PackMetadata(const Metadata& metadata) {
  if (metadata.empty()) return {};
  Bytes out;
  AppendU32(&out, static_cast<uint32_t>(metadata.size()));
  for (const auto& [key, value] : metadata) {
    for (const std::string& text : {key, value}) {
      AppendU32(&out, static_cast<uint32_t>(text.size()));
      AppendText(&out, text);
    }
  }
  return std::string(AsText(out));
}

void ExportField(const Field& field, ArrowSchema* out) {
  const DataType& type = *field.type;
  auto parts = std::make_unique<SchemaParts>();
  parts->format = Format(type);
  parts->name = field.name;
  parts->metadata = PackMetadata(field.metadata);
  if (type.id == TypeId::kDictionary) {
    parts->dictionary = std::make_unique<ArrowSchema>();
    ExportField(type.children[1], parts->dictionary.get());
  } else {
    for (const Field& child : type.children) {
      parts->children.push_back(std::make_unique<ArrowSchema>());
      ExportField(child, parts->children.back().get());
      parts->pointers.push_back(parts->children.back().get());
    }
  }
  *out = {};
  out->format = parts->format.c_str();
  out->name = parts->name.c_str();
  out->metadata = parts->metadata.empty() ? nullptr : parts->metadata.c_str();
  out->flags = (field.nullable ? 2 : 0) | (type.ordered ? 1 : 0);
  out->n_children = static_cast<int64_t>(parts->children.size());
  out->children = parts->pointers.data();
  out->dictionary = parts->dictionary.get();
  out->release = Release<ArrowSchema, SchemaParts>;
  out->private_data = parts.release();
}

const void* DataOf(const SharedBytes& bytes) {
  static constexpr uint64_t kZero = 0;  // also one offset of any width
  return bytes && !bytes->empty() ? static_cast<const void*>(bytes->data())
                                  : &kZero;
}

std::vector<const void*> Buffers(const Array& array) {
  const void* validity =
      array.null_count > 0 && array.validity ? array.validity->data() : nullptr;
  const TypeId id = array.type->id;
  if (id == TypeId::kNull) return {};
  if (id == TypeId::kStruct || id == TypeId::kFixedSizeList) return {validity};
  if (IsListLike(id)) return {validity, DataOf(array.offsets)};
  if (IsByteLike(id)) {
    return {validity, DataOf(array.offsets), DataOf(array.data)};
  }
  return {validity, DataOf(array.data)};
}

void ExportArray(Array array, ArrowArray* out) {
  auto parts = std::make_unique<ArrayParts>();
  parts->buffers = Buffers(array);
  for (const Array& child : array.children) {
    parts->children.push_back(std::make_unique<ArrowArray>());
    ExportArray(child, parts->children.back().get());
    parts->pointers.push_back(parts->children.back().get());
  }
  if (array.dictionary) {
    parts->dictionary = std::make_unique<ArrowArray>();
    ExportArray(*array.dictionary, parts->dictionary.get());
  }
  const bool is_null = array.type->id == TypeId::kNull;
  *out = {};
  out->length = static_cast<int64_t>(array.length);
  out->null_count =
      static_cast<int64_t>(is_null ? array.length : array.null_count);
  out->n_buffers = static_cast<int64_t>(parts->buffers.size());
  out->n_children = static_cast<int64_t>(parts->children.size());
  out->buffers = parts->buffers.data();
  out->children = parts->pointers.data();
  out->dictionary = parts->dictionary.get();
  out->release = Release<ArrowArray, ArrayParts>;
  parts->array = std::move(array);
  out->private_data = parts.release();
}

TypePtr CellType() {
  DataType type{.id = TypeId::kStruct};
  const std::pair<const char*, TypeId> fields[] = {
      {"kind", TypeId::kUint8},         {"object", TypeId::kString},
      {"offset", TypeId::kUint64},      {"size", TypeId::kUint64},
      {"base", TypeId::kUint32},        {"blob_type", TypeId::kUint8},
      {"stream_info", TypeId::kBinary}, {"entries", TypeId::kBinary}};
  for (const auto& [name, id] : fields) {
    type.children.push_back({.name = name, .type = MakeType(id)});
  }
  return MakeType(std::move(type));
}

// A blob array as a struct array of what its cells say.
Array Describe(const Array& blobs) {
  ArrayBuilder builder(CellType());
  const auto optional = [](ArrayBuilder& child, const auto& value) {
    if (value) {
      child.AppendInt(static_cast<int64_t>(*value));
    } else {
      child.AppendNull();
    }
  };
  for (uint64_t i = 0; i < blobs.length; ++i) {
    if (blobs.IsNull(i)) {
      builder.AppendNull();
      continue;
    }
    const BlobCell& cell = blobs.blobs[i];
    builder.child(0).AppendInt(static_cast<int64_t>(cell.kind));
    builder.child(1).AppendBytes(AsBytes(cell.object));
    builder.child(2).AppendInt(static_cast<int64_t>(cell.offset));
    optional(builder.child(3), cell.size);
    optional(builder.child(4), cell.base_id);
    if (cell.info) {
      builder.child(5).AppendInt(cell.info->blob_type);
      builder.child(6).AppendBytes(*cell.info->stream_info);
      builder.child(7).AppendBytes(cell.info->entries ? *cell.info->entries
                                                      : Bytes());
    } else {
      for (size_t j = 5; j < 8; ++j) builder.child(j).AppendNull();
    }
    builder.AppendValid();
  }
  return builder.Finish();
}

// `array` and the field's type with blobs turned into what describes them.
void ReplaceBlobs(Field* field, Array* array) {
  if (field->type->id == TypeId::kBlob) {
    *array = Describe(*array);
    field->type = array->type;
    // Its extension type is about the stored form, which this is not.
    field->metadata.clear();
    return;
  }
  if (array->children.empty()) return;
  DataType type = *field->type;
  for (size_t i = 0; i < array->children.size(); ++i) {
    ReplaceBlobs(&type.children[i], &array->children[i]);
  }
  field->type = MakeType(std::move(type));
  array->type = field->type;
}

struct StreamParts {
  std::unique_ptr<BatchReader> reader;
  Schema schema;
  std::string error;
};

StreamParts& PartsOf(ArrowArrayStream* stream) {
  return *static_cast<StreamParts*>(stream->private_data);
}

int NextOf(ArrowArrayStream* stream, ArrowArray* out) {
  StreamParts& parts = PartsOf(stream);
  *out = {};
  auto batch = parts.reader->Next();
  if (!batch.ok()) {
    parts.error = batch.status().message();
    return EIO;
  }
  if (batch.value().row_count == 0) return 0;  // released: the end
  ArrowSchema schema;
  ExportBatch(std::move(batch).value(), &schema, out);
  schema.release(&schema);
  return 0;
}

int SchemaOf(ArrowArrayStream* stream, ArrowSchema* out) {
  RecordBatch none{.schema = PartsOf(stream).schema};
  for (const Field& field : none.schema.fields) {
    none.columns.push_back(NullArray(field.type, 0));
  }
  ArrowArray array;
  ExportBatch(std::move(none), out, &array);
  array.release(&array);
  return 0;
}

}  // namespace

void ExportStream(std::unique_ptr<BatchReader> reader, Schema schema,
                  ArrowArrayStream* out) {
  *out = {};
  out->private_data = new StreamParts{std::move(reader), std::move(schema), {}};
  out->get_schema = SchemaOf;
  out->get_next = NextOf;
  out->get_last_error = [](ArrowArrayStream* stream) {
    return PartsOf(stream).error.c_str();
  };
  out->release = [](ArrowArrayStream* stream) {
    delete &PartsOf(stream);
    stream->release = nullptr;
  };
}

void ExportBatch(RecordBatch batch, ArrowSchema* schema, ArrowArray* array) {
  Array row;
  row.length = batch.row_count;
  DataType type{.id = TypeId::kStruct};
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    Field field = batch.schema.fields[i];
    ReplaceBlobs(&field, &batch.columns[i]);
    type.children.push_back(std::move(field));
    row.children.push_back(std::move(batch.columns[i]));
  }
  row.type = MakeType(std::move(type));
  ExportField({.name = "",
               .type = row.type,
               .nullable = false,
               .metadata = batch.schema.metadata},
              schema);
  ExportArray(std::move(row), array);
}

}  // namespace rowfs
