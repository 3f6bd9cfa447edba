#include "storage/pack/input_stream.h"

#include <bzlib.h>
#include <fcntl.h>
#include <lzma.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "storage/object/posix_file.h"

namespace rowfs {
namespace {

constexpr size_t kChunkBytes = 64 << 10;
constexpr uint64_t kXzMemoryMax = uint64_t{1} << 30;

class FileStream final : public InputStream {
 public:
  FileStream(std::string path, PosixFile file)
      : path_(std::move(path)), file_(std::move(file)) {}

  Result<size_t> Read(MutableByteSpan out) override {
    size_t done = 0;
    while (done < out.size()) {
      const ssize_t count =
          ::read(file_.fd(), out.data() + done, out.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return ErrnoStatus(errno, path_, "read");
      if (count == 0) break;
      done += static_cast<size_t>(count);
    }
    position_ += done;
    return done;
  }
  uint64_t file_position() const override { return position_; }
  const std::string& path() const { return path_; }
  Status Rewind() {
    position_ = 0;
    if (::lseek(file_.fd(), 0, SEEK_SET) == 0) return {};
    return ErrnoStatus(errno, path_, "seek");
  }

 private:
  const std::string path_;
  PosixFile file_;
  uint64_t position_ = 0;
};

// Feeds a decoder from the file; each decoder says how one step goes.
class DecodedStream : public InputStream {
 public:
  explicit DecodedStream(std::unique_ptr<FileStream> file)
      : file_(std::move(file)), chunk_(kChunkBytes) {}

  Result<size_t> Read(MutableByteSpan out) override {
    size_t done = 0;
    while (done < out.size() && !ended_) {
      if (input_.empty() && !file_ended_) {
        ROWFS_ASSIGN_OR_RETURN(const size_t count, file_->Read(chunk_));
        input_ = MutableByteSpan(chunk_).first(count);
        file_ended_ = count == 0;
      }
      const size_t before = done;
      MutableByteSpan rest = out.subspan(done);
      const bool sound = Step(&input_, &rest);
      done = out.size() - rest.size();
      if (!sound) {
        return Status(Code::kCorruption,
                      file_->path() + ": invalid compressed data");
      }
      if (file_ended_ && done == before) break;
    }
    return done;
  }
  uint64_t file_position() const override { return file_->file_position(); }

 protected:
  // Moves both spans past what was consumed and made; false when the data is
  // damaged. Sets ended_ behind the last byte.
  virtual bool Step(MutableByteSpan* in, MutableByteSpan* out) = 0;
  bool ended_ = false;

 private:
  const std::unique_ptr<FileStream> file_;
  Bytes chunk_;
  MutableByteSpan input_;
  bool file_ended_ = false;
};

class GzipStream final : public DecodedStream {
 public:
  using DecodedStream::DecodedStream;
  ~GzipStream() override { inflateEnd(&stream_); }
  bool Init() { return inflateInit2(&stream_, 16 + MAX_WBITS) == Z_OK; }

 private:
  bool Step(MutableByteSpan* in, MutableByteSpan* out) override {
    stream_.next_in = AsU8(*in);
    stream_.avail_in = static_cast<uInt>(in->size());
    stream_.next_out = AsU8(*out);
    stream_.avail_out =
        static_cast<uInt>(std::min<size_t>(out->size(), kChunkBytes));
    const uInt room = stream_.avail_out;
    const int code = inflate(&stream_, Z_NO_FLUSH);
    *in = in->subspan(in->size() - stream_.avail_in);
    *out = out->subspan(room - stream_.avail_out);
    ended_ = code == Z_STREAM_END;
    return code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR;
  }
  z_stream stream_ = {};
};

class Bzip2Stream final : public DecodedStream {
 public:
  using DecodedStream::DecodedStream;
  ~Bzip2Stream() override { BZ2_bzDecompressEnd(&stream_); }
  bool Init() { return BZ2_bzDecompressInit(&stream_, 0, 0) == BZ_OK; }

 private:
  bool Step(MutableByteSpan* in, MutableByteSpan* out) override {
    stream_.next_in = AsChars(*in);
    stream_.avail_in = static_cast<unsigned>(in->size());
    stream_.next_out = AsChars(*out);
    stream_.avail_out =
        static_cast<unsigned>(std::min<size_t>(out->size(), kChunkBytes));
    const unsigned room = stream_.avail_out;
    const int code = BZ2_bzDecompress(&stream_);
    *in = in->subspan(in->size() - stream_.avail_in);
    *out = out->subspan(room - stream_.avail_out);
    ended_ = code == BZ_STREAM_END;
    return code == BZ_OK || code == BZ_STREAM_END;
  }
  bz_stream stream_ = {};
};

class XzStream final : public DecodedStream {
 public:
  using DecodedStream::DecodedStream;
  ~XzStream() override { lzma_end(&stream_); }
  bool Init() {
    return lzma_auto_decoder(&stream_, kXzMemoryMax, 0) == LZMA_OK;
  }

 private:
  bool Step(MutableByteSpan* in, MutableByteSpan* out) override {
    stream_.next_in = AsU8(*in);
    stream_.avail_in = in->size();
    stream_.next_out = AsU8(*out);
    stream_.avail_out = out->size();
    const lzma_ret code = lzma_code(&stream_, LZMA_RUN);
    *in = in->subspan(in->size() - stream_.avail_in);
    *out = out->subspan(out->size() - stream_.avail_out);
    ended_ = code == LZMA_STREAM_END;
    return code == LZMA_OK || code == LZMA_STREAM_END || code == LZMA_BUF_ERROR;
  }
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

template <typename T>
Result<std::unique_ptr<InputStream>> Decode(std::unique_ptr<FileStream> file) {
  const std::string path = file->path();
  auto stream = std::make_unique<T>(std::move(file));
  if (!stream->Init()) {
    return Status(Code::kResourceExhausted, path + ": no memory to decompress");
  }
  return std::unique_ptr<InputStream>(std::move(stream));
}

}  // namespace

Result<std::unique_ptr<InputStream>> OpenInputStream(const std::string& path) {
  ROWFS_RETURN_IF_ERROR(CheckPath(path));
  PosixFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return ErrnoStatus(errno, path, "open");
  ::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_SEQUENTIAL);
  auto stream = std::make_unique<FileStream>(path, std::move(file));
  Bytes head(10);
  ROWFS_ASSIGN_OR_RETURN(const size_t count, stream->Read(head));
  ROWFS_RETURN_IF_ERROR(stream->Rewind());
  const std::string_view magic = AsText(head).substr(0, count);
  if (magic.starts_with("\x1f\x8b\x08")) {
    return Decode<GzipStream>(std::move(stream));
  }
  if (magic.starts_with("BZh") && magic.substr(4) == "1AY&SY") {
    return Decode<Bzip2Stream>(std::move(stream));
  }
  if (magic.starts_with(std::string_view("\x5d\0\0\x80", 4)) ||
      magic.starts_with("\xfd"
                        "7zXZ")) {
    return Decode<XzStream>(std::move(stream));
  }
  return std::unique_ptr<InputStream>(std::move(stream));
}

}  // namespace rowfs
