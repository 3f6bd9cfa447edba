// Lance data files for tests: the golden datasets beside the repository, their
// fragments, and values as canonical text that lance_oracle.py writes alike.
//
// Functions; thread-safe.
#ifndef ROWFS_TESTS_SUPPORT_LANCE_FILES_H_
#define ROWFS_TESTS_SUPPORT_LANCE_FILES_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/hash.h"
#include "storage/lance/file_reader.h"
#include "storage/lance/manifest.h"
#include "storage/object/open_store.h"

namespace rowfs {

// One data file of the newest version of a dataset.
struct TestFile {
  std::string path;  // "data/x.lance"
  std::shared_ptr<const LanceFileReader> reader;
  std::map<int32_t, uint32_t> columns;
};
struct TestFragment {
  uint64_t row_count = 0;
  std::vector<TestFile> files;
};
struct TestDataset {
  LanceSchema schema;
  std::vector<TestFragment> fragments;
};

inline std::string RenderValue(const Array& array, uint64_t i);

namespace lance_files {

inline const ReadContext kPlainReads;

inline Result<Location> Locate(const std::string& path) {
  return MakeStoreRegistry()->Resolve(path);
}

inline Result<TestFile> OpenFile(const std::string& folder,
                                 const pb::DataFile& stored) {
  TestFile file{.path = "data/" + stored.path()};
  ROWFS_ASSIGN_OR_RETURN(const Location location,
                         Locate(folder + "/" + file.path));
  ROWFS_ASSIGN_OR_RETURN(
      const std::shared_ptr<const ObjectReader> object,
      ObjectReader::Open(location, uint64_t{64} << 10, kPlainReads));
  ROWFS_ASSIGN_OR_RETURN(file.reader, LanceFileReader::Open(object, file.path));
  for (int i = 0; i < stored.fields_size(); ++i) {
    if (stored.fields(i) < 0 || stored.column_indices(i) < 0) continue;
    file.columns[stored.fields(i)] =
        static_cast<uint32_t>(stored.column_indices(i));
  }
  return file;
}

inline std::string RenderList(const Array& items, uint64_t begin,
                              uint64_t end) {
  std::string text = "[";
  for (uint64_t i = begin; i < end; ++i) {
    if (i > begin) text += ',';
    text += rowfs::RenderValue(items, i);
  }
  return text + "]";
}

inline std::string RenderBlob(const BlobCell& cell) {
  return "blob(" + std::to_string(static_cast<int>(cell.kind)) + "," +
         std::to_string(cell.offset) + "," +
         (cell.size ? std::to_string(*cell.size) : "end") + "," + cell.object +
         "," + (cell.base_id ? std::to_string(*cell.base_id) : "") + ")";
}

}  // namespace lance_files

// The columns that a writer gives the fields of a file when it writes them all:
// leaves in order, in 2.0 structs and lists too.
inline void AddNaturalColumns(const LanceField& field, bool all,
                              std::map<int32_t, uint32_t>* columns) {
  const bool leaf =
      field.kind != LanceFieldKind::kPlain || field.children.empty();
  if (leaf || all) {
    columns->emplace(field.id, static_cast<uint32_t>(columns->size()));
  }
  if (leaf) return;
  for (const LanceField& child : field.children) {
    AddNaturalColumns(child, all, columns);
  }
}
inline std::map<int32_t, uint32_t> NaturalColumns(const LanceSchema& schema,
                                                  LanceFileVersion version) {
  std::map<int32_t, uint32_t> columns;
  for (const LanceField& field : schema.fields) {
    AddNaturalColumns(field, version == LanceFileVersion{2, 0}, &columns);
  }
  return columns;
}

// The folder of golden datasets ($ROWFS_SHARED/data/lance-golden, or beside the
// repository); absent when it is not there.
inline std::optional<std::string> GoldenFolder() {
  const char* shared = std::getenv("ROWFS_SHARED");
  const std::filesystem::path root =
      shared != nullptr
          ? std::filesystem::path(shared)
          : std::filesystem::path(ROWFS_SOURCE_DIR) / ".." / "shared";
  const auto folder = root / "data" / "lance-golden";
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) return std::nullopt;
  return folder.string();
}

