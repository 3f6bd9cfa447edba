#include "index/runtime/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include "index/runtime/plugin_checks.h"
#include "index/runtime/plugin_host.h"
#include "storage/base/clock.h"

namespace rowfs {
namespace {

// What stays allocated in the input region between calls.
constexpr uint64_t kInputKeepBytes = uint64_t{16} << 20;
constexpr int kSignalExit = 128;
constexpr size_t kPlacesMax = 3;
constexpr int kFirstFreeFd = 16;  // above those of the worker
// How long a process whose socket is closed may take to be gone.
constexpr int64_t kBuryMs = 1000;
// An ingest reads its input a few times (verify) and writes it about once.
constexpr uint64_t kIngestFactorMax = 64;
constexpr uint64_t kIngestSlackBytes = uint64_t{1} << 30;

int64_t Now() { return RealClock().MonotonicNs(); }

std::string SignalName(int number) {
  const char* name = sigabbrev_np(number);
  return name != nullptr ? std::string("SIG") + name
                         : "signal " + std::to_string(number);
}

// `spawned` is what waitpid said; the process was not killed by us.
Status EndOf(int status) {
  int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  if (code > kSignalExit) number = code - kSignalExit;
  if (code == kOutOfMemoryExit || number == SIGKILL) {
    return Status(Code::kResourceExhausted, "plugin process ran out of memory");
  }
  if (number != 0) {
    return Status(Code::kInternal,
                  "plugin process crashed with " + SignalName(number));
  }
  return Status(Code::kInternal, "plugin process ended by itself with code " +
                                     std::to_string(code));
}

Status Spawn(const std::string& program,
             const std::vector<std::string>& arguments, std::array<int, 3> fds,
             pid_t* pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  for (const int fd : {0, 1, 2}) {
    posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  }
  int to = kWorkerSocketFd;
  for (const int fd : fds) {
    posix_spawn_file_actions_adddup2(&actions, fd, to++);
  }
  posix_spawn_file_actions_addclosefrom_np(&actions, to);
  // Its own group: a Ctrl-C at the terminal is for the parent to deal with.
  // Signals as a fresh process has them, whatever the calling thread blocks.
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP |
                                            POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> argv;
  std::vector<std::string> copy(arguments);
  for (std::string& argument : copy) argv.push_back(argument.data());
  argv.push_back(nullptr);
  char* const environment[] = {nullptr};
  const int rc = posix_spawn(pid, program.c_str(), &actions, &attributes,
                             argv.data(), environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (rc == 0) return Status();
  const Code code = rc == ENOENT                   ? Code::kNotFound
                    : rc == EAGAIN || rc == ENOMEM ? Code::kResourceExhausted
                                                   : Code::kUnavailable;
  return Status(code, "cannot start " + program + ": " +
                          std::generic_category().message(rc));
}

// The low numbers may be taken by what dup2 puts there.
Result<Fd> MoveUp(const Fd& fd) {
  Fd moved(fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstFreeFd));
  if (moved.get() < 0) {
    return Status(Code::kResourceExhausted,
                  "too many open files to start a plugin process");
  }
  return moved;
}

}  // namespace

Result<pid_t> WorkerStarter::Start(const std::string& program,
                                   const std::vector<std::string>& arguments,
                                   std::array<int, 3> fds) {
  struct Turnout {
    Mutex mu;
    CondVar ended;
    bool done GUARDED_BY(mu) = false;
    Status status GUARDED_BY(mu);
    pid_t pid GUARDED_BY(mu) = -1;
  } turnout;
  thread_.Submit([&] {
    pid_t pid = -1;
    Status status = Spawn(program, arguments, fds, &pid);
    MutexLock lock(turnout.mu);
    turnout.status = std::move(status);
    turnout.pid = pid;
    turnout.done = true;
    turnout.ended.NotifyOne();
  });
  MutexLock lock(turnout.mu);
  while (!turnout.done) turnout.ended.Wait(turnout.mu);
  ROWFS_RETURN_IF_ERROR(turnout.status);
  return turnout.pid;
}

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(
    WorkerStarter* starter, const WorkerSettings& settings, bool mount) {
  std::unique_ptr<WorkerProcess> process(new WorkerProcess);
  process->settings_ = settings;
  ROWFS_ASSIGN_OR_RETURN(Fd input, SharedRegion::Make(kInputRegionBytes));
  ROWFS_ASSIGN_OR_RETURN(Fd output, SharedRegion::Make(kOutputRegionBytes));
  ROWFS_ASSIGN_OR_RETURN(process->input_,
                         SharedRegion::Map(input.get(), kInputRegionBytes,
                                           SharedRegion::Access::kWrite));
  ROWFS_ASSIGN_OR_RETURN(process->output_,
                         SharedRegion::Map(output.get(), kOutputRegionBytes,
                                           SharedRegion::Access::kRead));
  ROWFS_ASSIGN_OR_RETURN(auto sockets, MakeSocketPair());
  ROWFS_ASSIGN_OR_RETURN(const Fd socket_up, MoveUp(sockets.second));
  ROWFS_ASSIGN_OR_RETURN(const Fd input_up, MoveUp(input));
  ROWFS_ASSIGN_OR_RETURN(const Fd output_up, MoveUp(output));
  ROWFS_ASSIGN_OR_RETURN(
      process->pid_,
      starter->Start(settings.program,
                     {settings.program, settings.plugin,
                      std::to_string(settings.memory_bytes_max),
                      mount ? "mount" : "no-mount"},
                     {socket_up.get(), input_up.get(), output_up.get()}));
  process->group_ = process->pid_;
  process->socket_ = std::move(sockets.first);
  return process;
}

WorkerProcess::~WorkerProcess() { Kill(); }

void WorkerProcess::Kill() {
  if (pid_ < 0) return;
  // The whole group: while it moves into a PID namespace there are two.
  kill(-group_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  socket_.Reset();
}

WorkerProcess::Answer WorkerProcess::Bury(const Status& received) {
  if (received.code() == Code::kDeadlineExceeded) {
    Kill();
    return {Outcome::kTimedOut, Status(Code::kDeadlineExceeded,
                                       "plugin process was killed after it "
                                       "gave no answer in time")};
  }
  if (received.code() != Code::kUnavailable) {
    Kill();
    return {Outcome::kDied,
            Status(Code::kInternal, "plugin process spoke nonsense: " +
                                        std::string(received.message()))};
  }
  // It closed the socket, as all do that end. Its own end explains more than
  // our signal, so wait a moment for it.
  RealClock clock;
  int status = 0;
  for (int64_t ms = 0; ms < kBuryMs; ++ms) {
    const pid_t waited = waitpid(pid_, &status, WNOHANG);
    if (waited == pid_) {
      pid_ = -1;
      socket_.Reset();
      return {Outcome::kDied, EndOf(status)};
    }
    if (waited < 0 && errno != EINTR) break;
    clock.SleepMs(1);
  }
  Kill();
  return {Outcome::kDied,
          Status(Code::kInternal, "plugin process closed its connection")};
}

Result<WorkerMessage> WorkerProcess::Receive(int64_t deadline_ns) {
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan frame,
                         ReceiveFrame(socket_.get(), deadline_ns, &buffer_));
  return DecodeWorkerMessage(frame);
}

void WorkerProcess::FollowTo(pid_t pid) {
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = pid;
}

Status WorkerProcess::WaitHello(WorkerMessage* hello) {
  if (said_hello_) return Status();
  said_hello_ = true;
  const int64_t deadline_ns = Now() + settings_.start_ms * 1'000'000;
  Result<WorkerMessage> got = Receive(deadline_ns);
  if (got.ok() && got.value().kind == WorkerFrame::kMoved) {
    FollowTo(static_cast<pid_t>(got.value().pid));
    got = Receive(deadline_ns);
  }
  if (!got.ok()) return Bury(got.status()).status.With(settings_.plugin);
  *hello = std::move(got).value();
  if (hello->kind != WorkerFrame::kHello) {
    Kill();
    return Status(Code::kInternal, settings_.plugin + ": no hello came");
  }
  ROWFS_RETURN_IF_ERROR(hello->status);
  return CheckDescription(hello->name, hello->version, hello->magic)
      .With(settings_.plugin);
}

Status WorkerProcess::WaitReady() {
  if (ready_) return Status();
  WorkerMessage hello;
  ROWFS_RETURN_IF_ERROR(WaitHello(&hello));
  const Result<WorkerMessage> got =
      Receive(Now() + settings_.start_ms * 1'000'000);
  if (!got.ok()) return Bury(got.status()).status;
  if (got.value().kind != WorkerFrame::kReady) {
    Kill();
    return Status(Code::kInternal, "plugin process is not ready");
  }
  ROWFS_RETURN_IF_ERROR(got.value().status);
  cage_ = got.value().name;
  ready_ = true;
  return Status();
}

bool WorkerProcess::IsAlive() const {
  if (pid_ < 0) return false;
  // Between calls a worker says nothing: anything to read is its end.
  pollfd waiting = {socket_.get(), POLLIN, 0};
  return poll(&waiting, 1, 0) == 0;
}

bool WorkerProcess::HasOpen(uint64_t key) const {
  return std::ranges::find(open_keys_, key) != open_keys_.end();
}

void WorkerProcess::NoteOpen(uint64_t key) {
  std::erase(open_keys_, key);
  open_keys_.push_front(key);
  if (open_keys_.size() > PluginHost::kOpenIndexesMax) open_keys_.pop_back();
}

bool WorkerProcess::WasAt(uint64_t place) const {
  return std::ranges::find(places_, place) != places_.end();
}

void WorkerProcess::NotePlace(uint64_t place) {
  std::erase(places_, place);
  places_.push_front(place);
  if (places_.size() > kPlacesMax) places_.pop_back();
}

Status WorkerProcess::PutRequest(const WorkerRequest& request,
                                 ParentMessage* message) {
  const Bytes head = EncodeRequestHead(request);
  std::vector<uint64_t> sizes;
  sizes.reserve(request.parts.size());
  for (const ByteSpan part : request.parts) sizes.push_back(part.size());
  ROWFS_ASSIGN_OR_RETURN(const auto offsets, PartOffsets(head.size(), sizes));
  if (offsets.back() > kInputRegionBytes) {
    return Status(Code::kResourceExhausted, "request is too large");
  }
  std::byte* const region = input_.writable().data();
  std::memcpy(region, head.data(), head.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) continue;
    std::memcpy(region + offsets[i], request.parts[i].data(), sizes[i]);
  }
  message->kind = ParentFrame::kRequest;
  message->head_size = head.size();
  message->size = offsets.back();
  return Status();
}

