#include "tests/support/memory_store.h"

#include <algorithm>
#include <cstring>

namespace rowfs {

class MemoryWriter final : public ObjectWriter {
 public:
  MemoryWriter(MemoryStore& store, std::string path, PutMode mode)
      : store_(store), path_(std::move(path)), mode_(mode) {}

  Status Write(ByteSpan bytes) override {
    ROWFS_RETURN_IF_ERROR(status_);
    AppendBytes(&bytes_, bytes);
    return {};
  }
  Status Finish() override {
    ROWFS_RETURN_IF_ERROR(status_);
    status_ = store_.Publish(path_, bytes_, mode_);
    if (!status_.ok()) return status_;
    status_ = Status(Code::kInternal, path_ + ": written to after Finish");
    return {};
  }

 private:
  MemoryStore& store_;
  const std::string path_;
  const PutMode mode_;
  Bytes bytes_;
  Status status_;
};

ObjectMeta MemoryStore::MetaOf(const Object& object) {
  ObjectMeta meta;
  meta.size = object.bytes.size();
  meta.etag = "v" + std::to_string(object.version);
  meta.mtime_ns = static_cast<int64_t>(object.version);
  return meta;
}

void MemoryStore::Put(const std::string& path, ByteSpan bytes) {
  const MutexLock lock(mu_);
  objects_[path] = {Bytes(bytes.begin(), bytes.end()), ++versions_};
}

std::vector<MemoryStore::Request> MemoryStore::TakeLog() {
  const MutexLock lock(mu_);
  return std::exchange(log_, {});
}

Result<const MemoryStore::Object*> MemoryStore::Find(const std::string& path) {
  const auto found = objects_.find(path);
  if (found != objects_.end()) return &found->second;
  return Status(Code::kNotFound, Uri(path) + ": no such object");
}

Result<ObjectMeta> MemoryStore::Stat(const std::string& path) {
  const MutexLock lock(mu_);
  log_.push_back({"Stat", path, {}});
  ROWFS_ASSIGN_OR_RETURN(const Object* object, Find(path));
  return MetaOf(*object);
}

Status MemoryStore::ReadAt(const ObjectRef& object, uint64_t offset,
                           MutableByteSpan out) {
  const MutexLock lock(mu_);
  log_.push_back({"ReadAt", object.path, {offset, offset + out.size()}});
  ROWFS_ASSIGN_OR_RETURN(const Object* found, Find(object.path));
  if (!object.etag.empty() && object.etag != MetaOf(*found).etag) {
    return {Code::kChanged, Uri(object.path) + ": has changed"};
  }
  const Bytes& bytes = found->bytes;
  if (offset > bytes.size() || out.size() > bytes.size() - offset) {
    return {Code::kOutOfRange,
            Uri(object.path) + ": ends at " + std::to_string(bytes.size())};
  }
  std::memcpy(out.data(), bytes.data() + offset, out.size());
  return {};
}

Result<ObjectStore::Tail> MemoryStore::ReadTail(const std::string& path,
                                                uint64_t wanted) {
  const MutexLock lock(mu_);
  const auto object = Find(path);
  const uint64_t size = object.ok() ? object.value()->bytes.size() : 0;
  const uint64_t begin = size - std::min(size, wanted);
  log_.push_back({"ReadTail", path, {begin, size}});
  if (!object.ok()) return object.status();
  const Bytes& bytes = object.value()->bytes;
  return Tail{MetaOf(*object.value()),
              Bytes(bytes.begin() + static_cast<int64_t>(begin), bytes.end())};
}

Result<std::vector<ListEntry>> MemoryStore::List(const std::string& directory) {
  const MutexLock lock(mu_);
  log_.push_back({"List", directory, {}});
  if (!capabilities_.list) {
    return Status(Code::kUnsupported, Uri(directory) + ": cannot be listed");
  }
  const std::string prefix =
      directory.ends_with('/') ? directory : directory + "/";
  std::map<std::string, ListEntry> entries;
  for (auto at = objects_.lower_bound(prefix);
       at != objects_.end() && at->first.starts_with(prefix); ++at) {
    const std::string rest = at->first.substr(prefix.size());
    const size_t slash = rest.find('/');
    const std::string name = rest.substr(0, slash);
    ListEntry entry{name, slash != std::string::npos, {}};
    if (!entry.is_directory) entry.meta = MetaOf(at->second);
    entries.emplace(name, std::move(entry));
  }
  if (entries.empty()) {
    return Status(Code::kNotFound, Uri(directory) + ": no such directory");
  }
  std::vector<ListEntry> sorted;
  for (auto& [name, entry] : entries) sorted.push_back(std::move(entry));
  return sorted;
}

Result<std::unique_ptr<ObjectWriter>> MemoryStore::Create(
    const std::string& path, PutMode mode) {
  if (!capabilities_.write) {
    return Status(Code::kUnsupported, Uri(path) + ": cannot be written");
  }
  return std::unique_ptr<ObjectWriter>(
      std::make_unique<MemoryWriter>(*this, path, mode));
}

Status MemoryStore::Publish(const std::string& path, ByteSpan bytes,
                            PutMode mode) {
  const MutexLock lock(mu_);
  log_.push_back({"Create", path, {0, bytes.size()}});
  if (mode == PutMode::kIfAbsent && objects_.contains(path)) {
    return {Code::kAlreadyExists, Uri(path) + ": is there already"};
  }
  objects_[path] = {Bytes(bytes.begin(), bytes.end()), ++versions_};
  return {};
}

Status MemoryStore::Remove(const std::string& path) {
  const MutexLock lock(mu_);
  log_.push_back({"Remove", path, {}});
  objects_.erase(path);
  return {};
}

}  // namespace rowfs
