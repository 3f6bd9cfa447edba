// Isolated reads of single blobs of a pack through the library, on several
// threads: `blob_reads FOLDER THREADS SEED`. Every blob once, by its key, in an
// order of no locality. Prints one JSON object; `bytes` proves that all were
// read.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <random>

#include "storage/base/clock.h"
#include "storage/base/thread_pool.h"
#include "storage/object/open_store.h"
#include "storage/pack/pack.h"
#include "storage/pack/pack_writer.h"
#include "storage/pack/posix_path.h"

namespace rowfs {
namespace {

struct Wanted {
  const Pack* pack;
  std::string key;
};

Status ReadSlice(std::span<const Wanted> wanted, std::atomic<uint64_t>* bytes) {
  Bytes buffer;
  for (const Wanted& blob : wanted) {
    ROWFS_ASSIGN_OR_RETURN(const uint64_t member, blob.pack->Find(blob.key));
    ROWFS_ASSIGN_OR_RETURN(const BlobSource source,
                           blob.pack->OpenMember(member));
    const uint64_t size = source.range.size();
    if (buffer.size() < size) buffer.resize(size);
    if (size != 0) {
      ROWFS_RETURN_IF_ERROR(source.reader->ReadAt(
          source.range.begin, MutableByteSpan(buffer).first(size),
          ReadKind::kData));
    }
    *bytes += size;
  }
  return {};
}

Status Run(const std::string& folder, size_t threads, uint64_t seed) {
  const auto stores = MakeStoreRegistry();
  OpenContext context;
  context.stores = stores.get();
  RealClock clock;
  const int64_t begin = clock.MonotonicNs();
  std::vector<std::shared_ptr<const Pack>> packs;
  std::vector<Wanted> wanted;
  for (const std::string& name : ListZipNames(folder)) {
    ROWFS_ASSIGN_OR_RETURN(const Location location,
                           stores->Resolve(ChildPath(folder, name)));
    ROWFS_ASSIGN_OR_RETURN(packs.emplace_back(), OpenPack(location, context));
    MemberTable::Cursor members(packs.back()->members());
    while (members.Next()) {
      wanted.push_back({packs.back().get(), members.member().name});
    }
  }
  std::mt19937_64 random(seed);
  std::shuffle(wanted.begin(), wanted.end(), random);
  if (!wanted.empty()) {
    ROWFS_RETURN_IF_ERROR(wanted[0].pack->Find(wanted[0].key).status());
  }
  const int64_t opened = clock.MonotonicNs();
  std::atomic<uint64_t> bytes = 0;
  std::vector<std::function<Status()>> tasks;
  for (size_t t = 0; t < threads; ++t) {
    const size_t first = wanted.size() * t / threads;
    const size_t last = wanted.size() * (t + 1) / threads;
    tasks.push_back(
        [&bytes, part = std::span(wanted).subspan(first, last - first)]() {
          return ReadSlice(part, &bytes);
        });
  }
  ThreadPool pool(threads, threads);
  ROWFS_RETURN_IF_ERROR(RunAll(pool, tasks));
  const int64_t done = clock.MonotonicNs();
  std::printf(
      "{\"blobs\": %zu, \"open_s\": %.6f, \"read_s\": %.6f, \"bytes\": %llu}\n",
      wanted.size(), static_cast<double>(opened - begin) / 1e9,
      static_cast<double>(done - opened) / 1e9,
      static_cast<unsigned long long>(bytes.load()));
  return {};
}

}  // namespace
}  // namespace rowfs

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: blob_reads FOLDER THREADS SEED\n");
    return 2;
  }
  const rowfs::Status status =
      rowfs::Run(argv[1], std::stoul(argv[2]), std::stoull(argv[3]));
  if (status.ok()) return 0;
  std::fprintf(stderr, "blob_reads: %s\n",
               std::string(status.message()).c_str());
  return 1;
}
