// A small object in the folder of a dataset that is being written for the first
// time. It says which ingest that is, so that the same one, run again after it
// was killed, completes it; and that what lies there is no dataset yet.
//
// Pure apart from the object; thread-safe.
#ifndef ROWFS_INDEX_INGEST_INGEST_MARKER_H_
#define ROWFS_INDEX_INGEST_INGEST_MARKER_H_

#include <string>

#include "index/ingest/ingest.h"

namespace rowfs {

// Equal for equal inputs (their fingerprints) and options.
std::string IngestKey(const IngestJob& job);

// Whether an ingest with this key began at `output` and did not end.
bool HasIngestMarker(const Location& output, const std::string& key);
Status PutIngestMarker(const Location& output, const std::string& key);
// Where there is none, too.
Status RemoveIngestMarker(const Location& output);

}  // namespace rowfs
#endif  // ROWFS_INDEX_INGEST_INGEST_MARKER_H_
