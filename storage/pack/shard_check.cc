#include "storage/pack/shard_check.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>

#include "storage/base/hash.h"
#include "storage/pack/blob_key.h"

namespace rowfs {
namespace {

using Kind = ShardVerdict::Kind;

constexpr uint64_t kWindowBytes = 1 << 20;
constexpr uint64_t kCallBytes = 1 << 20;  // of one read, as testzip asks
constexpr uint64_t kCallBytesMin = 4096;
constexpr size_t kSlices = 16;  // of a shard, for the threads

// Bytes of the shard, a window at a time: members that lie side by side share
// one request.
class Window {
 public:
  Window(const ShardObject& shard, std::atomic<uint64_t>* done)
      : shard_(shard), done_(done) {}

  // Up to `size` bytes; valid until the next call.
  Result<ByteSpan> Read(uint64_t offset, uint64_t size) {
    if (offset < begin_ || offset + size > begin_ + bytes_.size()) {
      ROWFS_ASSIGN_OR_RETURN(
          bytes_, shard_.ReadUpTo(offset, std::max(size, kWindowBytes)));
      begin_ = offset;
      *done_ += bytes_.size();
    }
    const uint64_t skip = offset - begin_;
    return ByteSpan(bytes_).subspan(
        skip, std::min<uint64_t>(size, bytes_.size() - skip));
  }

 private:
  const ShardObject& shard_;
  std::atomic<uint64_t>* const done_;
  uint64_t begin_ = 0;
  Bytes bytes_;
};

ShardVerdict Bad(const ShardMember& member) {
  return {Kind::kBadMember, member.name};
}

ShardVerdict Unreadable(std::string text) {
  return {Kind::kUnreadable, std::move(text)};
}

// The payload of one member in the pieces that zipfile would read; each hands
// its bytes to the CRC.
class MemberReader {
 public:
  MemberReader(Window& window, const ShardMember& member, uint64_t offset)
      : window_(window),
        member_(member),
        offset_(offset),
        packed_left_(member.packed_size),
        left_(member.size) {}
  ~MemberReader() {
    if (inflating_) inflateEnd(&stream_);
  }
  MemberReader(const MemberReader&) = delete;
  MemberReader& operator=(const MemberReader&) = delete;

  ShardVerdict Run() {
    if (member_.method == kZipDeflated) {
      stream_ = {};
      if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) {
        return Unreadable("out of memory");
      }
      inflating_ = true;
    }
    uint64_t call_left = kCallBytes;
    while (!ended_) {
      const auto got = inflating_ ? Inflate(call_left) : Copy(call_left);
      if (verdict_) return *verdict_;
      call_left -= std::min(call_left, got);
      if (call_left == 0) call_left = kCallBytes;
    }
    return crc_ == member_.crc ? ShardVerdict{} : Bad(member_);
  }

 private:
  // Packed bytes for a call that wants `size`; empty with a verdict at the end
  // of the file.
  ByteSpan NextPacked(uint64_t size) {
    if (packed_left_ == 0) return {};
    const uint64_t wanted =
        std::min(std::max(size, kCallBytesMin), packed_left_);
    const auto bytes = window_.Read(offset_, wanted);
    if (!bytes.ok()) {
      verdict_ = Unreadable(std::string(bytes.status().message()));
      return {};
    }
    if (bytes.value().empty()) {
      verdict_ = Unreadable("");  // EOFError has no words
      return {};
    }
    offset_ += bytes.value().size();
    packed_left_ -= bytes.value().size();
    return bytes.value();
  }

  uint64_t Take(ByteSpan bytes) {
    const ByteSpan taken = bytes.first(std::min<uint64_t>(bytes.size(), left_));
    left_ -= taken.size();
    if (left_ == 0) ended_ = true;
    crc_ = Crc32(taken, crc_);
    return taken.size();
  }

  uint64_t Copy(uint64_t size) {
    const ByteSpan bytes = NextPacked(size);
    ended_ = packed_left_ == 0;
    return verdict_ ? 0 : Take(bytes);
  }

  uint64_t Inflate(uint64_t size) {
    if (size > tail_.size()) {
      AppendBytes(&tail_, NextPacked(size - tail_.size()));
      if (verdict_) return 0;
    }
    Bytes out(std::max(size, kCallBytesMin));
    stream_.next_in = const_cast<Bytef*>(AsU8(ByteSpan(tail_)));
    stream_.avail_in = static_cast<uInt>(tail_.size());
    stream_.next_out = AsU8(MutableByteSpan(out));
    stream_.avail_out = static_cast<uInt>(out.size());
    const int code = inflate(&stream_, Z_SYNC_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
      verdict_ = Unreadable(
          "Error " + std::to_string(code) + " while decompressing data" +
          (stream_.msg == nullptr ? std::string()
                                  : ": " + std::string(stream_.msg)));
      return 0;
    }
    tail_.erase(tail_.begin(),
                tail_.end() - static_cast<std::ptrdiff_t>(stream_.avail_in));
    ended_ = code == Z_STREAM_END || (packed_left_ == 0 && tail_.empty());
    return Take(ByteSpan(out).first(out.size() - stream_.avail_out));
  }

