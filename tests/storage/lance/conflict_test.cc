#include "storage/lance/conflict.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

namespace rowfs {
namespace {

namespace pb = lance::pb;

// One transaction of each operation, on fragment `id` where it has any.
std::map<std::string, pb::Transaction> Operations(uint64_t id) {
  std::map<std::string, pb::Transaction> out;
  out["append"].mutable_append();
  out["delete"].mutable_delete_()->add_updated_fragments()->set_id(id);
  out["drop"].mutable_delete_()->add_deleted_fragment_ids(id);
  out["update"].mutable_update()->add_removed_fragment_ids(id);
  out["rewrite"].mutable_rewrite()->add_groups()->add_old_fragments()->set_id(
      id);
  out["replace"]
      .mutable_data_replacement()
      ->add_replacements()
      ->set_fragment_id(id);
  out["overwrite"].mutable_overwrite();
  out["restore"].mutable_restore();
  out["merge"].mutable_merge();
  out["project"].mutable_project();
  out["index"].mutable_create_index();
  out["reserve"].mutable_reserve_fragments();
  out["config"].mutable_update_config();
  out["bases"].mutable_update_bases();
  out["clone"].mutable_clone();
  out["memwal"].mutable_update_mem_wal_state();
  out["unknown"];
  return out;
}

// 'n' none, 'r' retry, 'x' incompatible: what `mine` may do after each
// operation on the same fragment.
void ExpectRow(const std::string& mine,
               const std::map<std::string, char>& expected, uint64_t theirs) {
  const auto own = Operations(1);
  for (const auto& [name, transaction] : Operations(theirs)) {
    const Conflict conflict = FindConflict(own.at(mine), transaction);
    const char letter = conflict == Conflict::kNone    ? 'n'
                        : conflict == Conflict::kRetry ? 'r'
                                                       : 'x';
    const auto want = expected.find(name);
    EXPECT_EQ(letter, want == expected.end() ? 'n' : want->second)
        << mine << " after " << name;
  }
}

TEST(Conflict, AppendFailsOnlyOnANewTable) {
  ExpectRow(
      "append",
      {{"overwrite", 'x'}, {"restore", 'x'}, {"memwal", 'x'}, {"unknown", 'r'}},
      1);
}

TEST(Conflict, DeleteMustSeeOtherChangesOfItsFragments) {
  const std::map<std::string, char> same = {
      {"delete", 'r'},    {"drop", 'r'},   {"update", 'r'},  {"rewrite", 'r'},
      {"replace", 'r'},   {"merge", 'r'},  {"unknown", 'r'}, {"memwal", 'x'},
      {"overwrite", 'x'}, {"restore", 'x'}};
  ExpectRow("delete", same, 1);
  ExpectRow("drop", same, 1);
  ExpectRow("delete",
            {{"merge", 'r'},
             {"unknown", 'r'},
             {"memwal", 'x'},
             {"overwrite", 'x'},
             {"restore", 'x'}},
            2);
}

TEST(Conflict, RewriteMustSeeOtherChangesOfItsFragmentsAndNewIndices) {
  ExpectRow("rewrite",
            {{"delete", 'r'},
             {"drop", 'r'},
             {"update", 'r'},
             {"rewrite", 'r'},
             {"replace", 'r'},
             {"merge", 'r'},
             {"index", 'r'},
             {"unknown", 'r'},
             {"overwrite", 'x'},
             {"restore", 'x'}},
            1);
  ExpectRow("rewrite",
            {{"merge", 'r'},
             {"index", 'r'},
             {"unknown", 'r'},
             {"overwrite", 'x'},
             {"restore", 'x'}},
            2);
}

TEST(Conflict, OverwriteStopsAtSettingsSomebodyElseJustMade) {
  ExpectRow("overwrite", {{"memwal", 'x'}}, 1);
  pb::Transaction mine;
  (*mine.mutable_overwrite()->mutable_config_upsert_values())["a"] = "1";
  pb::Transaction theirs;
  theirs.mutable_update_config()
      ->mutable_config_updates()
      ->add_update_entries()
      ->set_key("a");

  EXPECT_EQ(FindConflict(mine, theirs), Conflict::kIncompatible);
}

}  // namespace
}  // namespace rowfs
