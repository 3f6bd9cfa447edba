// rowfs bench: runs a benchmark script with this program. The scripts compare
// with peers in the same run and print one JSON object a figure.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "fs/cli/commands.h"

namespace rowfs {
namespace {

namespace path = std::filesystem;

// Beside an installed program, or in the source tree it was built in.
path::path FindScripts() {
  std::error_code error;
  const path::path program = path::read_symlink("/proc/self/exe", error);
  for (const path::path& folder :
       {program.parent_path() / "../share/rowfs/bench",
        program.parent_path() / "../tests/bench"}) {
    if (path::is_directory(folder, error)) return folder.lexically_normal();
  }
  return {};
}

std::string Names(const path::path& folder) {
  std::string names;
  std::error_code error;
  for (const auto& entry : path::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".py") {
      names += " " + entry.path().stem().string();
    }
  }
  return names;
}

}  // namespace

int CmdBench(Env& env, const Args& args) {
  const path::path folder = FindScripts();
  if (folder.empty()) {
    return Fail(env, {Code::kNotFound,
                      "the benchmark scripts are not installed; run this from "
                      "a build tree"});
  }
  const std::string name = args.operands[0];
  const path::path script = folder / (name + ".py");
  std::error_code error;
  if (name.find('/') != name.npos || !path::exists(script, error)) {
    Fail(env, {Code::kInvalidArgument, "no benchmark is named \"" + name +
                                           "\"; there are:" + Names(folder)});
    return kExitUsage;
  }
  const std::string program = path::read_symlink("/proc/self/exe", error);
  env.out.flush();
  // Where the peers are installed; the tests are told so too.
  const char* given = std::getenv("ROWFS_PYTHON");
  const char* python = given == nullptr || *given == '\0' ? "python3" : given;
  std::vector<std::string> words = {python, script, "--rowfs", program};
  for (const char* flag : {"--smoke", "--markdown"}) {
    if (args.Has(flag)) words.emplace_back(flag);
  }
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  // The script takes this process's place: its output and exit code are ours.
  execvp(python, pointers.data());
  return Fail(env, {Code::kNotFound, "python3 is needed for benchmarks"});
}

}  // namespace rowfs
