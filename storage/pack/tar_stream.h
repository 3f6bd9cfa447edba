// The members of a tar as CPython's tarfile finds them in stream mode: which
// headers count, how PAX, GNU and ustar names combine, how sparse files unfold,
// where an archive ends. WebDataset conversion is defined by it; random access
// to tars is tar_reader's.
//
// One thread.
#ifndef ROWFS_STORAGE_PACK_TAR_STREAM_H_
#define ROWFS_STORAGE_PACK_TAR_STREAM_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/pack/input_stream.h"

namespace rowfs {

struct TarEntry {
  std::string name;  // as stored: maybe no UTF-8
  char type = '0';
  // Of the file, holes included.
  int64_t size = 0;

  // Regular, contiguous or sparse: what has bytes of its own.
  bool IsRegular() const {
    return type == '0' || type == '\0' || type == '7' || type == 'S';
  }
};

class TarStream {
 public:
  explicit TarStream(std::unique_ptr<InputStream> input);

  // The next member; absent at the end. The archive ends at a block of zeros
  // or, behind a first member, at a header that is damaged or cut (then
  // `ended_early`). kCorruption for a damaged first header, for PAX or long
  // names without their member, and for bytes that stop before the next
  // header.
  Result<std::optional<TarEntry>> Next();

  // The next bytes of the member that Next returned last; empty at its end.
  // Valid until the next call. kCorruption when the archive is cut there.
  Result<ByteSpan> ReadData();

  bool ended_early() const { return ended_early_; }
  uint64_t file_position() const { return input_->file_position(); }

 private:
  enum class Header { kEntry, kZeros, kDamaged, kNone, kCut };
  struct Segment {  // [begin, end) of the file
    int64_t begin;
    int64_t end;
    std::optional<int64_t> position;  // in the archive; absent: a hole
  };
  using Pairs = std::vector<std::pair<int64_t, int64_t>>;
  // Later settings of a keyword keep its place, as in a dict.
  using PaxHeaders = std::vector<std::pair<std::string, std::string>>;
  struct Member {
    TarEntry entry;
    int64_t data_position = 0;
    std::optional<Pairs> sparse;
    bool sparse_continues = false;
    int64_t sparse_size = 0;
  };

  // `*kind` says what stands there; `member` is set for kEntry.
  Status ReadHeader(int depth, Header* kind, Member* member);
  Header DecodeHeader(const Bytes& block, Member* member) const;
  Status ReadSubsequent(int depth, Member* member);
  Status FinishPlain(Member* member);
  Status FinishLongName(int depth, Member* member);
  Status FinishSparse(Header* kind, Member* member);
  Status FinishPax(int depth, Header* kind, Member* member);
  Status ApplySparsePax(const PaxHeaders& pax, const Bytes& block,
                        Member* member);
  Status ReadSparseMap(Member* member);
  Status ApplyPax(const PaxHeaders& pax, Member* member) const;
  Status MapSegments(const Member& member);

  Result<Bytes> Read(uint64_t size);  // fewer at the end
  Result<Bytes> ReadPayload(int64_t size);
  Status SkipTo(int64_t position);

  const std::unique_ptr<InputStream> input_;
  int64_t position_ = 0;     // of the stream
  int64_t next_header_ = 0;  // where it begins
  bool ended_early_ = false;
  PaxHeaders global_;
  // The member whose data is read.
  std::vector<Segment> segments_;
  size_t segment_ = 0;
  int64_t data_done_ = 0;
  int64_t data_size_ = 0;
  Bytes chunk_;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_TAR_STREAM_H_
