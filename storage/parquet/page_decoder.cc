#include "storage/parquet/page_decoder.h"

#include <arrow/io/memory.h>
#include <arrow/table.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>

#include <memory>
#include <string>

#include "storage/parquet/arrow_glue.h"
#include "storage/parquet/from_arrow.h"
#include "storage/parquet/page_header.h"

namespace rowfs {
namespace {

// Offset 0 means "none" in a footer: pages start behind a magic number.
constexpr int64_t kFirstOffset = 4;

// One row group of `rows` rows in which the columns of `leaves` have values.
std::shared_ptr<parquet::FileMetaData> MakeFooter(
    const parquet::FileMetaData& metadata, arrow::Compression::type codec,
    uint64_t rows, std::span<const LeafPages> leaves) {
  parquet::WriterProperties::Builder properties;
  properties.compression(codec);
  const auto builder =
      parquet::FileMetaDataBuilder::Make(metadata.schema(), properties.build());
  auto* group = builder->AppendRowGroup();
  group->set_num_rows(static_cast<int64_t>(rows));
  int64_t at = kFirstOffset;
  size_t next = 0;
  for (int i = 0; i < metadata.num_columns(); ++i) {
    auto* chunk = group->NextColumnChunk();
    if (next == leaves.size() || leaves[next].leaf != i) {
      chunk->Finish(0, 0, 0, kFirstOffset, 0, 0, false, false, {}, {});
      continue;
    }
    const LeafPages& leaf = leaves[next++];
    const auto dictionary = static_cast<int64_t>(leaf.dictionary_size);
    const auto size = static_cast<int64_t>(leaf.bytes.size());
    chunk->Finish(static_cast<int64_t>(leaf.value_count),
                  dictionary > 0 ? at : 0, 0, at + dictionary, size, size,
                  dictionary > 0, false, {}, {});
    at += size;
  }
  group->Finish(at);
  return builder->Finish(metadata.key_value_metadata());
}

Result<Array> FromTable(const arrow::Table& table, uint64_t rows) {
  std::vector<Array> chunks;
  for (const auto& chunk : table.column(0)->chunks()) {
    ROWFS_ASSIGN_OR_RETURN(chunks.emplace_back(), ArrayFromArrow(*chunk));
  }
  if (chunks.empty() || static_cast<uint64_t>(table.num_rows()) != rows) {
    return Status(Code::kCorruption, "pages with fewer rows than listed");
  }
  if (chunks.size() == 1) return std::move(chunks[0]);
  return ConcatArrays(chunks);
}

}  // namespace

Status LeafPages::AddPage(ByteSpan page, bool repeated, uint64_t rows) {
  ROWFS_ASSIGN_OR_RETURN(const PageHeader header, ParsePageHeader(page));
  const bool fits = header.is_data() && header.size() == page.size() &&
                    (repeated || header.value_count == rows);
  if (!fits) return {Code::kCorruption, "a page is not what is listed"};
  value_count += header.value_count;
  AppendBytes(&bytes, page);
  return {};
}

Result<std::vector<Array>> DecodePages(
    const parquet::FileMetaData& metadata,
    const parquet::ArrowReaderProperties& properties,
    arrow::Compression::type codec, uint64_t rows,
    std::span<const LeafPages> leaves) {
  Bytes file(static_cast<size_t>(kFirstOffset));
  for (const LeafPages& leaf : leaves) AppendBytes(&file, leaf.bytes);
  parquet::ReaderProperties reading;
  reading.set_page_checksum_verification(true);
  const std::string what = "pages";
  ROWFS_ASSIGN_OR_ARROW_ERROR(
      const auto reader,
      parquet::arrow::FileReader::Make(
          arrow::default_memory_pool(),
          parquet::ParquetFileReader::Open(
              std::make_shared<arrow::io::BufferReader>(MakeArrowBuffer(
                  std::make_shared<const Bytes>(std::move(file)))),
              reading, MakeFooter(metadata, codec, rows, leaves)),
          properties),
      what);
  std::vector<Array> arrays;
  for (const LeafPages& leaf : leaves) {
    const std::string name =
        metadata.schema()->Column(leaf.leaf)->path()->ToDotString();
    ROWFS_ASSIGN_OR_ARROW_ERROR(const auto table,
                                reader->ReadRowGroup(0, {leaf.leaf}), name);
    Result<Array> array = FromTable(*table, rows);
    if (!array.ok()) return array.status().With(name);
    arrays.push_back(std::move(array).value());
  }
  return arrays;
}

}  // namespace rowfs
