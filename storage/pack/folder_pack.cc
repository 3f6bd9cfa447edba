#include "storage/pack/folder_pack.h"

#include <algorithm>

#include "storage/base/hash.h"
#include "storage/pack/name_finder.h"

namespace rowfs {
namespace {

constexpr size_t kFilesMax = 10'000'000;
constexpr size_t kDepthMax = 64;

struct File {
  std::string path;
  ObjectMeta meta;
};

Status ListFiles(const Location& root, const std::string& below, size_t depth,
                 std::vector<File>* files) {
  if (depth > kDepthMax) {
    return {Code::kResourceExhausted, root.uri() +
                                          ": folders nested deeper than " +
                                          std::to_string(kDepthMax)};
  }
  const Location here = below.empty() ? root : root.Join(below);
  ROWFS_ASSIGN_OR_RETURN(const std::vector<ListEntry> entries,
                         here.store->List(here.path));
  for (const ListEntry& entry : entries) {
    if (entry.name.starts_with('.')) continue;
    const std::string path =
        below.empty() ? entry.name : below + "/" + entry.name;
    if (entry.is_directory) {
      ROWFS_RETURN_IF_ERROR(ListFiles(root, path, depth + 1, files));
    } else if (files->size() < kFilesMax) {
      files->push_back({path, entry.meta});
    } else {
      return {Code::kResourceExhausted, root.uri() + ": too many files"};
    }
  }
  return {};
}

class FolderPack final : public Pack {
 public:
  FolderPack(Location root, std::vector<File> files, ReadContext context)
      : root_(std::move(root)), context_(context) {
    MemberTableBuilder builder(1);
    Sha256Stream listing;
    for (const File& file : files) {
      Member member;
      member.name = file.path;
      member.size = file.meta.size;
      member.stored = file.meta.size;
      builder.Add(member);
      metas_.push_back(file.meta);
      listing.Update(AsBytes(file.path + '\0' + file.meta.etag + '\0' +
                             std::to_string(file.meta.size) + '\n'));
    }
    members_ = builder.Finish();
    meta_.etag = ToHex(listing.Finish());
  }

  std::string_view kind() const override { return "folder"; }
  const Location& location() const override { return root_; }
  const ObjectMeta& meta() const override { return meta_; }
  const MemberTable& members() const override { return members_; }
  std::string_view damage() const override { return ""; }
  Result<uint64_t> Find(std::string_view name) const override {
    return finder_.Find(members_, name, root_.uri());
  }
  Result<BlobSource> OpenMember(uint64_t i) const override {
    BlobSource source;
    source.reader = ObjectReader::Make(root_.Join(members_.Get(i).name),
                                       metas_[i], context_);
    source.range = {0, metas_[i].size};
    return source;
  }
  Status ReadMember(uint64_t i, uint64_t offset,
                    MutableByteSpan out) const override {
    ROWFS_ASSIGN_OR_RETURN(const BlobSource source, OpenMember(i));
    return source.reader->ReadAt(offset, out, ReadKind::kData);
  }

 private:
  const Location root_;
  const ReadContext context_;
  ObjectMeta meta_;
  MemberTable members_;
  std::vector<ObjectMeta> metas_;
  NameFinder finder_;
};

}  // namespace

Result<std::shared_ptr<const Pack>> OpenFolderPack(const Location& location,
                                                   const OpenContext& context) {
  std::vector<File> files;
  ROWFS_RETURN_IF_ERROR(ListFiles(location, "", 0, &files));
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.path < b.path; });
  return std::shared_ptr<const Pack>(
      std::make_shared<FolderPack>(location, std::move(files), context.read));
}

}  // namespace rowfs
