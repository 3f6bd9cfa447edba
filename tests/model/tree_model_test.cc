// Random operations on a tree against what they must give: files against what
// a first, plain walk read; references against a map. The seed is printed;
// ROWFS_SEED replays it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "storage/base/clock.h"
#include "tests/support/sample_tree.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

struct Known {
  NodeType type = NodeType::kFile;
  std::string bytes;                  // of files
  std::vector<std::string> children;  // of folders
};
using Model = std::map<std::string, Known>;

// Frame 3 of each video cannot be made and nothing lies in video.broken.
bool IsBroken(const std::string& path) {
  return path.find("000003.jpg") != path.npos ||
         path.find("video.broken") != path.npos ||
         path.find("video.bin") != path.npos;
}

void Walk(Tree& tree, const std::string& path, NodeId node, Model* model) {
  Known known;
  known.type = tree.GetAttr(node, Wait::kYes).value().type;
  if (known.type == NodeType::kFile) {
    const auto opened = tree.Open(node, Wait::kYes);
    if (!opened.ok()) return;
    Bytes bytes(opened.value().attributes.size + 1);
    const auto size =
        tree.Read(node, opened.value().handle, 0, bytes, Wait::kYes);
    known.bytes = AsText(ByteSpan(bytes).first(size.value()));
    tree.Release(opened.value().handle);
  } else if (known.type == NodeType::kDirectory) {
    EXPECT_OK(tree.ReadDir(node, 0, false, Wait::kYes,
                           [&](const DirectoryEntry& child) {
                             known.children.emplace_back(child.name);
                             return true;
                           }));
    for (const std::string& name : known.children) {
      const std::string below = path.empty() ? name : path + "/" + name;
      if (IsBroken(below)) continue;
      const Entry entry = tree.Lookup(node, name, Wait::kYes).value();
      Walk(tree, below, entry.node, model);
      tree.Forget(entry.node, 1);
    }
  }
  (*model)[path] = std::move(known);
}

class Sequence {
 public:
  Sequence(Tree& tree, const Model& model, uint64_t seed)
      : tree_(tree), model_(model), random_(seed) {
    for (const auto& [path, known] : model) paths_.push_back(path);
  }

  void Step() {
    switch (random_() % 5) {
      case 0:
      case 1:
        return Take();
      case 2:
        return GiveBack();
      case 3:
        return LookAt();
      default:
        return List();
    }
  }
  void GiveBackAll() {
    while (!held_.empty()) GiveBack();
  }

 private:
  struct Held {
    NodeId node = 0;
    uint64_t count = 0;
  };

  template <typename T>
  const T& Any(const std::vector<T>& all) {
    return all[random_() % all.size()];
  }

  void Take() {
    const std::string& path = Any(paths_);
    const auto entry = tree_.Resolve(path, false);
    ASSERT_OK(entry);
    Held& held = held_[path];
    if (held.count > 0) {
      EXPECT_EQ(held.node, entry.value().node) << path;
    }
    held.node = entry.value().node;
    ++held.count;
  }

  void GiveBack() {
    if (held_.empty()) return;
    auto it = held_.begin();
    std::advance(it, static_cast<ptrdiff_t>(random_() % held_.size()));
    const uint64_t count = 1 + random_() % it->second.count;
    tree_.Forget(it->second.node, count);
    it->second.count -= count;
    if (it->second.count == 0) held_.erase(it);
  }

  // Reads a piece of a held file.
  void LookAt() {
    if (held_.empty()) return;
    auto it = held_.begin();
    std::advance(it, static_cast<ptrdiff_t>(random_() % held_.size()));
    const Known& known = model_.at(it->first);
    const auto attributes = tree_.GetAttr(it->second.node, Wait::kYes);
    ASSERT_OK(attributes);
    EXPECT_EQ(attributes.value().type, known.type) << it->first;
    if (known.type != NodeType::kFile) return;
    const auto opened = tree_.Open(it->second.node, Wait::kYes);
    ASSERT_OK(opened);
    const bool changing = opened.value().changing;
    const uint64_t offset = random_() % (known.bytes.size() + 2);
    Bytes bytes(1 + random_() % 300);
    const auto size = tree_.Read(it->second.node, opened.value().handle, offset,
                                 bytes, Wait::kYes);
    ASSERT_OK(size);
    if (!changing) {
      EXPECT_EQ(opened.value().attributes.size, known.bytes.size());
      EXPECT_EQ(AsText(ByteSpan(bytes).first(size.value())),
                offset > known.bytes.size()
                    ? ""
                    : known.bytes.substr(offset, bytes.size()));
    }
    tree_.Release(opened.value().handle);
  }

  // Lists some entries of a folder from somewhere.
  void List() {
    const std::string& path = Any(paths_);
    const Known& known = model_.at(path);
    if (known.type != NodeType::kDirectory) return;
    const auto folder = tree_.Resolve(path, false);
    ASSERT_OK(folder);
    const bool plus = random_() % 2 == 0;
    std::vector<std::string> names;
    uint64_t cookie = 0;
    for (bool more = true; more;) {
      size_t space = 1 + random_() % 20;
      more = false;
      std::vector<NodeId> references;
      EXPECT_OK(tree_.ReadDir(folder.value().node, cookie, plus, Wait::kYes,
                              [&](const DirectoryEntry& child) {
                                if (space-- == 0) {
                                  more = true;
                                  return false;
                                }
                                names.emplace_back(child.name);
                                cookie = child.next;
                                if (plus && child.entry.node != 0) {
                                  references.push_back(child.entry.node);
                                }
                                return true;
                              }));
      for (const NodeId node : references) tree_.Forget(node, 1);
    }
    EXPECT_EQ(names, known.children) << path;
    tree_.Forget(folder.value().node, 1);
  }

  Tree& tree_;
  const Model& model_;
  std::mt19937_64 random_;
  std::vector<std::string> paths_;
  std::map<std::string, Held> held_;
};

TEST(TreeModel, RandomOperationsGiveWhatAPlainWalkGave) {
  const char* given = std::getenv("ROWFS_SEED");
  const uint64_t seed = given != nullptr
                            ? std::stoull(given)
                            : static_cast<uint64_t>(RealClock().NowNs());
  std::cout << "ROWFS_SEED=" << seed << "\n";
  SampleTree sample({.row_count = 9, .tree = {.views = {{"best", {3, 1, 2}}}}});
  Model model;
  Walk(sample.tree(), "", kRootNode, &model);
  ASSERT_GT(model.size(), 400u);
  ASSERT_EQ(sample.tree().Stats().table_nodes, 0u);

  Sequence sequence(sample.tree(), model, seed);
  for (int i = 0; i < 5000 && !::testing::Test::HasFailure(); ++i) {
    sequence.Step();
  }

  sequence.GiveBackAll();
  EXPECT_EQ(sample.tree().Stats().table_nodes, 0u);
  EXPECT_EQ(sample.tree().Stats().open_handles, 0u);
}

}  // namespace
}  // namespace rowfs
