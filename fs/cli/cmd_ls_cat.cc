// rowfs ls, rowfs cat: the mount's tree without a mount.
#include <iomanip>

#include "fs/cli/commands.h"
#include "fs/cli/tree_session.h"

namespace rowfs {
namespace {

constexpr size_t kReadBytes = 1 << 20;

std::string PathOperand(const Args& args) {
  return args.operands.size() > 1 ? args.operands[1] : "";
}

// Names are bytes; what would break the line or the terminal is shown as "?".
std::string Printable(std::string_view name) {
  std::string text(name);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

void PrintEntry(Env& env, const DirectoryEntry& entry, bool details) {
  const Attributes& attributes = entry.entry.attributes;
  if (details) {
    const char* kind = attributes.type == NodeType::kDirectory ? "d"
                       : attributes.type == NodeType::kLink    ? "l"
                                                               : "-";
    // "~": an estimate until the file is opened.
    env.out << kind << " " << (attributes.size_exact ? " " : "~")
            << std::setw(12) << attributes.size << " ";
  }
  env.out << Printable(entry.name) << "\n";
}

Status List(Env& env, const Args& args) {
  Logger log(LogLevelFromEnvironment(), [&](std::string_view line) {
    env.err << "rowfs: " << line << "\n";
  });
  ROWFS_ASSIGN_OR_RETURN(const auto session, TreeSession::Open(args, &log));
  Tree& tree = session->tree();
  const std::string path = PathOperand(args);
  ROWFS_ASSIGN_OR_RETURN(const Entry node, tree.Resolve(path));
  const bool details = args.Has("-l");
  if (node.attributes.type != NodeType::kDirectory) {
    PrintEntry(env, {path, node, 0}, details);
    return {};
  }
  return tree.ReadDir(
      node.node, 0, details, Wait::kYes, [&](const DirectoryEntry& entry) {
        DirectoryEntry shown = entry;
        // Attributes that the listing left out cost a lookup.
        if (details && entry.entry.node == 0) {
          const auto found = tree.Lookup(node.node, entry.name, Wait::kYes);
          if (found.ok()) shown.entry = found.value();
        }
        PrintEntry(env, shown, details);
        return static_cast<bool>(env.out);
      });
}

Status Print(Env& env, const Args& args) {
  Logger log(LogLevelFromEnvironment(), [&](std::string_view line) {
    env.err << "rowfs: " << line << "\n";
  });
  ROWFS_ASSIGN_OR_RETURN(const auto session, TreeSession::Open(args, &log));
  Tree& tree = session->tree();
  ROWFS_ASSIGN_OR_RETURN(const Entry node, tree.Resolve(PathOperand(args)));
  if (node.attributes.type == NodeType::kDirectory) {
    return {Code::kInvalidArgument,
            PathOperand(args) + " is a directory; `rowfs ls` lists it"};
  }
  ROWFS_ASSIGN_OR_RETURN(const OpenedFile file,
                         tree.Open(node.node, Wait::kYes));
  Bytes buffer(kReadBytes);
  for (uint64_t offset = 0;;) {
    const auto size =
        tree.Read(node.node, file.handle, offset, buffer, Wait::kYes);
    if (!size.ok() || size.value() == 0) {
      tree.Release(file.handle);
      return size.status();
    }
    env.out << AsText(ByteSpan(buffer).first(size.value()));
    if (!env.out) {
      return {Code::kUnavailable, "standard output cannot be written"};
    }
    offset += size.value();
  }
}

}  // namespace

int CmdLs(Env& env, const Args& args) {
  const Status status = List(env, args);
  return status.ok() ? kExitDone : Fail(env, status);
}

int CmdCat(Env& env, const Args& args) {
  const Status status = Print(env, args);
  return status.ok() ? kExitDone : Fail(env, status);
}

}  // namespace rowfs
