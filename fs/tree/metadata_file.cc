#include "fs/tree/metadata_file.h"

#include <algorithm>

#include "index/dataset/names.h"
#include "storage/base/json.h"

namespace rowfs {

MetadataFile::MetadataFile(Dataset& dataset, PluginRegistry& plugins,
                           const TreeOptions& options, PathOf path_of)
    : dataset_(dataset),
      plugins_(plugins),
      options_(options),
      path_of_(std::move(path_of)),
      begins_{0} {
  NameKeys();
}

// The names Hugging Face reads belong to the files; a column that has one of
// them makes room.
void MetadataFile::NameKeys() {
  UniqueNames taken;
  taken.Reserve("file_name");
  for (const Column& column : dataset_.columns()) {
    const bool blob = column.role == ColumnRole::kBlob;
    file_keys_.push_back(blob ? taken.Take(column.name + "_file_name") : "");
  }
  for (const Column& column : dataset_.columns()) {
    const bool value =
        column.role != ColumnRole::kBlob && column.role != ColumnRole::kIndex;
    keys_.push_back(value ? taken.Take(column.name) : "");
  }
}

Result<std::string> MetadataFile::Line(const Row& row) const {
  std::vector<std::string> texts;
  const RowContents contents =
      ReadRowContents({dataset_, plugins_, options_, true}, row, &texts);
  ROWFS_RETURN_IF_ERROR(contents.failure);
  ROWFS_ASSIGN_OR_RETURN(const std::string folder, path_of_(row.number));
  std::string line = "{\"file_name\": ";
  if (contents.blobs.empty()) line += "null";
  for (size_t i = 0; i < contents.blobs.size(); ++i) {
    const auto& [column, item] = contents.blobs[i];
    if (i > 0) line += ", " + JsonQuote(file_keys_[column]) + ": ";
    line += JsonQuote(folder + "/" + contents.items[item].path);
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    if (keys_[i].empty()) continue;
    line += ", " + JsonQuote(keys_[i]) + ": " + texts[i];
  }
  return line + "}\n";
}

Result<MetadataFile::Part> MetadataFile::MakePart(uint64_t part) const {
  const uint64_t begin = part * kPartRows;
  const uint64_t end = std::min(begin + kPartRows, dataset_.row_count());
  // Not all at once: rows may carry their blobs.
  constexpr uint64_t kTakeRows = 32;
  auto text = std::make_shared<std::string>();
  for (uint64_t first = begin; first < end; first += kTakeRows) {
    std::vector<uint64_t> rows;
    for (uint64_t i = first; i < std::min(first + kTakeRows, end); ++i) {
      rows.push_back(i);
    }
    ROWFS_ASSIGN_OR_RETURN(const auto taken, dataset_.ReadRows(rows));
    for (const std::shared_ptr<const Row>& row : taken) {
      ROWFS_ASSIGN_OR_RETURN(const std::string line, Line(*row));
      *text += line;
    }
  }
  return Part(std::move(text));
}

Result<std::shared_ptr<const MetadataFile>> MetadataFile::Open(
    Dataset& dataset, PluginRegistry& plugins, const TreeOptions& options,
    PathOf path_of) {
  std::shared_ptr<MetadataFile> file(
      new MetadataFile(dataset, plugins, options, std::move(path_of)));
  const uint64_t parts = (dataset.row_count() + kPartRows - 1) / kPartRows;
  for (uint64_t i = 0; i < parts; ++i) {
    ROWFS_ASSIGN_OR_RETURN(const Part part, file->MakePart(i));
    file->begins_.push_back(file->begins_.back() + part->size());
  }
  return std::shared_ptr<const MetadataFile>(std::move(file));
}

Result<MetadataFile::Part> MetadataFile::FindPart(uint64_t part) const {
  {
    const MutexLock lock(mu_);
    for (const auto& [number, text] : parts_) {
      if (number == part) return text;
    }
  }
  ROWFS_ASSIGN_OR_RETURN(Part text, MakePart(part));
  if (text->size() != begins_[part + 1] - begins_[part]) {
    return Status(Code::kChanged,
                  "metadata.jsonl: rows are not what they were when the file "
                  "was opened");
  }
  const MutexLock lock(mu_);
  parts_.insert(parts_.begin(), {part, text});
  if (parts_.size() > kPartsKept) parts_.pop_back();
  return text;
}

Result<size_t> MetadataFile::ReadAt(uint64_t offset,
                                    MutableByteSpan out) const {
  if (offset >= size()) return size_t{0};
  const size_t wanted = std::min<uint64_t>(out.size(), size() - offset);
  size_t done = 0;
  while (done < wanted) {
    const uint64_t at = offset + done;
    const auto part = static_cast<uint64_t>(
        std::upper_bound(begins_.begin(), begins_.end(), at) - begins_.begin() -
        1);
    ROWFS_ASSIGN_OR_RETURN(const Part text, FindPart(part));
    const uint64_t skip = at - begins_[part];
    const size_t step = std::min<uint64_t>(wanted - done, text->size() - skip);
    const ByteSpan piece = AsBytes(*text).subspan(skip, step);
    std::copy(piece.begin(), piece.end(),
              out.begin() + static_cast<ptrdiff_t>(done));
    done += step;
  }
  return done;
}

}  // namespace rowfs