  Window& window_;
  const ShardMember& member_;
  uint64_t offset_;
  uint64_t packed_left_;
  uint64_t left_;
  uint32_t crc_ = 0;
  bool ended_ = false;
  std::optional<ShardVerdict> verdict_;
  bool inflating_ = false;
  z_stream stream_ = {};
  Bytes tail_;  // packed, not yet consumed
};

// Why zipfile would refuse to open `member`, whose local header names it
// `local_name`.
std::optional<ShardVerdict> RefuseMember(const ShardMember& member,
                                         std::string_view local_name,
                                         uint16_t local_flags) {
  if ((member.flags & kZipPatched) != 0) {
    return Unreadable("compressed patched data (flag bit 5)");
  }
  if ((member.flags & kZipStrongEncryption) != 0) {
    return Unreadable("strong encryption (flag bit 6)");
  }
  const auto decoded = DecodeMemberName(local_name, local_flags);
  if (!decoded.ok()) {
    return Unreadable(std::string(decoded.status().message()));
  }
  if (decoded.value() != member.uncut_name.value_or(member.name)) {
    return Bad(member);
  }
  if ((member.flags & kZipEncrypted) != 0) {
    return Unreadable("File " + QuoteText(member.name) +
                      " is encrypted, password required for extraction");
  }
  switch (member.method) {
    case kZipStored:
    case kZipDeflated:
      return {};
    case kZipBzip2:
    case kZipLzma:
      return ShardVerdict{};
    default:
      return Unreadable("That compression method is not supported");
  }
}

ShardVerdict CheckMember(Window& window, const ShardMember& member) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  if (member.header_offset == kMin) {
    return Unreadable("cannot fit 'int' into an offset-sized integer");
  }
  if (member.header_offset < 0) {
    return Unreadable("[Errno 22] Invalid argument");
  }
  const auto at = static_cast<uint64_t>(member.header_offset);
  const auto header = window.Read(at, kLocalHeaderBytes);
  if (!header.ok()) return Unreadable(std::string(header.status().message()));
  if (header.value().size() != kLocalHeaderBytes ||
      LoadU32(header.value()) != kLocalHeaderMagic) {
    return Bad(member);
  }
  const uint16_t flags = LoadU16(header.value().subspan(6));
  const uint64_t name_size = LoadU16(header.value().subspan(26));
  const uint64_t extra_size = LoadU16(header.value().subspan(28));
  const uint64_t name_at = at + kLocalHeaderBytes;
  const auto name = window.Read(name_at, name_size);
  if (!name.ok()) return Unreadable(std::string(name.status().message()));
  const auto refused = RefuseMember(member, AsText(name.value()), flags);
  if (refused) return *refused;
  return MemberReader(window, member, name_at + name_size + extra_size).Run();
}

}  // namespace

ShardVerdict CheckShardMembers(const ShardObject& shard,
                               const ShardDirectory& directory,
                               ThreadPool& pool, std::atomic<uint64_t>* done) {
  const std::vector<ShardMember>& members = directory.members;
  std::unordered_map<std::string_view, const ShardMember*> last;
  for (const ShardMember& member : members) last[member.name] = &member;
  const size_t slice = members.size() / kSlices + 1;
  const size_t slices = (members.size() + slice - 1) / slice;
  std::vector<ShardVerdict> verdicts(slices);
  std::vector<std::function<Status()>> tasks;
  for (size_t i = 0; i < slices; ++i) {
    tasks.push_back([&, i]() -> Status {
      Window window(shard, done);
      const size_t end = std::min((i + 1) * slice, members.size());
      for (size_t m = i * slice; m < end && verdicts[i].kind == Kind::kSound;
           ++m) {
        verdicts[i] = CheckMember(window, *last.at(members[m].name));
      }
      return {};
    });
  }
  if (!tasks.empty()) {
    const Status status = RunAll(pool, tasks);
    if (!status.ok()) return Unreadable(std::string(status.message()));
  }
  for (ShardVerdict& verdict : verdicts) {
    if (verdict.kind != Kind::kSound) return verdict;
  }
  return {};
}

}  // namespace rowfs
