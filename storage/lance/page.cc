#include "storage/lance/page.h"

#include <cstring>
#include <limits>

#include "storage/lance/encoding.h"
#include "storage/lance/parse_message.h"

namespace rowfs {
namespace {

constexpr std::string_view kPageLayoutUrl = "/lance.encodings21.PageLayout";
constexpr std::string_view kPlanarLayoutUrl = "/lance.encodings23.PlanarLayout";

template <typename Message>
Result<Message> Parse(const std::string& bytes) {
  Message message;
  if (!ParseMessage(AsBytes(bytes), &message)) {
    return Status(Code::kCorruption, "the page's encoding is not a message");
  }
  return message;
}

}  // namespace

uint64_t CountRows(const RowRanges& rows) {
  uint64_t count = 0;
  for (const RowRange& range : rows) count += range.size();
  return count;
}

std::shared_ptr<const PageState> PageStateCache::Find(Key key) {
  const MutexLock lock(mu_);
  const auto found = index_.find(key);
  if (found == index_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->state;
}

void PageStateCache::Put(Key key, std::shared_ptr<const PageState> state) {
  const MutexLock lock(mu_);
  if (index_.contains(key)) return;  // another thread was faster
  bytes_ += state->memory_bytes();
  entries_.push_front({key, std::move(state)});
  index_[key] = entries_.begin();
  while (bytes_ > bytes_max_ && entries_.size() > 1) {
    bytes_ -= entries_.back().state->memory_bytes();
    index_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

Result<std::unique_ptr<PageRead>> StartPageRead(const PageContext& context,
                                                RowRanges rows) {
  const PageMetadata& page = *context.page;
  if (page.type_url == kPageLayoutUrl) {
    ROWFS_ASSIGN_OR_RETURN(const auto layout,
                           Parse<lance::pb::PageLayout>(page.encoding));
    return StartLayoutRead(context, layout, std::move(rows));
  }
  if (page.type_url == kPlanarLayoutUrl) {
    if (context.version < LanceFileVersion{2, 3}) {
      return Status(Code::kCorruption, "a planar page in a file before 2.3");
    }
    ROWFS_ASSIGN_OR_RETURN(const auto layout,
                           Parse<lance::pb::PlanarLayout>(page.encoding));
    return StartPlanarRead(context, layout, std::move(rows));
  }
  return Status(Code::kUnsupported,
                "pages of type \"" + page.type_url + "\" are not supported");
}

Result<std::unique_ptr<PageRead>> StartLayoutRead(
    const PageContext& context, const lance::pb::PageLayout& layout,
    RowRanges rows) {
  switch (layout.layout_case()) {
    case lance::pb::PageLayout::kMiniBlock:
      return StartMiniBlockRead(context, layout.mini_block(), std::move(rows));
    case lance::pb::PageLayout::kConstant:
      return StartConstantRead(context, layout.constant(), std::move(rows));
    case lance::pb::PageLayout::kFullZip:
      return StartFullZipRead(context, layout.full_zip(), std::move(rows));
    case lance::pb::PageLayout::kBlob:
      return StartBlobRead(context, layout.blob(), std::move(rows));
    case lance::pb::PageLayout::LAYOUT_NOT_SET:
      break;
  }
  return Status(Code::kUnsupported, "a page layout that is not known");
}

Array SelectRows(Array array, uint64_t first, const RowRanges& rows) {
  if (rows.size() == 1) {
    const RowRange& range = rows[0];
    if (range.begin == first && range.size() == array.length) return array;
    return SliceArray(array, range.begin - first, range.size());
  }
  std::vector<uint64_t> indices;
  indices.reserve(CountRows(rows));
  for (const RowRange& range : rows) {
    for (uint64_t row = range.begin; row < range.end; ++row) {
      indices.push_back(row - first);
    }
  }
  return TakeArray(array, indices);
}

Result<std::vector<uint16_t>> DecodeLevels(const BlockDecoder* decoder,
                                           ByteSpan bytes, uint64_t count) {
  std::vector<uint16_t> levels;
  if (count == 0) return levels;
  if (decoder == nullptr) {
    if (bytes.size() / 2 < count) {
      return Status(Code::kCorruption, std::to_string(bytes.size()) +
                                           " bytes for " +
                                           std::to_string(count) + " levels");
    }
    levels.resize(count);
    std::memcpy(levels.data(), bytes.data(), count * 2);
    return levels;
  }
  ValueBlock block = decoder->NewBlock();
  ROWFS_RETURN_IF_ERROR(decoder->Decode(bytes, count, &block));
  levels.resize(count);
  if (decoder->bits() == 16) {
    std::memcpy(levels.data(), block.data.data(), count * 2);
    return levels;
  }
  return Status(Code::kCorruption,
                "levels of " + std::to_string(decoder->bits()) + " bits");
}

}  // namespace rowfs