WorkerProcess::Answer WorkerProcess::Call(const WorkerRequest& request,
                                          const IngestInput* input,
                                          OutputSink* out) {
  ParentMessage message;
  if (Status s = PutRequest(request, &message); !s.ok()) {
    return {Outcome::kAnswered, s};
  }
  ingest_bytes_ = 0;
  Answer answer;
  if (Status s = SendFrame(socket_.get(), EncodeParentMessage(message));
      s.ok()) {
    const int64_t limit_ms = request.op == WorkerOp::kIngest
                                 ? settings_.ingest_stall_ms
                                 : settings_.deadline_ms;
    answer = Converse(limit_ms, input, out);
  } else {
    answer = Bury(s);
  }
  if (message.size > kInputKeepBytes) input_.Release(kInputKeepBytes);
  return answer;
}

WorkerProcess::Answer WorkerProcess::Converse(int64_t limit_ms,
                                              const IngestInput* input,
                                              OutputSink* out) {
  int64_t deadline_ns = Now() + 1'000'000 * limit_ms;
  while (true) {
    const Result<WorkerMessage> got = Receive(deadline_ns);
    if (!got.ok()) return Bury(got.status());
    const WorkerMessage& message = got.value();
    if (message.kind == WorkerFrame::kUnknownKey) {
      return {Outcome::kUnknownKey, Status()};
    }
    const uint64_t moved = ingest_bytes_;
    Status error;
    if (!Serve(message, input, out, &error)) {
      return Bury(Status(Code::kCorruption, "unexpected message"));
    }
    if (!error.ok()) {
      // The worker is in the middle of an answer that nobody wants any more.
      Kill();
      return {Outcome::kAnswered, error};
    }
    if (message.kind == WorkerFrame::kChunks && message.last) {
      return {Outcome::kAnswered, message.status};
    }
    // Bytes are progress, messages alone are not.
    if (input != nullptr && ingest_bytes_ != moved) {
      deadline_ns = Now() + 1'000'000 * limit_ms;
    }
  }
}

