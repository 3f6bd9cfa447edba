#include "storage/read/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "storage/base/buffer.h"
#include "storage/base/hash.h"

namespace rowfs {
namespace {

// A record: magic u32, CRC-32 of all that follows u32, first byte u64, size
// u32, reserved u32, SHA-256 of the key, then the bytes.
constexpr uint32_t kMagic = 0x31434652;  // "RFC1"
constexpr size_t kHeadBytes = 24 + 32;
// Repeats by racing processes aside, a block's records fit in its size.
constexpr uint64_t kFileBytesMax = 2 * DiskCache::kBlockBytes + 64 * kHeadBytes;
constexpr int64_t kRetryAfterNs = int64_t{60} * 1'000'000'000;
// Used files are marked as such no more often than this.
constexpr int64_t kTouchAfterS = 3600;

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }

 private:
  const int fd_;
};

// The folder of an object below the cache's directory: names are digests, so
// no key can lead elsewhere.
std::string FolderOf(const std::string& directory, const Sha256Digest& digest) {
  const std::string hex = ToHex(digest);
  return directory + "/" + hex.substr(0, 2) + "/" + hex.substr(2, 30);
}

std::string FileOf(const std::string& folder, uint64_t block) {
  return folder + "/" + std::to_string(block);
}

Bytes EncodeRecord(const Sha256Digest& digest, uint64_t begin, ByteSpan bytes) {
  Bytes record;
  record.reserve(kHeadBytes + bytes.size());
  AppendU32(&record, kMagic);
  AppendU32(&record, 0);
  AppendU64(&record, begin);
  AppendU32(&record, static_cast<uint32_t>(bytes.size()));
  AppendU32(&record, 0);
  AppendBytes(&record, digest);
  AppendBytes(&record, bytes);
  const uint32_t crc = Crc32(ByteSpan(record).subspan(8));
  std::memcpy(record.data() + 4, &crc, sizeof(crc));
  return record;
}

// A block's file, read a window at a time: of most records only the head is
// looked at.
class BlockFile {
 public:
  explicit BlockFile(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) {
    struct ::stat status {};
    if (!fd_.ok() || ::fstat(fd_.get(), &status) != 0 ||
        !S_ISREG(status.st_mode) || status.st_uid != ::geteuid() ||
        status.st_size < 0 ||
        static_cast<uint64_t>(status.st_size) > kFileBytesMax) {
      return;
    }
    size_ = static_cast<uint64_t>(status.st_size);
    const timespec now{::time(nullptr), 0};
    if (now.tv_sec - status.st_mtim.tv_sec > kTouchAfterS) {
      ::futimens(fd_.get(), nullptr);  // recently used: the last to be evicted
    }
  }

  // 0 when it cannot be read.
  uint64_t size() const { return size_; }

