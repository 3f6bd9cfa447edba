#include "index/plugins/document/block_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace rowfs::plugin {
namespace {

constexpr uint64_t kBlockBytes = 4 << 10;
// A piece that goes on where another one ends is this many times as long.
constexpr uint64_t kGrowth = 4;
constexpr uint64_t kAheadBytesMax = 256 << 10;
constexpr uint64_t kPieceBytesMax = 16 << 20;
constexpr uint64_t kHeldBytesMax = 64 << 20;

}  // namespace

const BlockReader::Piece* BlockReader::PieceAt(uint64_t offset,
                                               uint64_t wanted) {
  if (offset >= size()) return nullptr;
  uint64_t begin = offset / kBlockBytes * kBlockBytes;
  uint64_t ahead = kBlockBytes;
  uint64_t limit = size();
  for (auto it = pieces_.begin(); it != pieces_.end(); ++it) {
    if (it->begin <= offset && offset < it->end()) {
      pieces_.splice(pieces_.begin(), pieces_, it);
      return &pieces_.front();
    }
    if (it->end() <= offset) begin = std::max(begin, it->end());
    if (it->begin > offset) limit = std::min(limit, it->begin);
    if (it->end() == begin) {
      ahead = std::min<uint64_t>(it->bytes.size() * kGrowth, kAheadBytesMax);
    }
  }
  wanted = std::min(wanted, kPieceBytesMax);
  uint64_t end = std::max(begin + ahead, offset + wanted);
  end = (end + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  Piece piece;
  piece.begin = begin;
  piece.bytes.resize(static_cast<size_t>(std::min(end, limit) - begin));
  if (reader_.read_at(reader_.ctx, begin, piece.bytes.data(),
                      piece.bytes.size()) != ROWFS_OK) {
    failed_ = true;
    return nullptr;
  }
  held_bytes_ += piece.bytes.size();
  pieces_.push_front(std::move(piece));
  while (held_bytes_ > kHeldBytesMax && pieces_.size() > 1) {
    held_bytes_ -= pieces_.back().bytes.size();
    pieces_.pop_back();
  }
  return &pieces_.front();
}

bool BlockReader::ReadAt(uint64_t offset, std::span<uint8_t> out) {
  while (!out.empty()) {
    const Piece* piece = PieceAt(offset, out.size());
    if (piece == nullptr) return false;
    const auto skip = static_cast<size_t>(offset - piece->begin);
    const size_t n = std::min(out.size(), piece->bytes.size() - skip);
    std::memcpy(out.data(), piece->bytes.data() + skip, n);
    out = out.subspan(n);
    offset += n;
  }
  return true;
}

ByteSpan BlockReader::Peek(uint64_t offset) {
  const Piece* piece = PieceAt(offset, 1);
  if (piece == nullptr) return {};
  return ByteSpan(piece->bytes)
      .subspan(static_cast<size_t>(offset - piece->begin));
}

}  // namespace rowfs::plugin
