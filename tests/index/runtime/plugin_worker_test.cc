#include "index/runtime/plugin_worker.h"

#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "index/runtime/cage.h"
#include "index/runtime/plugin_host.h"
#include "tests/index/runtime/toy.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

WorkerSettings ToySettings() {
  WorkerSettings settings;
  settings.program = std::string(ROWFS_BUILD_DIR) + "/rowfs-worker";
  settings.plugin = ToyPath();
  settings.memory_bytes_max = uint64_t{256} << 20;
  settings.deadline_ms = 30'000;
  settings.ingest_stall_ms = 30'000;
  return settings;
}

// For calls that are meant to hang.
WorkerSettings ImpatientSettings() {
  WorkerSettings settings = ToySettings();
  settings.deadline_ms = 300;
  settings.ingest_stall_ms = 300;
  return settings;
}

class PluginWorkerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Open(ToySettings(), 2);
    ASSERT_OK_AND_ASSIGN(toy_, IngestToy(*worker_, "TOY1 ok\nab?c"));
  }

  void Open(const WorkerSettings& settings, size_t workers_max) {
    ASSERT_OK_AND_ASSIGN(
        worker_, PluginWorker::Start(starter_, settings, workers_max, &clock_));
    ASSERT_OK(worker_->Describe());
  }

  // The pool lives on and serves the next request.
  void ExpectServes() {
    EXPECT_THAT(Render(*worker_, toy_, ".upper.txt"), HasText("AB?C"));
  }

  RealClock clock_;
  std::shared_ptr<WorkerStarter> starter_ = std::make_shared<WorkerStarter>();
  std::unique_ptr<PluginWorker> worker_;
  Toy toy_;
};

TEST_F(PluginWorkerTest, DescribesThePlugin) {
  EXPECT_EQ(worker_->name(), "toy");
  EXPECT_EQ(worker_->version(), "1.0");
  EXPECT_EQ(worker_->magic(), (std::array<char, 4>{'T', 'O', 'Y', '1'}));
}

TEST_F(PluginWorkerTest, AnswersAsThePluginInThisProcessDoes) {
  ASSERT_OK_AND_ASSIGN(auto library, PluginLibrary::Open(ToyPath()));
  PluginHost host(std::move(library));
  ASSERT_OK_AND_ASSIGN(const Toy toy, IngestToy(host, "TOY1 ok\nab?c"));

  EXPECT_EQ(toy_.blob, toy.blob);
  EXPECT_EQ(toy_.index.key, toy.index.key);
  for (const char* directory : {"", ".letters", ".at", ".bad"}) {
    ASSERT_OK_AND_ASSIGN(const auto ours,
                         worker_->List(toy_.index, directory, 0, 100));
    ASSERT_OK_AND_ASSIGN(const auto theirs,
                         host.List(toy.index, directory, 0, 100));
    EXPECT_EQ(EncodeEntries(ours), EncodeEntries(theirs));
  }
  const std::string paths[] = {".letters/000000.txt", ".toy", ".upper.txt",
                               ".letters/000002.txt"};
  ASSERT_OK_AND_ASSIGN(const auto ours, worker_->Plan(toy_.index, paths));
  ASSERT_OK_AND_ASSIGN(const auto theirs, host.Plan(toy.index, paths));
  EXPECT_EQ(EncodePlan(ours), EncodePlan(theirs));
  for (const DecodeGroup& group : ours.groups) {
    const ByteSpan ranges[] = {toy_.blob};
    ASSERT_OK_AND_ASSIGN(const auto a,
                         worker_->Decode(toy_.index, group, ranges));
    ASSERT_OK_AND_ASSIGN(const auto b, host.Decode(toy.index, group, ranges));
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].status().code(), b[i].status().code());
      EXPECT_EQ(a[i].status().message(), b[i].status().message());
      if (!a[i].ok()) continue;
      EXPECT_EQ(a[i].value(), b[i].value());
    }
  }
}

