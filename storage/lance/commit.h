// Publishing a new version of a dataset: put-if-absent of a manifest, rebased
// over what others committed in the meantime where the conflict matrix allows
// (facts: commit protocol). Every operation is a pb::Transaction; data files,
// sidecars and deletion files it names must be durable before.
//
// Functions without shared state; thread-safe. Any number of processes may
// commit to one dataset at the same time.
#ifndef ROWFS_STORAGE_LANCE_COMMIT_H_
#define ROWFS_STORAGE_LANCE_COMMIT_H_

#include <cstdint>
#include <string>

#include "storage/base/clock.h"
#include "storage/lance/manifest.h"
#include "storage/lance/transaction.pb.h"

namespace rowfs {

struct CommitOptions {
  // For a dataset that is created or overwritten: the file version of its data
  // files, "2.2", and whether its rows get stable ids.
  std::string data_format = "2.2";
  bool stable_row_ids = false;
  // Set in both words of the new manifest, for good: kFlagSixFieldBlobs.
  uint64_t add_flags = 0;
  uint32_t attempts_max = 20;
  Clock* clock = nullptr;  // timestamps and back-off; null: the machine's
};

struct CommitResult {
  uint64_t version = 0;
  // The new version's manifest; fragments have their ids.
  pb::Manifest manifest;
};

// Commit `transaction` to the dataset at `root` (the folder above _versions; a
// branch's own folder for a branch). `transaction.read_version` is the version
// it was computed from; 0 with an Overwrite creates the dataset. The uuid is
// made here when empty. What operations need:
//   Overwrite          schema, fragments without ids, initial_bases
//   Append             fragments without ids
//   Delete             updated fragments, removed ids
//   Rewrite            groups; new fragments without ids take the old ones'
//   place
// Other operations are kInvalidArgument. Fragments without ids get the next
// ones, and stable row ids where the dataset has them and they bring none.
//
// kAlreadyExists when somebody created or replaced the dataset first: the
// change has no meaning any more. kChanged when somebody changed what this was
// computed from, or a version in between cannot be judged: run the operation
// again on the latest version. kUnsupported when the table has flags we do not
// write. kUnavailable after attempts_max lost races. After any error nothing of
// it is visible.
// Costs: one listing, the latest manifest, one read a version committed since,
// three writes.
Result<CommitResult> CommitTransaction(const Location& root,
                                       pb::Transaction transaction,
                                       const CommitOptions& options);

// What version `version`, or the one `manifest` (read with kAll) describes, was
// made by. kNotFound when it does not say, kCorruption when that is damaged.
// At most three requests.
Result<pb::Transaction> ReadTransaction(const Location& root, uint64_t version);
Result<pb::Transaction> ReadTransaction(const Location& root,
                                        const Manifest& manifest);
// Its name in _transactions.
std::string TransactionFileName(const pb::Transaction& transaction);

// How our versions name their writer.
inline constexpr const char* kWriterLibrary = "rowfs";
inline constexpr const char* kWriterVersion = "0.1.0";

// A random v4 UUID, as text, and the stem of a new data file: 24 binary digits
// that spread object-store prefixes, then 26 hex digits.
std::string MakeUuid();
std::string MakeDataFileStem();

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_COMMIT_H_
