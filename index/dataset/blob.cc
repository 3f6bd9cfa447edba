#include "index/dataset/blob.h"

#include <algorithm>

namespace rowfs {

uint64_t Blob::size() const {
  return source_.bytes ? source_.bytes->size() : source_.range.size();
}

Status Blob::ReadAt(uint64_t offset, MutableByteSpan out) const {
  if (offset > size() || out.size() > size() - offset) {
    return {Code::kOutOfRange, "blob ends at byte " + std::to_string(size()) +
                                   ", " + std::to_string(out.size()) +
                                   " bytes at " + std::to_string(offset) +
                                   " wanted"};
  }
  if (out.empty()) return {};
  if (source_.bytes) {
    const ByteSpan part = ByteSpan(*source_.bytes).subspan(offset, out.size());
    std::copy(part.begin(), part.end(), out.begin());
    return {};
  }
  return source_.reader->ReadAt(source_.range.begin + offset, out,
                                ReadKind::kData);
}

Result<std::vector<Bytes>> Blob::ReadMany(
    std::span<const ByteRange> ranges) const {
  std::vector<ByteRange> absolute;
  for (const ByteRange& range : ranges) {
    if (range.begin > range.end || range.end > size()) {
      return Status(Code::kCorruption,
                    "index points to bytes " + std::to_string(range.begin) +
                        "-" + std::to_string(range.end) + " of a blob of " +
                        std::to_string(size()));
    }
    absolute.push_back(
        {source_.range.begin + range.begin, source_.range.begin + range.end});
  }
  if (!source_.bytes)
    return source_.reader->ReadMany(absolute, ReadKind::kData);
  std::vector<Bytes> parts;
  for (const ByteRange& range : ranges) {
    const ByteSpan part =
        ByteSpan(*source_.bytes).subspan(range.begin, range.size());
    parts.emplace_back(part.begin(), part.end());
  }
  return parts;
}

std::string Blob::uri() const {
  return source_.reader ? source_.reader->uri() : std::string();
}

std::string Blob::etag() const {
  return source_.reader ? source_.reader->meta().etag : std::string();
}

}  // namespace rowfs
