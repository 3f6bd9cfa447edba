#include "storage/lance/commit.h"

#include "storage/lance/versions.h"
#include "tests/support/fault_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

// Time that stands still and sleeps that take none.
class StillClock final : public Clock {
 public:
  int64_t NowNs() override { return 1700000000123456789; }
  int64_t MonotonicNs() override { return 0; }
  void SleepMs(int64_t /*ms*/) override { ++sleeps; }
  int sleeps = 0;
};

pb::DataFragment NewFragment(const std::string& path, uint64_t rows) {
  pb::DataFragment fragment;
  fragment.set_physical_rows(rows);
  pb::DataFile* file = fragment.add_files();
  file->set_path(path);
  file->set_file_major_version(2);
  file->set_file_minor_version(2);
  file->add_fields(0);
  file->add_column_indices(0);
  return fragment;
}

pb::Transaction Create() {
  pb::Transaction transaction;
  pb::Field* field = transaction.mutable_overwrite()->add_schema();
  field->set_parent_id(-1);
  field->set_name("n");
  field->set_logical_type("int64");
  *transaction.mutable_overwrite()->add_fragments() = NewFragment("a.lance", 5);
  return transaction;
}

pb::Transaction AppendOn(uint64_t version, const std::string& path) {
  pb::Transaction transaction;
  transaction.set_read_version(version);
  *transaction.mutable_append()->add_fragments() = NewFragment(path, 3);
  return transaction;
}

pb::Transaction DeleteOn(uint64_t version, pb::DataFragment fragment) {
  pb::Transaction transaction;
  transaction.set_read_version(version);
  auto* file = fragment.mutable_deletion_file();
  file->set_num_deleted_rows(1);
  *transaction.mutable_delete_()->add_updated_fragments() = fragment;
  return transaction;
}

class CommitTest : public ::testing::Test {
 protected:
  CommitTest() { options_.clock = &clock_; }

  Result<CommitResult> Commit(pb::Transaction transaction) {
    return CommitTransaction(root_, std::move(transaction), options_);
  }
  std::vector<std::string> Files(const CommitResult& result) {
    std::vector<std::string> files;
    for (const auto& fragment : result.manifest.fragments()) {
      files.push_back(std::to_string(fragment.id()) + ":" +
                      fragment.files(0).path());
    }
    return files;
  }

  StillClock clock_;
  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  Location root_{store_, "/d"};
  CommitOptions options_;
};

TEST_F(CommitTest, CreatesVersionOne) {
  ASSERT_OK_AND_ASSIGN(const CommitResult result, Commit(Create()));

  EXPECT_EQ(result.version, 1U);
  ASSERT_OK_AND_ASSIGN(const ManifestName latest, FindLatest(root_));
  ASSERT_OK_AND_ASSIGN(
      const Manifest manifest,
      ReadManifest(root_.Join("_versions"), latest, ManifestParts::kAll));
  EXPECT_EQ(manifest.message.data_format().version(), "2.2");
  EXPECT_EQ(manifest.message.timestamp().seconds(), 1700000000);
  EXPECT_EQ(manifest.message.timestamp().nanos(), 123456789);
  EXPECT_EQ(manifest.message.max_fragment_id(), 0U);
  ASSERT_OK_AND_ASSIGN(const pb::Transaction stored,
                       ReadTransaction(root_, manifest));
  EXPECT_TRUE(stored.has_overwrite());
  // The same lies in its own file, for readers that look there.
  EXPECT_OK(
      store_->Stat("/d/_transactions/" + manifest.message.transaction_file()));
}

TEST_F(CommitTest, CreatesOnlyWhereNothingIs) {
  ASSERT_OK(Commit(Create()));

  EXPECT_THAT(Commit(Create()), HasCode(Code::kAlreadyExists));
}

TEST_F(CommitTest, AppendsOnTopOfWhatOthersAppended) {
  ASSERT_OK(Commit(Create()));
  ASSERT_OK(Commit(AppendOn(1, "theirs.lance")));

  ASSERT_OK_AND_ASSIGN(const CommitResult result,
                       Commit(AppendOn(1, "mine.lance")));

  EXPECT_EQ(result.version, 3U);
  EXPECT_EQ(Files(result), (std::vector<std::string>{
                               "0:a.lance", "1:theirs.lance", "2:mine.lance"}));
}

