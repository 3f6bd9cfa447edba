#include "fs/fuse/daemon.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace rowfs {
namespace {

// Reads until the other end closes.
std::string ReadAll(int fd) {
  std::string text;
  char buffer[512];
  for (;;) {
    const ssize_t size = read(fd, buffer, sizeof(buffer));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(buffer, static_cast<size_t>(size));
  }
}

std::string HowItEnded(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    return "ended by signal " + std::to_string(WTERMSIG(status)) +
           " before the mount was ready";
  }
  return "ended before the mount was ready";
}

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::Start(Outcome* outcome) {
  int ends[2] = {};
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return Status(Code::kInternal,
                  "pipe: " + std::generic_category().message(errno));
  }
  // Or both would write what is buffered.
  fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) {
    const int error = errno;
    close(ends[0]);
    close(ends[1]);
    return Status(Code::kInternal,
                  "fork: " + std::generic_category().message(error));
  }
  if (child == 0) {
    close(ends[0]);
    setsid();
    return std::unique_ptr<Daemon>(new Daemon(ends[1]));
  }
  close(ends[1]);
  const std::string report = ReadAll(ends[0]);
  close(ends[0]);
  if (report.empty()) {
    *outcome = {1, HowItEnded(child)};
  } else {
    *outcome = {static_cast<unsigned char>(report[0]), report.substr(1)};
  }
  return std::unique_ptr<Daemon>();
}

Daemon::~Daemon() {
  if (pipe_fd_ >= 0) ReportFailure(1, "ended before the mount was ready");
}

void Daemon::ReportReady() {
  if (chdir("/") != 0) {
    // The mount works from anywhere.
  }
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (null >= 0) dup2(null, fd);
  }
  if (null > STDERR_FILENO) close(null);
  ReportFailure(0, "");
}

void Daemon::ReportFailure(int exit_code, std::string_view message) {
  if (pipe_fd_ < 0) return;
  std::string report(1, static_cast<char>(exit_code));
  report += message;
  // The parent may have been killed; then nobody is there to be told.
  if (write(pipe_fd_, report.data(), report.size()) < 0) {
  }
  close(pipe_fd_);
  pipe_fd_ = -1;
}

}  // namespace rowfs
