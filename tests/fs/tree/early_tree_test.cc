// Trees of tables that are still being looked through.
#include "fs/tree/early_tree.h"

#include <gmock/gmock.h>

#include <thread>

#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

using ::testing::ElementsAre;

// Rows of one file, N.jpg, as many as the test says.
class FakeRows final : public EarlyRows {
 public:
  std::string fingerprint() const override { return "fake"; }
  Found found() const override {
    const MutexLock lock(mu_);
    return found_;
  }
  Found WaitForMore(uint64_t rows) const override {
    const MutexLock lock(mu_);
    while (found_.rows <= rows && !found_.ended) more_.Wait(mu_);
    return found_;
  }
  std::optional<FileRows::FileRow> FilesOf(uint64_t row) const override {
    if (row >= found().rows) return {};
    const std::string key = std::to_string(row);
    return FileRows::FileRow{key, {{key + ".jpg", 5, 1, row}}};
  }
  Result<BlobSource> OpenFile(const FileRows::File& file) const override {
    std::string text = std::to_string(file.place);
    text.insert(0, 5 - text.size(), '.');
    BlobSource source;
    const ByteSpan bytes = AsBytes(text);
    source.bytes = std::make_shared<const Bytes>(bytes.begin(), bytes.end());
    return source;
  }
  // Each row takes 1,000 bytes.
  void Set(uint64_t rows, uint64_t total, bool ended = false) {
    {
      const MutexLock lock(mu_);
      found_ = {rows, rows * 1000, total * 1000, ended};
    }
    more_.NotifyAll();
  }

 private:
  mutable Mutex mu_;
  mutable CondVar more_;
  Found found_ GUARDED_BY(mu_);
};

class EarlyTreeTest : public ::testing::Test {
 protected:
  EarlyTreeTest() { options_.mtime_ns = 1; }

  Tree& tree() {
    if (tree_ == nullptr) tree_ = Tree::MakeEarly(rows_, options_);
    return *tree_;
  }
  // The node behind a path of names.
  Result<Entry> Find(const std::vector<std::string>& path,
                     Wait wait = Wait::kNo) {
    Entry at;
    at.node = kRootNode;
    for (const std::string& name : path) {
      ROWFS_ASSIGN_OR_RETURN(at, tree().Lookup(at.node, name, wait));
    }
    return at;
  }
  std::vector<std::string> List(NodeId node, uint64_t cookie = 0) {
    std::vector<std::string> names;
    status_ = tree().ReadDir(node, cookie, false, Wait::kNo,
                             [&](const DirectoryEntry& entry) {
                               names.emplace_back(entry.name);
                               next_ = entry.next;
                               return true;
                             });
    return names;
  }

  std::shared_ptr<FakeRows> rows_ = std::make_shared<FakeRows>();
  TreeOptions options_;
  std::unique_ptr<Tree> tree_;
  Status status_;
  uint64_t next_ = 0;
};

TEST_F(EarlyTreeTest, ShowsTheRowsThatWereFound) {
  rows_->Set(200, 1000);

  EXPECT_THAT(List(kRootNode),
              ElementsAre("rows", "by", "select", "metadata.jsonl", ".rowfs"));
  EXPECT_EQ(List(Find({"rows"}).value().node).size(), 200u);
  const auto row = Find({"rows", "000042"});
  ASSERT_OK(row);
  EXPECT_EQ(row.value().attributes.type, NodeType::kDirectory);
  EXPECT_THAT(List(row.value().node), ElementsAre("row.json", "42.jpg"));
  const auto file = Find({"rows", "000042", "42.jpg"});
  ASSERT_OK(file);
  EXPECT_EQ(file.value().attributes.size, 5u);
  EXPECT_TRUE(file.value().attributes.size_exact);
  Bytes bytes(9);
  const auto read = tree().Read(file.value().node, 0, 0, bytes, Wait::kYes);
  ASSERT_OK(read);
  EXPECT_EQ(read.value(), 5u);
  EXPECT_EQ(AsText(ByteSpan(bytes).first(5)), "...42");
}

TEST_F(EarlyTreeTest, AnyNumberOfAFoundRowIsALinkToItsFolder) {
  rows_->Set(20'000, 90'000);

  const auto link = Find({"rows", "12345"});
  ASSERT_OK(link);
  EXPECT_EQ(link.value().attributes.type, NodeType::kLink);
  EXPECT_EQ(tree().ReadLink(link.value().node, Wait::kNo).value(),
            "012/012345");
  EXPECT_OK(Find({"rows", "012", "012345"}));
  EXPECT_THAT(Find({"rows", "011", "012345"}), HasCode(Code::kNotFound));
}

