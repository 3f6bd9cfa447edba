#include "index/ingest/ingest_marker.h"

#include "storage/base/hash.h"
#include "storage/table/table_source.h"
#include "storage/table/unfinished.h"

namespace rowfs {
namespace {

constexpr uint64_t kMarkerBytesMax = 1024;

Location MarkerOf(const Location& output) {
  return output.Join(kUnfinishedMarker);
}

void AppendPart(std::string_view text, Bytes* out) {
  AppendU64(out, text.size());
  AppendText(out, text);
}

}  // namespace

std::string IngestKey(const IngestJob& job) {
  Bytes text;
  for (const auto& input : job.inputs) {
    AppendPart(input->source(), &text);
    AppendPart(input->table().fingerprint(), &text);
  }
  AppendU64(&text, job.media.size());
  for (const MediaRule& rule : job.media) {
    AppendPart(rule.column, &text);
    AppendPart(rule.plugin, &text);
    AppendPart(rule.config, &text);
  }
  AppendU8(&text, static_cast<uint8_t>(job.layout));
  AppendU8(&text, static_cast<uint8_t>(job.verify));
  AppendU8(&text, job.keep_container ? 1 : 0);
  return ToHex(Sha256(text));
}

bool HasIngestMarker(const Location& output, const std::string& key) {
  const Result<Bytes> marker = ReadWhole(MarkerOf(output), kMarkerBytesMax);
  return marker.ok() && AsText(marker.value()) == key + "\n";
}

Status PutIngestMarker(const Location& output, const std::string& key) {
  return WriteWhole(MarkerOf(output), AsBytes(key + "\n"), PutMode::kOverwrite);
}

Status RemoveIngestMarker(const Location& output) {
  const Location marker = MarkerOf(output);
  return marker.store->Remove(marker.path);
}

}  // namespace rowfs