bool WorkerProcess::Serve(const WorkerMessage& message,
                          const IngestInput* input, OutputSink* out,
                          Status* error) {
  ParentMessage answer;
  if (message.kind == WorkerFrame::kChunks) {
    *error = DeliverChunks(message, out);
    if (message.last || !error->ok()) return true;
    answer.kind = ParentFrame::kContinue;
  } else if (message.kind == WorkerFrame::kReadInput && input != nullptr &&
             message.offset <= input->size &&
             message.size <= input->size - message.offset) {
    ingest_bytes_ += message.size;
    *error =
        input->read_at(message.offset, input_.writable().first(message.size));
    if (!error->ok()) return true;
    answer.kind = ParentFrame::kInput;
    answer.size = message.size;
  } else {
    return false;
  }
  if (input != nullptr &&
      ingest_bytes_ / kIngestFactorMax > input->size + kIngestSlackBytes) {
    *error = Status(Code::kResourceExhausted,
                    "ingest moves far more bytes than the media has");
    return true;
  }
  // When it cannot be sent, the next receive says why.
  (void)SendFrame(socket_.get(), EncodeParentMessage(answer));
  return true;
}

Status WorkerProcess::DeliverChunks(const WorkerMessage& message,
                                    OutputSink* out) {
  ByteSpan region = output_.bytes();
  for (const OutputChunk& chunk : message.chunks) {
    // Their sum was checked against the region when the message was decoded.
    const ByteSpan bytes = region.first(chunk.size);
    region = region.subspan(chunk.size);
    ingest_bytes_ += chunk.size;
    if (chunk.code == Code::kOk) {
      ROWFS_RETURN_IF_ERROR(out->Write(chunk.item, bytes));
      continue;
    }
    const std::string text = OneLine(AsText(bytes));
    ROWFS_RETURN_IF_ERROR(out->Fail(chunk.item, Status(chunk.code, text)));
  }
  return Status();
}

}  // namespace rowfs
