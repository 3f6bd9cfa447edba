#include "storage/parquet/arrow_rows.h"

#include <arrow/array/data.h>
#include <arrow/extension_type.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/dictionary.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <sys/mman.h>

#include <cstring>
#include <functional>

#include "storage/parquet/arrow_glue.h"
#include "storage/parquet/from_arrow.h"

namespace rowfs {
namespace {

// A buffer of a file: address space that takes memory only where it is filled.
class Reserved final : public arrow::Buffer {
 public:
  static arrow::Result<std::shared_ptr<Reserved>> Make(uint64_t begin,
                                                       int64_t size) {
    const auto bytes = static_cast<size_t>(std::max<int64_t>(size, 1));
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
      return arrow::Status::OutOfMemory("no room for a record batch");
    }
    return std::make_shared<Reserved>(static_cast<std::byte*>(at), begin, size);
  }
  Reserved(std::byte* at, uint64_t begin, int64_t size)
      : arrow::Buffer(AsU8(ByteSpan(at, static_cast<size_t>(size))), size),
        at_(at),
        begin_(begin) {}
  ~Reserved() override {
    ::munmap(at_, static_cast<size_t>(std::max<int64_t>(size(), 1)));
  }

  uint64_t begin() const { return begin_; }  // in the file
  std::byte* at() const { return at_; }

 private:
  std::byte* const at_;
  const uint64_t begin_;
};

// The body of a record batch, of which nothing is read.
class ReservingFile final : public arrow::io::RandomAccessFile {
 public:
  explicit ReservingFile(ByteRange body) : body_(body) {
    set_mode(arrow::io::FileMode::READ);
  }
  arrow::Status Close() override { return {}; }
  bool closed() const override { return false; }
  arrow::Result<int64_t> Tell() const override { return 0; }
  arrow::Status Seek(int64_t) override { return {}; }
  arrow::Result<int64_t> GetSize() override {
    return static_cast<int64_t>(body_.size());
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position,
                                                       int64_t count) override {
    const auto size = static_cast<int64_t>(body_.size());
    // A buffer that leaves the body would be bytes of another message.
    if (position < 0 || count < 0 || position > size ||
        count > size - position) {
      return arrow::Status::Invalid("a buffer leaves its record batch");
    }
    return Reserved::Make(body_.begin + static_cast<uint64_t>(position), count);
  }
  arrow::Result<int64_t> ReadAt(int64_t, int64_t, void*) override {
    return arrow::Status::NotImplemented("reading into memory");
  }
  arrow::Result<int64_t> Read(int64_t, void*) override {
    return arrow::Status::NotImplemented("reading in order");
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t) override {
    return arrow::Status::NotImplemented("reading in order");
  }

 private:
  const ByteRange body_;
};

Status Bad(std::string_view message) {
  return {Code::kCorruption, "record batch: " + std::string(message)};
}

// Fills buffers in rounds: what a round read says where the next one reads.
class Filler {
 public:
  explicit Filler(const ObjectReader& reader) : reader_(reader) {}

  Status Want(const arrow::ArrayData& data, uint64_t begin, uint64_t end);
  Status Run();

 private:
  struct Piece {
    const Reserved* buffer;
    ByteRange range;  // of the buffer
  };
  using Next = std::function<Status()>;

  Status WantWhole(const arrow::ArrayData& data);
  Status WantBytes(const arrow::ArrayData& data, size_t buffer, uint64_t begin,
                   uint64_t end);
  template <typename Offset>
  Status WantOffsets(const arrow::ArrayData& data, uint64_t begin, uint64_t end,
                     std::function<Status(uint64_t, uint64_t)> use);
  Status WantChildren(const arrow::ArrayData& data, uint64_t begin,
                      uint64_t end);