TEST_F(PluginWorkerTest, MakesTheOtherCalls) {
  ASSERT_OK_AND_ASSIGN(const int sure,
                       worker_->Probe(AsBytes("TOY1 ok\n"), "a.toy"));
  EXPECT_EQ(sure, 90);
  ASSERT_OK_AND_ASSIGN(const auto foreseen, worker_->Foresee("a.toy"));
  ASSERT_EQ(foreseen.size(), 1U);
  EXPECT_EQ(foreseen[0].name, ".letters");
  ASSERT_OK_AND_ASSIGN(const auto entry,
                       worker_->Lookup(toy_.index, ".at/3.txt"));
  EXPECT_EQ(entry.name, "000003.txt");
  EXPECT_THAT(worker_->Lookup(toy_.index, ".none"), HasCode(Code::kNotFound));
  ASSERT_OK_AND_ASSIGN(const auto entries,
                       worker_->Select(toy_.index, ".letters", "1", "3"));
  EXPECT_THAT(NamesOf(entries), ElementsAre("000001.txt", "000002.txt"));
  const PluginIndex head =
      MakePluginIndex(*worker_, toy_.index.stream_info, nullptr, 4, "");
  EXPECT_OK(worker_->List(head, "", 0, 9));
  EXPECT_THAT(worker_->List(head, ".letters", 0, 9),
              HasCode(Code::kOutOfRange));
}

TEST_F(PluginWorkerTest, OutputsLargerThanTheRegionArriveWhole) {
  const Toy big = WithConfig(*worker_, toy_, "size=50000003");

  ASSERT_OK_AND_ASSIGN(const Bytes bytes, Render(*worker_, big, ".big.bin"));

  ASSERT_EQ(bytes.size(), 50000003u);
  EXPECT_EQ(AsText(bytes).substr(0, 4), "ab?c");
  // A period of four: equal to itself four bytes on.
  EXPECT_EQ(AsText(bytes).substr(4), AsText(bytes).substr(0, 49999999));
}

TEST_F(PluginWorkerTest, InputsOfManyMegabytesArriveWhole) {
  std::string text(40'000'000, 'x');
  for (size_t i = 0; i < text.size(); i += 4099) text[i] = 'y';

  ASSERT_OK_AND_ASSIGN(const Toy toy, IngestToy(*worker_, "TOY1 ok\n" + text));
  ASSERT_OK_AND_ASSIGN(const Bytes upper, Render(*worker_, toy, ".upper.txt"));

  EXPECT_EQ(AsText(toy.blob), text);
  std::ranges::transform(text, text.begin(),
                         [](char c) { return static_cast<char>(c - 32); });
  EXPECT_EQ(AsText(upper), text);
}

TEST_F(PluginWorkerTest, EvictedIndexesAreSentAgain) {
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 12; ++i) {
      const Toy toy = WithConfig(*worker_, toy_, "size=" + std::to_string(i));
      EXPECT_OK(worker_->Lookup(toy.index, ".toy"));
    }
  }
  ExpectServes();
}

TEST_F(PluginWorkerTest, ThreadsOfThePluginWork) {
  EXPECT_THAT(Render(*worker_, toy_, ".bad/threads"), HasText("survived"));
}

struct Misdeed {
  const char* name;
  Code code;
  const char* message;
};

void PrintTo(const Misdeed& misdeed, std::ostream* os) { *os << misdeed.name; }

class MisdeedTest : public PluginWorkerTest,
                    public ::testing::WithParamInterface<Misdeed> {};

TEST_P(MisdeedTest, FailsTheCallAlone) {
  Misdeed misdeed = GetParam();
  const std::string_view name = misdeed.name;
  if (kSanitized && (name == "memory" || name == "oom")) {
    GTEST_SKIP() << "sanitizers need all the address space";
  }
  // Their own handler of the signal ends the process.
  if (kSanitized && name == "scribble") misdeed.message = "plugin process";
  if (misdeed.code == Code::kDeadlineExceeded) Open(ImpatientSettings(), 2);

  const auto result =
      Render(*worker_, toy_, std::string(".bad/") + misdeed.name);

  EXPECT_THAT(result, HasCode(misdeed.code));
  EXPECT_THAT(std::string(result.status().message()),
              HasSubstr(misdeed.message));
  ExpectServes();
}

