#include <fcntl.h>
#include <unistd.h>

#include <iostream>

#include "fs/cli/command.h"

namespace {

// A file that a command opens must not get the number of a standard stream that
// the caller closed: what is meant for that stream would go there. Opened the
// wrong way round, so that using one still fails.
void HoldStandardStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    const int flags = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", flags) != fd) return;  // NOLINT: a variadic function
  }
}

}  // namespace

int main(int argc, char** argv) {
  HoldStandardStreams();
  rowfs::Env env{std::cout, std::cerr, isatty(STDERR_FILENO) == 1};
  const std::vector<std::string> words(argv, argv + argc);
  const int code = rowfs::Dispatch(env, words);
  std::cout.flush();
  if (code != rowfs::kExitDone || std::cout) return code;
  // A full disk or a closed pipe must not look like success.
  std::cerr << "rowfs: standard output cannot be written\n";
  return rowfs::kExitFailure;
}
