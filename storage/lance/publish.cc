#include "storage/lance/publish.h"

#include <algorithm>
#include <map>
#include <optional>

#include "storage/lance/commit.h"
#include "storage/lance/versions.h"

namespace rowfs {
namespace {

using Fields = google::protobuf::RepeatedPtrField<pb::Field>;
using Fragments = google::protobuf::RepeatedPtrField<pb::DataFragment>;

bool SameField(const StoredField& a, const StoredField& b) {
  return a.id == b.id && a.parent_id == b.parent_id && a.name == b.name &&
         a.logical_type == b.logical_type && a.nullable == b.nullable &&
         a.extension_name == b.extension_name && a.metadata == b.metadata;
}

std::string Describe(const Fields& fields, int i) {
  if (i >= fields.size()) return "none";
  const pb::Field& field = fields.at(i);
  return field.name() + " " + field.logical_type() +
         (field.nullable() ? "" : " not null");
}

// Data files hold columns by field id, so nothing may differ.
Status CheckFits(const FragmentList& list, const Fields& fields,
                 const std::string& format, const std::string& where) {
  const std::string hint =
      "; `rowfs append --fragments` writes rows that fit a dataset";
  if (list.data_format != format) {
    return {Code::kInvalidArgument, list.name + " has data files of version " +
                                        list.data_format + ", " + where + " " +
                                        format + hint};
  }
  const Fields& own = list.table.schema();
  for (int i = 0; i < std::max(own.size(), fields.size()); ++i) {
    if (i < own.size() && i < fields.size() &&
        SameField(FromMessage(own.at(i)), FromMessage(fields.at(i)))) {
      continue;
    }
    const std::string mine = Describe(own, i);
    const std::string theirs = Describe(fields, i);
    return {Code::kInvalidArgument,
            "the columns of " + list.name + " are not those of " + where +
                ": field " + std::to_string(i) + " is " + mine + ", there " +
                (mine == theirs ? "it has another id or metadata" : theirs) +
                hint};
  }
  return {};
}

// Sizes of objects below a dataset: of data files one by one, since data/ may
// hold far more than these, of what is in other folders by one listing each.
class Sizes {
 public:
  explicit Sizes(const Location& root) : root_(root) {}

  // Absent when there is no such object.
  Result<std::optional<uint64_t>> Find(const std::string& path) {
    const size_t slash = path.rfind('/');
    const std::string folder = path.substr(0, slash);
    if (folder == "data") return Stat(path);
    const auto [known, added] = folders_.try_emplace(folder);
    if (added) ROWFS_RETURN_IF_ERROR(List(folder, &known->second));
    const auto found = known->second.find(path.substr(slash + 1));
    return found == known->second.end() ? std::optional<uint64_t>()
                                        : std::optional(found->second);
  }

 private:
  using Folder = std::map<std::string, uint64_t>;

  Result<std::optional<uint64_t>> Stat(const std::string& path) const {
    const auto meta = root_.store->Stat(root_.Join(path).path);
    if (meta.status().code() == Code::kNotFound) {
      return std::optional<uint64_t>();
    }
    ROWFS_RETURN_IF_ERROR(meta.status());
    return std::optional(meta.value().size);
  }

  Status List(const std::string& folder, Folder* out) const {
    const auto entries = root_.store->List(root_.Join(folder).path);
    if (entries.status().code() == Code::kNotFound) return {};
    ROWFS_RETURN_IF_ERROR(entries.status());
    for (const ListEntry& entry : entries.value()) {
      if (!entry.is_directory) (*out)[entry.name] = entry.meta.size;
    }
    return {};
  }

  const Location& root_;
  std::map<std::string, Folder> folders_;
};

// One publication on its way.
class Publication {
 public:
  Publication(const Location& root, std::span<const FragmentList> lists)
      : root_(root), lists_(lists) {}

  Status Check();
  // Absent: somebody created the dataset meanwhile; try again.
  Result<std::optional<PublishResult>> Try();

 private:
  Status CheckFiles(const FragmentList& list) const;
  Result<std::optional<Manifest>> LoadLatest() const;
  Status CheckUnpublished(const Fragments& fragments, uint64_t version) const;
  Status CheckHistory(const Manifest& latest) const;