// A Python that can import `module`: $ROWFS_PYTHON or python3.
inline std::optional<std::string> FindPython(const std::string& module) {
  const char* set = std::getenv("ROWFS_PYTHON");
  const std::string python = set != nullptr ? set : "python3";
  const std::string probe =
      python + " -c 'import " + module + "' > /dev/null 2>&1";
  if (std::system(probe.c_str()) != 0) return std::nullopt;
  return python;
}

// Open all files of the newest version. Deletions and base paths are ignored.
inline Result<TestDataset> OpenTestDataset(const std::string& folder) {
  std::vector<ManifestName> versions;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder + "/_versions")) {
    const auto name = ParseManifestName(entry.path().filename().string());
    if (name) versions.push_back(*name);
  }
  if (versions.empty()) return Status(Code::kNotFound, folder);
  const auto newest = std::max_element(
      versions.begin(), versions.end(),
      [](const auto& a, const auto& b) { return a.version < b.version; });
  ROWFS_ASSIGN_OR_RETURN(const Location location,
                         lance_files::Locate(folder + "/_versions"));
  ROWFS_ASSIGN_OR_RETURN(
      const Manifest manifest,
      ReadManifest(location, *newest, ManifestParts::kMessage));
  TestDataset dataset;
  ROWFS_ASSIGN_OR_RETURN(dataset.schema, ManifestSchema(manifest.message));
  for (const auto& stored : manifest.message.fragments()) {
    TestFragment fragment{.row_count = stored.physical_rows()};
    for (const auto& file : stored.files()) {
      ROWFS_ASSIGN_OR_RETURN(TestFile opened,
                             lance_files::OpenFile(folder, file));
      fragment.files.push_back(std::move(opened));
    }
    dataset.fragments.push_back(std::move(fragment));
  }
  return dataset;
}

// Value `i` as text: ~ null, numbers in decimal, floats and fixed bytes as hex
// of their bytes, strings as hex, lists and structs in brackets.
inline std::string RenderValue(const Array& array, uint64_t i) {
  if (array.IsNull(i)) return "~";
  const TypeId id = array.type->id;
  if (id == TypeId::kBlob) return lance_files::RenderBlob(array.blobs[i]);
  if (id == TypeId::kDictionary) {
    return RenderValue(*array.dictionary,
                       static_cast<uint64_t>(array.IntAt(i)));
  }
  if (id == TypeId::kStruct) {
    std::string text = "{";
    for (size_t k = 0; k < array.children.size(); ++k) {
      if (k > 0) text += ',';
      text += RenderValue(array.children[k], i);
    }
    return text + "}";
  }
  if (id == TypeId::kFixedSizeList) {
    const uint64_t width = array.type->width;
    return lance_files::RenderList(array.children[0], i * width,
                                   (i + 1) * width);
  }
  if (!array.children.empty()) {
    return lance_files::RenderList(array.children[0], array.OffsetAt(i),
                                   array.OffsetAt(i + 1));
  }
  if (array.offsets != nullptr) return "s" + ToHex(array.BytesAt(i));
  if (id == TypeId::kBool) return array.BoolAt(i) ? "t" : "f";
  if (id == TypeId::kUint64) {
    return std::to_string(static_cast<uint64_t>(array.IntAt(i)));
  }
  const bool raw = id == TypeId::kHalfFloat || id == TypeId::kFloat ||
                   id == TypeId::kDouble || id == TypeId::kFixedSizeBinary ||
                   id == TypeId::kDecimal128 || id == TypeId::kDecimal256;
  if (raw) return "x" + ToHex(array.FixedAt(i));
  return std::to_string(array.IntAt(i));
}

// One line a value, "NAME<TAB>TEXT", the name in hex.
inline std::string RenderColumn(const std::string& name, const Array& array) {
  std::string text;
  for (uint64_t i = 0; i < array.length; ++i) {
    text += ToHex(AsBytes(name)) + "\t" + RenderValue(array, i) + "\n";
  }
  return text;
}

}  // namespace rowfs
#endif  // ROWFS_TESTS_SUPPORT_LANCE_FILES_H_
