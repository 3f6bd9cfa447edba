// The command line of the blobpack tool, parsed and explained the way Python's
// argparse does it: which words are options, abbreviations, what is an error in
// which words, and the layout of --help. Scripts written for the tool rely on
// all of it.
//
// Pure but for $COLUMNS; one thread.
#ifndef ROWFS_FS_CLI_BLOBPACK_ARGS_H_
#define ROWFS_FS_CLI_BLOBPACK_ARGS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rowfs {

struct BlobpackOption {
  enum class Kind { kFlag, kValue, kInteger, kAppend, kAppendMany, kHelp };

  std::string_view name;  // "--ref-base"
  Kind kind;
  std::string_view metavar;
  std::string_view help;
};

struct BlobpackVerb {
  std::string_view name;
  std::string_view summary;
  std::span<const BlobpackOption> options;  // behind -h
  // Name and help of each operand.
  std::span<const std::pair<std::string_view, std::string_view>> operands;
};

std::span<const BlobpackVerb> BlobpackVerbs();

struct BlobpackArgs {
  std::string_view verb;
  std::vector<std::string> operands;
  // Values by option; of kAppendMany one list for each time it is given.
  std::map<std::string_view, std::vector<std::vector<std::string>>> values;

  bool Has(std::string_view option) const { return values.contains(option); }
  // The last value given.
  std::string Get(std::string_view option, std::string_view otherwise) const;
  // Of kAppend: every value.
  std::vector<std::string> GetAll(std::string_view option) const;
};

// What a parse leads to: either `args`, or a text to print and an exit code.
struct BlobpackParse {
  bool done = false;  // print and exit
  int code = 0;
  std::string out;
  std::string err;
  BlobpackArgs args;
};

// `words`: what stands behind "blobpack".
BlobpackParse ParseBlobpack(std::span<const std::string> words);

// The texts of --help and of an error; `verb` null: of the tool.
std::string BlobpackHelp(const BlobpackVerb* verb);
std::string BlobpackUsage(const BlobpackVerb* verb);

// A whole number as Python's int() takes it, clamped to what fits. Absent when
// it is none.
std::optional<int64_t> ParsePythonInt(std::string_view text);

}  // namespace rowfs
#endif  // ROWFS_FS_CLI_BLOBPACK_ARGS_H_
