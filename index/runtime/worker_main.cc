// rowfs-worker PLUGIN MEMORY_BYTES MOUNT: one plugin in a cage, started by
// PluginWorker with the descriptors of protocol.h. Not for people.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "index/runtime/cage.h"
#include "index/runtime/worker_server.h"

namespace rowfs {
namespace {

Status Say(WorkerFrame kind, WorkerMessage message) {
  message.kind = kind;
  return SendFrame(kWorkerSocketFd, EncodeWorkerMessage(message));
}

// Sends why it failed instead when it fails.
Result<std::unique_ptr<PluginHost>> LoadPlugin(const std::string& path) {
  auto library = PluginLibrary::Open(path);
  WorkerMessage hello;
  hello.status = library.status();
  if (!library.ok()) {
    ROWFS_RETURN_IF_ERROR(Say(WorkerFrame::kHello, hello));
    return library.status();
  }
  auto host = std::make_unique<PluginHost>(std::move(library).value());
  const std::array<char, 4> magic = host->magic();
  hello.name = host->name();
  hello.version = host->version();
  hello.magic.assign(magic.data(), magic.size());
  ROWFS_RETURN_IF_ERROR(Say(WorkerFrame::kHello, hello));
  return host;
}

Status Confine(PluginHost* host, const CageReport& report) {
  if (const Status s = host->WarmUp(); !s.ok()) {
    // Not its own code: that could be the one that asks for a new start.
    return Status(Code::kInternal, std::string(s.message()));
  }
  ROWFS_RETURN_IF_ERROR(DropPrivileges(report));
  return FilterSystemCalls();
}

Status RunWorker(const std::string& path, const CageOptions& options) {
  const CageReport report = EnterNamespaces(options, [](pid_t pid) {
    WorkerMessage message;
    message.pid = static_cast<uint32_t>(pid);
    // When the parent is gone the new process will notice itself.
    (void)Say(WorkerFrame::kMoved, message);
  });
  ROWFS_ASSIGN_OR_RETURN(const auto host, LoadPlugin(path));
  auto server = WorkerServer::Open(host.get(), kWorkerSocketFd, kWorkerInputFd,
                                   kWorkerOutputFd);
  WorkerMessage ready;
  ready.name = report.parts;
  ready.status = server.ok() ? Confine(host.get(), report) : server.status();
  ROWFS_RETURN_IF_ERROR(Say(WorkerFrame::kReady, ready));
  ROWFS_RETURN_IF_ERROR(ready.status);
  ReportOutOfMemory();
  return server.value().Serve();
}

}  // namespace
}  // namespace rowfs

int main(int argc, char** argv) {
  rowfs::DieWithParent();
  // One descriptor more than planned would be one too many for a prisoner.
  syscall(SYS_close_range, rowfs::kWorkerOutputFd + 1, ~0u, 0u);
  if (argc != 4 || chdir("/") != 0) return EXIT_FAILURE;
  rowfs::CageOptions options;
  if (!rowfs::kSanitized) {
    options.memory_bytes_max = std::strtoull(argv[2], nullptr, 10);
  }
  options.mount_namespace = std::string_view(argv[3]) == "mount";
  const rowfs::Status status = rowfs::RunWorker(argv[1], options);
  // No destructors of plugin libraries: they may want what is forbidden now.
  _exit(status.ok() ? EXIT_SUCCESS : EXIT_FAILURE);
}
