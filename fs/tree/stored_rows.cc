#include "fs/tree/stored_rows.h"

#include <algorithm>

#include "fs/tree/blob_shape.h"
#include "fs/tree/files.h"
#include "fs/tree/lazy.h"
#include "fs/tree/row_contents.h"
#include "index/dataset/names.h"
#include "storage/base/no_wait.h"

namespace rowfs {
namespace {

const std::string* FindKey(const Metadata& metadata, std::string_view key) {
  for (const auto& [name, value] : metadata) {
    if (name == key) return &value;
  }
  return nullptr;
}

bool Equal(const std::string* text, std::string_view other) {
  return text != nullptr && *text == other;
}

}  // namespace

StoredRows::StoredRows(const Dataset& dataset, bool quick)
    : rows_(*dataset.file_rows()),
      row_count_(dataset.row_count()),
      quick_(quick) {
  UniqueNames keys;
  for (const Column& about : dataset.columns()) {
    ColumnRule column;
    column.key = JsonQuote(keys.Take(about.name)) + ": ";
    const std::string* views = FindKey(about.metadata, kViewsKey);
    const auto declared = DeclaredMediaType(about.metadata);
    if (about.role == ColumnRole::kBlob && !about.index_field) {
      if ((declared && FileTypeOf(*declared)) || Equal(views, kViewsNone)) {
        column.rule = Rule::kKnown;
        column.media_type =
            JsonQuote(declared.value_or(std::string(kPlainBytesType)));
      } else if (Equal(views, kViewsByMagic) && !declared) {
        column.rule = Rule::kByMagic;
      }
    }
    columns_.push_back(std::move(column));
  }
}

std::optional<std::string> StoredRows::MediaType(const FileRows::File& file,
                                                 Wait wait) const {
  const ColumnRule& column = columns_[file.field];
  if (column.rule == Rule::kKnown) return column.media_type;
  if (column.rule == Rule::kNotPlain) return {};
  if (wait == Wait::kNo && !quick_) return {};
  std::optional<NoWaitScope> scope;
  if (wait == Wait::kNo) scope.emplace();
  Result<BlobSource> source = rows_.OpenFile(file);
  if (!source.ok()) return {};
  BlobCell cell;
  cell.size = file.size;
  const Blob blob(std::move(cell), std::move(source).value());
  std::array<std::byte, kFileTypeHeadBytes> bytes;
  const MutableByteSpan head =
      MutableByteSpan(bytes).first(std::min(file.size, bytes.size()));
  // What it turns out to be may have views.
  if (!blob.ReadAt(0, head).ok() || (scope && scope->refused()) ||
      DetectFileType(head).media_type != kPlainBytesType) {
    return {};
  }
  return JsonQuote(kPlainBytesType);
}

std::shared_ptr<const StoredRow> StoredRows::Make(uint64_t row,
                                                  Wait wait) const {
  const auto found = FilesOf(row);
  if (!found) return nullptr;
  auto made = std::make_shared<StoredRow>();
  made->row = row;
  made->files.push_back({std::string(kRowJsonName), kRowJsonCode, 0, 0});
  made->json = "{" + columns_[0].key + JsonQuote(found->key);
  auto file = found->files.begin();
  for (size_t i = 1; i < columns_.size(); ++i) {
    made->json += ", " + columns_[i].key;
    if (file == found->files.end() || file->field != i) {
      made->json += "null";
      continue;
    }
    std::string name = StemOf(file->name);
    // Of two with one name the contents know which is which.
    if (file->name.empty() ||
        std::ranges::find(made->files, name, &StoredFile::name) !=
            made->files.end()) {
      return nullptr;
    }
    const auto media_type = MediaType(*file, wait);
    if (!media_type) return nullptr;
    made->json += "{\"path\": " + JsonQuote(name) +
                  ", \"size\": " + std::to_string(file->size) +
                  ", \"media_type\": " + *media_type + "}";
    made->files.push_back(
        {std::move(name), CodeOfColumn(i), file->size, file->place});
    ++file;
  }
  if (file != found->files.end()) return nullptr;
  made->json += "}\n";
  made->files[0].size = made->json.size();
  return made;
}

std::optional<FileRows::FileRow> StoredRows::FilesOf(uint64_t row) const {
  if (row >= row_count_) return {};
  return rows_.FilesOf(row);
}

std::shared_ptr<const StoredRow> StoredRows::Recent(uint64_t row) const {
  const MutexLock lock(mu_);
  const auto& kept = recent_[row % kRowsKept];
  return kept != nullptr && kept->row == row ? kept : nullptr;
}

std::shared_ptr<const StoredRow> StoredRows::Get(uint64_t row, Wait wait) {
  if (auto kept = Recent(row)) return kept;
  auto made = Make(row, wait);
  if (made == nullptr) return nullptr;
  const MutexLock lock(mu_);
  return recent_[row % kRowsKept] = std::move(made);
}

std::optional<StoredFile> StoredRows::Find(uint64_t row, std::string_view name,
                                           Wait wait) {
  const auto kept = name == kRowJsonName ? Get(row, wait) : Recent(row);
  if (kept != nullptr) {
    const auto file = std::ranges::find(kept->files, name, &StoredFile::name);
    if (file == kept->files.end()) return {};
    return *file;
  }
  const auto found = FilesOf(row);
  if (!found) return {};
  std::optional<StoredFile> stored;
  for (const FileRows::File& file : found->files) {
    std::string shown = StemOf(file.name);
    if (shown != name) continue;
    if (stored || shown == kRowJsonName) return {};
    stored = {std::move(shown), CodeOfColumn(file.field), file.size,
              file.place};
  }
  return stored;
}

std::optional<StoredFile> StoredRows::Find(uint64_t row, uint32_t code,
                                           Wait wait) {
  const auto kept = code == kRowJsonCode ? Get(row, wait) : Recent(row);
  if (kept != nullptr) {
    const auto file = std::ranges::find(kept->files, code, &StoredFile::code);
    if (file == kept->files.end()) return {};
    return *file;
  }
  const auto found = FilesOf(row);
  if (!found) return {};
  for (const FileRows::File& file : found->files) {
    if (CodeOfColumn(file.field) != code) continue;
    return StoredFile{file.name, code, file.size, file.place};
  }
  return {};
}

Result<std::shared_ptr<const ViewFile>> StoredRows::Open(uint64_t row,
                                                         uint32_t code,
                                                         Wait wait) {
  using File = std::shared_ptr<const ViewFile>;
  if (code == kRowJsonCode) {
    const auto kept = Get(row, wait);
    if (kept == nullptr) return File();
    return File(std::make_shared<TextFile>(kept->json));
  }
  const auto found = Find(row, code, wait);
  if (!found) return File();
  if (wait == Wait::kNo && !quick_) return WouldWait();
  std::optional<NoWaitScope> scope;
  if (wait == Wait::kNo) scope.emplace();
  ROWFS_ASSIGN_OR_RETURN(BlobSource source,
                         rows_.OpenFile({found->name, found->size,
                                         FieldOfCode(code), found->place}));
  BlobCell cell;
  cell.size = found->size;
  cell.bytes = source.bytes;
  return File(std::make_shared<BlobFile>(
      std::make_shared<const Blob>(std::move(cell), std::move(source))));
}

}  // namespace rowfs
