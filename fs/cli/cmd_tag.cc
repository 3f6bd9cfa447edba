// rowfs tag.
#include "fs/cli/commands.h"
#include "fs/cli/lance_target.h"

namespace rowfs {
namespace {

Json ToJson(const std::string& name, const Tag& tag) {
  return std::move(
      Json::Object()
          .Add("name", Json::String(name))
          .Add("branch", tag.branch.empty() ? Json() : Json::String(tag.branch))
          .Add("version", Json::Uint(tag.version)));
}

Status ListAll(Env& env, const LanceTarget& target, bool json) {
  ROWFS_ASSIGN_OR_RETURN(const auto tags, ListTags(target.dataset));
  Json list = Json::Array();
  for (const auto& [name, tag] : tags) {
    list.items.push_back(ToJson(name, tag));
    if (json) continue;
    env.out << name << "\tv" << tag.version;
    if (!tag.branch.empty()) env.out << "\tof branch " << tag.branch;
    env.out << "\n";
  }
  if (json) env.out << WriteJson(list) << "\n";
  return {};
}

Status Change(Env& env, const LanceTarget& target, const std::string& verb,
              const std::string& name, bool json) {
  ROWFS_ASSIGN_OR_RETURN(const auto tags, ListTags(target.dataset));
  const auto found = tags.find(name);
  if (verb == "create" && found != tags.end()) {
    return {Code::kAlreadyExists, target.dataset.uri() + ": tag \"" + name +
                                      "\" is at v" +
                                      std::to_string(found->second.version) +
                                      " already; `rowfs tag update` moves it"};
  }
  if (verb != "create" && found == tags.end()) {
    return {Code::kNotFound, target.dataset.uri() + ": there is no tag \"" +
                                 name + "\"; `rowfs tag list` shows them"};
  }
  if (verb == "delete") {
    ROWFS_RETURN_IF_ERROR(RemoveTag(target.dataset, name));
    if (json) {
      env.out << WriteJson(ToJson(name, found->second)) << "\n";
    } else {
      env.out << "removed tag " << name << "; version " << found->second.version
              << " stays\n";
    }
    return {};
  }
  const Tag tag{target.resolved.branch, target.resolved.name.version};
  ROWFS_RETURN_IF_ERROR(PutTag(target.dataset, name, tag, verb == "update"));
  if (json) {
    env.out << WriteJson(ToJson(name, tag)) << "\n";
  } else {
    env.out << "tag " << name << " is version " << tag.version << " of "
            << target.resolved.root.uri() << "\n";
  }
  return {};
}

Status Run(Env& env, const Args& args) {
  const std::string& verb = args.operands[0];
  const bool list = verb == "list";
  if (!list && verb != "create" && verb != "update" && verb != "delete") {
    return {Code::kInvalidArgument,
            "tag takes list, create, update or delete, not \"" + verb + "\""};
  }
  if (args.operands.size() != (list ? 2U : 3U)) {
    return {Code::kInvalidArgument,
            "tag " + verb + " takes DATASET" + (list ? "" : " NAME")};
  }
  ROWFS_ASSIGN_OR_RETURN(const auto session, Session::Make(args, ""));
  ROWFS_ASSIGN_OR_RETURN(const LanceTarget target,
                         FindLanceTarget(*session, args.operands[1]));
  const bool json = args.Has("--json");
  if (list) return ListAll(env, target, json);
  return Change(env, target, verb, args.operands[2], json);
}

}  // namespace

int CmdTag(Env& env, const Args& args) {
  const Status status = Run(env, args);
  return status.ok() ? kExitDone : FailOrUsage(env, status, "tag");
}

}  // namespace rowfs
