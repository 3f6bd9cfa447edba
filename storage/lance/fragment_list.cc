#include "storage/lance/fragment_list.h"

#include <set>

#include "storage/base/hash.h"
#include "storage/base/json_members.h"
#include "storage/lance/manifest.h"
#include "storage/lance/manifest_check.h"
#include "storage/lance/parse_message.h"

namespace rowfs {
namespace {

constexpr std::string_view kFormat = "rowfs-fragments";
constexpr uint64_t kFormatVersion = 1;
constexpr std::string_view kDigest = "sha256";

// Of all members before the digest.
std::string DigestOf(Json json) {
  std::erase_if(json.members,
                [](const auto& member) { return member.first == kDigest; });
  return ToHex(Sha256(AsBytes(WriteJson(json))));
}

std::optional<uint64_t> NumberOf(const Json& json, std::string_view key) {
  const Json* value = json.Find(key);
  return value == nullptr ? std::nullopt : value->AsUint();
}

Status Foreign(std::string_view name, std::string_view why) {
  return {Code::kCorruption, std::string(name) +
                                 ": not a file that --fragments wrote, or not "
                                 "the whole of it: " +
                                 std::string(why)};
}

// Whether the fragments are as our writer makes them: nothing but new rows, in
// files that are listed. The digest keeps accidents out, not intent.
bool IsPlain(const FragmentList& list) {
  std::set<std::string_view> listed;
  for (const FragmentList::File& file : list.files) {
    if (!IsConfinedPath(file.path) || !file.path.starts_with("data/")) {
      return false;
    }
    listed.insert(file.path);
  }
  for (const lance::pb::DataFragment& fragment : list.table.fragments()) {
    if (fragment.id() != 0 || fragment.files_size() != 1 ||
        fragment.physical_rows() == 0 || fragment.has_deletion_file() ||
        fragment.has_inline_row_ids() || fragment.has_row_id_column()) {
      return false;
    }
    const lance::pb::DataFile& file = fragment.files(0);
    if (file.has_base_id() || !listed.contains("data/" + file.path())) {
      return false;
    }
  }
  pb::Manifest table;
  *table.mutable_fields() = list.table.schema();
  return ManifestSchema(table).ok() && list.table.initial_bases().empty() &&
         list.table.config_upsert_values().empty();
}

}  // namespace

uint64_t FragmentList::row_count() const {
  uint64_t rows = 0;
  for (const auto& fragment : table.fragments()) {
    rows += fragment.physical_rows();
  }
  return rows;
}

std::string EncodeFragmentList(const FragmentList& list) {
  Json files = Json::Array();
  for (const FragmentList::File& file : list.files) {
    files.items.push_back(std::move(Json::Object()
                                        .Add("path", Json::String(file.path))
                                        .Add("size", Json::Uint(file.size))));
  }
  Json json = Json::Object();
  json.Add("format", Json::String(kFormat))
      .Add("format_version", Json::Uint(kFormatVersion))
      .Add("data_format", Json::String(list.data_format))
      .Add("blob_info", Json::Bool(list.blob_info))
      .Add("read_version", Json::Uint(list.read_version))
      .Add("rows", Json::Uint(list.row_count()))
      .Add("files", std::move(files))
      .Add("table", Json::String(ToBase64(SerializeMessage(list.table))));
  const std::string digest = DigestOf(json);
  json.Add(kDigest, Json::String(digest));
  return WriteJson(json) + "\n";
}

Result<FragmentList> DecodeFragmentList(std::string_view text,
                                        std::string_view name) {
  const Result<Json> parsed = ParseJson(text);
  if (!parsed.ok()) return Foreign(name, parsed.status().message());
  const Json& json = parsed.value();
  if (StringMember(json, "format") != kFormat) {
    return Foreign(name, "\"format\" is not \"" + std::string(kFormat) + "\"");
  }
  if (NumberOf(json, "format_version") != kFormatVersion) {
    return Status(Code::kUnsupported,
                  std::string(name) +
                      ": written by another release of rowfs, with another "
                      "format_version than " +
                      std::to_string(kFormatVersion));
  }
  if (StringMember(json, kDigest) != DigestOf(json)) {
    return Foreign(name, "its sha256 does not fit");
  }
  FragmentList list;
  list.name = name;
  list.data_format = StringMember(json, "data_format");
  const Json* info = json.Find("blob_info");
  list.blob_info = info != nullptr && info->boolean;
  list.read_version = NumberOf(json, "read_version").value_or(0);
  const Json* files = json.Find("files");
  if (files == nullptr) return Foreign(name, "it lists no files");
  for (const Json& file : files->items) {
    list.files.push_back(
        {StringMember(file, "path"), NumberOf(file, "size").value_or(0)});
  }
  const Result<Bytes> table = FromBase64(StringMember(json, "table"));
  if (!table.ok() || !ParseMessage(table.value(), &list.table) ||
      !IsPlain(list)) {
    return Foreign(name, "its table holds other than new rows");
  }
  return list;
}

}  // namespace rowfs
