#include "storage/pack/tar_pack.h"

#include <algorithm>

#include "storage/pack/compressed_reader.h"
#include "storage/pack/index_file.h"
#include "storage/pack/member_store.h"
#include "storage/pack/name_finder.h"

namespace rowfs {
namespace {

constexpr uint64_t kRemoteGapBytes = 512 << 10;
constexpr uint64_t kRemoteChunkBytes = 4 << 20;

std::optional<Compression> CompressionOf(ByteSpan head) {
  const std::string_view text = AsText(head);
  if (text.starts_with("\x1F\x8B")) return Compression::kGzip;
  if (text.starts_with("\x28\xB5\x2F\xFD")) return Compression::kZstd;
  return {};
}

// Everything opening found out, as bytes, and back.
Bytes EncodeContents(const TarContents& contents,
                     const std::vector<Checkpoint>& points) {
  Bytes out;
  AppendVarint(&out, contents.damage.size());
  AppendText(&out, contents.damage);
  AppendVarint(&out, contents.maps.size());
  for (const SparseMap& map : contents.maps) {
    AppendVarint(&out, map.size());
    for (const SparsePiece& piece : map) {
      AppendVarint(&out, piece.offset);
      AppendVarint(&out, piece.size);
    }
  }
  AppendVarint(&out, points.size());
  for (const Checkpoint& point : points) {
    AppendVarint(&out, point.in);
    AppendVarint(&out, point.out);
    AppendU8(&out, point.bits);
    AppendVarint(&out, point.window.size());
    AppendBytes(&out, point.window);
  }
  contents.members.Encode(&out);
  return out;
}

Result<TarContents> DecodeContents(ByteSpan bytes,
                                   std::vector<Checkpoint>* points) {
  Cursor in(bytes, "tar index");
  TarContents contents;
  ROWFS_ASSIGN_OR_RETURN(const uint64_t damage_bytes, in.Varint());
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan damage, in.Take(damage_bytes));
  contents.damage = AsText(damage);
  ROWFS_ASSIGN_OR_RETURN(const uint64_t maps, in.Varint());
  for (uint64_t i = 0; i < maps; ++i) {
    SparseMap& map = contents.maps.emplace_back();
    ROWFS_ASSIGN_OR_RETURN(const uint64_t pieces, in.Varint());
    for (uint64_t k = 0; k < pieces; ++k) {
      SparsePiece& piece = map.emplace_back();
      ROWFS_ASSIGN_OR_RETURN(piece.offset, in.Varint());
      ROWFS_ASSIGN_OR_RETURN(piece.size, in.Varint());
    }
  }
  ROWFS_ASSIGN_OR_RETURN(const uint64_t count, in.Varint());
  for (uint64_t i = 0; i < count; ++i) {
    Checkpoint& point = points->emplace_back();
    ROWFS_ASSIGN_OR_RETURN(point.in, in.Varint());
    ROWFS_ASSIGN_OR_RETURN(point.out, in.Varint());
    ROWFS_ASSIGN_OR_RETURN(point.bits, in.U8());
    if (point.bits > 7) return in.Error("a checkpoint that is none");
    ROWFS_ASSIGN_OR_RETURN(const uint64_t size, in.Varint());
    ROWFS_ASSIGN_OR_RETURN(const ByteSpan window, in.Take(size));
    point.window.assign(window.begin(), window.end());
  }
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan members, in.Take(in.remaining()));
  ROWFS_ASSIGN_OR_RETURN(contents.members,
                         MemberTable::Decode(members, "tar index"));
  return contents;
}

class TarPack final : public Pack {
 public:
  TarPack(std::shared_ptr<const ObjectReader> shard, TarContents contents,
          std::unique_ptr<CompressedReader> content, const ReadContext& context)
      : shard_(std::move(shard)),
        contents_(std::move(contents)),
        content_(std::move(content)),
        context_(context) {}

