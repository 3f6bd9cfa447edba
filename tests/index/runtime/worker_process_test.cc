#include "index/runtime/worker_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>

#include "index/runtime/plugin_worker.h"
#include "storage/base/clock.h"
#include "tests/index/runtime/toy.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

WorkerSettings ToySettings() {
  WorkerSettings settings;
  settings.program = std::string(ROWFS_BUILD_DIR) + "/rowfs-worker";
  settings.plugin = ToyPath();
  settings.memory_bytes_max = uint64_t{256} << 20;
  settings.deadline_ms = 30'000;
  settings.ingest_stall_ms = 30'000;
  return settings;
}

// The living worker processes whose parent is `parent`.
std::vector<pid_t> WorkersOf(pid_t parent) {
  std::vector<pid_t> workers;
  DIR* proc = opendir("/proc");
  while (const dirent* entry = readdir(proc)) {
    const pid_t pid = static_cast<pid_t>(atoi(entry->d_name));
    if (pid <= 0) continue;
    std::ifstream stat("/proc/" + std::string(entry->d_name) + "/stat");
    std::string text;
    std::getline(stat, text);
    const size_t open = text.find('(');
    const size_t close = text.rfind(") ");
    if (open == std::string::npos || close == std::string::npos) continue;
    if (text.substr(open + 1, close - open - 1) != "rowfs-worker") continue;
    char state = 0;
    int its_parent = 0;
    sscanf(text.c_str() + close + 2, "%c %d", &state, &its_parent);
    if (state != 'Z' && its_parent == parent) workers.push_back(pid);
  }
  closedir(proc);
  return workers;
}

TEST(WorkerProcess, SaysWhatItsCageIsMadeOf) {
  WorkerStarter starter;
  ASSERT_OK_AND_ASSIGN(const auto process,
                       WorkerProcess::Start(&starter, ToySettings(), true));
  ASSERT_OK(process->WaitReady());

  EXPECT_TRUE(process->is_ready());
  EXPECT_TRUE(process->IsAlive());
  // Where the system allows them, as it does for root and for most users.
  if (process->cage().empty()) GTEST_SKIP() << "no namespaces here";
  EXPECT_THAT(process->cage(), AllOf(HasSubstr("net"), HasSubstr("pid")));
}

TEST(WorkerProcess, AProgramThatIsNotThereIsNotFound) {
  WorkerStarter starter;
  WorkerSettings settings = ToySettings();
  settings.program = "/nowhere/rowfs-worker";

  EXPECT_THAT(WorkerProcess::Start(&starter, settings, true),
              HasCode(Code::kNotFound));
}

TEST(WorkerProcess, AProgramThatIsNoWorkerIsAnError) {
  WorkerStarter starter;
  WorkerSettings settings = ToySettings();
  settings.program = "/bin/true";
  ASSERT_OK_AND_ASSIGN(const auto process,
                       WorkerProcess::Start(&starter, settings, true));

  EXPECT_THAT(process->WaitReady(), HasCode(Code::kInternal));
}

TEST(WorkerProcess, LeavesNoProcessBehind) {
  WorkerStarter starter;
  {
    ASSERT_OK_AND_ASSIGN(const auto process,
                         WorkerProcess::Start(&starter, ToySettings(), true));
    ASSERT_OK(process->WaitReady());
    EXPECT_EQ(WorkersOf(getpid()).size(), 1u);
  }

  EXPECT_THAT(WorkersOf(getpid()), IsEmpty());
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);  // no zombie either
}

TEST(WorkerProcess, DiesWithItsParent) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    RealClock clock;
    const auto pool = PluginWorker::Start(std::make_shared<WorkerStarter>(),
                                          ToySettings(), 1, &clock);
    if (!pool.ok() || !pool.value()->Describe().ok()) _exit(1);
    PluginWorker& worker = *pool.value();
    if (!worker.Probe(AsBytes("TOY1"), "a").ok()) _exit(2);
    (void)!write(ready[1], "x", 1);
    // Busy for ever, so that the end of the socket alone would not end it.
    (void)IngestToy(worker, "TOY1 spin\nx");
    _exit(3);
  }
  // Else a parent that fails would be waited for for ever.
  close(ready[1]);
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  const std::vector<pid_t> workers = WorkersOf(parent);
  ASSERT_EQ(workers.size(), 1u);

  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);

  RealClock clock;
  bool gone = false;
  for (int i = 0; i < 500 && !gone; ++i) {
    clock.SleepMs(10);
    std::ifstream stat("/proc/" + std::to_string(workers[0]) + "/stat");
    std::string text;
    std::getline(stat, text);
    gone = text.empty() || text.find(") Z") != std::string::npos;
  }
  EXPECT_TRUE(gone);
}

class StormTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(pool_,
                         PluginWorker::Start(std::make_shared<WorkerStarter>(),
                                             ToySettings(), 3, &clock_));
    ASSERT_OK(pool_->Describe());
    ASSERT_OK_AND_ASSIGN(toy_, IngestToy(*pool_, "TOY1 ok\nabcdef"));
  }

  // Reads good files until `stop_`, counting what was wrong with them.
  void ReadOn(uint64_t seed) {
    for (uint64_t i = seed; !stop_; ++i) {
      const std::string letter =
          ".letters/00000" + std::to_string(i % 6) + ".txt";
      const auto bytes = Render(*pool_, toy_, letter);
      const std::string wanted(1, static_cast<char>('a' + i % 6));
      if (!bytes.ok() || AsText(bytes.value()) != wanted) ++wrong_;
      ++reads_[seed];
    }
  }

  RealClock clock_;
  std::unique_ptr<PluginWorker> pool_;
  Toy toy_;
  std::atomic<bool> stop_ = false;
  std::array<std::atomic<uint64_t>, 2> reads_ = {};
  std::atomic<uint64_t> wrong_ = 0;
};

TEST_F(StormTest, FiveHundredCrashesLoseOnlyWhatAskedForThem) {
  ThreadPool readers(2, 2);
  for (uint64_t i = 0; i < 2; ++i) readers.Submit([this, i] { ReadOn(i); });

  // Each dies twice: once, and once more in a fresh worker.
  for (int i = 0; i < 250; ++i) {
    const Toy bad = WithConfig(*pool_, toy_, "size=" + std::to_string(i));
    ASSERT_THAT(Render(*pool_, bad, ".bad/crash"), HasCode(Code::kInternal));
  }
  while (reads_[0] < 50 || reads_[1] < 50) clock_.SleepMs(1);
  stop_ = true;

  EXPECT_EQ(wrong_, 0u);
  EXPECT_THAT(Render(*pool_, toy_, ".upper.txt"), HasText("ABCDEF"));
}

}  // namespace
}  // namespace rowfs
