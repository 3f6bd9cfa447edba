#include "index/convert/convert_lance.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <set>

#include "storage/lance/dataset_writer.h"
#include "storage/pack/blob_key.h"

namespace rowfs {
namespace {

constexpr uint64_t kSampleRows = 32;
constexpr uint64_t kBatchRows = 64;
constexpr uint64_t kChunkBytes = 1 << 20;
constexpr uint64_t kMagicBytes = 16;
constexpr size_t kKindsMax = 3;

// What the first bytes of a payload say it is.
std::string KindOf(std::string_view head) {
  if (head.empty()) return "empty";
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9>
      kMagics = {{{"\xff\xd8\xff", "JPEG"},
                  {"\x89PNG\r\n\x1a\n", "PNG"},
                  {"GIF8", "GIF"},
                  {"BM", "BMP"},
                  {"fLaC", "FLAC"},
                  {"OggS", "Ogg"},
                  {"\x1a\x45\xdf\xa3", "Matroska/WebM"},
                  {"%PDF", "PDF"},
                  {"PK\x03\x04", "ZIP"}}};
  for (const auto& [magic, kind] : kMagics) {
    if (head.starts_with(magic)) return std::string(kind);
  }
  if (head.size() > 11 && head.substr(4, 4) == "ftyp") return "MP4/MOV";
  if (head.starts_with("RIFF") && head.size() > 12) {
    const std::string_view form = head.substr(8, 4);
    return form == "WEBP" ? "WebP" : form == "WAVE" ? "WAV" : "RIFF";
  }
  return "unrecognized";
}

std::string WithCommas(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string HumanSize(uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  constexpr std::array<const char*, 3> kUnits = {"KB", "MB", "GB"};
  auto size = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; size >= 1024 && unit + 1 < kUnits.size(); ++unit) size /= 1024;
  std::array<char, 64> text = {};
  std::snprintf(text.data(), text.size(), "%.1f %s", size, kUnits[unit]);
  return text.data();
}

// `text` and spaces up to `width` characters.
std::string Padded(const std::string& text, size_t width) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); ++count) NextCodePoint(text, &at);
  return text + std::string(count < width ? width - count : 0, ' ');
}

std::string Joined(const std::vector<std::string>& parts,
                   std::string_view between) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += between;
    text += part;
  }
  return text;
}

bool IsBinary(const DataType& type) {
  return type.id == TypeId::kBinary || type.id == TypeId::kLargeBinary;
}

// One value, wherever its bytes are.
class Payload {
 public:
  static Result<Payload> Open(TableSource& table, const Array& array,
                              uint64_t row) {
    Payload payload;
    if (IsBinary(*array.type)) {
      payload.bytes_ = array.BytesAt(row);
      payload.size_ = payload.bytes_.size();
      return payload;
    }
    const BlobCell& cell = array.blobs[row];
    if (cell.info) {
      return Status(Code::kUnsupported,
                    "row has blob_info: its stored bytes are no file; extract "
                    "from a dataset that keeps the container");
    }
    ROWFS_ASSIGN_OR_RETURN(payload.source_, table.OpenBlob(cell));
    if (payload.source_.bytes != nullptr) {
      payload.bytes_ = *payload.source_.bytes;
      payload.size_ = payload.bytes_.size();
    } else {
      payload.size_ = payload.source_.range.size();
    }
    return payload;
  }

  uint64_t size() const { return size_; }

  // From `offset`, up to `size` bytes; valid until the next call.
  Result<ByteSpan> Read(uint64_t offset, uint64_t size) {
    size = std::min(size, size_ - offset);
    if (source_.reader == nullptr) return bytes_.subspan(offset, size);
    const uint64_t begin = source_.range.begin + offset;
    ROWFS_ASSIGN_OR_RETURN(
        chunk_, source_.reader->Read({begin, begin + size}, ReadKind::kData));
    return ByteSpan(chunk_);
  }

 private:
  BlobSource source_;
  ByteSpan bytes_;
  uint64_t size_ = 0;
  Bytes chunk_;
};

