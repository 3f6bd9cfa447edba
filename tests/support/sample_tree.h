// The dataset most tests of fs/ look at, and a Tree over it.
//
//   id       int64          row number; null in row 5
//   label    string         "even", "odd", null in row 5
//   name     string         awkward names: "a/b", "..", "", "dup", "dup~2" ...
//   score    double         row / 10
//   point    3 x float      (row, 0.5, -1); .npy
//   tags     list<string>   .json
//   photo    blob           PNG head and the row number; null in row 5, empty
//                           in row 6
//   notes    blob           declared text/plain
//   video    blob           with blob_info of FakePlugin, 10 frames; row 7's
//                           blob_info is of no plugin
//   images   list<blob>     two pictures
//   gated    blob           reading it waits while SampleOptions::gate exists
//
// Thread-safe.
#ifndef ROWFS_TESTS_SUPPORT_SAMPLE_TREE_H_
#define ROWFS_TESTS_SUPPORT_SAMPLE_TREE_H_

#include <memory>
#include <string>

#include "fs/tree/tree.h"
#include "index/view/renderer.h"
#include "tests/support/fake_plugin.h"
#include "tests/support/generated_table.h"

namespace rowfs {

struct SampleOptions {
  uint64_t row_count = 20;
  // Only id, label and a small blob: for tables of a million rows.
  bool narrow = false;
  // A file; while it exists, reads of `gated` wait.
  std::string gate;
  TreeOptions tree;
};

// Bytes of photo, notes, video and images/I of `row`.
std::string SamplePhoto(uint64_t row);
std::string SampleNotes(uint64_t row);
std::string SampleVideo(uint64_t row);
std::string SampleImage(uint64_t row, uint64_t image);

class SampleTree {
 public:
  explicit SampleTree(SampleOptions options);

  Tree& tree() { return *tree_; }
  GeneratedTable& table() { return *table_; }
  FakePlugin& plugin() { return registry_.plugin(); }

 private:
  FakeRegistry registry_;
  ThreadPool pool_;
  ThreadPool prefetch_pool_;
  Renderer renderer_;
  GeneratedTable* table_ = nullptr;  // owned by the dataset
  std::unique_ptr<Tree> tree_;
};

}  // namespace rowfs
#endif  // ROWFS_TESTS_SUPPORT_SAMPLE_TREE_H_
