// rowfs-test-daemon MOUNTPOINT [OPTION...]: mounts the sample dataset in the
// background; returns when it is usable, like `rowfs mount`.
#include <iostream>
#include <string>
#include <vector>

#include "fs/fuse/daemon.h"
#include "fs/fuse/fuse_session.h"
#include "tests/support/tree_driver.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  rowfs::Daemon::Outcome outcome;
  auto daemon = rowfs::Daemon::Start(&outcome);
  if (!daemon.ok()) return 1;
  if (!daemon.value()) {
    if (!outcome.message.empty()) std::cerr << outcome.message << "\n";
    return outcome.exit_code;
  }
  const std::vector<std::string> words(argv + 2, argv + argc);
  rowfs::SampleOptions sample_options = rowfs::ParseSampleOptions(words);
  rowfs::Logger log(rowfs::LogLevel::kInfo, [](std::string_view) {});
  sample_options.tree.log = &log;
  rowfs::SampleTree sample(sample_options);
  rowfs::MountOptions options;
  options.mountpoint = argv[1];
  options.source = "sample";
  options.log = &log;
  auto session = rowfs::FuseSession::Mount(sample.tree(), options);
  if (!session.ok()) {
    daemon.value()->ReportFailure(1, session.status().message());
    return 1;
  }
  const rowfs::Status status =
      session.value()->Run([&daemon] { daemon.value()->ReportReady(); });
  return status.ok() ? 0 : 1;
}
