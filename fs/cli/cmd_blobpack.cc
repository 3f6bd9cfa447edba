#include "fs/cli/cmd_blobpack.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "fs/cli/progress.h"
#include "index/convert/convert_tar.h"
#include "index/convert/manifest.h"
#include "index/convert/pack_folder.h"
#include "index/convert/verify_pack.h"
#include "storage/pack/posix_path.h"

namespace rowfs {
namespace {

namespace path = std::filesystem;

constexpr size_t kThreads = 8;
constexpr size_t kQueue = 64;
constexpr std::string_view kMaxPackBytes = "4294967296";

bool IsFolder(const std::string& name) {
  std::error_code ignored;
  return path::is_directory(name, ignored);
}

std::string Plural(uint64_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what);
}

Result<std::unique_ptr<PackWriter>> OpenPack(const BlobpackArgs& args,
                                             const std::string& folder) {
  const int64_t bytes_max =
      ParsePythonInt(args.Get("--max-pack-bytes", kMaxPackBytes)).value_or(0);
  PackOptions options;
  options.folder = folder;
  if (args.Has("--ref-base")) options.ref_base = args.Get("--ref-base", "");
  options.pack_bytes_max =
      static_cast<uint64_t>(std::max<int64_t>(bytes_max, 0));
  return PackWriter::Open(std::move(options));
}

ConvertProgress Show(Progress& progress, const char* unit) {
  return [&progress, unit](uint64_t done, uint64_t total) {
    progress.Update(done, total, unit, 0);
  };
}

// A reader that hung up (`blobpack ls | head`) is no error.
int FinishOutput(Env& env, int code) {
  errno = 0;
  env.out.flush();
  if (env.out || errno != EPIPE) return code;
  env.out.clear();
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null >= 0) {
    ::dup2(null, STDOUT_FILENO);
    ::close(null);
  }
  return kExitDone;
}

}  // namespace

