#include "index/convert/manifest.h"

#include <algorithm>
#include <filesystem>

#include "storage/base/hash.h"
#include "storage/object/local_store.h"
#include "storage/pack/blob_key.h"
#include "storage/pack/posix_path.h"

namespace rowfs {
namespace {

constexpr uint64_t kChunkBytes = 4 << 20;
constexpr uint64_t kManifestBytesMax = 256 << 20;

Result<std::string> HashShard(const PackShard& shard,
                              std::atomic<uint64_t>* done) {
  Sha256Stream hash;
  for (uint64_t at = 0; at < shard.object.meta.size;) {
    ROWFS_ASSIGN_OR_RETURN(const Bytes bytes,
                           shard.object.ReadUpTo(at, kChunkBytes));
    hash.Update(bytes);
    at += bytes.size();
    *done += bytes.size();
  }
  return ToHex(hash.Finish());
}

Location LocalFile(const std::string& folder) {
  std::error_code ignored;
  const std::string path =
      std::filesystem::absolute(folder, ignored).lexically_normal().string();
  return {std::make_shared<LocalStore>(), JoinPath(path, kManifestName)};
}

}  // namespace

std::string AsciiQuote(std::string_view text) {
  const auto unit = [](int32_t value) {
    std::string out = "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) {
      out += "0123456789abcdef"[static_cast<size_t>(value >> shift & 0xf)];
    }
    return out;
  };
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const int32_t c = NextCodePoint(text, &at);
    constexpr std::string_view kShort = "\"\\\n\r\t\f\b";
    constexpr std::string_view kLetters = "\"\\nrtfb";
    const size_t found =
        c > 0 && c < 0x80 ? kShort.find(static_cast<char>(c)) : kShort.npos;
    if (c < 0) {
      out += unit(0xdc00 | static_cast<uint8_t>(text[begin]));
    } else if (found != kShort.npos) {
      out += '\\';
      out += kLetters[found];
    } else if (c >= 0x20 && c < 0x7f) {
      out += static_cast<char>(c);
    } else if (c > 0xffff) {
      out += unit(0xd800 | (c - 0x10000) >> 10);
      out += unit(0xdc00 | ((c - 0x10000) & 0x3ff));
    } else {
      out += unit(c);
    }
  }
  return out + '"';
}

Result<std::vector<std::string>> HashShards(std::span<const PackShard> shards,
                                            ThreadPool& pool,
                                            std::atomic<uint64_t>* done) {
  std::vector<std::string> digests(shards.size());
  std::vector<std::function<Status()>> tasks;
  for (size_t i = 0; i < shards.size(); ++i) {
    tasks.push_back([&, i]() -> Status {
      ROWFS_ASSIGN_OR_RETURN(digests[i], HashShard(shards[i], done));
      return {};
    });
  }
  if (!tasks.empty()) ROWFS_RETURN_IF_ERROR(RunAll(pool, tasks));
  return digests;
}

Status WriteManifest(const std::string& folder,
                     std::span<const PackShard> shards, ThreadPool& pool,
                     std::atomic<uint64_t>* done) {
  ROWFS_ASSIGN_OR_RETURN(const auto digests, HashShards(shards, pool, done));
  std::string text = "{\n \"algorithm\": \"sha256\",\n \"shards\": {\n";
  for (size_t i = 0; i < shards.size(); ++i) {
    text += "  " + AsciiQuote(shards[i].name) +
            ": {\n   \"bytes\": " + std::to_string(shards[i].object.meta.size) +
            ",\n   \"sha256\": \"" + digests[i] + "\"\n  }";
    text += i + 1 < shards.size() ? ",\n" : "\n";
  }
  text += " }\n}\n";
  return WriteWhole(LocalFile(folder), AsBytes(text), PutMode::kOverwrite);
}

Result<std::optional<std::map<std::string, Json>>> ReadManifest(
    const std::string& folder) {
  using Shards = std::optional<std::map<std::string, Json>>;
  const Location file = LocalFile(folder);
  const auto bytes = ReadWhole(file, kManifestBytesMax);
  if (bytes.status().code() == Code::kNotFound) return Shards();
  if (!bytes.ok()) return bytes.status();
  const auto json = ParseJson(AsText(bytes.value()));
  if (!json.ok()) return json.status().With(file.uri());
  const Json* shards = json.value().Find("shards");
  if (shards == nullptr || shards->kind != Json::Kind::kObject) {
    return Status(Code::kCorruption,
                  file.uri() + ": has no \"shards\" object; write it again");
  }
  std::map<std::string, Json> recorded;
  for (const auto& [name, entry] : shards->members) recorded[name] = entry;
  return Shards(std::move(recorded));
}

}  // namespace rowfs
