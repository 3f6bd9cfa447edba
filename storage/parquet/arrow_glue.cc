#include "storage/parquet/arrow_glue.h"

#include <algorithm>
#include <string>

namespace rowfs {
namespace {

// Our status on its way through Arrow.
class Detail final : public arrow::StatusDetail {
 public:
  explicit Detail(Status status) : status_(std::move(status)) {}
  const char* type_id() const override { return "rowfs"; }
  std::string ToString() const override {
    return std::string(status_.message());
  }
  const Status& status() const { return status_; }

 private:
  const Status status_;
};

std::string OneLine(std::string text) {
  // Arrow puts a hint or a trace on further lines.
  text.resize(std::min(text.find('\n'), text.size()));
  constexpr size_t kMax = 300;
  if (text.size() > kMax) text.resize(kMax);
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < 32; }, ' ');
  return text;
}

class ArrowFile final : public arrow::io::RandomAccessFile {
 public:
  explicit ArrowFile(std::shared_ptr<const ObjectReader> reader)
      : reader_(std::move(reader)) {
    set_mode(arrow::io::FileMode::READ);
  }

  arrow::Status Close() override {
    closed_ = true;
    return {};
  }
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Status Seek(int64_t position) override {
    position_ = position;
    return {};
  }
  arrow::Result<int64_t> GetSize() override {
    return static_cast<int64_t>(reader_->size());
  }

  arrow::Result<int64_t> ReadAt(int64_t position, int64_t count,
                                void* out) override {
    ARROW_ASSIGN_OR_RAISE(const ByteRange range, RangeOf(position, count));
    if (range.empty()) return 0;
    const MutableByteSpan bytes(static_cast<std::byte*>(out), range.size());
    ARROW_RETURN_NOT_OK(
        ToArrow(reader_->ReadAt(range.begin, bytes, ReadKind::kMetadata)));
    return static_cast<int64_t>(range.size());
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position,
                                                       int64_t count) override {
    ARROW_ASSIGN_OR_RAISE(const ByteRange range, RangeOf(position, count));
    Result<Bytes> bytes = reader_->Read(range, ReadKind::kMetadata);
    ARROW_RETURN_NOT_OK(ToArrow(bytes.status()));
    return MakeArrowBuffer(
        std::make_shared<const Bytes>(std::move(bytes).value()));
  }
  arrow::Result<int64_t> Read(int64_t count, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const int64_t read, ReadAt(position_, count, out));
    position_ += read;
    return read;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t count) override {
    ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(position_, count));
    position_ += buffer->size();
    return buffer;
  }

 private:
  // What is asked for, cut at the end of the object as Arrow wants it.
  arrow::Result<ByteRange> RangeOf(int64_t position, int64_t count) const {
    if (position < 0 || count < 0) {
      return arrow::Status::Invalid("a negative range");
    }
    const auto begin =
        std::min(static_cast<uint64_t>(position), reader_->size());
    return ByteRange{begin, begin + std::min(static_cast<uint64_t>(count),
                                             reader_->size() - begin)};
  }

  const std::shared_ptr<const ObjectReader> reader_;
  int64_t position_ = 0;
  bool closed_ = false;
};

class SharedBuffer final : public arrow::Buffer {
 public:
  explicit SharedBuffer(SharedBytes bytes)
      : arrow::Buffer(AsU8(ByteSpan(*bytes)),
                      static_cast<int64_t>(bytes->size())),
        bytes_(std::move(bytes)) {}

 private:
  const SharedBytes bytes_;
};

class SinkStream final : public arrow::io::OutputStream {
 public:
  explicit SinkStream(std::function<Status(ByteSpan)> sink)
      : sink_(std::move(sink)) {
    set_mode(arrow::io::FileMode::WRITE);
  }
  arrow::Status Close() override {
    closed_ = true;
    return {};
  }
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> Tell() const override { return position_; }
  using arrow::io::OutputStream::Write;
  arrow::Status Write(const void* data, int64_t count) override {
    position_ += count;
    return ToArrow(sink_(ByteSpan(static_cast<const std::byte*>(data),
                                  static_cast<size_t>(count))));
  }

 private:
  const std::function<Status(ByteSpan)> sink_;
  int64_t position_ = 0;
  bool closed_ = false;
};

}  // namespace

Status FromArrow(const arrow::Status& status, std::string_view what) {
  if (status.ok()) return {};
  if (const auto& detail = status.detail();
      detail && std::string_view(detail->type_id()) == "rowfs") {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-static-cast-downcast)
    return static_cast<const Detail&>(*detail).status();
  }
  Code code = Code::kCorruption;
  if (status.IsNotImplemented()) code = Code::kUnsupported;
  if (status.IsOutOfMemory() || status.IsCapacityError()) {
    code = Code::kResourceExhausted;
  }
  return {code, std::string(what) + ": " + OneLine(status.message())};
}

arrow::Status ToArrow(const Status& status) {
  if (status.ok()) return {};
  return arrow::Status(arrow::StatusCode::IOError,
                       std::string(status.message()),
                       std::make_shared<Detail>(status));
}

std::shared_ptr<arrow::io::RandomAccessFile> MakeArrowFile(
    std::shared_ptr<const ObjectReader> reader) {
  return std::make_shared<ArrowFile>(std::move(reader));
}

std::shared_ptr<arrow::Buffer> MakeArrowBuffer(SharedBytes bytes) {
  return std::make_shared<SharedBuffer>(std::move(bytes));
}

std::shared_ptr<arrow::io::OutputStream> MakeArrowSink(
    std::function<Status(ByteSpan)> sink) {
  return std::make_shared<SinkStream>(std::move(sink));
}

}  // namespace rowfs
