#include "tests/support/fault_store.h"

namespace rowfs {

class FaultWriter final : public ObjectWriter {
 public:
  FaultWriter(FaultStore& store, std::string path,
              std::unique_ptr<ObjectWriter> writer)
      : store_(store), path_(std::move(path)), writer_(std::move(writer)) {}

  Status Write(ByteSpan bytes) override {
    ROWFS_RETURN_IF_ERROR(status_);
    status_ = writer_->Write(bytes);
    return status_;
  }
  Status Finish() override {
    ROWFS_RETURN_IF_ERROR(status_);
    status_ = store_.Meet(path_);
    if (status_.ok()) status_ = writer_->Finish();
    return status_;
  }

 private:
  FaultStore& store_;
  const std::string path_;
  const std::unique_ptr<ObjectWriter> writer_;
  Status status_;
};

Status FaultStore::Meet(const std::string& path) {
  const uint64_t number = ++requests_;
  if (faults_.delay_ms > 0) clock_.SleepMs(faults_.delay_ms);
  if (number < faults_.fail_from || number > faults_.fail_to) return {};
  fired_ = true;
  return {faults_.fail_code, Uri(path) + ": injected fault"};
}

Result<ObjectMeta> FaultStore::Stat(const std::string& path) {
  ROWFS_RETURN_IF_ERROR(Meet(path));
  return store_->Stat(path);
}

Status FaultStore::ReadAt(const ObjectRef& object, uint64_t offset,
                          MutableByteSpan out) {
  ROWFS_RETURN_IF_ERROR(Meet(object.path));
  if (faults_.changes_at != 0 && requests_ >= faults_.changes_at) {
    fired_ = true;
    return {Code::kChanged, Uri(object.path) + ": has changed"};
  }
  if (offset + out.size() > faults_.ends_at) {
    fired_ = true;
    return {Code::kOutOfRange, Uri(object.path) + ": ends early"};
  }
  return store_->ReadAt(object, offset, out);
}

Result<ObjectStore::Tail> FaultStore::ReadTail(const std::string& path,
                                               uint64_t wanted) {
  ROWFS_RETURN_IF_ERROR(Meet(path));
  return store_->ReadTail(path, wanted);
}

Result<std::vector<ListEntry>> FaultStore::List(const std::string& directory) {
  ROWFS_RETURN_IF_ERROR(Meet(directory));
  return store_->List(directory);
}

Result<std::unique_ptr<ObjectWriter>> FaultStore::Create(
    const std::string& path, PutMode mode) {
  ROWFS_RETURN_IF_ERROR(Meet(path));
  ROWFS_ASSIGN_OR_RETURN(auto writer, store_->Create(path, mode));
  return std::unique_ptr<ObjectWriter>(
      std::make_unique<FaultWriter>(*this, path, std::move(writer)));
}

Status FaultStore::Remove(const std::string& path) {
  ROWFS_RETURN_IF_ERROR(Meet(path));
  return store_->Remove(path);
}

}  // namespace rowfs
