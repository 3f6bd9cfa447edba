#include "tests/support/sample_tree.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <iostream>

#include "storage/base/clock.h"
#include "tests/support/memory_store.h"

namespace rowfs {
namespace {

constexpr uint64_t kNullRow = 5;
constexpr uint64_t kEmptyRow = 6;
constexpr uint64_t kForeignRow = 7;

enum SampleField : size_t {
  kId,
  kLabel,
  kName,
  kScore,
  kPoint,
  kTags,
  kPhoto,
  kNotes,
  kVideo,
  kImages,
  kGated,
};

constexpr std::array<std::string_view, 8> kNames = {
    "a/b", "..", "", "dup", "dup", "dup~2", "line\nbreak", "dup"};

// A store whose object "gated" can be read only once a file is gone.
class GateStore final : public ObjectStore {
 public:
  GateStore(std::shared_ptr<MemoryStore> store, std::string gate)
      : store_(std::move(store)), gate_(std::move(gate)) {}

  StoreCapabilities capabilities() const override {
    return store_->capabilities();
  }
  std::string Uri(const std::string& path) const override {
    return store_->Uri(path);
  }
  Result<ObjectMeta> Stat(const std::string& path) override {
    return store_->Stat(path);
  }
  Status ReadAt(const ObjectRef& object, uint64_t offset,
                MutableByteSpan out) override {
    while (object.path == "gated" && !gate_.empty() &&
           access(gate_.c_str(), F_OK) == 0) {
      RealClock().SleepMs(5);
    }
    return store_->ReadAt(object, offset, out);
  }
  Result<Tail> ReadTail(const std::string& path, uint64_t wanted) override {
    return store_->ReadTail(path, wanted);
  }
  Result<std::vector<ListEntry>> List(const std::string& path) override {
    return store_->List(path);
  }
  Result<std::unique_ptr<ObjectWriter>> Create(const std::string& path,
                                               PutMode mode) override {
    return store_->Create(path, mode);
  }
  Status Remove(const std::string& path) override {
    return store_->Remove(path);
  }