  // Fewer than asked when the file ends or cannot be read.
  size_t Read(uint64_t at, MutableByteSpan out) const {
    size_t done = 0;
    while (done < out.size()) {
      const ssize_t n = ::pread(fd_.get(), out.data() + done, out.size() - done,
                                static_cast<off_t>(at + done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      done += static_cast<size_t>(n);
    }
    return done;
  }

  // The head of the record at `at`; empty where the file ends.
  ByteSpan Head(uint64_t at) {
    if (at < window_begin_ || at + kHeadBytes > window_begin_ + window_size_) {
      window_begin_ = at;
      window_size_ = Read(at, window_);
    }
    const uint64_t skip = at - window_begin_;
    if (window_size_ < skip + kHeadBytes) return {};
    return ByteSpan(window_).subspan(skip, kHeadBytes);
  }

 private:
  const Fd fd_;
  uint64_t size_ = 0;
  std::array<std::byte, 4096> window_;
  uint64_t window_begin_ = 0;
  size_t window_size_ = 0;
};

// Copy the sound records' parts of `range` to `out` and add them to `have`.
void CopyRecords(BlockFile& file, const Sha256Digest& digest, ByteRange range,
                 MutableByteSpan out, std::vector<ByteRange>* have) {
  for (uint64_t at = 0; at < file.size();) {
    const ByteSpan head = file.Head(at);
    if (head.empty() || LoadU32(head) != kMagic ||
        !std::equal(digest.begin(), digest.end(), head.begin() + 24)) {
      return;
    }
    const uint64_t begin = LoadU64(head.subspan(8));
    const uint64_t size = LoadU32(head.subspan(16));
    const auto end = CheckedAdd(begin, size);
    if (!end || size > file.size() - at - kHeadBytes) return;
    const ByteRange part{std::max(range.begin, begin),
                         std::min(range.end, *end)};
    if (part.begin < part.end) {
      // The window moves on with the next head.
      const uint32_t crc = LoadU32(head.subspan(4));
      const uint32_t head_crc = Crc32(head.subspan(8));
      // Not to `out` before it is known to be right.
      const auto bytes = MakeBuffer(size);
      const MutableByteSpan body(bytes.get(), size);
      if (file.Read(at + kHeadBytes, body) != size ||
          Crc32(body, head_crc) != crc) {
        return;
      }
      std::memcpy(out.data() + (part.begin - range.begin),
                  body.data() + (part.begin - begin), part.size());
      have->push_back(part);
    }
    at += kHeadBytes + size;
  }
}

bool WriteFully(int fd, ByteSpan bytes) {
  // One call, so that records of several processes do not mix.
  ssize_t n = 0;
  do {
    n = ::write(fd, bytes.data(), bytes.size());
  } while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(bytes.size());
}

struct CacheFile {
  std::string path;
  uint64_t bytes = 0;
  int64_t used_ns = 0;
};

void CollectFiles(const std::string& folder, int depth,
                  std::vector<CacheFile>* files) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(folder.c_str()),
                                                   ::closedir);
  if (stream == nullptr) return;
  while (const dirent* entry = ::readdir(stream.get())) {
    if (entry->d_name[0] == '.') continue;
    const std::string path = folder + "/" + entry->d_name;
    struct ::stat status {};
    if (::lstat(path.c_str(), &status) != 0) continue;
    if (S_ISDIR(status.st_mode) && depth < 2) {
      CollectFiles(path, depth + 1, files);
      ::rmdir(path.c_str());  // works when nothing is left in it
    } else if (S_ISREG(status.st_mode)) {
      files->push_back({path, static_cast<uint64_t>(status.st_size),
                        int64_t{status.st_mtim.tv_sec} * 1'000'000'000 +
                            status.st_mtim.tv_nsec});
    }
  }
}