  std::string_view kind() const override { return "tar"; }
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
    if (content_ || member.coding != MemberCoding::kStored) {
      return OpenThroughPack(shared_from_this(), i, context_);
    }
    BlobSource source;
    source.reader = shard_;
    source.range = {member.offset, member.offset + member.size};
    return source;
  }

  Status ReadMember(uint64_t i, uint64_t offset,
                    MutableByteSpan out) const override {
    const Member member = contents_.members.Get(i);
    ROWFS_RETURN_IF_ERROR(FaultOf(member, shard_->uri()));
    if (offset > member.size || out.size() > member.size - offset) {
      return {Code::kOutOfRange, shard_->uri() + ": member " + member.name +
                                     " ends at " + std::to_string(member.size)};
    }
    if (member.coding != MemberCoding::kSparse) {
      return ReadTar(member.offset + offset, out);
    }
    if (member.detail == 0 || member.detail > contents_.maps.size()) {
      return {Code::kCorruption, member.name + ": no map of its pieces"};
    }
    return ReadSparse(member, contents_.maps[member.detail - 1], offset, out);
  }

 private:
  // Bytes of the tar itself, decompressed.
  Status ReadTar(uint64_t offset, MutableByteSpan out) const {
    if (out.empty()) return {};
    if (!content_) {
      const Location& at = shard_->location();
      return at.store->ReadAt({at.path, shard_->meta().etag}, offset, out);
    }
    ROWFS_ASSIGN_OR_RETURN(const size_t done, content_->ReadUpTo(offset, out));
    if (done == out.size()) return {};
    return {Code::kCorruption,
            shard_->uri() + ": decompresses to fewer bytes than before"};
  }

  Status ReadSparse(const Member& member, const SparseMap& map, uint64_t offset,
                    MutableByteSpan out) const {
    std::fill(out.begin(), out.end(), std::byte{0});
    uint64_t place = member.offset;
    const uint64_t end = offset + out.size();
    for (const SparsePiece& piece : map) {
      const uint64_t from = std::max(piece.offset, offset);
      const uint64_t to = std::min(piece.offset + piece.size, end);
      if (from < to) {
        ROWFS_RETURN_IF_ERROR(ReadTar(place + from - piece.offset,
                                      out.subspan(from - offset, to - from)));
      }
      place += piece.size;
    }
    return {};
  }

  const std::shared_ptr<const ObjectReader> shard_;
  const TarContents contents_;
  const std::unique_ptr<CompressedReader> content_;  // null: not compressed
  const ReadContext context_;
  NameFinder finder_;
};

std::unique_ptr<CompressedReader> MakeContent(
    std::shared_ptr<const ObjectReader> shard, Compression compression,
    std::vector<Checkpoint> checkpoints) {
  CompressedReader::Options options;
  options.compression = compression;
  options.compressed_bytes = shard->size();
  options.what = shard->uri();
  options.checkpoints = std::move(checkpoints);
  return std::make_unique<CompressedReader>(
      [shard](uint64_t offset, MutableByteSpan out) {
        return shard->ReadAt(offset, out, ReadKind::kData);
      },
      std::move(options));
}

TarInput InputOf(const ObjectReader& shard, CompressedReader* content) {
  TarInput input;
  if (content != nullptr) {
    input.read = [content](uint64_t offset, MutableByteSpan out) {
      return content->ReadUpTo(offset, out);
    };
    input.gap_bytes = UINT64_MAX;
    input.chunk_bytes = 256 << 10;
    return input;
  }
  input.size = shard.size();
  input.read = [&shard](uint64_t offset,
                        MutableByteSpan out) -> Result<size_t> {
    ROWFS_RETURN_IF_ERROR(shard.ReadAt(offset, out, ReadKind::kMetadata));
    return out.size();
  };
  if (shard.location().store->capabilities().remote) {
    input.gap_bytes = kRemoteGapBytes;
    input.chunk_bytes = kRemoteChunkBytes;
  }
  return input;
}

}  // namespace

Result<std::shared_ptr<const Pack>> OpenTar(const Location& location,
                                            const OpenContext& context,
                                            const TarObserver& found) {
  // Shards are opened by the pool's own tasks, which must not wait for others;
  // and a pass over a file is nothing to keep in the cache.
  ReadContext alone = context.read;
  alone.pool = nullptr;
  alone.cache = nullptr;
  ROWFS_ASSIGN_OR_RETURN(const ObjectMeta meta,
                         location.store->Stat(location.path));
  const auto scanned = ObjectReader::Make(location, meta, alone);
  const auto shard = ObjectReader::Make(location, meta, context.read);
  Bytes head(std::min<uint64_t>(meta.size, 4));
  if (!head.empty()) {
    ROWFS_RETURN_IF_ERROR(scanned->ReadAt(0, head, ReadKind::kMetadata));
  }
  const std::optional<Compression> compression = CompressionOf(head);
  const std::string key = IndexKey(kTarIndexKind, location, meta);
  if (const auto kept = LoadIndex(context.cache_directory, key)) {
    std::vector<Checkpoint> points;
    Result<TarContents> contents = DecodeContents(*kept, &points);
    if (contents.ok()) {
      return std::shared_ptr<const Pack>(std::make_shared<TarPack>(
          shard, std::move(contents).value(),
          compression ? MakeContent(shard, *compression, std::move(points))
                      : nullptr,
          context.read));
    }
  }
  std::unique_ptr<CompressedReader> content =
      compression ? MakeContent(scanned, *compression, {}) : nullptr;
  TarInput input = InputOf(*scanned, content.get());
  input.found = found;
  ROWFS_ASSIGN_OR_RETURN(TarContents contents, ScanTar(input, location.uri()));
  std::vector<Checkpoint> points;
  if (content) points = content->checkpoints();
  SaveIndex(context.cache_directory, key, EncodeContents(contents, points));
  if (content) content = MakeContent(shard, *compression, std::move(points));
  return std::shared_ptr<const Pack>(std::make_shared<TarPack>(
      shard, std::move(contents), std::move(content), context.read));
}

}  // namespace rowfs
