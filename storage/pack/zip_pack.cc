#include "storage/pack/zip_pack.h"

#include <algorithm>
#include <list>
#include <unordered_map>

#include "storage/base/hash.h"
#include "storage/base/sync.h"
#include "storage/pack/compressed_reader.h"
#include "storage/pack/index_file.h"
#include "storage/pack/member_store.h"
#include "storage/pack/name_finder.h"
#include "storage/pack/zip_directory.h"
#include "storage/pack/zip_format.h"

namespace rowfs {
namespace {

// Of a remote member's local header: extra fields longer than this cost a
// second request at the first read.
constexpr uint64_t kExtraGuessBytes = 1024;
// A first read this far inside a member checks its header by itself.
constexpr uint64_t kReadThroughBytes = 128 << 10;
// Where members begin, kept once checked.
constexpr size_t kCheckedMax = 1 << 16;
// Deflated members that were read lately keep their decoder.
constexpr size_t kDecodersMax = 8;

constexpr uint16_t kEncryptedFlags = 0x41;

// Whether a local header names the same member: some writers turn slashes
// around in one of the two places.
bool SameName(std::string_view local, std::string_view central) {
  return std::equal(
      local.begin(), local.end(), central.begin(), central.end(),
      [](char a, char b) {
        return a == b || ((a == '/' || a == '\\') && (b == '/' || b == '\\'));
      });
}

constexpr std::string_view kIndexKind = "zip 2";

Bytes EncodeContents(const ZipContents& contents) {
  Bytes out;
  AppendVarint(&out, contents.directory_begin);
  AppendVarint(&out, contents.damage.size());
  AppendText(&out, contents.damage);
  contents.members.Encode(&out);
  return out;
}

Result<ZipContents> DecodeContents(ByteSpan bytes) {
  Cursor in(bytes, "zip index");
  ZipContents contents;
  ROWFS_ASSIGN_OR_RETURN(contents.directory_begin, in.Varint());
  ROWFS_ASSIGN_OR_RETURN(const uint64_t size, in.Varint());
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan damage, in.Take(size));
  contents.damage = AsText(damage);
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan members, in.Take(in.remaining()));
  ROWFS_ASSIGN_OR_RETURN(contents.members,
                         MemberTable::Decode(members, "zip index"));
  return contents;
}

class ZipPack final : public Pack {
 public:
  ZipPack(std::shared_ptr<const ObjectReader> shard, ZipContents contents,
          const ReadContext& context)
      : shard_(std::move(shard)),
        contents_(std::move(contents)),
        context_(context),
        remote_(shard_->location().store->capabilities().remote) {}

  std::string_view kind() const override { return "zip"; }
  const Location& location() const override { return shard_->location(); }
  const ObjectMeta& meta() const override { return shard_->meta(); }
  const MemberTable& members() const override { return contents_.members; }
  std::string_view damage() const override { return contents_.damage; }

  Result<uint64_t> Find(std::string_view name) const override {
    return finder_.Find(contents_.members, name, shard_->uri());
  }

  Result<BlobSource> OpenMember(uint64_t i) const override {
    const Member member = contents_.members.Get(i);
    ROWFS_RETURN_IF_ERROR(FaultOf(member, shard_->uri()));
    if (member.coding != MemberCoding::kStored) {
      return OpenThroughPack(shared_from_this(), i, context_);
    }
    if (remote_) {
      // The shard's reader counts, keeps and reads ahead, over the ends of
      // members too.
      ReadContext plain;
      plain.pool = context_.pool;
      return OpenThroughPack(shared_from_this(), i, plain);
    }
    BlobSource source;
    ROWFS_ASSIGN_OR_RETURN(const uint64_t begin, DataBegin(i, member));
    source.reader = shard_;
    source.range = {begin, begin + member.stored};
    return source;
  }

  Status ReadMember(uint64_t i, uint64_t offset,
                    MutableByteSpan out) const override {
    const Member member = contents_.members.Get(i);
    ROWFS_RETURN_IF_ERROR(FaultOf(member, shard_->uri()));
    if (offset > member.size || out.size() > member.size - offset) {
      return {Code::kOutOfRange,
              What(member) + " ends at " + std::to_string(member.size)};
    }
    if (member.coding == MemberCoding::kStored) {
      return ReadStored(i, member, offset, out);
    }
    const auto decoder = Decoder(i, member);
    ROWFS_ASSIGN_OR_RETURN(const size_t done, decoder->ReadUpTo(offset, out));
    if (done == out.size()) return {};
    return {Code::kCorruption,
            What(member) + " decodes to fewer bytes than the directory says"};
  }

 private:
  std::string What(const Member& member) const {
    return shard_->uri() + ": member " + member.name;
  }

  Status ReadShard(const Member& member, uint64_t offset,
                   MutableByteSpan out) const {
    if (remote_ && member.coding == MemberCoding::kStored) {
      return shard_->ReadAt(offset, out, ReadKind::kData);
    }
    // Not through the reader's cache: what a member decodes to is kept instead.
    const Location& at = shard_->location();
    return at.store->ReadAt({at.path, shard_->meta().etag}, offset, out);
  }

