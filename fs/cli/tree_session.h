// A source opened as a tree, with all that stands behind it: what `mount`, `ls`
// and `cat` share.
//
// Made by one thread; the tree is thread-safe.
#ifndef ROWFS_FS_CLI_TREE_SESSION_H_
#define ROWFS_FS_CLI_TREE_SESSION_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "fs/cli/catalog_stores.h"
#include "fs/cli/catalog_values.h"
#include "fs/cli/session.h"
#include "fs/tree/tree.h"
#include "index/view/renderer.h"
#include "storage/base/log.h"
#include "storage/pack/early_tar.h"

namespace rowfs {

// Options that shape a tree, besides those of Session.
inline constexpr Flag kRowsFlag = {"--rows", "flat|sharded|auto",
                                   "how row directories are laid out (auto)"};
inline constexpr std::string_view kFrameFormats = "jpg|png|webp|bmp|ppm|npy";
inline constexpr Flag kFramesFlag = {"--frames", kFrameFormats,
                                     "the format frames are listed in (jpg)"};
inline constexpr Flag kNameColumnFlag = {"--name-column", "C",
                                         "name row directories by this column"};
inline constexpr Flag kViewFlag = {
    "--view", "NAME=FILE",
    "show the rows that FILE lists, one a line, in views/NAME", true};
inline constexpr Flag kExactStatFlag = {
    "--exact-stat", "render", "render on stat, so that sizes are always exact"};
inline constexpr Flag kIndexFlag = {
    "--index", "FILE",
    "what `rowfs index build --output` made (SOURCE.rowfs-index)"};

class TreeSession {
 public:
  // Whether the rows of a table may be shown before all of them are known.
  enum class Begin { kWhenWhole, kEarly };

  // Open args.operands[0] as a tree. `log` outlives the session. With `env` a
  // terminal sees how it goes on. Begin::kEarly: a long tar that was never
  // looked through comes up at once and is looked through in the background.
  static Result<std::unique_ptr<TreeSession>> Open(
      const Args& args, Logger* log, Env* env = nullptr,
      Begin begin = Begin::kWhenWhole);
  ~TreeSession();
  // Give up looking through what was opened early: nobody will ask any more.
  void Stop() {
    if (early_ != nullptr) early_->Cancel();
  }

  Tree& tree() { return *tree_; }
  Session& session() { return *session_; }
  // Requires: it was not opened early.
  Dataset& dataset() { return *dataset_; }
  const std::string& source() const { return source_; }
  // Why indexes are not kept; empty when they are.
  std::string catalog_problem() const {
    return early_ == nullptr ? catalogs_.own->problem() : std::string();
  }

 private:
  TreeSession() = default;

  std::string StatsText();
  // The tree of dataset_, with all that stands behind it.
  Result<std::unique_ptr<Tree>> MakeTree(const Args& args, TreeOptions options);
  bool BeginEarly(const Args& args, const TreeOptions& options);
  void FinishEarly(const Args& args, TreeOptions options);

  std::unique_ptr<Session> session_;
  Logger* log_ = nullptr;
  std::string source_;
  std::shared_ptr<EarlyTar> early_;  // null: whole from the start
  std::atomic<bool> whole_{false};   // all below is there
  std::shared_ptr<Dataset> dataset_;
  Catalogs catalogs_;
  std::unique_ptr<CatalogSizes> sizes_;
  std::unique_ptr<CatalogValues> values_;
  std::unique_ptr<CatalogNames> names_;
  std::unique_ptr<CatalogIndexer> indexer_;
  std::unique_ptr<ThreadPool> ahead_pool_;
  std::unique_ptr<ThreadPool> prefetch_pool_;
  std::unique_ptr<Renderer> renderer_;
  std::unique_ptr<Tree> tree_;
  std::unique_ptr<ThreadPool>
      opener_;  // of early_; last, so that it ends first
};

}  // namespace rowfs
#endif  // ROWFS_FS_CLI_TREE_SESSION_H_
