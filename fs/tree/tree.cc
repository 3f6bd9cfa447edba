#include "fs/tree/tree.h"

#include <utility>

#include "fs/tree/early_tree.h"
#include "fs/tree/tree_state.h"
#include "index/dataset/names.h"
#include "storage/base/clock.h"

namespace rowfs {
namespace {

constexpr size_t kLinksMax = 40;  // as the kernel has it

}  // namespace

Tree::State::State(std::shared_ptr<Dataset> dataset, PluginRegistry& plugins,
                   Renderer& renderer, TreeOptions options)
    : options_(std::move(options)),
      row_count_(dataset->row_count()),
      versions_(
          std::make_unique<Snapshot>(std::move(dataset), plugins, renderer,
                                     options_, 0, options_.mtime_ns),
          plugins, renderer, options_),
      prefetcher_(options_.prefetch_pool, [this](const std::string& line) {
        // Nobody waits for the answer; reading the file itself will tell.
        static_cast<void>(Prefetch(line));
      }) {
  UniqueNames taken;
  for (const auto& [name, rows] : options_.views) {
    views_.emplace_back(taken.Take(EscapeName(name)), Selection::Make(rows));
  }
}

TreeStats Tree::State::Stats() const {
  TreeStats stats;
  stats.row_count = row_count_;
  stats.open_handles = handles_.size();
  stats.table_nodes = table_.size();
  return stats;
}

Result<Entry> Tree::State::Resolve(std::string_view path, bool follow) {
  // Parts still to be walked, the next one last.
  std::vector<std::string> parts;
  const auto push = [&parts](std::string_view text) {
    while (!text.empty()) {
      const size_t slash = text.rfind('/');
      const size_t begin = slash == text.npos ? 0 : slash + 1;
      if (begin < text.size()) parts.emplace_back(text.substr(begin));
      text = text.substr(0, slash == text.npos ? 0 : slash);
    }
  };
  push(path);
  std::vector<Entry> at(1);
  at[0].node = kRootNode;
  ROWFS_ASSIGN_OR_RETURN(at[0].attributes, GetAttr(kRootNode, Wait::kYes));
  size_t links = 0;
  Status status;
  while (!parts.empty() && status.ok()) {
    const std::string name = std::move(parts.back());
    parts.pop_back();
    if (name == ".") continue;
    if (name == "..") {
      if (at.size() > 1) {
        Forget(at.back().node, 1);
        at.pop_back();
      }
      continue;
    }
    const Result<Entry> child = Lookup(at.back().node, name, Wait::kYes);
    status = child.status();
    if (!status.ok()) break;
    const bool link = child.value().attributes.type == NodeType::kLink;
    if (link && (follow || !parts.empty())) {
      const Result<std::string> target =
          ReadLink(child.value().node, Wait::kYes);
      status = target.status();
      if (++links > kLinksMax) {
        status = Status(Code::kInvalidArgument, "too many links");
      }
      if (status.ok()) push(target.value());
      continue;
    }
    at.push_back(child.value());
  }
  const Entry found = at.back();
  const size_t drop = status.ok() ? at.size() - 1 : at.size();
  for (size_t i = 0; i < drop; ++i) Forget(at[i].node, 1);
  if (!status.ok()) return status.With(path);
  return found;
}

Result<std::unique_ptr<Tree>> Tree::Make(std::shared_ptr<Dataset> dataset,
                                         PluginRegistry& plugins,
                                         Renderer& renderer,
                                         TreeOptions options) {
  const uint64_t row_count = dataset->row_count();
  if (row_count >= kNodeRowsMax) {
    return Status(Code::kUnsupported, dataset->source() + ": " +
                                          std::to_string(row_count) +
                                          " rows are more than a mount can "
                                          "show");
  }
  if (!options.name_column.empty()) {
    const auto column = dataset->FindColumn(options.name_column);
    if (!column) {
      return Status(Code::kInvalidArgument,
                    "--name-column: no column is named " + options.name_column);
    }
    if (!IsScalar(dataset->columns()[*column])) {
      return Status(Code::kInvalidArgument,
                    "--name-column: " + options.name_column + " is " +
                        dataset->columns()[*column].type->ToString() +
                        ", not a single value");
    }
  }
  for (const auto& [name, rows] : options.views) {
    for (const uint64_t row : rows) {
      if (row < row_count) continue;
      return Status(Code::kInvalidArgument,
                    "--view " + name + ": row " + std::to_string(row) +
                        ": there are " + std::to_string(row_count) + " rows");
    }
  }
  if (options.mtime_ns == 0) options.mtime_ns = RealClock().NowNs();
  return std::unique_ptr<Tree>(new Tree(std::make_unique<State>(
      std::move(dataset), plugins, renderer, std::move(options))));
}

Tree::Tree(std::unique_ptr<State> state)
    : state_(std::move(state)), whole_(state_.get()) {}
Tree::Tree(std::unique_ptr<EarlyTree> early) : early_(std::move(early)) {}
Tree::~Tree() = default;

std::unique_ptr<Tree> Tree::MakeEarly(std::shared_ptr<const EarlyRows> rows,
                                      TreeOptions options) {
  if (options.mtime_ns == 0) options.mtime_ns = RealClock().NowNs();
  return std::unique_ptr<Tree>(new Tree(
      std::make_unique<EarlyTree>(std::move(rows), std::move(options))));
}

void Tree::KeepNames(TreeOptions* options) { early_->Seal(options); }

void Tree::Complete(Result<std::unique_ptr<Tree>> whole) {
  {
    const MutexLock lock(mu_);
    // Whatever it was, no name is absent because of it.
    if (!whole.ok()) {
      failure_ =
          Status(Code::kUnavailable, std::string(whole.status().message()));
    } else {
      state_ = std::move(whole.value()->state_);
      whole_ = state_.get();
    }
  }
  completed_.NotifyAll();
}

Status Tree::WaitForWhole() const {
  const MutexLock lock(mu_);
  while (whole_ == nullptr && failure_.ok()) completed_.Wait(mu_);
  return failure_;
}

template <typename Value, typename Early, typename Whole>
Value Tree::Ask(Wait wait, const Early& early, const Whole& whole) const {
  if (State* const state = whole_) return whole(*state);
  if (auto answer = early(*early_)) return *std::move(answer);
  if (wait == Wait::kNo) return WouldWait();
  ROWFS_RETURN_IF_ERROR(WaitForWhole());
  return whole(*whole_);
}

Result<Entry> Tree::Lookup(NodeId parent, std::string_view name, Wait wait) {
  return Ask<Result<Entry>>(
      wait, [&](EarlyTree& tree) { return tree.Lookup(parent, name, wait); },
      [&](State& state) { return state.Lookup(parent, name, wait); });
}

void Tree::Forget(NodeId node, uint64_t count) {
  // Nothing of an early tree is counted.
  if (State* const state = whole_) state->Forget(node, count);
}

Result<Attributes> Tree::GetAttr(NodeId node, Wait wait) {
  return Ask<Result<Attributes>>(
      wait, [&](EarlyTree& tree) { return tree.GetAttr(node, wait); },
      [&](State& state) { return state.GetAttr(node, wait); });
}

Status Tree::ReadDir(NodeId directory, uint64_t cookie, bool plus, Wait wait,
                     const std::function<bool(const DirectoryEntry&)>& put) {
  return Ask<Status>(
      wait,
      [&](EarlyTree& tree) {
        return tree.ReadDir(directory, cookie, wait, put);
      },
      [&](State& state) {
        return state.ReadDir(directory, cookie, plus, wait, put);
      });
}

Status Tree::OpenDir(NodeId directory, Wait wait) {
  State* const state = whole_;
  return state == nullptr ? Status() : state->OpenDir(directory, wait);
}

bool Tree::AbsenceIsFinal(NodeId directory) const {
  return State::AbsenceIsFinal(directory);
}

Result<OpenedFile> Tree::Open(NodeId node, Wait wait) {
  return Ask<Result<OpenedFile>>(
      wait, [&](EarlyTree& tree) { return tree.Open(node, wait); },
      [&](State& state) { return state.Open(node, wait); });
}

Result<size_t> Tree::Read(NodeId node, uint64_t handle, uint64_t offset,
                          MutableByteSpan out, Wait wait) {
  return Ask<Result<size_t>>(
      wait, [&](EarlyTree& tree) { return tree.Read(node, offset, out, wait); },
      [&](State& state) {
        return state.Read(node, handle, offset, out, wait);
      });
}

void Tree::Release(uint64_t handle) {
  if (State* const state = whole_) state->Release(handle);
}

Status Tree::Write(NodeId node, ByteSpan bytes) {
  ROWFS_RETURN_IF_ERROR(WaitForWhole());
  return whole_.load()->Write(node, bytes);
}

Result<std::string> Tree::ReadLink(NodeId node, Wait wait) {
  return Ask<Result<std::string>>(
      wait, [&](EarlyTree& tree) { return tree.ReadLink(node, wait); },
      [&](State& state) { return state.ReadLink(node, wait); });
}

Result<std::string> Tree::GetXattr(NodeId node, std::string_view name,
                                   Wait wait) {
  using Answer = EarlyTree::Answer<std::string>;
  return Ask<Result<std::string>>(
      wait,
      // `ls -l` asks for access rights.
      [&](EarlyTree&) -> Answer {
        if (name.starts_with("user.rowfs.")) return {};
        return Result<std::string>(Status(Code::kNotFound, "no such value"));
      },
      [&](State& state) { return state.GetXattr(node, name, wait); });
}

Result<std::vector<std::string>> Tree::ListXattr(NodeId node, Wait wait) {
  using Answer = EarlyTree::Answer<std::vector<std::string>>;
  return Ask<Result<std::vector<std::string>>>(
      wait, [](EarlyTree&) -> Answer { return {}; },
      [&](State& state) { return state.ListXattr(node, wait); });
}

bool Tree::open_needed() const {
  State* const state = whole_;
  return state == nullptr || state->open_needed();
}

bool Tree::folders_fixed() const {
  State* const state = whole_;
  return state != nullptr && state->folders_fixed();
}

TreeStats Tree::Stats() const {
  if (State* const state = whole_) return state->Stats();
  TreeStats stats;
  stats.row_count = early_->row_count();
  return stats;
}

void Tree::CountRequest(Operation operation) {
  if (State* const state = whole_) state->CountRequest(operation);
}

void Tree::CountError(std::string_view errno_name) {
  if (State* const state = whole_) state->CountError(errno_name);
}

Result<Entry> Tree::Resolve(std::string_view path, bool follow) {
  ROWFS_RETURN_IF_ERROR(WaitForWhole());
  return whole_.load()->Resolve(path, follow);
}

Status Tree::Prefetch(std::string_view line) {
  ROWFS_RETURN_IF_ERROR(WaitForWhole());
  return whole_.load()->Prefetch(line);
}

}  // namespace rowfs
