#include "fs/cli/preview_rows.h"

#include <algorithm>
#include <map>

#include "storage/base/json.h"

namespace rowfs {
namespace {

constexpr size_t kNamesMax = 4096;  // looked at in one folder
constexpr size_t kPicturesOfRow = 12;
constexpr uint64_t kPictureBytesMax = 4 << 20;
constexpr uint64_t kFileBytesMax = 1 << 20;  // files shown as they are
constexpr uint64_t kRowJsonMax = 4 << 20;
constexpr size_t kCaptionsMax = 12;
constexpr size_t kCaptionBytesMax = 300;
constexpr std::string_view kThumbnail = "/full/!240,240/0/default.";

std::pair<std::string, std::string> Split(const std::string& name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0) return {name, ""};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

// At most so many bytes, never half a character.
std::string Shortened(std::string text) {
  if (text.size() <= kCaptionBytesMax) return text;
  size_t end = kCaptionBytesMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
    --end;
  }
  return text.substr(0, end) + "...";
}

}  // namespace

std::string PictureType(const std::string& name) {
  std::string extension = Split(name).second;
  std::transform(
      extension.begin(), extension.end(), extension.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      });
  constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"jpg", "image/jpeg"}, {"jpeg", "image/jpeg"}, {"png", "image/png"},
      {"gif", "image/gif"},  {"webp", "image/webp"}, {"avif", "image/avif"},
      {"bmp", "image/bmp"}};
  for (const auto& [known, type] : kTypes) {
    if (extension == known) return std::string(type);
  }
  return {};
}

Result<std::vector<PreviewReader::Name>> PreviewReader::ListFolder(
    const std::string& path, size_t limit) {
  ROWFS_ASSIGN_OR_RETURN(const Entry folder, tree_.Resolve(path));
  std::vector<Name> names;
  const Status status = tree_.ReadDir(
      folder.node, 0, false, Wait::kYes, [&](const DirectoryEntry& entry) {
        names.push_back({std::string(entry.name), entry.entry.attributes.type});
        return names.size() < limit;
      });
  tree_.Forget(folder.node, 1);
  ROWFS_RETURN_IF_ERROR(status);
  return names;
}

Result<Bytes> PreviewReader::ReadFile(const std::string& path,
                                      uint64_t bytes_max) {
  ROWFS_ASSIGN_OR_RETURN(const Entry entry, tree_.Resolve(path));
  const auto read = [&]() -> Result<Bytes> {
    if (entry.attributes.type != NodeType::kFile) {
      return Status(Code::kInvalidArgument, path + " is no file");
    }
    if (entry.attributes.size_exact && entry.attributes.size > bytes_max) {
      return Status(Code::kResourceExhausted, path + " is too large to show");
    }
    ROWFS_ASSIGN_OR_RETURN(const OpenedFile file,
                           tree_.Open(entry.node, Wait::kYes));
    Bytes bytes(std::min(file.attributes.size, bytes_max + 1));
    size_t done = 0;
    Status status;
    while (done < bytes.size()) {
      const auto got =
          tree_.Read(entry.node, file.handle, done,
                     MutableByteSpan(bytes).subspan(done), Wait::kYes);
      status = got.status();
      if (!got.ok() || got.value() == 0) break;
      done += got.value();
    }
    tree_.Release(file.handle);
    ROWFS_RETURN_IF_ERROR(status);
    bytes.resize(done);
    if (done > bytes_max) {
      return Status(Code::kResourceExhausted, path + " is too large to show");
    }
    return bytes;
  };
  Result<Bytes> bytes = read();
  tree_.Forget(entry.node, 1);
  return bytes;
}

bool PreviewReader::IsWanted(const std::string& path) {
  if (options_.column.empty()) return true;
  const Result<Entry> entry = tree_.Resolve(path);
  if (!entry.ok()) return false;
  const auto column =
      tree_.GetXattr(entry.value().node, "user.rowfs.column", Wait::kYes);
  tree_.Forget(entry.value().node, 1);
  return column.ok() && column.value() == options_.column;
}

void PreviewReader::AddCaptions(const std::string& folder, PreviewRow* row) {
  const Result<Bytes> text = ReadFile(folder + "/row.json", kRowJsonMax);
  if (!text.ok()) {
    row->errors.push_back("row.json: " + std::string(text.status().message()));
    return;
  }
  const Result<Json> json = ParseJson(AsText(text.value()));
  if (!json.ok()) return;
  for (const auto& [key, value] : json.value().members) {
    if (row->captions.size() >= kCaptionsMax) return;
    // Blobs and nested values are no captions.
    if (value.kind == Json::Kind::kObject || value.kind == Json::Kind::kArray ||
        value.kind == Json::Kind::kNull) {
      continue;
    }
    row->captions.emplace_back(
        Shortened(key),
        Shortened(value.kind == Json::Kind::kString ? value.text
                                                    : WriteJson(value)));
  }
}