TEST_F(EarlyTreeTest, AListingStreams) {
  rows_->Set(100, 2000);
  const NodeId rows = Find({"rows"}).value().node;
  EXPECT_EQ(List(rows).size(), 100u);

  // Nothing new: it waits.
  EXPECT_TRUE(List(rows, next_).empty());
  EXPECT_THAT(status_, HasCode(Code::kUnavailable));
  rows_->Set(150, 2000);
  EXPECT_THAT(List(rows, next_).front(), "000100");
  EXPECT_EQ(next_, 150u);
}

TEST_F(EarlyTreeTest, WhatIsNotFoundYetWaitsAndStallsNothing) {
  rows_->Set(100, 1000);
  EXPECT_THAT(Find({"rows", "000500"}), HasCode(Code::kUnavailable));
  EXPECT_THAT(Find({"metadata.jsonl"}), HasCode(Code::kUnavailable));
  EXPECT_THAT(Find({"rows", "000042", "row.json"}),
              HasCode(Code::kUnavailable));
  EXPECT_THAT(Find({"nothing"}), HasCode(Code::kNotFound));
  EXPECT_THAT(Find({"rows", ".git"}), HasCode(Code::kNotFound));

  std::thread reader([&] { EXPECT_OK(Find({"rows", "000500"}, Wait::kYes)); });
  EXPECT_OK(Find({"rows", "000042"}));
  rows_->Set(501, 1000);
  reader.join();
}

TEST_F(EarlyTreeTest, NamesWaitUntilTheyAreSureToStay) {
  const NodeId rows = Find({"rows"}).value().node;
  const auto waits = [&] {
    List(rows);
    return status_.code() == Code::kUnavailable;
  };
  rows_->Set(10, 1000);  // too few to judge by
  EXPECT_TRUE(waits());
  rows_->Set(100, 900'000);  // could be more than six digits can say
  EXPECT_TRUE(waits());
  rows_->Set(100, 9000);  // could be more than 10,000
  EXPECT_TRUE(waits());
  rows_->Set(2000, 9000);  // still
  EXPECT_TRUE(waits());
  rows_->Set(10'001, 12'000);
  EXPECT_EQ(List(rows).size(), 11u);
}

TEST_F(EarlyTreeTest, WhatWaitsForTheRestGetsItsError) {
  rows_->Set(100, 1000);
  std::thread reader([&] {
    EXPECT_THAT(Find({"metadata.jsonl"}, Wait::kYes),
                HasCode(Code::kUnavailable));
  });
  EXPECT_OK(Find({"rows", "000042"}));

  rows_->Set(100, 1000, true);
  tree().Complete(Status(Code::kCorruption, "it breaks off"));
  reader.join();
  EXPECT_THAT(Find({"rows", "000500"}, Wait::kYes),
              HasCode(Code::kUnavailable));
  EXPECT_OK(Find({"rows", "000042"}));
}

TEST_F(EarlyTreeTest, TheWholeTreeKeepsTheNamesThatWereTold) {
  rows_->Set(100, 50'000);
  EXPECT_EQ(List(Find({"rows"}).value().node).front(), "000");

  TreeOptions options;
  tree().KeepNames(&options);
  EXPECT_EQ(options.rows, TreeOptions::Rows::kSharded);
  // The estimate was wrong: all names stay what they were, later ones are as
  // long as they have to be.
  const RowsLayout layout(2'000'000, options.rows, options.row_digits);
  EXPECT_EQ(layout.PathOf(42), "000/000042");
  EXPECT_EQ(layout.PathOf(1'234'567), "1234/1234567");
  EXPECT_EQ(layout.FindShard("1234"), 1234u);
  EXPECT_EQ(layout.FindShard("0042"), std::nullopt);
  EXPECT_EQ(RowsLayout(2'000'000, options.rows).PathOf(42), "0000/0000042");
}

TEST_F(EarlyTreeTest, TellsNoNamesOnceTheWholeTreeIsMade) {
  rows_->Set(10, 1000);
  TreeOptions options;
  tree().KeepNames(&options);
  rows_->Set(200, 1000);

  EXPECT_EQ(options.rows, TreeOptions::Rows::kAuto);
  EXPECT_THAT(Find({"rows", "000042"}), HasCode(Code::kUnavailable));
}

}  // namespace
}  // namespace rowfs
