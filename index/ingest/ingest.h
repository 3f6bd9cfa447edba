// From files or any table to a Lance dataset whose media blobs carry blob_info:
// WriteDatasetWithBlobInfo of Lance discussion #8739. Media are demuxed by a
// plugin, never re-encoded; what a plugin refuses keeps its bytes as an
// ordinary blob, and the reason is reported.
//
// One thread per job.
#ifndef ROWFS_INDEX_INGEST_INGEST_H_
#define ROWFS_INDEX_INGEST_INGEST_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "index/dataset/dataset.h"
#include "index/runtime/plugin.h"
#include "storage/object/object_store.h"

namespace rowfs {

// Which plugin takes which column: a plugin's name, "auto" (by content, cell by
// cell) or "none". `config` goes to the plugin.
struct MediaRule {
  std::string column;
  std::string plugin = "auto";
  std::string config;
};

enum class IndexLayout {
  kDescriptor,  // blob_info in the descriptor, payload laid out by the plugin
  kColumn,      // original bytes, index in COLUMN__blob_info
};

struct IngestJob {
  // Read one behind the other; columns are matched by name. Not empty.
  std::vector<std::shared_ptr<Dataset>> inputs;
  Location output;
  std::vector<MediaRule> media;  // blob columns without a rule are "auto"
  IndexLayout layout = IndexLayout::kDescriptor;
  IngestOptions::Verify verify = IngestOptions::Verify::kKeys;
  bool keep_container = false;
  bool append = false;  // to the dataset at `output`, in its layout
  bool stage = false;   // write the files, let somebody else commit them
};

// A blob that stayed as it was.
struct IngestRefusal {
  uint64_t row = 0;  // of the output
  std::string column;
  std::string name;  // the row's file_name, if it has one
  std::string reason;
};

struct IngestProgress {
  uint64_t rows_done = 0;
  uint64_t rows_total = 0;
  uint64_t bytes_done = 0;  // blob bytes read from the inputs
};

struct IngestSummary {
  uint64_t version = 0;   // 0 when staged
  std::string fragments;  // of what was staged: the text of a FragmentList
  uint64_t rows = 0;
  uint64_t blobs = 0;       // not null
  uint64_t with_views = 0;  // carry an index now
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;  // stored payload
  // An ingest that was killed had committed all of it already: only version and
  // rows are known.
  bool was_complete = false;
  std::vector<IngestRefusal> refused;
};

struct IngestObserver {
  std::function<void(const IngestProgress&)> progress;  // may be empty
  std::function<void(const IngestRefusal&)> refused;    // may be empty
};

// Write `job` and commit it as one version; nothing is visible before, and a
// killed job leaves no version behind, or the whole one; run again it completes
// (what it left unreferenced is for `rowfs gc`). kAlreadyExists when there is a
// dataset at job.output (without `append`) that an unfinished run of this job
// did not write, kInvalidArgument for a rule that names no
// blob column or inputs whose columns do not fit, else the errors of reading
// and writing. A blob that cannot be read fails the job.
// A job with `stage` makes no version: PublishFragments takes what it returns.
Result<IngestSummary> WriteDatasetWithBlobInfo(const IngestJob& job,
                                               PluginRegistry& plugins,
                                               const IngestObserver& observer);

}  // namespace rowfs
#endif  // ROWFS_INDEX_INGEST_INGEST_H_
