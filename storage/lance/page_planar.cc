// Planar pages (2.3): structure and values described apart. Dense ones hold the
// very buffers of a 2.2 layout, so they are read as that.
#include <string>
#include <utility>

#include "storage/lance/page.h"

namespace rowfs {
namespace {

using lance::pb::PageLayout;
using lance::pb::PlanarLayout;

void ToMiniBlock(const PlanarLayout::Chunked& from,
                 lance::pb::MiniBlockLayout* to) {
  *to->mutable_value_compression() = from.compression();
  if (from.levels().has_repetition()) {
    *to->mutable_rep_compression() = from.levels().repetition();
  }
  if (from.levels().has_definition()) {
    *to->mutable_def_compression() = from.levels().definition();
  }
  to->set_repetition_index_depth(from.levels().repetition_index_depth());
  if (from.has_dictionary()) *to->mutable_dictionary() = from.dictionary();
  to->set_num_dictionary_items(from.num_dictionary_items());
  to->set_num_buffers(from.num_buffers());
  to->set_num_items(from.num_items());
  to->set_has_large_chunk(true);
}

void ToFullZip(const PlanarLayout::Zipped& from, lance::pb::FullZipLayout* to) {
  *to->mutable_value_compression() = from.compression();
  to->set_bits_rep(from.levels().bits_repetition());
  to->set_bits_def(from.levels().bits_definition());
  if (from.addressing_case() == PlanarLayout::Zipped::kBitsPerOffset) {
    to->set_bits_per_offset(from.bits_per_offset());
  } else {
    to->set_bits_per_value(from.bits_per_value());
  }
  to->set_num_items(from.num_items());
  to->set_num_visible_items(from.num_visible_items());
}

}  // namespace

Result<PageLayout> ToPageLayout(
    const PlanarLayout::Values& values,
    const google::protobuf::RepeatedField<int>& layers) {
  PageLayout layout;
  switch (values.codec_case()) {
    case PlanarLayout::Values::kChunked:
      ToMiniBlock(values.chunked(), layout.mutable_mini_block());
      *layout.mutable_mini_block()->mutable_layers() = layers;
      return layout;
    case PlanarLayout::Values::kZipped:
      ToFullZip(values.zipped(), layout.mutable_full_zip());
      *layout.mutable_full_zip()->mutable_layers() = layers;
      return layout;
    case PlanarLayout::Values::kConstant:
      layout.mutable_constant()->set_inline_value(values.constant().scalar());
      *layout.mutable_constant()->mutable_layers() = layers;
      return layout;
    case PlanarLayout::Values::kNone:
      *layout.mutable_constant()->mutable_layers() = layers;
      return layout;
    case PlanarLayout::Values::kIndexed:
      return Status(Code::kCorruption, "indexed values in a dense page");
    case PlanarLayout::Values::CODEC_NOT_SET:
      break;
  }
  return Status(Code::kUnsupported, "a planar page with unknown values");
}

Result<std::unique_ptr<PageRead>> StartPlanarRead(const PageContext& context,
                                                  const PlanarLayout& layout,
                                                  RowRanges rows) {
  if (layout.structure().has_sparse()) {
    return StartSparseRead(context, layout, std::move(rows));
  }
  if (!layout.structure().has_dense()) {
    return Status(Code::kUnsupported, "a planar page of unknown structure");
  }
  ROWFS_ASSIGN_OR_RETURN(
      const PageLayout dense,
      ToPageLayout(layout.values(), layout.structure().dense().layers()));
  return StartLayoutRead(context, dense, std::move(rows));
}

}  // namespace rowfs