 private:
  const std::shared_ptr<MemoryStore> store_;
  const std::string gate_;
};

TypePtr ListOf(TypeId id, TypePtr item, uint32_t width = 0) {
  DataType type;
  type.id = id;
  type.width = width;
  type.children.push_back(MakeField("item", std::move(item)));
  return MakeType(std::move(type));
}

Schema SampleSchema(bool narrow) {
  const TypePtr text = MakeType(TypeId::kString);
  const TypePtr blob = MakeType(TypeId::kBlob);
  Schema schema;
  schema.fields = {MakeField("id", MakeType(TypeId::kInt64)),
                   MakeField("label", text)};
  if (narrow) {
    schema.fields.push_back(
        MakeField("notes", blob, {{"media_type", "text/plain"}}));
    return schema;
  }
  schema.fields.insert(
      schema.fields.end(),
      {MakeField("name", text), MakeField("score", MakeType(TypeId::kDouble)),
       MakeField("point",
                 ListOf(TypeId::kFixedSizeList, MakeType(TypeId::kFloat), 3)),
       MakeField("tags", ListOf(TypeId::kList, text)), MakeField("photo", blob),
       MakeField("notes", blob, {{"media_type", "text/plain"}}),
       MakeField("video", blob),
       MakeField("images", ListOf(TypeId::kList, blob)),
       MakeField("gated", blob, {{"media_type", "text/plain"}})});
  return schema;
}

BlobCell InCell(std::string_view bytes) {
  BlobCell cell;
  cell.bytes = std::make_shared<const Bytes>(ToBytes(bytes));
  cell.size = bytes.size();
  return cell;
}

BlobCell Packed(std::string object, uint64_t offset, uint64_t size) {
  BlobCell cell;
  cell.kind = BlobKind::kPacked;
  cell.object = std::move(object);
  cell.offset = offset;
  cell.size = size;
  return cell;
}

void FillBlob(uint64_t row, size_t field, ArrayBuilder& out) {
  if (field == kPhoto) {
    if (row == kNullRow) return out.AppendNull();
    return out.AppendBlob(row == kEmptyRow ? InCell("")
                                           : InCell(SamplePhoto(row)));
  }
  if (field == kNotes) return out.AppendBlob(InCell(SampleNotes(row)));
  if (field == kGated) return out.AppendBlob(Packed("gated", 0, 300'000));
  BlobCell cell = Packed("video", 100 * (row % 10), 100);
  cell.info = FakePlugin::MakeInfo(10);
  if (row == kForeignRow) {
    cell.info->stream_info =
        std::make_shared<const Bytes>(ToBytes("WHATxxxxxxxx"));
  }
  out.AppendBlob(std::move(cell));
}

void FillValue(uint64_t row, size_t field, ArrayBuilder& out) {
  if (row == kNullRow && (field == kId || field == kLabel)) {
    return out.AppendNull();
  }
  if (field == kId) return out.AppendInt(static_cast<int64_t>(row));
  if (field == kLabel) {
    return out.AppendBytes(AsBytes(row % 2 == 0 ? "even" : "odd"));
  }
  if (field == kName) {
    return out.AppendBytes(AsBytes(row < kNames.size()
                                       ? std::string(kNames[row])
                                       : "row " + std::to_string(row)));
  }
  if (field == kScore) {
    return out.AppendDouble(static_cast<double>(row) / 10);
  }
  if (field == kPoint) {
    out.child(0).AppendDouble(static_cast<double>(row));
    out.child(0).AppendDouble(0.5);
    out.child(0).AppendDouble(-1);
    return out.AppendValid();
  }
  if (field == kTags) {
    out.child(0).AppendBytes(AsBytes("tag"));
    out.child(0).AppendBytes(AsBytes("\"quoted\""));
    return out.AppendValid();
  }
  for (uint64_t i = 0; i < 2; ++i) {
    out.child(0).AppendBlob(InCell(SampleImage(row, i)));
  }
  out.AppendValid();
}

std::string PngLike(const std::string& text) {
  return "\x89PNG\r\n\x1a\n" + text;
}

}  // namespace

std::string SamplePhoto(uint64_t row) {
  return PngLike("photo " + std::to_string(row));
}
std::string SampleNotes(uint64_t row) {
  return "notes of row " + std::to_string(row) + "\n";
}
std::string SampleVideo(uint64_t row) {
  return std::string(100, static_cast<char>('a' + row % 10));
}
std::string SampleImage(uint64_t row, uint64_t image) {
  return PngLike("image " + std::to_string(row) + "/" + std::to_string(image));
}

SampleTree::SampleTree(SampleOptions options)
    : pool_(2, 100),
      prefetch_pool_(1, 1),
      renderer_(RenderLimits(), &pool_, nullptr) {
  auto objects = std::make_shared<MemoryStore>();
  std::string video;
  for (uint64_t row = 0; row < 10; ++row) video += SampleVideo(row);
  objects->Put("video", video);
  objects->Put("gated", std::string(300'000, 'g'));
  const bool narrow = options.narrow;
  const auto make = [=](uint64_t row_count) {
    return std::make_unique<GeneratedTable>(
        SampleSchema(narrow), row_count,
        [narrow](uint64_t row, size_t field, ArrayBuilder& out) {
          const size_t real = narrow && field == 2 ? kNotes : field;
          const bool blob = real == kPhoto || real == kNotes ||
                            real == kVideo || real == kGated;
          (blob ? FillBlob : FillValue)(row, real, out);
        },
        std::make_shared<GateStore>(objects, options.gate));
  };
  auto table = make(options.row_count);
  table_ = table.get();
  table_->set_versions(
      {{2, 2'000'000'000, {"old/tag"}}, {7, 7'000'000'000, {}}});
  if (!options.tree.open_version) {
    options.tree.open_version = [make](uint64_t version) {
      auto other = make(version);  // as many rows as its number
      other->set_fingerprint("version " + std::to_string(version));
      return Dataset::Make("generated@v" + std::to_string(version),
                           std::move(other), {});
    };
  }
  options.tree.prefetch_pool = &prefetch_pool_;
  options.tree.mtime_ns = 1'700'000'000'000'000'000;
  options.tree.config_json = "{\"rows\": \"auto\"}";
  auto dataset = Dataset::Make("generated", std::move(table), {});
  auto tree = Tree::Make(dataset.value(), registry_, renderer_, options.tree);
  if (!tree.ok()) {
    std::cerr << tree.status().message() << "\n";
    std::abort();
  }
  tree_ = std::move(tree).value();
}

}  // namespace rowfs