int BlobpackFail(Env& env, std::string_view message, int code) {
  std::string line(message);
  std::replace_if(
      line.begin(), line.end(),
      [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  env.out.flush();
  env.err << "error: " << line << "\n";
  return code;
}

int BlobpackFail(Env& env, const Status& status) {
  return BlobpackFail(env, status.message());
}

std::string WithCommas(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

int RunBlobpack(Env& env, std::span<const std::string> words) {
  const BlobpackParse parse = ParseBlobpack(words);
  if (parse.done) {
    env.out << parse.out;
    env.err << parse.err;
    return FinishOutput(env, parse.code);
  }
  constexpr std::pair<std::string_view, int (*)(Env&, const BlobpackArgs&)>
      kVerbs[] = {{"pack", BlobpackPack},
                  {"unpack", BlobpackUnpack},
                  {"ls", BlobpackLs},
                  {"verify", BlobpackVerify},
                  {"manifest", BlobpackManifest},
                  {"convert-wds", BlobpackConvertWds},
                  {"convert-lance", BlobpackConvertLance},
                  {"convert-parquet", BlobpackConvertParquet}};
  ::signal(SIGPIPE, SIG_IGN);
  const auto verb = std::find_if(
      std::begin(kVerbs), std::end(kVerbs),
      [&](const auto& each) { return each.first == parse.args.verb; });
  return FinishOutput(env, verb->second(env, parse.args));
}

int BlobpackPack(Env& env, const BlobpackArgs& args) {
  const std::string source = CleanPath(args.operands[0]);
  if (!IsFolder(source)) {
    return BlobpackFail(env, source + " is not a directory", kExitUsage);
  }
  const std::vector<std::string> files = ListFilesBelow(source);
  if (files.empty()) {
    return BlobpackFail(env, "no files under " + source, kExitUsage);
  }
  auto pack = OpenPack(args, args.operands[1]);
  if (!pack.ok()) return BlobpackFail(env, pack.status());
  Progress progress(env, "pack");
  Status status =
      PackFiles(source, files, *pack.value(), Show(progress, "files"));
  if (status.ok()) status = pack.value()->Finish();
  if (!status.ok()) return BlobpackFail(env, status);
  env.out << "packed " << Plural(pack.value()->blobs_written(), "blobs") << " ("
          << WithCommas(pack.value()->bytes_written()) << " bytes) into "
          << Plural(pack.value()->shards_written(), "shards") << " under "
          << args.operands[1] << "\n";
  return kExitDone;
}

int BlobpackConvertWds(Env& env, const BlobpackArgs& args) {
  const std::string source = CleanPath(args.operands[0]);
  std::vector<std::string> tars;
  std::error_code error;
  const std::string name = LastPart(source);
  if (IsFolder(source)) {
    for (path::directory_iterator entry(source, error);
         !error && entry != path::directory_iterator();
         entry.increment(error)) {
      const std::string file = entry->path().filename().string();
      if (file.ends_with(".tar")) tars.push_back(ChildPath(source, file));
    }
    std::sort(tars.begin(), tars.end());
  } else if (name.ends_with(".tar") && name.size() > 4) {
    tars.push_back(source);
  }
  if (tars.empty()) {
    return BlobpackFail(env, "no .tar shards at " + source, kExitUsage);
  }
  auto pack = OpenPack(args, args.operands[1]);
  if (!pack.ok()) return BlobpackFail(env, pack.status());
  Progress progress(env, "convert");
  for (const std::string& tar : tars) {
    std::string prefix;
    if (args.Has("--shard-prefix")) {
      const std::string file = LastPart(tar);
      prefix = (file.size() > 4 ? file.substr(0, file.size() - 4) : file) + "/";
    }
    bool ended_early = false;
    const Status status = AddTarMembers(tar, prefix, *pack.value(),
                                        Show(progress, "bytes"), &ended_early);
    if (!status.ok()) return BlobpackFail(env, status);
    if (ended_early) {
      env.err << "warning: " << LastPart(tar)
              << " is damaged or cut behind its last good member; what "
                 "follows is not converted\n";
    }
  }
  const Status status = pack.value()->Finish();
  if (!status.ok()) return BlobpackFail(env, status);
  env.out << "converted " << tars.size()
          << " tar shard(s): " << Plural(pack.value()->blobs_written(), "blobs")
          << " (" << WithCommas(pack.value()->bytes_written())
          << " bytes) into " << pack.value()->shards_written()
          << " pack shard(s) under " << args.operands[1] << "\n";
  return kExitDone;
}

int BlobpackUnpack(Env& env, const BlobpackArgs& args) {
  const std::string folder = CleanPath(args.operands[1]);
  std::error_code error;
  if (path::exists(folder, error) && !IsFolder(folder)) {
    return BlobpackFail(env, folder + " is not a directory");
  }
  const auto stores = MakeStoreRegistry();
  const auto set = PackSet::Open(*stores, args.operands[0]);
  if (!set.ok()) return BlobpackFail(env, set.status());
  const auto count = set.value().CheckDirectories();
  if (!count.ok()) return BlobpackFail(env, count.status());
  Progress progress(env, "unpack");
  const auto done = Unpack(set.value(), folder, Show(progress, "blobs"));
  if (!done.ok()) return BlobpackFail(env, done.status());
  for (const std::string& target : done.value().mismatches) {
    env.err << "warning: " << target
            << ": the pack states another CRC; see `blobpack verify`\n";
  }
  env.out << "unpacked " << Plural(done.value().blobs, "blobs") << " into "
          << folder << "\n";
  return kExitDone;
}

int BlobpackLs(Env& env, const BlobpackArgs& args) {
  const auto stores = MakeStoreRegistry();
  const auto set = PackSet::Open(*stores, args.operands[0]);
  if (!set.ok()) return BlobpackFail(env, set.status());
  const auto count = set.value().CheckDirectories();
  if (!count.ok()) return BlobpackFail(env, count.status());
  for (const PackShard& shard : set.value().shards()) {
    const auto directory = ReadPackDirectory(shard);
    if (!directory.ok()) return BlobpackFail(env, directory.status());
    for (const ShardMember& member : directory.value().members) {
      env.out << member.size << "\t" << shard.name << "\t" << member.name
              << "\n";
    }
    if (!env.out) break;
  }
  return kExitDone;
}

int BlobpackVerify(Env& env, const BlobpackArgs& args) {
  const std::string folder = CleanPath(args.operands[0]);
  const std::vector<std::string> names = ListZipNames(folder);
  if (names.empty()) {
    return BlobpackFail(env, "no *.zip shards under " + args.operands[0],
                        kExitUsage);
  }
  ThreadPool pool(kThreads, kQueue);
  Progress progress(env, "verify");
  const auto verdict = VerifyPack(
      folder, names, pool,
      [&env](const std::string& problem) {
        env.out << "FAIL " << problem << "\n";
      },
      Show(progress, "shards"));
  if (!verdict.ok()) return BlobpackFail(env, verdict.status());
  const PackVerdict& found = verdict.value();
  env.out << (found.problems > 0 ? "FAILED" : "OK") << ": "
          << Plural(found.blobs, "blobs") << ", " << WithCommas(found.bytes)
          << " bytes, " << Plural(found.shards, "shards") << ", "
          << Plural(found.problems, "problems") << "\n";
  return found.problems > 0 ? kExitFailure : kExitDone;
}

int BlobpackManifest(Env& env, const BlobpackArgs& args) {
  const std::string folder = CleanPath(args.operands[0]);
  const std::vector<std::string> names = ListZipNames(folder);
  if (names.empty()) {
    return BlobpackFail(env, "no *.zip shards under " + folder, kExitUsage);
  }
  const std::string target = folder == "." ? std::string(kManifestName)
                                           : ChildPath(folder, kManifestName);
  std::error_code error;
  if (path::exists(target, error) && !args.Has("--force")) {
    return BlobpackFail(
        env, target + " exists; packs are immutable, use --force to rewrite",
        kExitUsage);
  }
  std::vector<PackShard> shards;
  for (const std::string& name : names) {
    auto shard = OpenLocalShard(ChildPath(folder, name));
    if (!shard.ok()) return BlobpackFail(env, shard.status());
    shards.push_back(std::move(shard).value());
  }
  ThreadPool pool(kThreads, kQueue);
  std::atomic<uint64_t> done = 0;
  const Status status = WriteManifest(folder, shards, pool, &done);
  if (!status.ok()) return BlobpackFail(env, status);
  env.out << "wrote " << target << " for " << names.size() << " shard(s)\n";
  return kExitDone;
}

}  // namespace rowfs
