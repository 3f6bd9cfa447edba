// One blob on its way into a dataset: through a plugin where one takes it, byte
// for byte where not.
//
// One thread.
#ifndef ROWFS_INDEX_INGEST_BLOB_INGEST_H_
#define ROWFS_INDEX_INGEST_BLOB_INGEST_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "index/ingest/ingest.h"
#include "storage/lance/dataset_writer.h"

namespace rowfs {

struct StoredBlob {
  BlobCell cell;
  // What the index says; in the column layout it goes to the index column.
  std::optional<BlobInfo> info;
  std::string refusal;  // why there is no index; empty when there is or none
                        // was wanted
  uint64_t bytes_out = 0;
};

class BlobIngest {
 public:
  // `field` is the blob column's index in the writer's schema. Everything
  // outlives this.
  BlobIngest(const IngestJob& job, PluginRegistry& plugins,
             LanceDatasetWriter& writer, size_t field, MediaRule rule)
      : job_(job),
        plugins_(plugins),
        writer_(writer),
        field_(field),
        rule_(std::move(rule)) {}

  // Store one blob; `file_name` helps a plugin to recognise it and may be
  // empty.
  Result<StoredBlob> Store(const Blob& blob, const std::string& file_name);

 private:
  // Those to try, in order.
  Result<std::vector<Plugin*>> ChoosePlugins(const Blob& blob,
                                             const std::string& file_name);
  Result<StoredBlob> Copy(const Blob& blob, std::optional<BlobInfo> info);
  Result<StoredBlob> Demux(const Blob& blob, Plugin& plugin,
                           const std::string& file_name);
  Result<StoredBlob> Index(const Blob& blob, Plugin& plugin,
                           const std::string& file_name);
  IngestInput InputOf(const Blob& blob, const std::string& file_name) const;

  const IngestJob& job_;
  PluginRegistry& plugins_;
  LanceDatasetWriter& writer_;
  const size_t field_;
  const MediaRule rule_;
};

}  // namespace rowfs
#endif  // ROWFS_INDEX_INGEST_BLOB_INGEST_H_