  const ObjectReader& reader_;
  std::vector<Piece> pieces_;
  std::vector<Next> next_;
};

Status Filler::WantBytes(const arrow::ArrayData& data, size_t buffer,
                         uint64_t begin, uint64_t end) {
  if (buffer >= data.buffers.size()) return Bad("a buffer is missing");
  const auto* reserved =
      dynamic_cast<const Reserved*>(data.buffers[buffer].get());
  if (reserved == nullptr || begin == end) return {};  // none, or empty
  if (begin > end || end > static_cast<uint64_t>(reserved->size())) {
    return Bad("a buffer is too short");
  }
  pieces_.push_back({reserved, {begin, end}});
  return {};
}

template <typename Offset>
Status Filler::WantOffsets(const arrow::ArrayData& data, uint64_t begin,
                           uint64_t end,
                           std::function<Status(uint64_t, uint64_t)> use) {
  if (begin == end) return {};
  ROWFS_RETURN_IF_ERROR(
      WantBytes(data, 1, begin * sizeof(Offset), (end + 1) * sizeof(Offset)));
  next_.push_back([&data, begin, end, use = std::move(use)]() -> Status {
    const auto& offsets = data.buffers[1];
    if (offsets == nullptr ||
        static_cast<uint64_t>(offsets->size()) < (end + 1) * sizeof(Offset)) {
      return Bad("too few offsets");
    }
    Offset first = 0;
    Offset last = 0;
    std::memcpy(&first, offsets->data() + begin * sizeof(Offset),
                sizeof(Offset));
    std::memcpy(&last, offsets->data() + end * sizeof(Offset), sizeof(Offset));
    if (first < 0 || last < first) return Bad("offsets that are out of order");
    return use(static_cast<uint64_t>(first), static_cast<uint64_t>(last));
  });
  return {};
}

Status Filler::WantWhole(const arrow::ArrayData& data) {
  for (size_t i = 0; i < data.buffers.size(); ++i) {
    if (data.buffers[i] == nullptr) continue;
    ROWFS_RETURN_IF_ERROR(
        WantBytes(data, i, 0, static_cast<uint64_t>(data.buffers[i]->size())));
  }
  for (const auto& child : data.child_data) {
    ROWFS_RETURN_IF_ERROR(WantWhole(*child));
  }
  return {};
}

Status Filler::WantChildren(const arrow::ArrayData& data, uint64_t begin,
                            uint64_t end) {
  for (const auto& child : data.child_data) {
    if (end > static_cast<uint64_t>(child->length)) {
      return Bad("a child is too short");
    }
    ROWFS_RETURN_IF_ERROR(Want(*child, begin, end));
  }
  return {};
}

Status Filler::Want(const arrow::ArrayData& data, uint64_t begin,
                    uint64_t end) {
  const arrow::DataType* type = data.type.get();
  while (type->id() == arrow::Type::EXTENSION) {
    type =
        dynamic_cast<const arrow::ExtensionType&>(*type).storage_type().get();
  }
  const auto bits = [&](size_t buffer) {
    return WantBytes(data, buffer, begin / 8,
                     begin == end ? begin / 8 : (end + 7) / 8);
  };
  const auto bytes = [&](uint64_t from, uint64_t to) {
    return WantBytes(data, 2, from, to);
  };
  const auto children = [&](uint64_t from, uint64_t to) {
    return WantChildren(data, from, to);
  };
  const bool known_layout =
      arrow::is_primitive(type->id()) || arrow::is_decimal(type->id()) ||
      arrow::is_base_binary_like(type->id()) ||
      type->id() == arrow::Type::FIXED_SIZE_BINARY ||
      type->id() == arrow::Type::STRUCT || type->id() == arrow::Type::LIST ||
      type->id() == arrow::Type::LARGE_LIST || type->id() == arrow::Type::MAP ||
      type->id() == arrow::Type::FIXED_SIZE_LIST;
  if (!known_layout) return WantWhole(data);
  if (!data.buffers.empty() && data.buffers[0] != nullptr) {
    ROWFS_RETURN_IF_ERROR(bits(0));
  }
  switch (type->id()) {
    case arrow::Type::BOOL:
      return bits(1);
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return WantOffsets<int32_t>(data, begin, end, bytes);
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      return WantOffsets<int64_t>(data, begin, end, bytes);
    case arrow::Type::LIST:
    case arrow::Type::MAP:
      return WantOffsets<int32_t>(data, begin, end, children);
    case arrow::Type::LARGE_LIST:
      return WantOffsets<int64_t>(data, begin, end, children);
    case arrow::Type::STRUCT:
      return WantChildren(data, begin, end);
    case arrow::Type::FIXED_SIZE_LIST: {
      const auto width = static_cast<uint64_t>(
          dynamic_cast<const arrow::FixedSizeListType&>(*type).list_size());
      return WantChildren(data, begin * width, end * width);
    }
    default: {
      const auto width = static_cast<uint64_t>(
          dynamic_cast<const arrow::FixedWidthType&>(*type).bit_width() / 8);
      return WantBytes(data, 1, begin * width, end * width);
    }
  }
}

Status Filler::Run() {
  while (!pieces_.empty() || !next_.empty()) {
    std::vector<ByteRange> ranges;
    for (const Piece& piece : pieces_) {
      const uint64_t at = piece.buffer->begin();
      ranges.push_back({at + piece.range.begin, at + piece.range.end});
    }
    ROWFS_ASSIGN_OR_RETURN(const std::vector<Bytes> read,
                           reader_.ReadMany(ranges, ReadKind::kMetadata));
    for (size_t i = 0; i < read.size(); ++i) {
      std::memcpy(pieces_[i].buffer->at() + pieces_[i].range.begin,
                  read[i].data(), read[i].size());
    }
    pieces_.clear();
    const std::vector<Next> next = std::exchange(next_, {});
    for (const Next& step : next) ROWFS_RETURN_IF_ERROR(step());
  }
  return {};
}

// Rows that follow one another, half open.
std::vector<ByteRange> RunsOf(std::span<const uint64_t> rows) {
  std::vector<ByteRange> runs;
  for (const uint64_t row : rows) {
    if (runs.empty() || runs.back().end != row) runs.push_back({row, row});
    runs.back().end = row + 1;
  }
  return runs;
}

}  // namespace

