// A command of the program, run in this process, with what it printed.
//
// One thread.
#ifndef ROWFS_TESTS_SUPPORT_RUN_COMMAND_H_
#define ROWFS_TESTS_SUPPORT_RUN_COMMAND_H_

#include <sstream>
#include <string>
#include <vector>

#include "fs/cli/command.h"

namespace rowfs {

struct CommandResult {
  int code = 0;
  std::string out;
  std::string err;
};

inline CommandResult RunRowfs(std::vector<std::string> words) {
  words.insert(words.begin(), "rowfs");
  std::ostringstream out;
  std::ostringstream err;
  Env env{out, err, false};
  CommandResult result;
  result.code = Dispatch(env, words);
  result.out = out.str();
  result.err = err.str();
  return result;
}

}  // namespace rowfs
#endif  // ROWFS_TESTS_SUPPORT_RUN_COMMAND_H_
