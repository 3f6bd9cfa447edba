// One page of a column: which bytes rows of it need, and what they decode to.
// A read is a conversation, so that the reads of all pages a call touches can
// be sent together: ask Next for ranges until it wants none, then Finish.
//
// Reads: one thread each. States and the cache: thread-safe.
#ifndef ROWFS_STORAGE_LANCE_PAGE_H_
#define ROWFS_STORAGE_LANCE_PAGE_H_

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/sync.h"
#include "storage/lance/encodings.pb.h"
#include "storage/lance/file_metadata.h"
#include "storage/lance/levels.h"

namespace rowfs {

// Rows [begin, end).
struct RowRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t size() const { return end - begin; }
};
using RowRanges = std::vector<RowRange>;  // sorted, disjoint, none empty

uint64_t CountRows(const RowRanges& rows);

// What was learned of a page on first touch; immutable.
class PageState {
 public:
  virtual ~PageState() = default;
  virtual uint64_t memory_bytes() const = 0;
};

// States of the pages asked for lately, up to `bytes_max` in all.
class PageStateCache {
 public:
  using Key = std::pair<uint32_t, uint32_t>;  // column, page

  explicit PageStateCache(uint64_t bytes_max) : bytes_max_(bytes_max) {}

  std::shared_ptr<const PageState> Find(Key key) EXCLUDES(mu_);
  void Put(Key key, std::shared_ptr<const PageState> state) EXCLUDES(mu_);

 private:
  struct Entry {
    Key key;
    std::shared_ptr<const PageState> state;
  };
  const uint64_t bytes_max_;
  Mutex mu_;
  std::list<Entry> entries_ GUARDED_BY(mu_);  // latest first
  std::map<Key, std::list<Entry>::iterator> index_ GUARDED_BY(mu_);
  uint64_t bytes_ GUARDED_BY(mu_) = 0;
};

// Where a read happens. Everything outlives the read.
struct PageContext {
  const PageMetadata* page = nullptr;
  const ColumnPath* path = nullptr;
  LanceFileVersion version;
  const std::string* file_path = nullptr;  // how blob cells name the file
  BlobDetail detail = BlobDetail::kFull;
  PageStateCache* cache = nullptr;
  PageStateCache::Key key;
};

class PageRead {
 public:
  virtual ~PageRead() = default;
  // Take the bytes of the ranges wanted before, say which are wanted next. None
  // are: call Finish. kCorruption when the bytes contradict themselves.
  virtual Result<std::vector<ByteRange>> Next(std::vector<Bytes> got) = 0;
  // Bytes of what was wanted last that any rows of the page would need.
  virtual uint64_t table_bytes() const { return 0; }
  // The rows as a chain of the context's path, in order. Last call.
  virtual Result<Array> Finish() = 0;
};

// Start reading `rows`, counted in the page's own numbers (level entries that
// start a row). Requires: `rows` end inside the page. kUnsupported names the
// encoding.
Result<std::unique_ptr<PageRead>> StartPageRead(const PageContext& context,
                                                RowRanges rows);

// The layouts, one function each; used by StartPageRead and by the layouts that
// wrap others.
Result<std::unique_ptr<PageRead>> StartLayoutRead(
    const PageContext& context, const lance::pb::PageLayout& layout,
    RowRanges rows);
Result<std::unique_ptr<PageRead>> StartMiniBlockRead(
    const PageContext& context, const lance::pb::MiniBlockLayout& layout,
    RowRanges rows);
Result<std::unique_ptr<PageRead>> StartFullZipRead(
    const PageContext& context, const lance::pb::FullZipLayout& layout,
    RowRanges rows);
Result<std::unique_ptr<PageRead>> StartConstantRead(
    const PageContext& context, const lance::pb::ConstantLayout& layout,
    RowRanges rows);
Result<std::unique_ptr<PageRead>> StartBlobRead(
    const PageContext& context, const lance::pb::BlobLayout& layout,
    RowRanges rows);
Result<std::unique_ptr<PageRead>> StartPlanarRead(
    const PageContext& context, const lance::pb::PlanarLayout& layout,
    RowRanges rows);

Result<std::unique_ptr<PageRead>> StartSparseRead(
    const PageContext& context, const lance::pb::PlanarLayout& layout,
    RowRanges rows);

// The 2.2 layout that reads the same buffers as a planar page's values.
Result<lance::pb::PageLayout> ToPageLayout(
    const lance::pb::PlanarLayout::Values& values,
    const google::protobuf::RepeatedField<int>& layers);

// Rows `rows` of `array`, whose first value is row `first`.
Array SelectRows(Array array, uint64_t first, const RowRanges& rows);

// Decode `count` 16-bit levels. No decoder: raw.
class BlockDecoder;
Result<std::vector<uint16_t>> DecodeLevels(const BlockDecoder* decoder,
                                           ByteSpan bytes, uint64_t count);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_PAGE_H_
