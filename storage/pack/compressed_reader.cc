#include "storage/pack/compressed_reader.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>

#include "storage/base/hash.h"

namespace rowfs {
namespace {

constexpr size_t kWindowBytes = 32 << 10;
constexpr uint64_t kFirstSpan = 1 << 20;
// Together they hold 8 MiB of windows; then every second one is dropped.
constexpr size_t kCheckpointsMax = 256;
// Streams kept for readers that go on where they were.
constexpr size_t kIdleMax = 4;
// A decoder that needs more memory than this is refused (zstd window, log 2).
constexpr int kZstdWindowLogMax = 27;

}  // namespace

// A decoder somewhere in the content. One thread at a time.
class CompressedReader::Stream {
 public:
  Stream(const CompressedReader& reader, const Checkpoint& from)
      : reader_(reader), in_next_(from.in), out_(from.out) {
    whole_ = from.out == 0;
    if (zstd()) {
      zstd_.reset(ZSTD_createDCtx());
      ZSTD_DCtx_setParameter(zstd_.get(), ZSTD_d_windowLogMax,
                             kZstdWindowLogMax);
      return;
    }
    // Entered in the middle, a gzip member is plain deflate until it ends.
    raw_ = reader.options_.compression == Compression::kDeflate || from.in != 0;
    inflating_ = inflateInit2(&z_, raw_ ? -15 : 15 + 16) == Z_OK;
    if (from.bits != 0) bits_from_ = from;
    if (!from.window.empty()) {
      window_ = from.window;
      pending_start_ = true;
    }
    pending_start_ = pending_start_ || from.bits != 0;
  }
  ~Stream() {
    if (!zstd() && inflating_) inflateEnd(&z_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  uint64_t position() const { return out_; }

  // Decode up to out.size() bytes; 0 at the end.
  Result<size_t> Decode(MutableByteSpan out, CompressedReader* owner);

 private:
  struct FreeZstd {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };

  bool zstd() const {
    return reader_.options_.compression == Compression::kZstd;
  }
  Status Error(std::string_view message) const {
    return {Code::kCorruption, reader_.options_.what + ": compressed data " +
                                   std::string(message)};
  }
  Status Fill();
  Status Start();
  Result<size_t> Inflate(MutableByteSpan out, CompressedReader* owner);
  Result<size_t> Decompress(MutableByteSpan out, CompressedReader* owner);
  Status NextGzipMember();
  Status SkipTrailer();
  void Produced(ByteSpan bytes);
  Checkpoint Here() const;

  const CompressedReader& reader_;
  uint64_t in_next_;  // of the compressed bytes: what Fill reads next
  uint64_t out_;
  Bytes buffer_;
  size_t at_ = 0;  // in buffer_
  bool ended_ = false;
  bool whole_ = false;  // from the first byte on
  uint32_t crc_ = 0;
  // deflate
  z_stream z_ = {};
  bool inflating_ = false;
  bool raw_ = false;
  bool pending_start_ = false;
  Checkpoint bits_from_;
  Bytes window_;  // the last content, up to twice kWindowBytes
  // zstd
  std::unique_ptr<ZSTD_DCtx, FreeZstd> zstd_;
  bool frame_begins_ = true;
};

// More compressed bytes, when all of those before are used up.
Status CompressedReader::Stream::Fill() {
  if (at_ < buffer_.size()) return {};
  const uint64_t left = reader_.options_.compressed_bytes -
                        std::min(in_next_, reader_.options_.compressed_bytes);
  buffer_.resize(std::min(left, reader_.options_.chunk_bytes));
  at_ = 0;
  if (buffer_.empty()) return {};
  ROWFS_RETURN_IF_ERROR(reader_.source_(in_next_, buffer_));
  in_next_ += buffer_.size();
  return {};
}

// Put the decoder where the checkpoint was.
Status CompressedReader::Stream::Start() {
  pending_start_ = false;
  if (bits_from_.bits != 0) {
    Bytes last(1);
    ROWFS_RETURN_IF_ERROR(reader_.source_(in_next_ - 1, last));
    const int bits = bits_from_.bits;
    const int value = std::to_integer<int>(last[0]) >> (8 - bits);
    if (inflatePrime(&z_, bits, value) != Z_OK) return Error("has no start");
  }
  if (!window_.empty() &&
      inflateSetDictionary(&z_, AsU8(ByteSpan(window_)),
                           static_cast<uInt>(window_.size())) != Z_OK) {
    return Error("has no start");
  }
  return {};
}

void CompressedReader::Stream::Produced(ByteSpan bytes) {
  out_ += bytes.size();
  if (whole_ && reader_.options_.crc) crc_ = Crc32(bytes, crc_);
  if (zstd()) return;
  const ByteSpan kept =
      bytes.last(std::min(bytes.size(), size_t{kWindowBytes}));
  if (window_.size() + kept.size() > 2 * kWindowBytes) {
    const size_t keep = std::min(
        window_.size(), kWindowBytes - std::min(kWindowBytes, kept.size()));
    window_.erase(window_.begin(),
                  window_.end() - static_cast<ptrdiff_t>(keep));
  }
  AppendBytes(&window_, kept);
}

Checkpoint CompressedReader::Stream::Here() const {
  Checkpoint point;
  point.in = in_next_ - (buffer_.size() - at_);
  point.out = out_;
  if (zstd()) return point;
  point.bits = static_cast<uint8_t>(z_.data_type & 7);
  const size_t size = std::min(window_.size(), kWindowBytes);
  point.window.assign(window_.end() - static_cast<ptrdiff_t>(size),
                      window_.end());
  return point;
}

Status CompressedReader::Stream::SkipTrailer() {
  for (int i = 0; i < 8; ++i) {
    ROWFS_RETURN_IF_ERROR(Fill());
    if (at_ == buffer_.size()) return Error("is cut off");
    ++at_;
  }
  return {};
}

// Behind the end of a gzip member: another one, or padding to the end.
Status CompressedReader::Stream::NextGzipMember() {
  if (raw_) ROWFS_RETURN_IF_ERROR(SkipTrailer());
  for (;;) {
    ROWFS_RETURN_IF_ERROR(Fill());
    if (at_ == buffer_.size()) {
      ended_ = true;
      return {};
    }
    if (buffer_[at_] != std::byte{0}) break;
    ++at_;
  }
  if (buffer_[at_] != std::byte{0x1f}) {
    ended_ = true;  // as gzip: trailing garbage is ignored
    return {};
  }
  raw_ = false;
  if (inflateReset2(&z_, 15 + 16) != Z_OK) return Error("cannot go on");
  return {};
}

Result<size_t> CompressedReader::Stream::Inflate(MutableByteSpan out,
                                                 CompressedReader* owner) {
  if (!inflating_) return Status(Code::kResourceExhausted, "no memory");
  if (pending_start_) ROWFS_RETURN_IF_ERROR(Start());
  size_t done = 0;
  while (done < out.size() && !ended_) {
    ROWFS_RETURN_IF_ERROR(Fill());
    if (at_ == buffer_.size()) return Error("is cut off");
    const MutableByteSpan into = out.subspan(done);
    const MutableByteSpan from = MutableByteSpan(buffer_).subspan(at_);
    z_.next_in = AsU8(from);
    z_.avail_in = static_cast<uInt>(from.size());
    z_.next_out = AsU8(into);
    z_.avail_out =
        static_cast<uInt>(std::min<size_t>(into.size(), kWindowBytes));
    const size_t room = z_.avail_out;
    const int result = inflate(&z_, Z_BLOCK);
    at_ = buffer_.size() - z_.avail_in;
    const size_t made = room - z_.avail_out;
    Produced(into.first(made));
    done += made;
    if (result == Z_STREAM_END) {
      if (reader_.options_.compression == Compression::kGzip) {
        ROWFS_RETURN_IF_ERROR(NextGzipMember());
      } else {
        ended_ = true;
      }
      continue;
    }
    if (result != Z_OK && result != Z_BUF_ERROR) {
      return Error("does not decode");
    }
    // Between two blocks, and not behind the last one.
    if ((z_.data_type & 128) != 0 && (z_.data_type & 64) == 0) {
      owner->Note(Here());
    }
  }
  return done;
}

Result<size_t> CompressedReader::Stream::Decompress(MutableByteSpan out,
                                                    CompressedReader* owner) {
  size_t done = 0;
  while (done < out.size() && !ended_) {
    ROWFS_RETURN_IF_ERROR(Fill());
    if (at_ == buffer_.size()) {
      if (!frame_begins_) return Error("is cut off");
      ended_ = true;
      break;
    }
    if (frame_begins_ && out_ > 0) owner->Note(Here());
    ZSTD_inBuffer in = {buffer_.data(), buffer_.size(), at_};
    ZSTD_outBuffer to = {out.data() + done, out.size() - done, 0};
    const size_t result = ZSTD_decompressStream(zstd_.get(), &to, &in);
    if (ZSTD_isError(result) != 0) return Error("does not decode");
    at_ = in.pos;
    Produced(ByteSpan(out).subspan(done, to.pos));
    done += to.pos;
    frame_begins_ = result == 0;
  }
  return done;
}

Result<size_t> CompressedReader::Stream::Decode(MutableByteSpan out,
                                                CompressedReader* owner) {
  ROWFS_ASSIGN_OR_RETURN(const size_t done,
                         zstd() ? Decompress(out, owner) : Inflate(out, owner));
  const Options& options = reader_.options_;
  if (whole_ && options.crc && out_ == options.content_bytes &&
      crc_ != *options.crc) {
    return Error("gives other bytes than its checksum says");
  }
  return done;
}

CompressedReader::CompressedReader(Source source, Options options)
    : source_(std::move(source)),
      options_(std::move(options)),
      checkpoints_(options_.checkpoints),
      span_(kFirstSpan) {}

CompressedReader::~CompressedReader() = default;

std::vector<Checkpoint> CompressedReader::checkpoints() const {
  const MutexLock lock(mu_);
  return checkpoints_;
}

void CompressedReader::Note(Checkpoint point) {
  const MutexLock lock(mu_);
  const uint64_t last = checkpoints_.empty() ? 0 : checkpoints_.back().out;
  if (point.out < last + span_) return;
  checkpoints_.push_back(std::move(point));
  if (checkpoints_.size() <= kCheckpointsMax) return;
  size_t kept = 0;
  for (size_t i = 1; i < checkpoints_.size(); i += 2) {
    std::swap(checkpoints_[kept++], checkpoints_[i]);
  }
  checkpoints_.resize(kept);
  span_ *= 2;
}

// The stream or point nearest before `offset`.
std::unique_ptr<CompressedReader::Stream> CompressedReader::TakeStream(
    uint64_t offset) {
  Checkpoint from;
  {
    const MutexLock lock(mu_);
    const auto next = std::upper_bound(
        checkpoints_.begin(), checkpoints_.end(), offset,
        [](uint64_t at, const Checkpoint& point) { return at < point.out; });
    const uint64_t from_out =
        next == checkpoints_.begin() ? 0 : std::prev(next)->out;
    auto best = idle_.end();
    for (auto it = idle_.begin(); it != idle_.end(); ++it) {
      const uint64_t at = (*it)->position();
      if (at <= offset && at >= from_out &&
          (best == idle_.end() || at > (*best)->position())) {
        best = it;
      }
    }
    if (best != idle_.end()) {
      auto stream = std::move(*best);
      idle_.erase(best);
      return stream;
    }
    if (next != checkpoints_.begin()) from = *std::prev(next);
  }
  return std::make_unique<Stream>(*this, from);
}

void CompressedReader::GiveBack(std::unique_ptr<Stream> stream) {
  const MutexLock lock(mu_);
  idle_.push_back(std::move(stream));
  if (idle_.size() > kIdleMax) idle_.erase(idle_.begin());
}

Result<size_t> CompressedReader::ReadUpTo(uint64_t offset,
                                          MutableByteSpan out) {
  std::unique_ptr<Stream> stream = TakeStream(offset);
  Bytes skipped;
  while (stream->position() < offset) {
    skipped.resize(std::min<uint64_t>(offset - stream->position(), 64 << 10));
    ROWFS_ASSIGN_OR_RETURN(const size_t done, stream->Decode(skipped, this));
    if (done == 0) return size_t{0};
  }
  ROWFS_ASSIGN_OR_RETURN(const size_t done, stream->Decode(out, this));
  GiveBack(std::move(stream));
  return done;
}

}  // namespace rowfs
