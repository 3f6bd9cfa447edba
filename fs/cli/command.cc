#include "fs/cli/command.h"

#include <algorithm>
#include <charconv>
#include <exception>

#include "fs/cli/cmd_blobpack.h"
#include "fs/cli/mount_helper.h"
#include "fs/cli/version.h"

namespace rowfs {
namespace {

// Levenshtein distance; for "did you mean".
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal =
          std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, change}));
    }
  }
  return row[b.size()];
}

template <typename T>
std::string Suggest(std::string_view word, std::span<const T> known) {
  const T* best = nullptr;
  size_t best_distance = std::min<size_t>(3, word.size());
  for (const T& item : known) {
    const size_t distance = Distance(word, item.name);
    if (distance < best_distance) {
      best = &item;
      best_distance = distance;
    }
  }
  return best == nullptr ? ""
                         : "; did you mean " + std::string(best->name) + "?";
}

std::string JoinWithOr(std::span<const std::string_view> words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

Result<uint64_t> ParseUint(std::string_view flag, const std::string& text) {
  uint64_t value = 0;
  const auto [ptr, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && ptr == text.data() + text.size()) return value;
  return Status(
      Code::kInvalidArgument,
      std::string(flag) + " takes a whole number, not \"" + text + "\"");
}

// Whether `value` is of the kind that the flag's metavar says.
Status CheckValue(const Flag& flag, const std::string& value) {
  static constexpr std::string_view kCounts[] = {"N", "K",     "O",       "L",
                                                 "P", "BYTES", "SECONDS", "MS"};
  if (std::find(std::begin(kCounts), std::end(kCounts), flag.metavar) !=
      std::end(kCounts)) {
    return ParseUint(flag.name, value).status();
  }
  if (flag.metavar.find_first_not_of("abcdefghijklmnopqrstuvwxyz|") !=
      flag.metavar.npos) {
    return {};
  }
  const std::vector<std::string_view> choices = Split(flag.metavar, '|');
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) {
    return {};
  }
  return {Code::kInvalidArgument, std::string(flag.name) + " takes " +
                                      JoinWithOr(choices) + ", not \"" + value +
                                      "\""};
}

std::string OneLine(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return line;
}

void PrintOverview(std::ostream& out) {
  out << "Usage: rowfs COMMAND [OPTIONS] ...\n\n"
         "Mounts a multimodal dataset as a directory tree: rows are "
         "directories, blobs are\nfiles, video frames, clips and pages are "
         "files made on demand.\n\nCommands:\n";
  for (const Command& command : Commands()) {
    std::string name(command.name);
    name.resize(std::max<size_t>(name.size() + 1, 15), ' ');
    out << "  " << name << command.summary << "\n";
  }
  out << "  blobpack       pack, verify, ls, unpack, manifest, convert-wds, "
         "-parquet, -lance:\n                 the tool of that name\n";
  out << "\n`rowfs COMMAND --help` explains one. Try:\n"
         "  rowfs ingest videos/ --output videos.lance\n"
         "  rowfs mount videos.lance /tmp/v && ls /tmp/v/rows/000000\n";
}

void PrintHelp(std::ostream& out, const Command& command) {
  out << "Usage: rowfs " << command.name << " " << command.operands
      << (command.flags.empty() ? "" : " [OPTIONS]") << "\n\n"
      << command.summary << ".\n\n"
      << command.details << "\n";
  if (command.flags.empty()) return;
  out << "\nOptions:\n";
  for (const Flag& flag : command.flags) {
    std::string name(flag.name);
    if (!flag.metavar.empty()) name += " " + std::string(flag.metavar);
    if (flag.repeatable) name += " ...";
    if (name.size() < 26) {
      name.resize(26, ' ');
    } else {
      name += "\n" + std::string(28, ' ');
    }
    out << "  " << name << flag.help << "\n";
  }
}

int RunCommand(Env& env, const Command& command,
               std::span<const std::string> words) {
  if (std::any_of(words.begin(), words.end(), [](const std::string& word) {
        return word == "--help" || word == "-h";
      })) {
    PrintHelp(env.out, command);
    return kExitDone;
  }
  const std::string prefix = "rowfs " + std::string(command.name);
  const Result<Args> args = ParseArgs(command.flags, words);
  Status status = args.status();
  if (status.ok()) {
    const size_t count = args.value().operands.size();
    if (count < command.operands_min || count > command.operands_max) {
      status = Status(Code::kInvalidArgument,
                      "takes " + std::string(command.operands));
    }
  }
  if (!status.ok()) {
    env.err << prefix << ": " << OneLine(status.message()) << "\nsee `"
            << prefix << " --help`\n";
    return kExitUsage;
  }
  return command.run(env, args.value());
}