  std::optional<uint64_t> Checked(uint64_t i) const EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    const auto found = checked_.find(i);
    if (found == checked_.end()) return {};
    return found->second;
  }

  // Where the bytes of `member` begin, by the local header that `bytes` starts
  // with. Checks all that the directory says about it.
  Result<uint64_t> Check(uint64_t i, const Member& member, ByteSpan bytes) const
      EXCLUDES(mu_) {
    ROWFS_ASSIGN_OR_RETURN(const ZipLocalHeader header,
                           ReadZipLocalHeader(bytes, What(member)));
    const uint16_t method = member.coding == MemberCoding::kStored ? 0 : 8;
    if (!SameName(header.raw_name, member.stored_name())) {
      return Status(Code::kCorruption,
                    What(member) + " has another name in its local header");
    }
    if (header.method != method || (header.flags & kEncryptedFlags) != 0) {
      return Status(
          Code::kCorruption,
          What(member) + " is stored in another way than the directory says");
    }
    if (header.extra_bytes > member.slack) {
      return Status(Code::kCorruption,
                    What(member) + " overlaps what follows it");
    }
    const uint64_t begin = member.offset + header.bytes();
    const MutexLock lock(mu_);
    if (checked_.size() >= kCheckedMax) checked_.clear();
    checked_[i] = begin;
    return begin;
  }

  Result<uint64_t> DataBegin(uint64_t i, const Member& member) const {
    if (const auto known = Checked(i)) return *known;
    const uint64_t name_bytes = member.stored_name().size();
    Bytes head(kZipLocalHeaderBytes + name_bytes);
    ROWFS_RETURN_IF_ERROR(ReadShard(member, member.offset, head));
    Result<uint64_t> begin = Check(i, member, head);
    if (begin.status().code() != Code::kOutOfRange) return begin;
    return Status(Code::kCorruption,
                  What(member) + " has another name in its local header");
  }

  // The first read brings the local header along.
  Status ReadStored(uint64_t i, const Member& member, uint64_t offset,
                    MutableByteSpan out) const {
    if (out.empty()) return {};
    std::optional<uint64_t> begin = Checked(i);
    if (!begin && offset > kReadThroughBytes) {
      ROWFS_ASSIGN_OR_RETURN(begin, DataBegin(i, member));
    }
    if (begin) return ReadShard(member, *begin + offset, out);
    const uint64_t name_bytes = member.stored_name().size();
    const uint64_t extra = std::min(member.slack, kExtraGuessBytes);
    Bytes bytes(kZipLocalHeaderBytes + name_bytes + extra + offset +
                out.size());
    ROWFS_RETURN_IF_ERROR(ReadShard(member, member.offset, bytes));
    ROWFS_ASSIGN_OR_RETURN(begin, Check(i, member, bytes));
    const uint64_t skip = *begin - member.offset + offset;
    if (skip + out.size() > bytes.size())
      return ReadShard(member, *begin + offset, out);
    std::copy_n(bytes.begin() + static_cast<int64_t>(skip), out.size(),
                out.begin());
    return {};
  }

  std::shared_ptr<CompressedReader> Decoder(uint64_t i,
                                            const Member& member) const
      EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    for (auto it = decoders_.begin(); it != decoders_.end(); ++it) {
      if (it->first != i) continue;
      decoders_.splice(decoders_.begin(), decoders_, it);
      return it->second;
    }
    CompressedReader::Options options;
    options.compressed_bytes = member.stored;
    options.content_bytes = member.size;
    options.crc = member.crc;
    options.what = What(member);
    auto decoder = std::make_shared<CompressedReader>(
        [this, i, member](uint64_t offset, MutableByteSpan out) {
          return ReadStored(i, member, offset, out);
        },
        std::move(options));
    decoders_.emplace_front(i, decoder);
    if (decoders_.size() > kDecodersMax) decoders_.pop_back();
    return decoder;
  }

  const std::shared_ptr<const ObjectReader> shard_;
  const ZipContents contents_;
  const ReadContext context_;
  const bool remote_;
  NameFinder finder_;
  mutable Mutex mu_;
  mutable std::unordered_map<uint64_t, uint64_t> checked_ GUARDED_BY(mu_);
  mutable std::list<std::pair<uint64_t, std::shared_ptr<CompressedReader>>>
      decoders_ GUARDED_BY(mu_);  // newest first
};

}  // namespace

Result<std::shared_ptr<const Pack>> OpenZip(const Location& location,
                                            const OpenContext& context) {
  // Shards are opened by the pool's own tasks, which must not wait for others.
  ReadContext alone = context.read;
  alone.pool = nullptr;
  ROWFS_ASSIGN_OR_RETURN(
      const auto opened,
      ObjectReader::Open(location, kZipFirstReadBytes, alone));
  Bytes tail(std::min(opened->size(), kZipFirstReadBytes));
  if (!tail.empty()) {
    ROWFS_RETURN_IF_ERROR(opened->ReadAt(opened->size() - tail.size(), tail,
                                         ReadKind::kMetadata));
  }
  // A directory that fits the first request is not worth keeping.
  std::string key;
  if (location.store->capabilities().remote && tail.size() < opened->size()) {
    key = IndexKey(kIndexKind, location, opened->meta());
  }
  std::optional<ZipContents> contents;
  if (const auto kept = LoadIndex(context.cache_directory, key)) {
    Result<ZipContents> decoded = DecodeContents(*kept);
    if (decoded.ok()) contents = std::move(decoded).value();
  }
  if (!contents) {
    ROWFS_ASSIGN_OR_RETURN(contents, ReadZipDirectory(*opened, tail));
    if (contents->directory_begin < opened->size() - tail.size()) {
      SaveIndex(context.cache_directory, key, EncodeContents(*contents));
    }
  }
  // A reader of its own, so that no tail is kept for every shard.
  auto reader = ObjectReader::Make(location, opened->meta(), context.read);
  return std::shared_ptr<const Pack>(std::make_shared<ZipPack>(
      std::move(reader), *std::move(contents), context.read));
}

}  // namespace rowfs
