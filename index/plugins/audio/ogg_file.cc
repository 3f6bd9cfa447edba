// An Ogg file of Opus or Vorbis packets. Checksums of its pages cover the
// packets, so they are computed at ingest and kept in the index.
#include <algorithm>

#include "index/plugins/audio/sound_file.h"

namespace rowfs::plugin {
namespace {

constexpr uint8_t kFirstPage = 2;
constexpr uint8_t kLastPage = 4;
constexpr uint64_t kPageBytes = 32 << 10;

// The three headers of Vorbis as libavcodec keeps them: lengths in the manner
// of Xiph, or two bytes each.
std::vector<Bytes> SplitVorbis(ByteSpan all) {
  std::vector<Bytes> headers;
  if (all.size() < 6) return {};
  if (all[0] == 0 && all[1] == 30) {
    while (all.size() >= 2 && headers.size() < 3) {
      const size_t size = size_t{all[0]} << 8 | all[1];
      if (size > all.size() - 2) return {};
      headers.emplace_back(all.begin() + 2,
                           all.begin() + 2 + static_cast<ptrdiff_t>(size));
      all = all.subspan(2 + size);
    }
  } else if (all[0] == 2) {
    size_t sizes[2] = {0, 0};
    size_t at = 1;
    for (size_t& size : sizes) {
      for (uint8_t byte = 255; byte == 255 && at < all.size(); ++at) {
        byte = all[at];
        size += byte;
      }
    }
    if (sizes[0] > all.size() - at || sizes[1] > all.size() - at - sizes[0]) {
      return {};
    }
    const auto begin = all.begin() + static_cast<ptrdiff_t>(at);
    const auto second = begin + static_cast<ptrdiff_t>(sizes[0]);
    const auto third = second + static_cast<ptrdiff_t>(sizes[1]);
    headers.emplace_back(begin, second);
    headers.emplace_back(second, third);
    headers.emplace_back(third, all.end());
  }
  return headers.size() == 3 ? headers : std::vector<Bytes>();
}

Bytes Join(std::string_view magic, const Bytes& bytes) {
  Bytes out(magic.begin(), magic.end());
  out.insert(out.end(), bytes.begin(), bytes.end());
  return out;
}

// A header packet in pages of its own; it may fill several.
void PutHeaderPages(const Bytes& packet, uint8_t flags, uint32_t* sequence,
                    Bytes* out) {
  OggPageText text;
  text.flags = flags;
  text.sequence = (*sequence)++;
  text.sizes = {static_cast<uint32_t>(packet.size())};
  Bytes page = OggHeader(text, 0);
  const uint32_t crc = OggCrc(packet, OggCrc(page, 0));
  page = OggHeader(text, crc);
  out->insert(out->end(), page.begin(), page.end());
  out->insert(out->end(), packet.begin(), packet.end());
}

// Samples decoded from packets [0, end), as granules count them.
uint64_t GranuleAt(const SoundIndex& index, size_t end) {
  const bool counts_all = index.codec == "opus";
  const uint64_t front = counts_all ? LeadingSamples(index) : 0;
  return front + index.heard_before[end];
}

}  // namespace

std::vector<Bytes> OggHeaders(const SoundIndex& index) {
  std::vector<Bytes> headers;
  if (index.codec == "opus") {
    if (index.extradata.size() < 19 ||
        AsText(ByteSpan(index.extradata).first(8)) != "OpusHead") {
      return {};
    }
    headers.push_back(index.extradata);
    headers.push_back(Join("OpusTags", VorbisComment(index)));
  } else {
    headers = SplitVorbis(index.extradata);
    if (headers.empty()) return {};
    headers[1] = Join("\x03vorbis", VorbisComment(index));
    headers[1].push_back(1);
  }
  const bool fit =
      std::all_of(headers.begin(), headers.end(), [](const Bytes& header) {
        return !header.empty() && OggSegments(header.size()) <= kOggSegmentsMax;
      });
  return fit ? headers : std::vector<Bytes>();
}

OggPageText PageText(const SoundIndex& index, size_t page, size_t first,
                     uint32_t sequence) {
  OggPageText text;
  const size_t end = first + index.pages[page].packets;
  text.flags = end == index.packets.size() ? kLastPage : 0;
  text.granule = GranuleAt(index, end);
  text.sequence = sequence;
  for (size_t i = first; i < end; ++i) {
    text.sizes.push_back(index.packets[i].size);
  }
  return text;
}

Status OggPager::Add(const SoundPacket& packet, uint32_t sample_rate,
                     ByteSpan data) {
  const size_t segments = OggSegments(data.size());
  if (segments > kOggSegmentsMax) {
    return Unsupported("a packet does not fit into an Ogg page");
  }
  if (pages_.empty() || pages_.back().segments + segments > kOggSegmentsMax ||
      pages_.back().bytes >= kPageBytes ||
      pages_.back().samples >= sample_rate) {
    pages_.emplace_back();
  }
  Page& page = pages_.back();
  ++page.packets;
  page.crc = OggCrc(data, page.crc);
  page.segments += segments;
  page.bytes += data.size();
  page.samples += packet.samples;
  return {};
}

void OggPager::Finish(SoundIndex* index) {
  const Bytes zeros(kPageBytes, 0);
  for (const Page& page : pages_) index->pages.push_back({page.packets, 0});
  auto sequence = static_cast<uint32_t>(OggHeaders(*index).size());
  size_t first = 0;
  for (size_t i = 0; i < pages_.size(); ++i, ++sequence) {
    const OggPageText text = PageText(*index, i, first, sequence);
    first += pages_[i].packets;
    // The checksum of header and packets is that of the header followed by
    // zeros, combined with that of the packets.
    uint32_t crc = OggCrc(OggHeader(text, 0), 0);
    for (uint64_t left = pages_[i].bytes; left > 0;) {
      const uint64_t step = std::min<uint64_t>(left, zeros.size());
      crc = OggCrc(ByteSpan(zeros).first(static_cast<size_t>(step)), crc);
      left -= step;
    }
    index->pages[i].crc = crc ^ pages_[i].crc;
  }
}

Result<std::vector<SoundPiece>> PlanOgg(const SoundIndex& index) {
  const std::vector<Bytes> headers = OggHeaders(index);
  if (headers.empty()) return Corrupt("the stream has no Ogg headers");
  Bytes literal;
  uint32_t sequence = 0;
  for (const Bytes& header : headers) {
    PutHeaderPages(header, sequence == 0 ? kFirstPage : 0, &sequence, &literal);
  }
  std::vector<SoundPiece> pieces;
  size_t first = 0;
  for (size_t page = 0; page < index.pages.size(); ++page) {
    const OggPageText text = PageText(index, page, first, sequence++);
    const size_t segments = [&] {
      size_t sum = 0;
      for (const uint32_t size : text.sizes) sum += OggSegments(size);
      return sum;
    }();
    if (text.sizes.empty() || segments > kOggSegmentsMax) {
      return Corrupt("a page of the index is wrong");
    }
    const Bytes header = OggHeader(text, index.pages[page].crc);
    literal.insert(literal.end(), header.begin(), header.end());
    pieces.push_back({std::move(literal), 0, 0});
    literal.clear();
    for (const uint32_t size : text.sizes) {
      const SoundPacket& packet = index.packets[first++];
      if (pieces.back().literal.empty() && pieces.back().end == packet.offset) {
        pieces.back().end += size;
      } else if (size > 0) {
        pieces.push_back({{}, packet.offset, packet.offset + size});
      }
    }
  }
  return pieces;
}

}  // namespace rowfs::plugin