int RunMountHelper(Env& env, std::span<const std::string> words) {
  const std::span<const Command> commands = Commands();
  const auto mount = std::find_if(
      commands.begin(), commands.end(),
      [](const Command& command) { return command.name == "mount"; });
  const auto translated = TranslateMountHelper(mount->flags, words);
  if (translated.ok()) return RunCommand(env, *mount, translated.value());
  env.err << "mount.rowfs: " << OneLine(translated.status().message())
          << "\nusage: mount.rowfs SOURCE MOUNTPOINT [-o OPTION,...]\n";
  return kExitUsage;
}

}  // namespace

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t end = 0; end != text.npos;) {
    end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end != text.npos) text.remove_prefix(end + 1);
  }
  return parts;
}

std::string Args::Get(std::string_view flag) const {
  const auto found = values_.find(flag);
  return found == values_.end() ? "" : found->second.back();
}

std::vector<std::string> Args::GetAll(std::string_view flag) const {
  const auto found = values_.find(flag);
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

Result<std::optional<uint64_t>> Args::GetUint(std::string_view flag) const {
  if (!Has(flag)) return std::optional<uint64_t>();
  ROWFS_ASSIGN_OR_RETURN(const uint64_t value, ParseUint(flag, Get(flag)));
  return std::optional<uint64_t>(value);
}

Args Args::Without(std::string_view flag) const {
  Args args = *this;
  if (const auto found = args.values_.find(flag); found != args.values_.end()) {
    args.values_.erase(found);
  }
  return args;
}

Result<Args> ParseArgs(std::span<const Flag> flags,
                       std::span<const std::string> words) {
  Args args;
  bool options_end = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (options_end || !word.starts_with('-') || word == "-") {
      args.operands.push_back(word);
      continue;
    }
    if (word == "--") {
      options_end = true;
      continue;
    }
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const auto flag =
        std::find_if(flags.begin(), flags.end(),
                     [&](const Flag& f) { return f.name == name; });
    if (flag == flags.end()) {
      return Status(Code::kInvalidArgument,
                    "unknown option " + name + Suggest(name, flags));
    }
    std::string value;
    if (flag->metavar.empty()) {
      if (equals != word.npos) {
        return Status(Code::kInvalidArgument, name + " takes no value");
      }
    } else if (equals != word.npos) {
      value = word.substr(equals + 1);
    } else if (i + 1 < words.size()) {
      value = words[++i];
    } else {
      return Status(Code::kInvalidArgument,
                    name + " takes a value: " + std::string(flag->metavar));
    }
    if (!flag->metavar.empty()) {
      ROWFS_RETURN_IF_ERROR(CheckValue(*flag, value));
    }
    std::vector<std::string>& values = args.values_[name];
    if (!flag->repeatable && !values.empty() && !flag->metavar.empty()) {
      return Status(Code::kInvalidArgument, name + " is given twice");
    }
    values.push_back(std::move(value));
  }
  return args;
}

int Fail(Env& env, const Status& status) {
  env.err << "rowfs: " << OneLine(status.message()) << "\n";
  const bool usage = status.code() == Code::kInvalidArgument &&
                     status.message().starts_with("--");
  return usage ? kExitUsage : kExitFailure;
}

int Dispatch(Env& env, std::span<const std::string> words) {
  try {
    std::span<const std::string> rest = words.subspan(1);
    const std::string& name = words[0];
    // Its command line has rules of its own.
    if (name.substr(name.rfind('/') + 1) == "blobpack") {
      return RunBlobpack(env, rest);
    }
    if (name.substr(name.rfind('/') + 1) == "mount.rowfs") {
      return RunMountHelper(env, rest);
    }
    if (rest.empty()) {
      PrintOverview(env.err);
      return kExitUsage;
    }
    std::vector<std::string> help;
    if (rest[0] == "help" && rest.size() > 1) {
      help = {rest[1], "--help"};
      rest = help;
    }
    if (rest[0] == "--help" || rest[0] == "-h" || rest[0] == "help") {
      PrintOverview(env.out);
      return kExitDone;
    }
    if (rest[0] == "blobpack") return RunBlobpack(env, rest.subspan(1));
    if (rest[0] == "--version") {
      env.out << VersionText();
      return kExitDone;
    }
    const std::span<const Command> commands = Commands();
    const auto command =
        std::find_if(commands.begin(), commands.end(),
                     [&](const Command& c) { return c.name == rest[0]; });
    if (command == commands.end()) {
      env.err << "rowfs: there is no command \"" << OneLine(rest[0]) << "\""
              << Suggest(rest[0], commands) << "\nsee `rowfs --help`\n";
      return kExitUsage;
    }
    return RunCommand(env, *command, rest.subspan(1));
  } catch (const std::exception& e) {
    env.err << "rowfs: internal error: " << OneLine(e.what()) << "\n";
    return kExitFailure;
  }
}

}  // namespace rowfs