TEST_F(CommitTest, GivesUpWhenTheTableWasReplaced) {
  ASSERT_OK(Commit(Create()));
  pb::Transaction replace = Create();
  replace.set_read_version(1);
  ASSERT_OK(Commit(replace));

  EXPECT_THAT(Commit(AppendOn(1, "x.lance")), HasCode(Code::kAlreadyExists));
}

TEST_F(CommitTest, DeletesOnTopOfAnAppendButNotOfTheSameFragmentsDelete) {
  ASSERT_OK_AND_ASSIGN(const CommitResult first, Commit(Create()));
  ASSERT_OK(Commit(AppendOn(1, "b.lance")));

  ASSERT_OK_AND_ASSIGN(const CommitResult deleted,
                       Commit(DeleteOn(1, first.manifest.fragments(0))));
  EXPECT_EQ(deleted.manifest.reader_feature_flags(), kFlagDeletionFiles);
  EXPECT_EQ(deleted.manifest.writer_feature_flags(), kFlagDeletionFiles);
  EXPECT_THAT(Commit(DeleteOn(1, first.manifest.fragments(0))),
              HasCode(Code::kChanged));
}

TEST_F(CommitTest, RewritesInPlaceSoThatRowsStayInOrder) {
  ASSERT_OK(Commit(Create()));
  ASSERT_OK(Commit(AppendOn(1, "b.lance")));
  ASSERT_OK_AND_ASSIGN(const CommitResult before,
                       Commit(AppendOn(2, "c.lance")));
  pb::Transaction rewrite;
  rewrite.set_read_version(3);
  auto* group = rewrite.mutable_rewrite()->add_groups();
  *group->add_old_fragments() = before.manifest.fragments(0);
  *group->add_old_fragments() = before.manifest.fragments(1);
  *group->add_new_fragments() = NewFragment("ab.lance", 8);

  ASSERT_OK_AND_ASSIGN(const CommitResult result, Commit(rewrite));

  EXPECT_EQ(Files(result),
            (std::vector<std::string>{"3:ab.lance", "2:c.lance"}));
  ASSERT_OK_AND_ASSIGN(const pb::Transaction stored,
                       ReadTransaction(root_, result.version));
  EXPECT_EQ(stored.rewrite().groups(0).new_fragments(0).id(), 3U);
}

TEST_F(CommitTest, AssignsStableRowIds) {
  options_.stable_row_ids = true;
  ASSERT_OK(Commit(Create()));

  ASSERT_OK_AND_ASSIGN(const CommitResult result,
                       Commit(AppendOn(1, "b.lance")));

  pb::RowIdSequence ids;
  ASSERT_TRUE(
      ids.ParseFromString(result.manifest.fragments(1).inline_row_ids()));
  EXPECT_EQ(ids.segments(0).range().start(), 5U);
  EXPECT_EQ(ids.segments(0).range().end(), 8U);
  EXPECT_EQ(result.manifest.next_row_id(), 8U);
  EXPECT_EQ(result.manifest.writer_feature_flags(), kFlagStableRowIds);
}

TEST_F(CommitTest, SetsFlagsForGood) {
  options_.add_flags = kFlagSixFieldBlobs;
  ASSERT_OK(Commit(Create()));
  options_.add_flags = 0;

  ASSERT_OK_AND_ASSIGN(const CommitResult result,
                       Commit(AppendOn(1, "b.lance")));

  EXPECT_EQ(result.manifest.reader_feature_flags(), kFlagSixFieldBlobs);
  EXPECT_EQ(result.manifest.writer_feature_flags(), kFlagSixFieldBlobs);
}

TEST_F(CommitTest, RefusesATableWithWriterFlagsItDoesNotKnow) {
  Manifest manifest;
  manifest.message.set_version(1);
  manifest.message.set_writer_feature_flags(uint64_t{1} << 40);
  store_->Put(
      "/d/_versions/" + FormatManifestName(1, ManifestNaming::kInverted),
      EncodeManifest(manifest));

  EXPECT_THAT(Commit(AppendOn(1, "b.lance")), HasCode(Code::kUnsupported));
}

TEST_F(CommitTest, ACommitThatDoesNotSayWhatItChangedMeansTryAgain) {
  ASSERT_OK_AND_ASSIGN(const CommitResult first, Commit(Create()));
  Manifest manifest;
  manifest.message = first.manifest;
  manifest.message.set_version(2);
  manifest.message.clear_transaction_file();
  store_->Put(
      "/d/_versions/" + FormatManifestName(2, ManifestNaming::kInverted),
      EncodeManifest(manifest));

  EXPECT_THAT(Commit(AppendOn(1, "b.lance")), HasCode(Code::kChanged));
  EXPECT_OK(Commit(AppendOn(2, "b.lance")));
}

