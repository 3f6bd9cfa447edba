#include "storage/lance/page_layout.h"

#include "storage/lance/block_encoder.h"

namespace rowfs {
namespace {

using lance::pb::PageLayout;
using lance::pb::PlanarLayout;

void Store(const PageLayout& layout, EncodedPage* page) {
  page->layout_type = "/lance.encodings21.PageLayout";
  page->layout = layout.SerializeAsString();
}

void Store(const PlanarLayout& layout, EncodedPage* page) {
  page->layout_type = "/lance.encodings23.PlanarLayout";
  page->layout = layout.SerializeAsString();
}

template <typename Message>
void AddLayers(const PageLevels& levels, Message* message) {
  for (const auto layer : levels.layers) message->add_layers(layer);
}

}  // namespace

void SetMiniBlock(const PageLevels& levels, const MiniBlockParts& parts,
                  bool planar, EncodedPage* page) {
  const uint32_t depth = levels.max_rep > 0 ? 1 : 0;
  if (planar) {
    PlanarLayout layout;
    AddLayers(levels, layout.mutable_structure()->mutable_dense());
    auto* chunked = layout.mutable_values()->mutable_chunked();
    *chunked->mutable_compression() = parts.value;
    auto* chunk_levels = chunked->mutable_levels();
    if (parts.rep) *chunk_levels->mutable_repetition() = *parts.rep;
    if (parts.def) *chunk_levels->mutable_definition() = *parts.def;
    chunk_levels->set_repetition_index_depth(depth);
    if (parts.dictionary) *chunked->mutable_dictionary() = *parts.dictionary;
    chunked->set_num_dictionary_items(parts.dictionary_items);
    chunked->set_num_buffers(parts.value_buffers);
    chunked->set_num_items(parts.items);
    Store(layout, page);
    return;
  }
  PageLayout layout;
  auto* block = layout.mutable_mini_block();
  if (parts.rep) *block->mutable_rep_compression() = *parts.rep;
  if (parts.def) *block->mutable_def_compression() = *parts.def;
  *block->mutable_value_compression() = parts.value;
  if (parts.dictionary) *block->mutable_dictionary() = *parts.dictionary;
  block->set_num_dictionary_items(parts.dictionary_items);
  AddLayers(levels, block);
  block->set_num_buffers(parts.value_buffers);
  block->set_repetition_index_depth(depth);
  block->set_num_items(parts.items);
  block->set_has_large_chunk(true);
  Store(layout, page);
}

void SetFullZip(const PageLevels& levels, const FullZipParts& parts,
                bool planar, EncodedPage* page) {
  if (planar) {
    PlanarLayout layout;
    AddLayers(levels, layout.mutable_structure()->mutable_dense());
    auto* zipped = layout.mutable_values()->mutable_zipped();
    *zipped->mutable_compression() = parts.value;
    zipped->mutable_levels()->set_bits_repetition(parts.bits_rep);
    zipped->mutable_levels()->set_bits_definition(parts.bits_def);
    if (parts.bits_per_offset > 0) {
      zipped->set_bits_per_offset(parts.bits_per_offset);
    } else {
      zipped->set_bits_per_value(parts.bits_per_value);
    }
    zipped->set_num_items(parts.items);
    zipped->set_num_visible_items(parts.visible_items);
    Store(layout, page);
    return;
  }
  PageLayout layout;
  auto* zip = layout.mutable_full_zip();
  zip->set_bits_rep(parts.bits_rep);
  zip->set_bits_def(parts.bits_def);
  if (parts.bits_per_offset > 0) {
    zip->set_bits_per_offset(parts.bits_per_offset);
  } else {
    zip->set_bits_per_value(parts.bits_per_value);
  }
  zip->set_num_items(parts.items);
  zip->set_num_visible_items(parts.visible_items);
  *zip->mutable_value_compression() = parts.value;
  AddLayers(levels, zip);
  Store(layout, page);
}

void SetConstant(const LeafPage& leaf_page, const LeafColumn& leaf,
                 const PageLevels& levels,
                 const std::optional<std::string>& inline_value, bool planar,
                 EncodedPage* page) {
  const bool plain = levels.rep.empty() && levels.def.empty();
  if (planar) {
    PlanarLayout layout;
    if (plain) {
      AddLayers(levels, layout.mutable_structure()->mutable_dense());
    } else {
      *layout.mutable_structure()->mutable_sparse() =
          SparseLayers(leaf_page, leaf, &page->buffers);
    }
    layout.mutable_values()->mutable_constant()->set_scalar(
        inline_value.value_or(""));
    Store(layout, page);
    return;
  }
  PageLayout layout;
  AddLayers(levels, layout.mutable_constant());
  if (inline_value) layout.mutable_constant()->set_inline_value(*inline_value);
  if (!plain) {
    for (const auto* stream : {&levels.rep, &levels.def}) {
      const ByteSpan bytes = std::as_bytes(std::span(*stream));
      page->buffers.emplace_back(bytes.begin(), bytes.end());
    }
  }
  Store(layout, page);
}

void SetNoValues(const LeafPage& leaf_page, const LeafColumn& leaf,
                 const PageLevels& levels, bool planar, EncodedPage* page) {
  const bool simple = leaf.layers.size() == 1;  // nulls only
  if (planar) {
    PlanarLayout layout;
    layout.mutable_values()->mutable_none();
    if (simple) {
      AddLayers(levels, layout.mutable_structure()->mutable_dense());
    } else {
      *layout.mutable_structure()->mutable_sparse() =
          SparseLayers(leaf_page, leaf, &page->buffers);
    }
    Store(layout, page);
    return;
  }
  PageLayout layout;
  auto* constant = layout.mutable_constant();
  AddLayers(levels, constant);
  if (!simple) {
    page->buffers.resize(2);  // a stream that is not needed is empty
    const auto encode = [](const std::vector<uint16_t>& stream, Bytes* out) {
      const std::span<const uint16_t> all(stream);
      LevelBlocks blocks = EncodeLevels({&all, 1});
      *out = std::move(blocks.blocks[0]);
      return blocks.encoding;
    };
    if (!levels.rep.empty()) {
      *constant->mutable_rep_compression() =
          encode(levels.rep, &page->buffers[0]);
      constant->set_num_rep_values(levels.rep.size());
    }
    if (!levels.def.empty()) {
      *constant->mutable_def_compression() =
          encode(levels.def, &page->buffers[1]);
      constant->set_num_def_values(levels.def.size());
    }
  }
  Store(layout, page);
}

}  // namespace rowfs
