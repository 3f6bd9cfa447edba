// A source opened as a tree, with all that stands behind it: what `mount`, `ls`
// and `cat` share.
//
// Made by one thread; the tree is thread-safe.
#ifndef ROWFS_FS_CLI_TREE_SESSION_H_
#define ROWFS_FS_CLI_TREE_SESSION_H_

#include <memory>
#include <string>
#include <vector>

#include "fs/cli/catalog_stores.h"
#include "fs/cli/catalog_values.h"
#include "fs/cli/session.h"
#include "fs/tree/tree.h"
#include "index/view/renderer.h"
#include "storage/base/log.h"

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
  // Open args.operands[0] as a tree. `log` outlives the session. With `env` a
  // terminal sees how it goes on.
  static Result<std::unique_ptr<TreeSession>> Open(const Args& args,
                                                   Logger* log,
                                                   Env* env = nullptr);

  Tree& tree() { return *tree_; }
  Session& session() { return *session_; }
  Dataset& dataset() { return *dataset_; }
  // Why indexes are not kept; empty when they are.
  std::string catalog_problem() const { return catalogs_.own->problem(); }

 private:
  TreeSession() = default;

  std::string StatsText();

  std::unique_ptr<Session> session_;
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
};

}  // namespace rowfs
#endif  // ROWFS_FS_CLI_TREE_SESSION_H_