  const Location root_;
  const std::span<const FragmentList> lists_;
  std::map<std::string, std::string> owners_;  // a data file's list
  Fragments fragments_;
  PublishResult result_;
  bool blob_info_ = false;
};

Status Publication::Check() {
  if (lists_.empty()) return {Code::kInvalidArgument, "no fragments to commit"};
  const FragmentList& first = lists_.front();
  for (const FragmentList& list : lists_) {
    ROWFS_RETURN_IF_ERROR(
        CheckFits(list, first.table.schema(), first.data_format, first.name));
    for (const pb::DataFragment& fragment : list.table.fragments()) {
      const std::string& path = fragment.files(0).path();
      const auto [known, added] = owners_.emplace(path, list.name);
      if (!added) {
        return {Code::kInvalidArgument,
                list.name + ": its data/" + path + " is in " + known->second +
                    " too; commit each file of fragments once"};
      }
    }
    fragments_.MergeFrom(list.table.fragments());
    blob_info_ = blob_info_ || list.blob_info;
    result_.rows += list.row_count();
  }
  result_.fragments = static_cast<uint64_t>(fragments_.size());
  for (const FragmentList& list : lists_) {
    ROWFS_RETURN_IF_ERROR(CheckFiles(list));
  }
  return {};
}

Status Publication::CheckFiles(const FragmentList& list) const {
  Sizes sizes(root_);
  for (const FragmentList::File& file : list.files) {
    ROWFS_ASSIGN_OR_RETURN(const std::optional<uint64_t> size,
                           sizes.Find(file.path));
    if (!size) {
      return {Code::kNotFound,
              root_.uri() + ": " + file.path + " of " + list.name +
                  " is missing: it was written to another dataset or removed "
                  "since; write its rows again"};
    }
    if (*size != file.size) {
      return {Code::kCorruption, root_.uri() + ": " + file.path + " of " +
                                     list.name + " has " +
                                     std::to_string(*size) + " bytes, " +
                                     std::to_string(file.size) +
                                     " were written; write its rows again"};
    }
  }
  return {};
}

Result<std::optional<Manifest>> Publication::LoadLatest() const {
  const auto latest = FindLatest(root_);
  if (latest.status().code() == Code::kNotFound)
    return std::optional<Manifest>();
  ROWFS_RETURN_IF_ERROR(latest.status());
  ROWFS_ASSIGN_OR_RETURN(Manifest manifest,
                         ReadManifest(root_.Join("_versions"), latest.value(),
                                      ManifestParts::kMessage));
  return std::optional<Manifest>(std::move(manifest));
}

Status Publication::CheckUnpublished(const Fragments& fragments,
                                     uint64_t version) const {
  for (const pb::DataFragment& fragment : fragments) {
    for (const pb::DataFile& file : fragment.files()) {
      const auto owner = owners_.find(file.path());
      if (owner == owners_.end() || file.has_base_id()) continue;
      return {Code::kAlreadyExists,
              owner->second + ": its rows are in version " +
                  std::to_string(version) + " of " + root_.uri() +
                  " already; it was committed before"};
    }
  }
  return {};
}

// The latest version may have the rows in other files: compaction moves them.
Status Publication::CheckHistory(const Manifest& latest) const {
  ROWFS_RETURN_IF_ERROR(
      CheckUnpublished(latest.message.fragments(), latest.message.version()));
  uint64_t begin = latest.message.version();
  for (const FragmentList& list : lists_) {
    begin = std::min(begin, list.read_version);
  }
  ROWFS_ASSIGN_OR_RETURN(const auto versions, ListVersions(root_));
  for (const VersionEntry& entry : versions) {
    if (entry.name.version <= begin) continue;
    const auto theirs = ReadTransaction(root_, entry.name.version);
    if (!theirs.ok()) continue;  // not one of ours
    const bool append = theirs.value().has_append();
    ROWFS_RETURN_IF_ERROR(
        CheckUnpublished(append ? theirs.value().append().fragments()
                                : theirs.value().overwrite().fragments(),
                         entry.name.version));
  }
  return {};
}

Result<std::optional<PublishResult>> Publication::Try() {
  pb::Transaction transaction;
  CommitOptions options;
  options.data_format = lists_.front().data_format;
  if (blob_info_) options.add_flags = kFlagSixFieldBlobs;
  ROWFS_ASSIGN_OR_RETURN(const std::optional<Manifest> latest, LoadLatest());
  if (latest) {
    const pb::Manifest& message = latest->message;
    ROWFS_RETURN_IF_ERROR(CheckReadable(message).With(root_.uri()));
    ROWFS_RETURN_IF_ERROR(CheckWritable(message).With(root_.uri()));
    ROWFS_RETURN_IF_ERROR(CheckFits(lists_.front(), message.fields(),
                                    message.data_format().version(),
                                    root_.uri()));
    ROWFS_RETURN_IF_ERROR(CheckHistory(*latest));
    result_.version = message.version();
    if (fragments_.empty()) return std::optional(result_);
    transaction.set_read_version(message.version());
    *transaction.mutable_append()->mutable_fragments() = fragments_;
  } else {
    *transaction.mutable_overwrite() = lists_.front().table;
    *transaction.mutable_overwrite()->mutable_fragments() = fragments_;
  }
  const auto committed =
      CommitTransaction(root_, std::move(transaction), options);
  if (!latest && committed.status().code() == Code::kAlreadyExists) {
    return std::optional<PublishResult>();
  }
  ROWFS_RETURN_IF_ERROR(committed.status());
  result_.version = committed.value().version;
  return std::optional(result_);
}

}  // namespace

Result<PublishResult> PublishFragments(const Location& root,
                                       std::span<const FragmentList> lists) {
  Publication publication(root, lists);
  ROWFS_RETURN_IF_ERROR(publication.Check());
  ROWFS_ASSIGN_OR_RETURN(auto result, publication.Try());
  // Once created, a dataset stays.
  if (!result) {
    ROWFS_ASSIGN_OR_RETURN(result, publication.Try());
  }
  if (result) return *result;
  return Status(Code::kUnavailable,
                root.uri() + ": others created and removed it meanwhile");
}

}  // namespace rowfs
