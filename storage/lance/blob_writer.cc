#include "storage/lance/blob_writer.h"

#include <algorithm>
#include <utility>

namespace rowfs {
namespace {

// Payloads longer than this are streamed even where a packed sidecar would take
// them: what is kept in memory stays bounded.
constexpr uint64_t kBufferBytesMax = 64 << 20;

class BlobWriter final : public LanceBlobWriter {
 public:
  BlobWriter(FragmentWriter* fragment, std::shared_ptr<BlobLedger> ledger,
             const BlobThresholds& thresholds, size_t field, bool with_info)
      : fragment_(fragment),
        ledger_(std::move(ledger)),
        thresholds_(thresholds),
        field_(field),
        with_info_(with_info) {
    ledger_->open_fields.insert(field_);
  }

  ~BlobWriter() override { Abandon(); }

  Status Write(ByteSpan bytes) override {
    ROWFS_RETURN_IF_ERROR(status_);
    status_ = WriteSome(bytes);
    return status_;
  }

  Result<BlobCell> Finish(std::optional<BlobInfo> info) override {
    ROWFS_RETURN_IF_ERROR(status_);
    if (info && !with_info_) {
      return Status(Code::kInvalidArgument,
                    "blob_info for a blob that was started without");
    }
    auto cell = Store(info.has_value());
    Abandon();
    if (!cell.ok()) {
      status_ = cell.status();
      return status_;
    }
    ++ledger_->pending;
    cell.value().info = std::move(info);
    return cell;
  }

  void Abandon() override {
    if (status_.ok()) {
      status_ = {Code::kInvalidArgument, "the blob is finished or abandoned"};
    }
    dedicated_.writer.reset();
    buffer_ = {};
    if (!closed_) ledger_->open_fields.erase(field_);
    closed_ = true;
  }

 private:
  Status WriteSome(ByteSpan bytes) {
    size_ += bytes.size();
    if (dedicated_.writer != nullptr) return dedicated_.writer->Write(bytes);
    AppendBytes(&buffer_, bytes);
    if (size_ <=
        std::max(thresholds_.inline_bytes_max,
                 std::min(thresholds_.packed_bytes_max, kBufferBytesMax))) {
      return {};
    }
    ROWFS_ASSIGN_OR_RETURN(dedicated_, fragment_->StartDedicated());
    const Bytes buffered = std::exchange(buffer_, {});
    return dedicated_.writer->Write(buffered);
  }

  Result<BlobCell> Store(bool has_info) {
    if (dedicated_.writer == nullptr) {
      return fragment_->Store(buffer_, thresholds_, field_, has_info);
    }
    return fragment_->FinishDedicated(std::move(dedicated_), size_);
  }

