#include "storage/lance/manifest.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <charconv>

#include "storage/base/hash.h"
#include "storage/lance/manifest_check.h"
#include "storage/lance/parse_message.h"

namespace rowfs {
namespace {

constexpr std::string_view kSuffix = ".manifest";
constexpr size_t kInvertedDigits = 20;
constexpr std::string_view kMagic = "LANC";
constexpr uint16_t kTailMajor = 0;
constexpr uint16_t kTailMinor = 2;
constexpr uint64_t kTailBytes = 16;
constexpr uint64_t kFirstReadBytes = 64 << 10;
// A million fragments take about a tenth of this.
constexpr uint64_t kManifestBytesMax = uint64_t{1} << 30;

std::optional<uint64_t> ParseDecimal(std::string_view text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end) return {};
  return value;
}

Status Corrupt(std::string_view what, std::string_view message) {
  return Status(Code::kCorruption,
                std::string(what) + ": " + std::string(message));
}

// Position of the message's length prefix, from the last bytes of the file.
Result<uint64_t> DecodeTail(ByteSpan end, uint64_t file_size,
                            std::string_view what) {
  if (file_size < kTailBytes + 4 || end.size() < kTailBytes) {
    return Corrupt(what, "too short for a manifest");
  }
  const ByteSpan tail = end.last(kTailBytes);
  if (AsText(tail.last(kMagic.size())) != kMagic) {
    return Corrupt(what, "no manifest (magic bytes missing at the end)");
  }
  const uint16_t major = LoadU16(tail.subspan(8));
  const uint16_t minor = LoadU16(tail.subspan(10));
  // 0.1 is what releases up to 0.20 wrote, the same layout.
  if (major != kTailMajor || minor == 0 || minor > kTailMinor) {
    return Status(Code::kUnsupported,
                  std::string(what) + ": manifest layout version " +
                      std::to_string(major) + "." + std::to_string(minor));
  }
  const uint64_t position = LoadU64(tail);
  if (position > file_size - kTailBytes - 4) {
    return Corrupt(what, "message position beyond the file");
  }
  return position;
}

// `bytes`: from the message's length prefix to the end of the file.
Status DecodeMessage(ByteSpan bytes, std::string_view what, Manifest* out) {
  const uint64_t length = LoadU32(bytes);
  if (length + 4 + kTailBytes != bytes.size()) {
    return Corrupt(what, "message length " + std::to_string(length) +
                             " does not fill the file");
  }
  if (length == 0) return Corrupt(what, "empty message");
  const ByteSpan body = bytes.subspan(4, length);
  if (!ParseMessage(body, &out->message)) {
    return Corrupt(what, "not a valid manifest message");
  }
  out->digest = ToHex(Sha256(body));
  return CheckManifest(out->message).With(what);
}

// The length-prefixed section at `offset` of the whole file `bytes`. A section
// never makes opening fail: what does not parse counts as absent.
std::optional<Bytes> Section(ByteSpan bytes, uint64_t offset) {
  const auto prefix = Slice(bytes, offset, 4, "section");
  if (!prefix.ok()) return {};
  const auto body =
      Slice(bytes, offset + 4, LoadU32(prefix.value()), "section");
  if (!body.ok()) return {};
  return Bytes(body.value().begin(), body.value().end());
}

void DecodeSections(ByteSpan file, Manifest* out) {
  const pb::Manifest& message = out->message;
  if (message.has_index_section()) {
    out->index_section = Section(file, message.index_section());
  }
  if (message.has_transaction_section()) {
    out->transaction = Section(file, message.transaction_section());
  } else if (message.has_old_transaction_section()) {
    out->transaction = Section(file, message.old_transaction_section());
  }
}

}  // namespace

std::string FormatManifestName(uint64_t version, ManifestNaming naming) {
  if (naming == ManifestNaming::kDecimal) {
    return std::to_string(version) + std::string(kSuffix);
  }
  const std::string digits = std::to_string(UINT64_MAX - version);
  return std::string(kInvertedDigits - digits.size(), '0') + digits +
         std::string(kSuffix);
}

std::optional<ManifestName> ParseManifestName(std::string_view name) {
  if (!name.ends_with(kSuffix)) return {};
  const auto number =
      ParseDecimal(name.substr(0, name.size() - kSuffix.size()));
  if (!number) return {};
  if (name.size() == kInvertedDigits + kSuffix.size()) {
    return ManifestName{UINT64_MAX - *number, ManifestNaming::kInverted};
  }
  return ManifestName{*number, ManifestNaming::kDecimal};
}

