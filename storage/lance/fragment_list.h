// Fragments that are written and that no version has yet, as a file that says
// all that publishing them takes: a JSON object with the protobuf messages of a
// transaction inside, and a digest over the rest of it.
//
// Values and pure functions; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_FRAGMENT_LIST_H_
#define ROWFS_STORAGE_LANCE_FRAGMENT_LIST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"
#include "storage/lance/transaction.pb.h"

namespace rowfs {

struct FragmentList {
  struct File {
    std::string path;  // below the dataset
    uint64_t size = 0;
  };

  std::string name;  // whose list it is, in errors
  // Fields as a manifest stores them, fragments without ids.
  lance::pb::Transaction::Overwrite table;
  std::string data_format;    // "2.2"
  bool blob_info = false;     // some cell carries it
  uint64_t read_version = 0;  // the newest when writing began; 0: none
  std::vector<File> files;    // data files and sidecars

  uint64_t row_count() const;
};

std::string EncodeFragmentList(const FragmentList& list);
// kCorruption, naming `name`, for anything that EncodeFragmentList did not
// write, parts of it included; kUnsupported for that of a later release.
Result<FragmentList> DecodeFragmentList(std::string_view text,
                                        std::string_view name);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_FRAGMENT_LIST_H_