TEST_F(CommitTest, KeepsTheNamingOfTheDataset) {
  ASSERT_OK_AND_ASSIGN(const CommitResult first, Commit(Create()));
  Manifest manifest;
  manifest.message = first.manifest;
  ASSERT_OK(store_->Remove("/d/_versions/" +
                           FormatManifestName(1, ManifestNaming::kInverted)));
  store_->Put("/d/_versions/1.manifest", EncodeManifest(manifest));

  ASSERT_OK(Commit(AppendOn(1, "b.lance")));

  EXPECT_OK(store_->Stat("/d/_versions/2.manifest"));
}

TEST_F(CommitTest, CarriesForwardWhatItDoesNotTouch) {
  ASSERT_OK_AND_ASSIGN(const CommitResult first, Commit(Create()));
  Manifest manifest;
  manifest.message = first.manifest;
  (*manifest.message.mutable_config())["k"] = "v";
  manifest.message.set_max_allocated_field_id(9);
  manifest.index_section = ToBytes("index");
  store_->Put(
      "/d/_versions/" + FormatManifestName(1, ManifestNaming::kInverted),
      EncodeManifest(manifest));

  ASSERT_OK(Commit(AppendOn(1, "b.lance")));

  ASSERT_OK_AND_ASSIGN(const ManifestName latest, FindLatest(root_));
  ASSERT_OK_AND_ASSIGN(
      const Manifest read,
      ReadManifest(root_.Join("_versions"), latest, ManifestParts::kAll));
  EXPECT_EQ(read.message.config().at("k"), "v");
  EXPECT_EQ(read.message.max_allocated_field_id(), 9);
  EXPECT_EQ(read.index_section, manifest.index_section);
  EXPECT_EQ(read.message.writer_feature_flags(), kFlagTableConfig);
}

TEST_F(CommitTest, AtEveryFailingRequestLeavesTheOldVersionOrTheNewOne) {
  bool done = false;
  for (uint64_t n = 1; !done; ++n) {
    SCOPED_TRACE(n);
    auto store = std::make_shared<MemoryStore>();
    ASSERT_OK(CommitTransaction({store, "/d"}, Create(), options_));
    auto faulty = std::make_shared<FaultStore>(
        store, Faults{.fail_from = n,
                      .fail_to = n,
                      .fail_code = Code::kPermissionDenied});

    const auto result =
        CommitTransaction({faulty, "/d"}, AppendOn(1, "b.lance"), options_);

    ASSERT_OK_AND_ASSIGN(const ManifestName latest, FindLatest({store, "/d"}));
    ASSERT_OK(
        ReadManifest({store, "/d/_versions"}, latest, ManifestParts::kAll));
    EXPECT_EQ(latest.version, result.ok() ? 2U : 1U);
    done = !faulty->fired();
    ASSERT_LT(n, 100U);
  }
}

TEST_F(CommitTest, ARequestThatFailsOnceIsTriedAgain) {
  ASSERT_OK(Commit(Create()));
  for (uint64_t n = 1; n <= 6; ++n) {
    auto faulty = std::make_shared<FaultStore>(
        store_, Faults{.fail_from = n, .fail_to = n});
    // Whatever it says, a commit that says OK is there exactly once.
    const auto result = CommitTransaction(
        {faulty, "/d"}, AppendOn(1, "n" + std::to_string(n)), options_);
    ASSERT_OK_AND_ASSIGN(const auto versions, ListVersions(root_));
    EXPECT_TRUE(!result.ok() || result.value().version == versions.size());
  }
}

TEST(Uuid, IsAVersion4UuidAndStemsAreFiftyCharacters) {
  const std::string uuid = MakeUuid();
  EXPECT_EQ(uuid.size(), 36U);
  EXPECT_EQ(uuid[14], '4');
  EXPECT_NE(uuid, MakeUuid());
  const std::string stem = MakeDataFileStem();
  EXPECT_EQ(stem.size(), 50U);
  EXPECT_EQ(stem.substr(0, 24).find_first_not_of("01"), std::string::npos);
}

}  // namespace
}  // namespace rowfs