  FragmentWriter* const fragment_;
  const std::shared_ptr<BlobLedger> ledger_;
  const BlobThresholds thresholds_;
  const size_t field_;
  const bool with_info_;
  Bytes buffer_;
  FragmentWriter::Dedicated dedicated_;
  uint64_t size_ = 0;
  bool closed_ = false;
  Status status_;
};

// Store what a cell brings along; check what it refers to.
Result<BlobCell> StoreCell(const BlobCell& cell, BlobSink* sink) {
  if (cell.info) {
    if (!sink->allow_info) {
      return Status(Code::kInvalidArgument,
                    "blob_info needs data of file version 2.3");
    }
    if (cell.info->head_only) {
      return Status(Code::kInvalidArgument, "blob_info is not complete");
    }
    sink->saw_info = true;
  }
  switch (cell.kind) {
    case BlobKind::kCell: {
      const ByteSpan bytes =
          cell.bytes == nullptr ? ByteSpan() : ByteSpan(*cell.bytes);
      ROWFS_ASSIGN_OR_RETURN(
          BlobCell stored,
          sink->fragment->Store(bytes, sink->thresholds, sink->pack,
                                cell.info.has_value()));
      stored.info = cell.info;
      return stored;
    }
    case BlobKind::kInline:
    case BlobKind::kPacked:
    case BlobKind::kDedicated:
      if (!cell.object.starts_with("data/" + sink->fragment->stem())) {
        return Status(Code::kInvalidArgument,
                      "the blob lies in another file of a dataset (" +
                          cell.object + "): copy its bytes");
      }
      if (sink->ledger->pending > 0) --sink->ledger->pending;
      return cell;
    case BlobKind::kExternal:
    case BlobKind::kManaged:
    case BlobKind::kManagedWithBase:
      return cell;
  }
  return Status(Code::kInvalidArgument, "unknown kind of blob");
}

bool HasBlobs(const LanceField& field) {
  return field.kind == LanceFieldKind::kBlobV2 ||
         std::any_of(field.children.begin(), field.children.end(), HasBlobs);
}

constexpr uint64_t kCopyBytes = 8 << 20;

Result<BlobCell> CopyDedicated(const BlobSource& source, BlobSink* sink) {
  ROWFS_ASSIGN_OR_RETURN(FragmentWriter::Dedicated dedicated,
                         sink->fragment->StartDedicated());
  for (uint64_t at = source.range.begin; at < source.range.end;) {
    const uint64_t end = std::min(source.range.end, at + kCopyBytes);
    ROWFS_ASSIGN_OR_RETURN(const Bytes part,
                           source.reader->Read({at, end}, ReadKind::kData));
    ROWFS_RETURN_IF_ERROR(dedicated.writer->Write(part));
    at = end;
  }
  return sink->fragment->FinishDedicated(std::move(dedicated),
                                         source.range.size());
}

}  // namespace

std::unique_ptr<LanceBlobWriter> MakeBlobWriter(
    FragmentWriter* fragment, std::shared_ptr<BlobLedger> ledger,
    const BlobThresholds& thresholds, size_t field, bool with_info) {
  return std::make_unique<BlobWriter>(fragment, std::move(ledger), thresholds,
                                      field, with_info);
}

Result<BlobCell> CopyBlob(const BlobCell& cell, const BlobSource& source,
                          BlobSink* sink) {
  if (cell.kind == BlobKind::kExternal || cell.kind == BlobKind::kManaged ||
      cell.kind == BlobKind::kManagedWithBase) {
    return cell;
  }
  const bool large = source.bytes == nullptr &&
                     source.range.size() >
                         std::min(kBufferBytesMax,
                                  std::max(sink->thresholds.inline_bytes_max,
                                           sink->thresholds.packed_bytes_max));
  BlobCell stored;
  if (large) {
    ROWFS_ASSIGN_OR_RETURN(stored, CopyDedicated(source, sink));
  } else {
    Bytes read;
    if (source.bytes == nullptr && !source.range.empty()) {
      ROWFS_ASSIGN_OR_RETURN(
          read, source.reader->Read(source.range, ReadKind::kData));
    }
    ROWFS_ASSIGN_OR_RETURN(
        stored, sink->fragment->Store(
                    source.bytes != nullptr ? *source.bytes : read,
                    sink->thresholds, sink->pack, cell.info.has_value()));
  }
  stored.info = cell.info;
  ++sink->ledger->pending;
  return stored;
}

Result<Array> StoreBlobs(const LanceField& field, const Array& array,
                         BlobSink* sink) {
  if (!HasBlobs(field)) return array;
  Array out = array;
  if (field.kind != LanceFieldKind::kBlobV2) {
    for (size_t i = 0; i < field.children.size(); ++i) {
      ROWFS_ASSIGN_OR_RETURN(
          out.children[i],
          StoreBlobs(field.children[i], array.children[i], sink));
    }
    return out;
  }
  const std::string what = "column \"" + field.field.name + "\"";
  ROWFS_ASSIGN_OR_RETURN(const BlobThresholds own,
                         FindThresholds(field.field, sink->thresholds));
  const BlobThresholds outer = std::exchange(sink->thresholds, own);
  for (uint64_t i = 0; i < out.length; ++i) {
    if (out.IsNull(i)) continue;
    auto cell = StoreCell(out.blobs[i], sink);
    if (!cell.ok()) return cell.status().With(what);
    out.blobs[i] = std::move(cell).value();
  }
  sink->thresholds = outer;
  return EncodeBlobRows(out, what);
}

}  // namespace rowfs
