// rowfs blobpack convert-parquet.
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "fs/cli/cmd_blobpack.h"
#include "fs/cli/progress.h"
#if ROWFS_WITH_PARQUET
#include "index/convert/convert_parquet.h"
#endif

namespace rowfs {

#if ROWFS_WITH_PARQUET

namespace {

// 0: the user agreed; else what to exit with.
int Confirm(Env& env, bool* agreed) {
  if (::isatty(STDIN_FILENO) != 1) {
    return BlobpackFail(env, "use --yes to accept the extraction plan");
  }
  env.out << "Extract selected binary fields? [y/N] ";
  env.out.flush();
  std::string line;
  if (!std::getline(std::cin, line)) {
    return BlobpackFail(env, "the input ended before an answer");
  }
  std::erase_if(line, [](unsigned char c) { return c <= ' '; });
  std::transform(line.begin(), line.end(), line.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  *agreed = line == "y" || line == "yes";
  return kExitDone;
}

}  // namespace

int BlobpackConvertParquet(Env& env, const BlobpackArgs& args) {
  std::vector<FieldPath> fields;
  for (std::string& column : args.GetAll("--column")) {
    fields.push_back({std::move(column)});
  }
  const auto given = args.values.find("--field");
  if (given != args.values.end()) {
    fields.insert(fields.end(), given->second.begin(), given->second.end());
  }
  const auto plan = PlanParquet(args.operands[0], std::move(fields));
  if (!plan.ok()) return BlobpackFail(env, plan.status());
  env.out << PlanJson(plan.value()) << "\n}\n";
  if (args.Has("--dry-run")) return kExitDone;
  bool agreed = args.Has("--yes");
  if (!agreed) {
    const int code = Confirm(env, &agreed);
    if (code != kExitDone || !agreed) return code;
  }
  const int64_t bytes_max =
      ParsePythonInt(args.Get("--max-pack-bytes", "4294967296")).value_or(0);
  Progress progress(env, "convert");
  const Status status =
      ConvertParquet(plan.value(), args.operands[1], bytes_max,
                     [&progress](uint64_t done, uint64_t total) {
                       progress.Update(done, total, "files", 0);
                     });
  return status.ok() ? kExitDone : BlobpackFail(env, status);
}

#else

int BlobpackConvertParquet(Env& env, const BlobpackArgs&) {
  return BlobpackFail(env,
                      "this build has no Arrow C++, which convert-parquet "
                      "needs; see `rowfs --version`");
}

#endif

}  // namespace rowfs