Status Measure(TableSource& table, uint64_t rows, PayloadColumn* column) {
  if (rows == 0) return {};
  const uint64_t step = std::max<uint64_t>(rows / kSampleRows, 1);
  std::vector<uint64_t> sample;
  for (uint64_t row = 0; row < rows && sample.size() < kSampleRows;
       row += step) {
    sample.push_back(row);
  }
  const size_t field = column->field;
  ROWFS_ASSIGN_OR_RETURN(const RecordBatch batch,
                         table.Take(sample, {&field, 1}, BlobDetail::kHead));
  const Array& array = batch.columns[0];
  std::vector<uint64_t> sizes;
  std::set<std::string> kinds;
  for (uint64_t row = 0; row < array.length; ++row) {
    if (array.IsNull(row)) continue;
    ROWFS_ASSIGN_OR_RETURN(Payload payload, Payload::Open(table, array, row));
    sizes.push_back(payload.size());
    if (payload.size() == 0) continue;
    ROWFS_ASSIGN_OR_RETURN(const ByteSpan head, payload.Read(0, kMagicBytes));
    kinds.insert(KindOf(AsText(head)));
  }
  if (sizes.empty()) {
    column->kinds = {"empty"};
    return {};
  }
  column->mean_bytes =
      std::accumulate(sizes.begin(), sizes.end(), uint64_t{0}) / sizes.size();
  column->min_bytes = *std::min_element(sizes.begin(), sizes.end());
  column->max_bytes = *std::max_element(sizes.begin(), sizes.end());
  column->kinds.assign(kinds.begin(), kinds.end());
  if (column->kinds.size() > kKindsMax) column->kinds.resize(kKindsMax);
  return {};
}

Status CheckNames(const std::vector<PayloadColumn>& candidates,
                  std::vector<std::string> names) {
  std::vector<std::string> known;
  for (const PayloadColumn& column : candidates) known.push_back(column.name);
  std::sort(known.begin(), known.end());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (std::binary_search(known.begin(), known.end(), name)) continue;
    std::string list;
    for (const std::string& each : known) {
      list += (list.empty() ? "" : ", ") + QuoteText(each);
    }
    return {Code::kInvalidArgument, "not a binary or blob column: " + name +
                                        " (candidates: [" + list + "])"};
  }
  return {};
}

class Extraction {
 public:
  Extraction(TableSource& table, const ExtractionPlan& plan, PackWriter& pack)
      : table_(table), plan_(plan), pack_(pack) {
    std::set<size_t> extracted;
    for (const PayloadColumn& column : plan.columns) {
      if (column.extract) extracted.insert(column.field);
    }
    for (size_t i = 0; i < table.schema().fields.size(); ++i) {
      if (!extracted.contains(i)) AddField(i);
    }
    kept_ = fields_.size();
    for (const size_t field : extracted) AddField(field);
    for (size_t i = kept_; i < fields_.size(); ++i) {
      Field& field = schema_.fields[i];
      field = {field.name, MakeType(TypeId::kString), true, {}};
    }
  }

  Result<ExtractionSummary> Run(const Location& output,
                                const ConvertProgress& progress) {
    ROWFS_ASSIGN_OR_RETURN(auto writer,
                           LanceDatasetWriter::Create(output, schema_, {}));
    ROWFS_ASSIGN_OR_RETURN(
        auto rows,
        table_.Scan(fields_, 0, plan_.rows, kBatchRows, BlobDetail::kHead));
    while (true) {
      ROWFS_ASSIGN_OR_RETURN(RecordBatch batch, rows->Next());
      if (batch.row_count == 0) break;
      ROWFS_RETURN_IF_ERROR(Convert(&batch));
      ROWFS_RETURN_IF_ERROR(writer->Append(batch));
      row_ += batch.row_count;
      if (progress) progress(row_, plan_.rows);
    }
    ROWFS_RETURN_IF_ERROR(pack_.Finish());
    ROWFS_RETURN_IF_ERROR(writer->Commit().status());
    summary_.shards = pack_.shards_written();
    return summary_;
  }

 private:
  void AddField(size_t field) {
    fields_.push_back(field);
    schema_.fields.push_back(table_.schema().fields[field]);
  }

  Status Convert(RecordBatch* batch) {
    batch->schema = schema_;
    for (size_t i = 0; i < kept_; ++i) {
      if (batch->columns[i].type->id == TypeId::kBlob) {
        ROWFS_RETURN_IF_ERROR(LoadBlobs(&batch->columns[i]));
      }
    }
    std::vector<ArrayBuilder> references;
    for (size_t i = kept_; i < fields_.size(); ++i) {
      references.emplace_back(MakeType(TypeId::kString));
    }
    // Row by row: what belongs to a row shares a shard.
    for (uint64_t row = 0; row < batch->row_count; ++row) {
      for (size_t i = kept_; i < fields_.size(); ++i) {
        const Status status =
            Extract(batch->columns[i], row, i, &references[i - kept_]);
        if (!status.ok()) {
          return status.With("column " + schema_.fields[i].name + " row " +
                             std::to_string(row_ + row));
        }
      }
    }
    for (size_t i = kept_; i < fields_.size(); ++i) {
      batch->columns[i] = references[i - kept_].Finish();
    }
    return {};
  }

