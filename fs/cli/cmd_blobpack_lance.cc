// rowfs blobpack convert-lance.
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "fs/cli/cmd_blobpack.h"
#include "fs/cli/progress.h"
#include "fs/cli/session.h"
#include "index/convert/convert_lance.h"
#include "storage/pack/blob_key.h"
#include "storage/pack/posix_path.h"

namespace rowfs {
namespace {

namespace path = std::filesystem;

std::string Strip(std::string text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r\x1c\x1d\x1e\x1f";
  const size_t end = text.find_last_not_of(kSpace);
  text.resize(end == text.npos ? 0 : end + 1);
  return text.substr(std::min(text.find_first_not_of(kSpace), text.size()));
}

// The answer to `prompt`, stripped and in lower case; absent at the end of the
// input.
std::optional<std::string> Ask(Env& env, std::string_view prompt) {
  env.out << prompt;
  env.out.flush();
  std::string line;
  if (!std::getline(std::cin, line)) return {};
  line = Strip(std::move(line));
  std::transform(line.begin(), line.end(), line.begin(), [](unsigned char c) {
    return c < 0x80 ? static_cast<char>(std::tolower(c)) : static_cast<char>(c);
  });
  return line;
}

// The columns that the answer names; empty when it names none.
std::vector<std::string> ChooseColumns(Env& env, const ExtractionPlan& plan,
                                       bool* input_ended) {
  env.out << "Which columns hold payloads to extract?\n";
  size_t number = 0;
  for (const PayloadColumn& column : plan.columns) {
    std::string name = column.name;
    size_t count = 0;
    for (size_t at = 0; at < name.size(); ++count) NextCodePoint(name, &at);
    if (count < 26) name.append(26 - count, ' ');
    env.out << "  " << ++number << ") " << name << " "
            << RenderEvidence(plan, column) << "\n";
  }
  const auto answer =
      Ask(env, "Numbers, comma separated, or 'all' (blank aborts): ");
  *input_ended = !answer;
  std::vector<std::string> chosen;
  if (!answer || answer->empty()) return chosen;
  if (*answer == "all") {
    for (const PayloadColumn& column : plan.columns) {
      chosen.push_back(column.name);
    }
    return chosen;
  }
  for (size_t begin = 0; begin <= answer->size();) {
    const size_t end = std::min(answer->find(',', begin), answer->size());
    const std::string piece = Strip(answer->substr(begin, end - begin));
    begin = end + 1;
    const bool digits =
        !piece.empty() && std::all_of(piece.begin(), piece.end(), [](char c) {
          return c >= '0' && c <= '9';
        });
    const auto value = digits ? ParsePythonInt(piece) : std::nullopt;
    if (!value || *value < 1 ||
        *value > static_cast<int64_t>(plan.columns.size())) {
      BlobpackFail(env, QuoteText(piece) + " is not one of the listed numbers");
      return {};
    }
    chosen.push_back(plan.columns[static_cast<size_t>(*value - 1)].name);
  }
  return chosen;
}

int Abort(Env& env) {
  env.out << "aborted; nothing was written\n";
  return kExitFailure;
}

constexpr std::string_view kInputEnded = "the input ended before an answer";

// Extracts into `folder`, and takes back what it made there when it fails.
Result<ExtractionSummary> Convert(Env& env, const BlobpackArgs& args,
                                  Session& session, TableSource& table,
                                  const ExtractionPlan& plan) {
  const std::string folder = CleanPath(args.operands[1]);
  PackOptions options;
  options.folder = ChildPath(folder, "media");
  options.ref_base = args.Get("--ref-base", "");
  if (options.ref_base->empty()) options.ref_base = "media";
  if (args.Has("--max-pack-bytes")) {
    const int64_t bytes_max =
        ParsePythonInt(args.Get("--max-pack-bytes", "")).value_or(0);
    options.pack_bytes_max =
        static_cast<uint64_t>(std::max<int64_t>(bytes_max, 0));
  }
  const std::string target = ChildPath(folder, "table.lance");
  std::error_code ignored;
  const bool was_there = path::exists(target, ignored);
  ROWFS_ASSIGN_OR_RETURN(auto pack, PackWriter::Open(std::move(options)));
  ROWFS_ASSIGN_OR_RETURN(const Location output,
                         session.stores().Resolve(target));
  Progress progress(env, "convert");
  auto summary = ExtractColumns(table, plan, *pack, output,
                                [&progress](uint64_t done, uint64_t total) {
                                  progress.Update(done, total, "rows", 0);
                                });
  if (!summary.ok() && !was_there) path::remove_all(target, ignored);
  return summary;
}

}  // namespace

int BlobpackConvertLance(Env& env, const BlobpackArgs& args) {
  const std::string source = CleanPath(args.operands[0]);
  auto session = Session::Make(Args(), "lance");
  if (!session.ok()) return BlobpackFail(env, session.status());
  const auto dataset = session.value()->OpenDataset(source);
  if (!dataset.ok()) return BlobpackFail(env, dataset.status());
  TableSource& table = dataset.value()->table();
  std::vector<std::string> columns = args.GetAll("--column");
  auto plan = PlanExtraction(table, source, columns);
  if (!plan.ok()) return BlobpackFail(env, plan.status());
  env.out << RenderPlan(plan.value(), source) << "\n\n";
  if (args.Has("--dry-run")) return kExitDone;
  if (columns.empty()) {
    if (args.Has("--yes")) {
      return BlobpackFail(
          env,
          "name the columns to extract with --column; Lance does not record "
          "which column holds media, so there is nothing safe to assume",
          kExitUsage);
    }
    bool input_ended = false;
    columns = ChooseColumns(env, plan.value(), &input_ended);
    if (input_ended) return BlobpackFail(env, kInputEnded);
    if (columns.empty()) return Abort(env);
    plan = PlanExtraction(table, source, columns);
    if (!plan.ok()) return BlobpackFail(env, plan.status());
    env.out << "\n" << RenderPlan(plan.value(), source) << "\n\n";
  }
  if (!args.Has("--yes")) {
    const auto answer = Ask(env, "Proceed? [y/N] ");
    if (!answer) return BlobpackFail(env, kInputEnded);
    if (*answer != "y" && *answer != "yes") return Abort(env);
  }
  const auto done = Convert(env, args, *session.value(), table, plan.value());
  if (!done.ok()) return BlobpackFail(env, done.status());
  std::string names;
  for (const PayloadColumn& column : plan.value().columns) {
    if (column.extract) names += (names.empty() ? "" : ", ") + column.name;
  }
  env.out << "wrote " << WithCommas(done.value().values) << " values ("
          << WithCommas(done.value().bytes) << " bytes) into "
          << done.value().shards << " shard(s); rewrote " << names << " in "
          << ChildPath(CleanPath(args.operands[1]), "table.lance") << "\n";
  return kExitDone;
}

}  // namespace rowfs
