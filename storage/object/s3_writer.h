// One object on its way into a bucket: a single PUT when it is small, a
// multipart upload when it is not. An abandoned upload is aborted; that of a
// killed process stays until AbortUploads finds it.
//
// One thread.
#ifndef ROWFS_STORAGE_OBJECT_S3_WRITER_H_
#define ROWFS_STORAGE_OBJECT_S3_WRITER_H_

#include <string>
#include <vector>

#include "storage/object/s3_store.h"

namespace rowfs {

class S3Writer final : public ObjectWriter {
 public:
  // `store` outlives it.
  S3Writer(S3Store& store, std::string key, PutMode mode)
      : store_(store), key_(std::move(key)), mode_(mode) {}
  ~S3Writer() override;

  Status Write(ByteSpan bytes) override;
  Status Finish() override;

 private:
  uint64_t PartBytes() const;
  Status Begin();
  Status SendPart();
  Status Complete();
  Status CompleteIfAbsent();
  // The request that makes one object of the parts.
  Status Join();
  Status PutWhole();
  std::string TargetWith(const std::string& query) const;

  S3Store& store_;
  const std::string key_;
  const PutMode mode_;
  Bytes buffer_;
  std::string upload_id_;  // empty: nothing was sent yet
  std::string mark_;       // what this writer calls itself in the object
  std::vector<std::string> etags_;
  Status status_;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_OBJECT_S3_WRITER_H_
