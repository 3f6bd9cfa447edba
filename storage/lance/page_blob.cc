// Blob v1 pages (2.1): a page of positions and sizes, whose bytes lie elsewhere
// in the file. An empty descriptor with a position is a null; the position is
// its levels.
#include <string>
#include <utility>

#include "storage/lance/page.h"

namespace rowfs {
namespace {

// Of a position that stands for levels: definition above, repetition below.
constexpr int kDefinitionShift = 16;

TypePtr DescriptorType() {
  const auto number = MakeType(TypeId::kUint64);
  return MakeType(DataType{
      .id = TypeId::kStruct,
      .children = {{"position", number, false}, {"size", number, false}}});
}

class BlobRead final : public PageRead {
 public:
  BlobRead(const PageContext& context, Layers layers)
      : context_(context), layers_(std::move(layers)) {
    descriptors_ = MakePath({&context.path->leaf()}, DescriptorType());
  }

  Status Start(const lance::pb::PageLayout& inner, RowRanges rows) {
    PageContext context = context_;
    context.path = &descriptors_;
    ROWFS_ASSIGN_OR_RETURN(inner_,
                           StartLayoutRead(context, inner, std::move(rows)));
    return {};
  }

  Result<std::vector<ByteRange>> Next(std::vector<Bytes> got) override {
    return inner_->Next(std::move(got));
  }

  Result<Array> Finish() override {
    ROWFS_ASSIGN_OR_RETURN(const Array descriptors, inner_->Finish());
    const Array& positions = descriptors.children[0];
    const Array& sizes = descriptors.children[1];
    Levels levels{.count = descriptors.length};
    Array values{.type = context_.path->types.back()};
    for (uint64_t i = 0; i < descriptors.length; ++i) {
      const auto position = static_cast<uint64_t>(positions.IntAt(i));
      const auto size = static_cast<uint64_t>(sizes.IntAt(i));
      const bool null = size == 0 && position != 0;
      const uint64_t def = null ? position >> kDefinitionShift : 0;
      if (null && (def == 0 || def > layers_.def_max())) {
        return Status(Code::kCorruption,
                      "an empty blob at position " + std::to_string(position));
      }
      levels.def.push_back(static_cast<uint16_t>(def));
      BlobCell cell{.kind = BlobKind::kInline,
                    .object = *context_.file_path,
                    .offset = null ? 0 : position,
                    .size = size};
      if (!CheckedAdd(position, size)) {
        return Status(Code::kCorruption, "a blob that ends past any file");
      }
      values.blobs.push_back(null ? BlobCell() : std::move(cell));
    }
    values.length = values.blobs.size();
    return Unravel(*context_.path, layers_, levels, std::move(values));
  }

 private:
  const PageContext context_;
  const Layers layers_;
  ColumnPath descriptors_;
  std::unique_ptr<PageRead> inner_;
};

}  // namespace

Result<std::unique_ptr<PageRead>> StartBlobRead(
    const PageContext& context, const lance::pb::BlobLayout& layout,
    RowRanges rows) {
  if (context.path->leaf().kind != LanceFieldKind::kBlobV1) {
    return Status(Code::kCorruption, "a blob page in a column without blobs");
  }
  ROWFS_ASSIGN_OR_RETURN(Layers layers,
                         Layers::Make(layout.layers(), *context.path));
  if (layers.rep_max() > 0) {
    return Status(Code::kUnsupported, "lists of blobs in format 2.1");
  }
  auto read = std::make_unique<BlobRead>(context, std::move(layers));
  ROWFS_RETURN_IF_ERROR(read->Start(layout.inner_layout(), std::move(rows)));
  return std::unique_ptr<PageRead>(std::move(read));
}

}  // namespace rowfs