void PreviewReader::AddView(const std::string& folder, const std::string& view,
                            const std::vector<std::string>& pictures,
                            PreviewRow* row) {
  const size_t count = pictures.size();
  std::vector<size_t> chosen = {0, (count - 1) / 2, count - 1};
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  for (const size_t number : chosen) {
    const auto [stem, extension] = Split(pictures[number]);
    const std::string base = view + "/" + stem;
    std::vector<std::string> names = {
        base + std::string(kThumbnail) + options_.extension,
        base + "." + options_.extension};
    if (!PictureType(pictures[number]).empty() && options_.extension == "jpg") {
      names.push_back(view + "/" + pictures[number]);
    }
    Status error;
    for (const std::string& name : names) {
      Result<Bytes> bytes = ReadFile(folder + "/" + name, kPictureBytesMax);
      error = bytes.status();
      if (!bytes.ok()) continue;
      row->pictures.push_back({name, std::move(bytes).value()});
      break;
    }
    if (!error.ok()) {
      row->errors.push_back(base + ": " + std::string(error.message()));
      return;
    }
  }
}

std::vector<std::string> PreviewReader::AddViews(const std::string& folder,
                                                 const std::vector<Name>& names,
                                                 PreviewRow* row) {
  struct Candidate {
    std::string view;
    std::vector<std::string> pictures;
  };
  std::map<std::string, Candidate> best;  // by stem
  std::vector<std::string> stems;         // in order
  std::string last_error;
  for (const Name& name : names) {
    const auto [stem, suffix] = Split(name.text);
    if (name.type != NodeType::kDirectory || suffix.empty() ||
        !IsWanted(folder + "/" + name.text)) {
      continue;
    }
    const auto listed = ListFolder(folder + "/" + name.text, kNamesMax);
    if (!listed.ok()) {
      // All views of a blob fail for one reason; it is told once.
      const std::string error(listed.status().message());
      if (error != last_error) row->errors.push_back(name.text + ": " + error);
      last_error = error;
      continue;
    }
    Candidate candidate{name.text, {}};
    for (const Name& picture : listed.value()) {
      if (picture.type == NodeType::kFile &&
          !PictureType(picture.text).empty()) {
        candidate.pictures.push_back(picture.text);
      }
    }
    if (candidate.pictures.empty()) continue;
    const auto [at, added] = best.try_emplace(stem, candidate);
    if (added) stems.push_back(stem);
    if (candidate.pictures.size() < at->second.pictures.size()) {
      at->second = std::move(candidate);
    }
  }
  for (const std::string& stem : stems) {
    if (row->pictures.size() >= kPicturesOfRow) break;
    AddView(folder, best[stem].view, best[stem].pictures, row);
  }
  return stems;
}

void PreviewReader::AddFiles(const std::string& folder,
                             const std::vector<Name>& names,
                             const std::vector<std::string>& shown,
                             PreviewRow* row) {
  for (const Name& name : names) {
    if (row->pictures.size() >= kPicturesOfRow) return;
    const std::string stem = Split(name.text).first;
    if (name.type != NodeType::kFile || PictureType(name.text).empty() ||
        std::find(shown.begin(), shown.end(), stem) != shown.end() ||
        !IsWanted(folder + "/" + name.text)) {
      continue;
    }
    // Sheets that are drawn need pixels, which a plugin may have.
    const bool as_is = options_.extension == "jpg";
    const std::string file =
        as_is ? name.text : stem + "." + options_.extension;
    Result<Bytes> bytes = ReadFile(folder + "/" + file, kFileBytesMax);
    if (bytes.ok()) {
      row->pictures.push_back({file, std::move(bytes).value()});
    } else if (as_is) {
      row->errors.push_back(name.text + ": " +
                            std::string(bytes.status().message()));
    }
  }
}

PreviewRow PreviewReader::Read(uint64_t number) {
  PreviewRow row;
  row.number = number;
  const std::string folder = "rows/" + std::to_string(number);
  AddCaptions(folder, &row);
  const auto names = ListFolder(folder, kNamesMax);
  if (!names.ok()) {
    row.errors.push_back(std::string(names.status().message()));
    return row;
  }
  const auto shown = AddViews(folder, names.value(), &row);
  AddFiles(folder, names.value(), shown, &row);
  return row;
}

}  // namespace rowfs
