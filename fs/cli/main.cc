#include <unistd.h>

#include <iostream>

#include "fs/cli/command.h"

int main(int argc, char** argv) {
  rowfs::Env env{std::cout, std::cerr, isatty(STDERR_FILENO) == 1};
  const std::vector<std::string> words(argv, argv + argc);
  const int code = rowfs::Dispatch(env, words);
  std::cout.flush();
  // A full disk or a closed pipe must not look like success.
  return code == 0 && !std::cout ? rowfs::kExitFailure : code;
}