INSTANTIATE_TEST_SUITE_P(
    , MisdeedTest,
    ::testing::Values(
        Misdeed{"crash", Code::kInternal,
                "toy: plugin process crashed with "
                "SIGSEGV"},
        Misdeed{"abort", Code::kInternal, "SIGABRT"},
        Misdeed{"exit", Code::kInternal, "ended by itself with code 0"},
        Misdeed{"hang", Code::kDeadlineExceeded, "toy: plugin process"},
        Misdeed{"spin", Code::kDeadlineExceeded, "toy: plugin process"},
        Misdeed{"memory", Code::kResourceExhausted, "no memory left"},
        Misdeed{"oom", Code::kResourceExhausted, "ran out of memory"},
        Misdeed{"socket", Code::kUnsupported, "not permitted"},
        Misdeed{"file", Code::kUnsupported, "not permitted"},
        Misdeed{"fork", Code::kUnsupported, "not permitted"},
        Misdeed{"exec", Code::kUnsupported, "not permitted"},
        Misdeed{"signal", Code::kUnsupported, "not permitted"},
        Misdeed{"mapexec", Code::kUnsupported, "not permitted"},
        Misdeed{"badlength", Code::kResourceExhausted, "output is too large"},
        Misdeed{"baditem", Code::kInternal, "not asked for"},
        Misdeed{"badnull", Code::kInternal, "NULL"},
        Misdeed{"partial", Code::kInternal, "no output"},
        Misdeed{"garbage", Code::kInternal, "nonsense"},
        Misdeed{"scribble", Code::kInternal, "SIGSEGV"},
        Misdeed{"flood", Code::kDeadlineExceeded, "toy: plugin process"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_F(PluginWorkerTest, ACallThatKilledIsRememberedForAWhile) {
  Open(ImpatientSettings(), 2);
  const int64_t start_ns = clock_.MonotonicNs();
  EXPECT_THAT(Render(*worker_, toy_, ".bad/hang"),
              HasCode(Code::kDeadlineExceeded));
  const int64_t killed_ns = clock_.MonotonicNs();

  EXPECT_THAT(Render(*worker_, toy_, ".bad/hang"),
              HasCode(Code::kDeadlineExceeded));

  // Without waiting for the deadline again.
  EXPECT_LT(clock_.MonotonicNs() - killed_ns, (killed_ns - start_ns) / 2);
}

TEST_F(PluginWorkerTest, MisdeedsWhileListingAndOpeningFailAlone) {
  Open(ImpatientSettings(), 2);
  const Toy list = WithConfig(*worker_, toy_, "list=crash");
  EXPECT_THAT(worker_->List(list.index, ".bad", 0, 9),
              HasCode(Code::kInternal));
  const Toy open = WithConfig(*worker_, toy_, "open=hang");
  EXPECT_THAT(worker_->Lookup(open.index, ".toy"),
              HasCode(Code::kDeadlineExceeded));
  EXPECT_THAT(worker_->Probe(AsBytes("TOY1 probecrash"), "a"),
              HasCode(Code::kInternal));
  ExpectServes();
}

TEST_F(PluginWorkerTest, MisdeedsWhileIngestingFailAlone) {
  Open(ImpatientSettings(), 2);
  EXPECT_THAT(IngestToy(*worker_, "TOY1 crash\nx"), HasCode(Code::kInternal));
  EXPECT_THAT(IngestToy(*worker_, "TOY1 hang\nx"),
              HasCode(Code::kDeadlineExceeded));
  EXPECT_THAT(IngestToy(*worker_, "TOY1 socket\nx"),
              HasCode(Code::kUnsupported));
  EXPECT_THAT(IngestToy(*worker_, "TOY1 badtype\nx"), HasCode(Code::kInternal));
  EXPECT_THAT(IngestToy(*worker_, "not a toy"), HasCode(Code::kCorruption));
  ExpectServes();
}

TEST_F(PluginWorkerTest, AnIngestThatCrashesLateIsNotRepeated) {
  const std::string file = "TOY1 latecrash\n" + std::string(3 << 20, 'x');
  size_t payload_bytes = 0;

  const auto result = worker_->Ingest(InputOf(file), {}, [&](ByteSpan bytes) {
    payload_bytes += bytes.size();
    return Status();
  });

  EXPECT_THAT(result, HasCode(Code::kInternal));
  EXPECT_LE(payload_bytes, file.size());
}

TEST_F(PluginWorkerTest, IngestFailsWithTheCallersOwnErrors) {
  IngestInput input;
  input.size = 100;
  input.read_at = [](uint64_t, MutableByteSpan) {
    return Status(Code::kUnavailable, "store is down");
  };
  EXPECT_THAT(worker_->Ingest(input, {}, [](ByteSpan) { return Status(); }),
              HasCode(Code::kUnavailable));
  const std::string file = "TOY1 ok\nab";
  EXPECT_THAT(worker_->Ingest(InputOf(file), {},
                              [](ByteSpan) {
                                return Status(Code::kPermissionDenied, "no");
                              }),
              HasCode(Code::kPermissionDenied));
  ExpectServes();
}

}  // namespace
}  // namespace rowfs