Result<std::vector<Array>> ReadRowsOfBatch(
    const std::shared_ptr<const ObjectReader>& reader,
    const IpcMessage& message, const std::shared_ptr<arrow::Schema>& schema,
    const arrow::ipc::IpcReadOptions& options, std::span<const uint64_t> rows) {
  ROWFS_ASSIGN_OR_RETURN(Bytes metadata,
                         reader->Read(message.metadata, ReadKind::kMetadata));
  const auto buffer =
      MakeArrowBuffer(std::make_shared<const Bytes>(std::move(metadata)));
  arrow::ipc::DictionaryMemo memo;
  ReservingFile body(message.body);
  ROWFS_ASSIGN_OR_ARROW_ERROR(
      const auto batch,
      arrow::ipc::ReadRecordBatch(*buffer, schema, &memo, options, &body),
      "record batch");
  if (static_cast<uint64_t>(batch->num_rows()) != message.row_count) {
    return Bad("not as many rows as listed");
  }
  // Lengths that lie end the process inside Arrow: look at them first. Offsets
  // are not there yet, and none is followed unless it was checked.
  ROWFS_RETURN_IF_ARROW_ERROR(batch->Validate(), "record batch");
  const std::vector<ByteRange> runs = RunsOf(rows);
  Filler filler(*reader);
  for (const auto& column : batch->columns()) {
    for (const ByteRange& run : runs) {
      ROWFS_RETURN_IF_ERROR(filler.Want(*column->data(), run.begin, run.end));
    }
  }
  ROWFS_RETURN_IF_ERROR(filler.Run());
  std::vector<Array> taken;
  for (const auto& column : batch->columns()) {
    std::vector<Array> parts;
    for (const ByteRange& run : runs) {
      ROWFS_ASSIGN_OR_RETURN(
          parts.emplace_back(),
          ArrayFromArrow(*column->Slice(static_cast<int64_t>(run.begin),
                                        static_cast<int64_t>(run.size()))));
    }
    ROWFS_ASSIGN_OR_RETURN(taken.emplace_back(), ConcatArrays(parts));
  }
  return taken;
}

}  // namespace rowfs
