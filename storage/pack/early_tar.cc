#include "storage/pack/early_tar.h"

#include <algorithm>

#include "storage/pack/index_file.h"
#include "storage/pack/member_rows.h"
#include "storage/pack/pack_source.h"
#include "storage/pack/shard_list.h"
#include "storage/pack/tar_format.h"
#include "storage/pack/tar_pack.h"

namespace rowfs {

EarlyTar::EarlyTar(const Location& location, const OpenContext& context,
                   std::shared_ptr<const ObjectReader> shard)
    : location_(location),
      context_(context),
      shard_(std::move(shard)),
      fingerprint_(WebDatasetFingerprint(location, shard_->meta())),
      samples_(kTarBlock) {}

std::unique_ptr<EarlyTar> EarlyTar::Begin(const Location& location,
                                          const OpenContext& context,
                                          uint64_t bytes_min) {
  if (!location.path.ends_with(".tar")) return nullptr;
  // What is wrong is for the usual way of opening to say.
  const Result<ObjectMeta> meta = location.store->Stat(location.path);
  if (!meta.ok() || meta.value().size < std::max(bytes_min, kTarBlock) ||
      meta.value().etag.empty()) {
    return nullptr;
  }
  const std::string key = IndexKey(kTarIndexKind, location, meta.value());
  if (LoadIndex(context.cache_directory, key)) return nullptr;
  Bytes head(kTarBlock);
  const Status read =
      location.store->ReadAt({location.path, meta.value().etag}, 0, head);
  if (!read.ok() || IsZeroBlock(head) || !ReadTarHeader(head).ok()) {
    return nullptr;
  }
  return std::unique_ptr<EarlyTar>(
      new EarlyTar(location, context,
                   ObjectReader::Make(location, meta.value(), context.read)));
}

Status EarlyTar::Add(const Member& member, uint64_t bytes) {
  const MutexLock lock(mu_);
  if (cancelled_) return {Code::kCancelled, "nobody wants it any more"};
  bytes_ = bytes;
  if (!IsSampleMember(member.name)) return {};
  const MemberKey name = SplitMemberName(member.name);
  const bool fresh = first_of_row_.empty() || name.key != key_;
  if (fresh) {
    first_of_row_.push_back(static_cast<uint32_t>(samples_.table().size()));
    key_ = name.key;
    seen_.clear();
  }
  std::string suffix = SampleSuffix(name.suffix);
  const uint32_t repeat = seen_[suffix]++;
  columns_.try_emplace({std::move(suffix), repeat}, columns_.size());
  samples_.Add(member);
  if (fresh) more_.NotifyAll();
  return {};
}

Result<std::unique_ptr<TableSource>> EarlyTar::Finish() {
  auto table = OpenWebDataset(location_, context_,
                              [this](const Member& member, uint64_t bytes) {
                                return Add(member, bytes);
                              });
  const MutexLock lock(mu_);
  ended_ = true;
  more_.NotifyAll();
  return table;
}

void EarlyTar::Cancel() {
  const MutexLock lock(mu_);
  cancelled_ = ended_ = true;
  more_.NotifyAll();
}

EarlyRows::Found EarlyTar::FoundLocked() const {
  // The last one may go on.
  return {first_of_row_.empty() ? 0 : first_of_row_.size() - 1, bytes_,
          shard_->size(), ended_};
}

EarlyRows::Found EarlyTar::found() const {
  const MutexLock lock(mu_);
  return FoundLocked();
}

EarlyRows::Found EarlyTar::WaitForMore(uint64_t rows) const {
  const MutexLock lock(mu_);
  while (FoundLocked().rows <= rows && !ended_) more_.Wait(mu_);
  return FoundLocked();
}

std::optional<FileRows::FileRow> EarlyTar::FilesOf(uint64_t row) const {
  const MutexLock lock(mu_);
  if (row >= FoundLocked().rows) return {};
  const bool remote = shard_->location().store->capabilities().remote;
  FileRows::FileRow files;
  std::map<std::string, uint32_t> seen;
  for (uint64_t i = first_of_row_[row]; i < first_of_row_[row + 1]; ++i) {
    const Member member = samples_.table().Get(i);
    const MemberKey name = SplitMemberName(member.name);
    const std::string suffix = SampleSuffix(name.suffix);
    // What could have listed views, or be named after what is in it, is told
    // by the whole table.
    if (member.fault != MemberFault::kNone ||
        member.coding != MemberCoding::kStored ||
        !HasPlainFiles(suffix, remote)) {
      return {};
    }
    if (files.key.empty()) files.key = name.key;
    const std::string stem = files.key.substr(files.key.rfind('/') + 1);
    const size_t column = columns_.at({suffix, seen[suffix]++});
    files.files.push_back({stem + "." + suffix, member.size, column + 1, i});
  }
  std::ranges::sort(files.files, {}, &FileRows::File::field);
  return files;
}

Result<BlobSource> EarlyTar::OpenFile(const FileRows::File& file) const {
  BlobSource source;
  source.reader = shard_;
  const MutexLock lock(mu_);
  if (file.place >= samples_.table().size()) {
    return Status(Code::kNotFound, "no such member");
  }
  const Member member = samples_.table().Get(file.place);
  source.range = {member.offset, member.offset + member.size};
  return source;
}

}  // namespace rowfs
