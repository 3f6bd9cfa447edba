// A command of the program: what it takes, its help, and the function that does
// it. Commands touch no global state, so tests run them in this process.
//
// One thread.
#ifndef ROWFS_FS_CLI_COMMAND_H_
#define ROWFS_FS_CLI_COMMAND_H_

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"

namespace rowfs {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

// What a command may use of the world.
struct Env {
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;  // stderr is one: progress bars make sense
};

struct Flag {
  std::string_view name;  // with the dashes: "--json"
  // Empty: takes no value. Words in lower case ("flat|sharded|auto"): takes one
  // of them. A name of a count ("N", "BYTES" ...): takes a whole number.
  std::string_view metavar;
  std::string_view help;
  bool repeatable = false;
};

class Args {
 public:
  bool Has(std::string_view flag) const { return values_.contains(flag); }
  // The last value given; empty when the flag is not there.
  std::string Get(std::string_view flag) const;
  std::vector<std::string> GetAll(std::string_view flag) const;
  // The same without what was given for `flag`.
  Args Without(std::string_view flag) const;
  // kInvalidArgument, naming the flag, for anything but a whole number.
  Result<std::optional<uint64_t>> GetUint(std::string_view flag) const;

  std::vector<std::string> operands;

 private:
  friend Result<Args> ParseArgs(std::span<const Flag>,
                                std::span<const std::string>);
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

// The parts of `text` between separators; one empty part for an empty text.
std::vector<std::string_view> Split(std::string_view text, char separator);

// Options may stand anywhere; "--" ends them; "--flag=value" and "--flag
// value". kInvalidArgument names an unknown or incomplete option and the
// nearest known one, or a value that the option's metavar rules out.
Result<Args> ParseArgs(std::span<const Flag> flags,
                       std::span<const std::string> words);

struct Command {
  std::string_view name;
  std::string_view operands;  // "SOURCE MOUNTPOINT"
  std::string_view summary;   // one line
  std::string_view details;   // paragraphs and examples for --help
  std::span<const Flag> flags;
  size_t operands_min = 0;
  size_t operands_max = 0;
  int (*run)(Env&, const Args&);
};

// Print "rowfs: message" as one line to env.err. Returns the exit code that
// fits: kExitUsage for kInvalidArgument about an option ("--rows ..."), else
// kExitFailure.
int Fail(Env& env, const Status& status);

// Run the command that `words` name (words[0] is the program's name, which may
// be "blobpack" or "mount.rowfs"). Catches what libraries throw.
int Dispatch(Env& env, std::span<const std::string> words);

// Every command, in the order of `rowfs --help`.
std::span<const Command> Commands();

}  // namespace rowfs
#endif  // ROWFS_FS_CLI_COMMAND_H_
