#include "storage/lance/row_versions.h"

#include "storage/lance/parse_message.h"
#include "storage/lance/row_ids.h"
#include "storage/lance/table.pb.h"

namespace rowfs {
namespace {

namespace pb = lance::pb;

// Rows that one fragment of a table has at most, as far as we rewrite it.
constexpr uint64_t kRowsMax = uint64_t{1} << 28;

Status Corrupt(std::string_view message) {
  return Status(Code::kCorruption, "row versions: " + std::string(message));
}

}  // namespace

Result<std::vector<uint64_t>> DecodeRowVersions(ByteSpan bytes,
                                                uint64_t row_count) {
  pb::RowDatasetVersionSequence message;
  if (!ParseMessage(bytes, &message)) return Corrupt("not a valid message");
  if (row_count > kRowsMax) {
    return Status(Code::kResourceExhausted, "row versions: too many rows");
  }
  // Runs follow one another. Spans count rows; the numbers in them are those of
  // fragments before compaction.
  std::vector<uint64_t> versions;
  for (const auto& run : message.runs()) {
    ROWFS_ASSIGN_OR_RETURN(const uint64_t count, CountSegment(run.span()));
    if (count > row_count - versions.size()) return Corrupt("too many rows");
    versions.insert(versions.end(), count, run.version());
  }
  if (versions.size() != row_count) {
    return Corrupt(std::to_string(versions.size()) + " for " +
                   std::to_string(row_count) + " rows");
  }
  return versions;
}

std::string EncodeRowVersions(const std::vector<uint64_t>& versions) {
  pb::RowDatasetVersionSequence message;
  size_t begin = 0;
  while (begin < versions.size()) {
    size_t end = begin + 1;
    while (end < versions.size() && versions[end] == versions[begin]) ++end;
    auto* run = message.add_runs();
    run->mutable_span()->mutable_range()->set_start(begin);
    run->mutable_span()->mutable_range()->set_end(end);
    run->set_version(versions[begin]);
    begin = end;
  }
  return message.SerializeAsString();
}

}  // namespace rowfs
