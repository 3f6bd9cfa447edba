// A server program as a child process that prints its port first. It ends with
// the object, or with the test program.
//
// One thread.
#ifndef ROWFS_TESTS_SUPPORT_SERVER_PROCESS_H_
#define ROWFS_TESTS_SUPPORT_SERVER_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace rowfs {

class ServerProcess {
 public:
  explicit ServerProcess(const std::vector<std::string>& arguments);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // 0 when it could not be started.
  int port() const { return port_; }
  std::string url() const {
    return "http://127.0.0.1:" + std::to_string(port_);
  }

 private:
  pid_t pid_ = -1;
  int stdin_ = -1;
  int port_ = 0;
};

// ROWFS_PYTHON, the interpreter that has the oracle packages, else "python3".
std::string OraclePython();

}  // namespace rowfs
#endif  // ROWFS_TESTS_SUPPORT_SERVER_PROCESS_H_
