#include "fs/cli/mount_helper.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace rowfs {
namespace {

using std::string_view_literals::operator""sv;

// For mount(8), init and people; not for us. All mounts are read-only.
constexpr std::array kIgnored = {
    "defaults"sv, "auto"sv,       "noauto"sv,      "user"sv,
    "nouser"sv,   "users"sv,      "owner"sv,       "group"sv,
    "nofail"sv,   "_netdev"sv,    "rw"sv,          "loud"sv,
    "silent"sv,   "async"sv,      "relatime"sv,    "norelatime"sv,
    "lazytime"sv, "nolazytime"sv, "strictatime"sv, "noiversion"sv,
    "diratime"sv};
// Those libfuse takes.
constexpr std::array kFuse = {
    "ro"sv,   "suid"sv,    "nosuid"sv,      "dev"sv,     "nodev"sv,
    "exec"sv, "noexec"sv,  "atime"sv,       "noatime"sv, "nodiratime"sv,
    "sync"sv, "dirsync"sv, "auto_unmount"sv};
constexpr std::array kFuseWithValue = {"fsname="sv, "subtype="sv, "max_read="sv,
                                       "context="sv};

bool IsOneOf(std::string_view word, std::span<const std::string_view> list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool StartsWithOneOf(std::string_view word,
                     std::span<const std::string_view> list) {
  return std::any_of(list.begin(), list.end(), [&](std::string_view prefix) {
    return word.starts_with(prefix);
  });
}

// Splits at commas; "\," is a comma, as mount(8) has it.
std::vector<std::string> SplitOptions(std::string_view text) {
  std::vector<std::string> options(1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == ',') {
      options.back() += text[++i];
    } else if (text[i] == ',') {
      options.emplace_back();
    } else {
      options.back() += text[i];
    }
  }
  return options;
}

Status Translate(std::span<const Flag> flags, const std::string& option,
                 std::vector<std::string>* out) {
  constexpr std::array kComments = {"x-"sv, "X-"sv, "comment="sv, "uhelper="sv,
                                    "helper="sv};
  if (option.empty() || IsOneOf(option, kIgnored) ||
      StartsWithOneOf(option, kComments)) {
    return {};
  }
  if (IsOneOf(option, kFuse) || StartsWithOneOf(option, kFuseWithValue)) {
    out->insert(out->end(), {"-o", option});
    return {};
  }
  const size_t equals = option.find('=');
  std::string name = "--" + option.substr(0, equals);
  std::replace(name.begin(), name.end(), '_', '-');
  const auto flag = std::find_if(flags.begin(), flags.end(),
                                 [&](const Flag& f) { return f.name == name; });
  if (flag == flags.end()) {
    return {Code::kInvalidArgument, "unknown mount option " + option};
  }
  const bool has_value = equals != option.npos;
  if (has_value != !flag->metavar.empty()) {
    return {Code::kInvalidArgument,
            "mount option " + option.substr(0, equals) +
                (has_value ? " takes no value" : " takes a value")};
  }
  out->push_back(has_value ? name + option.substr(equals) : name);
  return {};
}

}  // namespace

Result<std::vector<std::string>> TranslateMountHelper(
    std::span<const Flag> flags, std::span<const std::string> words) {
  std::vector<std::string> out;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with('-') || word == "-" || word == "--help") {
      out.push_back(word);
      continue;
    }
    // Of the letters mount(8) may pass, those with a value come last.
    for (size_t at = 1; at < word.size(); ++at) {
      const char letter = word[at];
      if ("sfnvrw"sv.find(letter) != std::string_view::npos) continue;
      if (letter != 'o' && letter != 't' && letter != 'N') {
        return Status(Code::kInvalidArgument, "unknown option " + word);
      }
      std::string value = word.substr(at + 1);
      if (value.empty()) {
        if (i + 1 == words.size()) {
          return Status(Code::kInvalidArgument, word + " takes a value");
        }
        value = words[++i];
      }
      if (letter != 'o') break;
      for (const std::string& option : SplitOptions(value)) {
        ROWFS_RETURN_IF_ERROR(Translate(flags, option, &out));
      }
      break;
    }
  }
  return out;
}

}  // namespace rowfs