// The span of `range` that `have` leaves; empty at the end when none.
ByteRange Rest(ByteRange range, std::vector<ByteRange> have) {
  std::sort(
      have.begin(), have.end(),
      [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  for (const ByteRange& part : have) {
    if (part.begin <= range.begin)
      range.begin = std::max(range.begin, part.end);
  }
  if (range.begin >= range.end) return {range.end, range.end};
  std::sort(
      have.begin(), have.end(),
      [](const ByteRange& a, const ByteRange& b) { return a.end > b.end; });
  for (const ByteRange& part : have) {
    if (part.end >= range.end) range.end = std::min(range.end, part.begin);
  }
  return range;
}

}  // namespace

DiskCache::DiskCache(std::string directory, uint64_t bytes_max, Clock& clock)
    : directory_(std::move(directory)), bytes_max_(bytes_max), clock_(clock) {}

ByteRange DiskCache::Read(const std::string& key, ByteRange range,
                          MutableByteSpan out) {
  const Sha256Digest digest = Sha256(AsBytes(key));
  const std::string folder = FolderOf(directory_, digest);
  std::vector<ByteRange> have;
  if (!IsOurs()) return range;
  for (uint64_t block = range.begin / kBlockBytes;
       block * kBlockBytes < range.end; ++block) {
    BlockFile file(FileOf(folder, block));
    CopyRecords(file, digest, range, out, &have);
  }
  return Rest(range, std::move(have));
}

bool DiskCache::MayWrite() {
  const MutexLock lock(mu_);
  return bytes_max_ > 0 && !directory_.empty() &&
         clock_.MonotonicNs() >= broken_until_ns_;
}

void DiskCache::NoteFailure() {
  const MutexLock lock(mu_);
  broken_until_ns_ = clock_.MonotonicNs() + kRetryAfterNs;
}

bool DiskCache::IsOurs() const {
  struct ::stat status {};
  return ::lstat(directory_.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool DiskCache::PrepareFolder(const std::string& folder) const {
  for (size_t at = 1; at <= folder.size(); ++at) {
    if (at < folder.size() && folder[at] != '/') continue;
    const std::string part = folder.substr(0, at);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return false;
  }
  return true;
}

bool DiskCache::Append(const std::string& path, ByteSpan record) const {
  const Fd fd(::open(path.c_str(),
                     O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
                     0600));
  struct ::stat status {};
  if (!fd.ok() || ::fstat(fd.get(), &status) != 0) return false;
  if (static_cast<uint64_t>(status.st_size) + record.size() > kFileBytesMax) {
    // Too much has been repeated, or there is a torn record in it: start over.
    ::unlink(path.c_str());
    return true;
  }
  if (WriteFully(fd.get(), record)) return true;
  ::unlink(path.c_str());  // what comes behind a torn record is not found
  return false;
}

void DiskCache::Put(const std::string& key, uint64_t begin, ByteSpan bytes) {
  if (!MayWrite()) return;
  const Sha256Digest digest = Sha256(AsBytes(key));
  const std::string folder = FolderOf(directory_, digest);
  uint64_t written = 0;
  bool prepared = false;
  if (!IsOurs() && !(PrepareFolder(folder) && IsOurs())) return NoteFailure();
  for (uint64_t at = 0; at < bytes.size();) {
    const uint64_t block = (begin + at) / kBlockBytes;
    const uint64_t end =
        std::min<uint64_t>(bytes.size(), (block + 1) * kBlockBytes - begin);
    const Bytes record =
        EncodeRecord(digest, begin + at, bytes.subspan(at, end - at));
    bool appended = Append(FileOf(folder, block), record);
    if (!appended && !prepared) {
      // The folder is not there yet, or somebody has just deleted it.
      prepared = PrepareFolder(folder) && IsOurs();
      appended = prepared && Append(FileOf(folder, block), record);
    }
    if (!appended) return NoteFailure();
    written += record.size();
    at = end;
  }
  bool evict = false;
  {
    const MutexLock lock(mu_);
    unmeasured_bytes_ += written;
    evict = !measured_ || unmeasured_bytes_ > bytes_max_ / 20;
    if (evict) {
      measured_ = true;
      unmeasured_bytes_ = 0;
    }
  }
  if (evict) Evict();
}

void DiskCache::Evict() const {
  const std::string lock_path = directory_ + "/.lock";
  const Fd lock(::open(lock_path.c_str(),
                       O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  // Somebody else is at it.
  if (!lock.ok() || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return;
  std::vector<CacheFile> files;
  CollectFiles(directory_, 0, &files);
  uint64_t total = 0;
  for (const CacheFile& file : files) total += file.bytes;
  if (total <= bytes_max_) return;
  std::sort(files.begin(), files.end(),
            [](const CacheFile& a, const CacheFile& b) {
              return a.used_ns < b.used_ns;
            });
  for (const CacheFile& file : files) {
    if (total <= bytes_max_ / 10 * 9) break;
    if (::unlink(file.path.c_str()) == 0) total -= file.bytes;
  }
}

}  // namespace rowfs