  Status Extract(const Array& array, uint64_t row, size_t field,
                 ArrayBuilder* references) {
    if (array.IsNull(row)) {
      references->AppendNull();
      return {};
    }
    ROWFS_ASSIGN_OR_RETURN(Payload payload, Payload::Open(table_, array, row));
    std::string digits = std::to_string(row_ + row);
    if (digits.size() < 12) digits.insert(0, 12 - digits.size(), '0');
    uint64_t done = 0;
    ROWFS_ASSIGN_OR_RETURN(
        const std::string reference,
        pack_.Add(
            schema_.fields[field].name + "/" + digits + ".bin", payload.size(),
            [&]() -> Result<ByteSpan> {
              ROWFS_ASSIGN_OR_RETURN(const ByteSpan bytes,
                                     payload.Read(done, kChunkBytes));
              done += bytes.size();
              return bytes;
            },
            "row-" + std::to_string(row_ + row)));
    references->AppendBytes(AsBytes(reference));
    ++summary_.values;
    summary_.bytes += payload.size();
    return {};
  }

  // Blobs that stay in the table travel by value.
  Status LoadBlobs(Array* array) {
    for (uint64_t row = 0; row < array->length; ++row) {
      if (array->IsNull(row)) continue;
      ROWFS_ASSIGN_OR_RETURN(Payload payload,
                             Payload::Open(table_, *array, row));
      ROWFS_ASSIGN_OR_RETURN(const ByteSpan bytes,
                             payload.Read(0, payload.size()));
      BlobCell cell;
      cell.size = bytes.size();
      cell.bytes = std::make_shared<const Bytes>(bytes.begin(), bytes.end());
      array->blobs[row] = std::move(cell);
    }
    return {};
  }

  TableSource& table_;
  const ExtractionPlan& plan_;
  PackWriter& pack_;
  std::vector<size_t> fields_;  // kept ones, then those extracted
  size_t kept_ = 0;
  Schema schema_;  // of the output
  uint64_t row_ = 0;
  ExtractionSummary summary_;
};

}  // namespace

Result<ExtractionPlan> PlanExtraction(TableSource& table,
                                      const std::string& uri,
                                      const std::vector<std::string>& columns) {
  ExtractionPlan plan;
  plan.rows = table.row_count();
  for (size_t i = 0; i < table.schema().fields.size(); ++i) {
    const Field& field = table.schema().fields[i];
    const bool is_blob = field.type->id == TypeId::kBlob;
    if (!is_blob && !IsBinary(*field.type)) {
      plan.other_columns.push_back(field.name);
      continue;
    }
    PayloadColumn column;
    column.field = i;
    column.name = field.name;
    column.is_blob = is_blob;
    column.extract =
        std::find(columns.begin(), columns.end(), field.name) != columns.end();
    plan.columns.push_back(std::move(column));
  }
  if (plan.columns.empty()) {
    return Status(Code::kInvalidArgument,
                  uri + " has no binary or blob columns; nothing to extract");
  }
  ROWFS_RETURN_IF_ERROR(CheckNames(plan.columns, columns));
  for (PayloadColumn& column : plan.columns) {
    ROWFS_RETURN_IF_ERROR(Measure(table, plan.rows, &column));
  }
  return plan;
}

std::string RenderEvidence(const ExtractionPlan& plan,
                           const PayloadColumn& column) {
  return WithCommas(plan.rows) + " values, " +
         (column.kinds.empty() ? "unknown" : Joined(column.kinds, "/")) + ", " +
         HumanSize(column.mean_bytes) + " mean (" +
         HumanSize(column.min_bytes) + "-" + HumanSize(column.max_bytes) + ")";
}

std::string RenderPlan(const ExtractionPlan& plan, const std::string& uri) {
  std::string text =
      "Lance dataset at " + uri + " - " + WithCommas(plan.rows) + " rows\n";
  for (const PayloadColumn& column : plan.columns) {
    text += "\n  " + Padded(column.name, 28) +
            (column.is_blob ? " blob storage class" : " binary column") +
            "\n          " + RenderEvidence(plan, column);
    text += column.extract
                ? "\n      -> extracted to media/, column rewritten to blob "
                  "references\n          bytes lossless, SCHEMA CHANGES"
                : "\n      -> left in the table";
  }
  return text + "\n  " + Padded("other columns", 28) + " " +
         (plan.other_columns.empty() ? "none"
                                     : Joined(plan.other_columns, ", ")) +
         "\n      -> copied unchanged\n\n"
         "  The rewritten dataset stays a Lance dataset: scalar queries keep\n"
         "  working, while payloads move out from under the table engine.";
}

Result<ExtractionSummary> ExtractColumns(TableSource& table,
                                         const ExtractionPlan& plan,
                                         PackWriter& pack,
                                         const Location& output,
                                         const ConvertProgress& progress) {
  return Extraction(table, plan, pack).Run(output, progress);
}

}  // namespace rowfs