Result<Manifest> DecodeManifest(ByteSpan bytes, std::string_view what) {
  Manifest out;
  ROWFS_ASSIGN_OR_RETURN(const uint64_t position,
                         DecodeTail(bytes, bytes.size(), what));
  ROWFS_RETURN_IF_ERROR(DecodeMessage(bytes.subspan(position), what, &out));
  DecodeSections(bytes, &out);
  out.meta.size = bytes.size();
  return out;
}

Result<Manifest> ReadManifest(const Location& versions,
                              const ManifestName& name, ManifestParts parts) {
  const Location file =
      versions.Join(FormatManifestName(name.version, name.naming));
  const std::string what = file.uri();
  ROWFS_ASSIGN_OR_RETURN(ObjectStore::Tail tail,
                         file.store->ReadTail(file.path, kFirstReadBytes));
  const uint64_t size = tail.meta.size;
  if (size > kManifestBytesMax) return Corrupt(what, "larger than 1 GiB");
  ROWFS_ASSIGN_OR_RETURN(const uint64_t position,
                         DecodeTail(tail.bytes, size, what));
  const uint64_t begin = parts == ManifestParts::kAll ? 0 : position;
  Bytes bytes = std::move(tail.bytes);
  if (size - bytes.size() > begin) {
    Bytes head(size - bytes.size() - begin);
    ROWFS_RETURN_IF_ERROR(
        file.store->ReadAt({file.path, tail.meta.etag}, begin, head));
    AppendBytes(&head, bytes);
    bytes = std::move(head);
  }
  const ByteSpan all = ByteSpan(bytes).last(size - begin);

  Manifest out;
  ROWFS_RETURN_IF_ERROR(
      DecodeMessage(all.subspan(position - begin), what, &out));
  if (out.message.version() != name.version) {
    return Corrupt(what,
                   "holds version " + std::to_string(out.message.version()) +
                       ", named as version " + std::to_string(name.version));
  }
  if (parts == ManifestParts::kAll) DecodeSections(all, &out);
  out.meta = std::move(tail.meta);
  out.naming = name.naming;
  return out;
}

Bytes EncodeManifest(const Manifest& manifest) {
  Bytes out;
  pb::Manifest message = manifest.message;
  message.clear_index_section();
  message.clear_transaction_section();
  // Readers of 1.0 to 11.0 decode this one eagerly; the file in _transactions
  // serves them.
  message.clear_old_transaction_section();
  const auto append = [&out](ByteSpan section) {
    AppendU32(&out, static_cast<uint32_t>(section.size()));
    AppendBytes(&out, section);
  };
  if (manifest.index_section) {
    message.set_index_section(out.size());
    append(*manifest.index_section);
  }
  if (manifest.transaction) {
    message.set_transaction_section(out.size());
    append(*manifest.transaction);
  }
  const uint64_t position = out.size();
  append(SerializeMessage(message));
  AppendU64(&out, position);
  AppendU16(&out, kTailMajor);
  AppendU16(&out, kTailMinor);
  AppendText(&out, kMagic);
  return out;
}

Bytes SerializeMessage(const google::protobuf::MessageLite& message) {
  std::string text;
  {
    google::protobuf::io::StringOutputStream stream(&text);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return ToBytes(text);
}

StoredField FromMessage(const pb::Field& field) {
  StoredField out;
  out.id = field.id();
  out.parent_id = field.parent_id();
  out.name = field.name();
  out.logical_type = field.logical_type();
  out.nullable = field.nullable();
  out.extension_name = field.extension_name();
  // A protobuf map has no order of its own.
  for (const auto& [key, value] : field.metadata()) {
    out.metadata.emplace_back(key, value);
  }
  std::sort(out.metadata.begin(), out.metadata.end());
  return out;
}

pb::Field ToMessage(const StoredField& field) {
  pb::Field out;
  out.set_id(field.id);
  out.set_parent_id(field.parent_id);
  out.set_name(field.name);
  out.set_logical_type(field.logical_type);
  out.set_nullable(field.nullable);
  out.set_extension_name(field.extension_name);
  for (const auto& [key, value] : field.metadata) {
    (*out.mutable_metadata())[key] = value;
  }
  return out;
}

Result<LanceSchema> ManifestSchema(const pb::Manifest& manifest) {
  std::vector<StoredField> fields;
  for (const pb::Field& field : manifest.fields()) {
    // Negative ids mark what data files no longer or never show.
    if (field.id() < 0) {
      return Status(Code::kCorruption, "field \"" + field.name() +
                                           "\" has the id " +
                                           std::to_string(field.id()));
    }
    fields.push_back(FromMessage(field));
  }
  Metadata metadata;
  for (const auto& [key, value] : manifest.schema_metadata()) {
    metadata.emplace_back(key, value);
  }
  std::sort(metadata.begin(), metadata.end());
  return DecodeSchema(fields, std::move(metadata));
}

}  // namespace rowfs
