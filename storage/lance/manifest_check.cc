#include "storage/lance/manifest_check.h"

#include <set>

namespace rowfs {
namespace {

// Bits of either word that we understand. 4 is an old "use the v2 format", 8
// and 32 concern writers, 128 describes indices, which we ignore.
constexpr uint64_t kKnownFlags =
    kFlagDeletionFiles | kFlagStableRowIds | 4 | kFlagTableConfig |
    kFlagBasePaths | kFlagNoTransactionFiles | 128 | kFlagMixedFileVersions |
    kFlagSpilledRowLineage | kFlagManagedBlobs | kFlagSixFieldBlobs;

// Bits that must stand in both words or in none.
constexpr uint64_t kPairedFlags =
    kFlagMixedFileVersions | 1024 | kFlagManagedBlobs | 65536;

// A row address has 32 bits for the offset inside the fragment.
constexpr uint64_t kFragmentRowsMax = uint64_t{1} << 32;

std::string ListBits(uint64_t bits) {
  std::string list;
  for (int i = 0; i < 64; ++i) {
    if ((bits >> i & 1) == 0) continue;
    if (!list.empty()) list += ", ";
    list += std::to_string(i);
  }
  return list;
}

Status CheckFlags(uint64_t word, std::string_view doing) {
  const uint64_t unknown = word & ~kKnownFlags;
  if (unknown == 0) return {};
  return Status(Code::kUnsupported,
                std::string(doing) +
                    " this table needs features that this release does not "
                    "know (feature flag bits " +
                    ListBits(unknown) + ")");
}

Status Corrupt(std::string message) {
  return Status(Code::kCorruption, std::move(message));
}

Status CheckFormat(const pb::Manifest& manifest) {
  if (!manifest.has_data_format()) return {};
  const pb::DataFormat& format = manifest.data_format();
  if (!format.file_format().empty() && format.file_format() != "lance") {
    return Status(Code::kUnsupported, "data format \"" + format.file_format() +
                                          "\" (supported: lance)");
  }
  const std::string& version = format.version();
  if (version == "0.1" || version == "0.2" || version == "legacy") {
    return Status(Code::kUnsupported,
                  "legacy Lance v1 data files (format " + version +
                      "); rewrite the table with a newer Lance");
  }
  if (version != "2.0" && version != "2.1" && version != "2.2" &&
      version != "2.3" && !version.empty()) {
    return Status(Code::kUnsupported, "data format version \"" + version +
                                          "\" (supported: 2.0 to 2.3)");
  }
  return {};
}

Status CheckFileVersion(const pb::Manifest& manifest,
                        const pb::DataFile& file) {
  const uint32_t major = file.file_major_version();
  const uint32_t minor = file.file_minor_version();
  const std::string version =
      std::to_string(major) + "." + std::to_string(minor);
  if (major < 2 && !(major == 0 && minor == 3)) {
    return Status(Code::kUnsupported,
                  "legacy Lance v1 data file (version " + version +
                      "); rewrite the table with a newer Lance");
  }
  if (major > 2 || minor > 3) {
    return Status(Code::kUnsupported,
                  "data file version " + version + " (supported: 2.0 to 2.3)");
  }
  const std::string& format = manifest.data_format().version();
  const bool mixed =
      (manifest.reader_feature_flags() & kFlagMixedFileVersions) != 0;
  if (!mixed && major == 2 && !format.empty() && format != version) {
    return Corrupt("data file version " + version + " in a table of version " +
                   format);
  }
  return {};
}

// Adds the file's live field ids to `fields`, those of the whole fragment.
Status CheckColumns(const pb::DataFile& file, std::set<int32_t>* fields) {
  if (file.fields_size() != file.column_indices_size()) {
    return Corrupt(std::to_string(file.fields_size()) + " field ids but " +
                   std::to_string(file.column_indices_size()) +
                   " column indices");
  }
  std::set<int32_t> columns;
  for (int i = 0; i < file.fields_size(); ++i) {
    const int32_t column = file.column_indices(i);
    if (column < -1) {
      return Corrupt("column index " + std::to_string(column));
    }
    if (column >= 0 && !columns.insert(column).second) {
      return Corrupt("column " + std::to_string(column) + " listed twice");
    }
    if (file.fields(i) < 0) continue;
    if (!fields->insert(file.fields(i)).second) {
      return Corrupt("field id " + std::to_string(file.fields(i)) +
                     " stored twice in one fragment");
    }
  }
  return {};
}

Status CheckBase(const std::set<uint32_t>& bases, bool has, uint32_t id) {
  if (!has || bases.contains(id)) return {};
  return Corrupt("base path " + std::to_string(id) + " is not registered");
}

Status CheckDeletion(const pb::DataFragment& fragment,
                     const std::set<uint32_t>& bases) {
  const pb::DeletionFile& file = fragment.deletion_file();
  if (file.file_type() != pb::DeletionFile::ARROW_ARRAY &&
      file.file_type() != pb::DeletionFile::BITMAP) {
    return Corrupt("deletion file of unknown type " +
                   std::to_string(file.file_type()));
  }
  if (fragment.physical_rows() != 0 &&
      file.num_deleted_rows() > fragment.physical_rows()) {
    return Corrupt(std::to_string(file.num_deleted_rows()) +
                   " deleted rows of " +
                   std::to_string(fragment.physical_rows()));
  }
  return CheckBase(bases, file.has_base_id(), file.base_id());
}

Status CheckFragment(const pb::Manifest& manifest,
                     const pb::DataFragment& fragment,
                     const std::set<uint32_t>& bases) {
  if (fragment.id() > UINT32_MAX) return Corrupt("id above 32 bits");
  if (fragment.physical_rows() > kFragmentRowsMax) {
    return Corrupt(std::to_string(fragment.physical_rows()) + " rows");
  }
  if (fragment.overlays_size() != 0) {
    return Status(Code::kUnsupported, "data overlay files");
  }
  if (fragment.files_size() == 0) return Corrupt("no data file");
  std::set<int32_t> fields;
  for (const pb::DataFile& file : fragment.files()) {
    const std::string where = "data file " + file.path();
    if (!IsConfinedPath(file.path())) {
      return Corrupt(where + ": path leaves its folder");
    }
    Status status = CheckFileVersion(manifest, file);
    if (status.ok()) status = CheckColumns(file, &fields);
    if (status.ok()) {
      status = CheckBase(bases, file.has_base_id(), file.base_id());
    }
    if (!status.ok()) return status.With(where);
  }
  if (fragment.has_deletion_file()) {
    ROWFS_RETURN_IF_ERROR(CheckDeletion(fragment, bases));
  }
  if ((manifest.reader_feature_flags() & kFlagStableRowIds) != 0 &&
      !fragment.has_inline_row_ids() && !fragment.has_row_id_column()) {
    return Corrupt("no row ids in a table with stable row ids");
  }
  return {};
}

}  // namespace

bool IsConfinedPath(std::string_view path) {
  if (path.empty() || path.find('\\') != std::string_view::npos ||
      path.find('\0') != std::string_view::npos ||
      path.find("://") != std::string_view::npos) {
    return false;
  }
  while (true) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

Status CheckReadable(const pb::Manifest& manifest) {
  const uint64_t reader = manifest.reader_feature_flags();
  const uint64_t writer = manifest.writer_feature_flags();
  ROWFS_RETURN_IF_ERROR(CheckFlags(reader, "reading"));
  const uint64_t unpaired = (reader ^ writer) & kPairedFlags;
  if (unpaired != 0) {
    return Corrupt("reader and writer feature flags disagree on bits " +
                   ListBits(unpaired));
  }
  return {};
}

Status CheckWritable(const pb::Manifest& manifest) {
  ROWFS_RETURN_IF_ERROR(CheckReadable(manifest));
  return CheckFlags(manifest.writer_feature_flags(), "writing to");
}

Status CheckManifest(const pb::Manifest& manifest) {
  ROWFS_RETURN_IF_ERROR(CheckReadable(manifest));
  ROWFS_RETURN_IF_ERROR(CheckFormat(manifest));
  std::set<uint32_t> bases;
  for (const pb::BasePath& base : manifest.base_paths()) {
    if (!bases.insert(base.id()).second) {
      return Corrupt("base path " + std::to_string(base.id()) +
                     " registered twice");
    }
  }
  std::set<uint64_t> ids;
  uint64_t rows = 0;
  for (const pb::DataFragment& fragment : manifest.fragments()) {
    const std::string where = "fragment " + std::to_string(fragment.id());
    if (!ids.insert(fragment.id()).second) return Corrupt(where + ": twice");
    ROWFS_RETURN_IF_ERROR(CheckFragment(manifest, fragment, bases).With(where));
    const auto sum = CheckedAdd(rows, fragment.physical_rows());
    if (!sum) return Corrupt(where + ": more than 2^64 rows");
    rows = *sum;
  }
  return {};
}

}  // namespace rowfs
