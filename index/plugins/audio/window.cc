#include "index/plugins/audio/window.h"

#include <algorithm>

#include "index/plugins/audio/ogg.h"
#include "index/plugins/audio/sound_decoder.h"

namespace rowfs::plugin {
namespace {

// Packets further apart than this are read one by one.
constexpr uint64_t kGapMax = 64 << 10;

DecodeRun RunOf(const SoundIndex& index, const Window& window) {
  DecodeRun run;
  run.window = window;
  run.wanted = index.PacketOf(window.begin);
  run.last = index.PacketOf(window.end - 1);
  const uint32_t preroll = index.packets[run.wanted].preroll;
  run.first = run.wanted - std::min(preroll, run.wanted);
  return run;
}

ByteRange RangeOf(const SoundIndex& index, uint32_t packet) {
  const SoundPacket& p = index.packets[packet];
  const bool pieces = index.head.ogg_pages || index.gather;
  return {p.offset, p.offset + (pieces ? p.span : p.size)};
}

// Decodes one run and cuts its window out.
class RunDecoder {
 public:
  RunDecoder(const SoundIndex& index, const DecodeRun& run,
             SoundDecoder* decoder, Bytes* out)
      : index_(index), run_(run), decoder_(decoder), out_(out) {}

  Status Take(uint32_t ordinal, ByteSpan data) {
    const bool wanted = ordinal >= run_.wanted;
    samples_.clear();
    SoundOutput output;
    if (wanted) output.samples = &samples_;
    auto count = decoder_->Decode(data, output);
    if (!wanted) return {};  // pre-roll may fail: what it lacks is before it
    if (!count.ok()) return count.status();
    if (ordinal + 1 == index_.packets.size()) {
      PLUGIN_ASSIGN_OR_RETURN(const uint32_t rest, decoder_->Drain(output));
      count.value() += rest;
    }
    return Cut(ordinal, count.value());
  }

 private:
  Status Cut(uint32_t ordinal, uint32_t count) {
    const SoundPacket& packet = index_.packets[ordinal];
    if (packet.samples == 0 || packet.heard() == 0) return {};
    if (count != packet.samples) {
      return Corrupt("packet " + std::to_string(ordinal) + " decodes to " +
                     std::to_string(count) + " samples, not " +
                     std::to_string(packet.samples));
    }
    const uint64_t from = index_.heard_before[ordinal];
    const uint64_t begin = std::max(from, run_.window.begin);
    const uint64_t end =
        std::min(index_.heard_before[ordinal + 1], run_.window.end);
    if (begin >= end) return {};
    const uint64_t frame = index_.FrameBytes();
    const auto at = samples_.begin();
    const auto skip =
        static_cast<ptrdiff_t>((packet.front + begin - from) * frame);
    const auto size = static_cast<ptrdiff_t>((end - begin) * frame);
    out_->insert(out_->end(), at + skip, at + skip + size);
    return {};
  }

  const SoundIndex& index_;
  const DecodeRun& run_;
  SoundDecoder* decoder_;
  Bytes* out_;
  Bytes samples_;
};

}  // namespace

std::vector<DecodeRun> RunsOf(const SoundIndex& index, const Window& window) {
  if (index.head.exact) return {RunOf(index, window)};
  std::vector<DecodeRun> runs;
  const uint64_t block = index.head.sample_rate;
  for (uint64_t at = window.begin; at < window.end;) {
    const uint64_t start = at / block * block;
    const uint64_t end = std::min(window.end, start + block);
    // Decoding starts where the block does, whatever is wanted of it.
    DecodeRun run = RunOf(index, {start, end});
    run.window.begin = at;
    runs.push_back(run);
    at = end;
  }
  return runs;
}

std::vector<ByteRange> RangesOf(const SoundIndex& index,
                                const std::vector<DecodeRun>& runs) {
  std::vector<ByteRange> all;
  uint32_t next = 0;
  for (const DecodeRun& run : runs) {
    for (uint32_t i = std::max(run.first, next); i <= run.last; ++i) {
      const ByteRange range = RangeOf(index, i);
      if (range.begin == range.end) continue;
      if (!all.empty() && range.begin >= all.back().begin &&
          range.begin <= all.back().end + kGapMax) {
        all.back().end = std::max(all.back().end, range.end);
      } else {
        all.push_back(range);
      }
    }
    next = std::max(next, run.last + 1);
  }
  std::sort(all.begin(), all.end(), [](const ByteRange& a, const ByteRange& b) {
    return a.begin < b.begin;
  });
  std::vector<ByteRange> joined;
  for (const ByteRange& range : all) {
    if (!joined.empty() && range.begin <= joined.back().end + kGapMax) {
      joined.back().end = std::max(joined.back().end, range.end);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

Result<ByteSpan> PacketBytes::Find(uint64_t begin, uint64_t end) const {
  const auto after = std::upper_bound(
      ranges_.begin(), ranges_.end(), begin,
      [](uint64_t v, const ByteRange& range) { return v < range.begin; });
  const auto at = static_cast<size_t>(after - ranges_.begin());
  if (at > 0 && at <= bytes_.size()) {
    const ByteRange& range = ranges_[at - 1];
    if (end <= range.end && bytes_[at - 1].size() == range.end - range.begin) {
      return bytes_[at - 1].subspan(static_cast<size_t>(begin - range.begin),
                                    static_cast<size_t>(end - begin));
    }
  }
  return Invalid("the bytes given are not those of the plan");
}

Status PacketBytes::ForEach(
    uint32_t first, uint32_t last,
    const std::function<Status(uint32_t, ByteSpan)>& take) const {
  if (index_.head.ogg_pages) return WalkOgg(first, last, take);
  for (uint32_t i = first; i <= last; ++i) {
    const ByteRange range = RangeOf(index_, i);
    ByteSpan bytes;
    if (range.begin < range.end) {
      PLUGIN_ASSIGN_OR_RETURN(bytes, Find(range.begin, range.end));
    }
    Bytes gathered;
    if (index_.gather) {
      gathered = index_.gather(bytes, index_.packets[i]);
      bytes = gathered;
    }
    PLUGIN_RETURN_IF_ERROR(take(i, bytes));
  }
  return {};
}

Status PacketBytes::WalkOgg(
    uint32_t first, uint32_t last,
    const std::function<Status(uint32_t, ByteSpan)>& take) const {
  const ByteRange from = RangeOf(index_, first);
  const ByteRange to = RangeOf(index_, last);
  PLUGIN_ASSIGN_OR_RETURN(const ByteSpan pages, Find(from.begin, to.end));
  OggWalker walker(
      [&](uint64_t offset, std::span<uint8_t> out) -> Result<size_t> {
        if (offset >= pages.size()) return size_t{0};
        const ByteSpan rest = pages.subspan(static_cast<size_t>(offset));
        const size_t size = std::min(rest.size(), out.size());
        std::copy_n(rest.begin(), size, out.begin());
        return size;
      },
      0, std::nullopt);
  uint32_t next = first;
  while (next <= last) {
    PLUGIN_ASSIGN_OR_RETURN(const auto packet, walker.Next());
    if (!packet) return Corrupt("the pages have changed");
    const SoundPacket& wanted = index_.packets[next];
    if (packet->offset + from.begin != wanted.offset ||
        packet->skip != wanted.skip) {
      continue;
    }
    if (packet->data.size() != wanted.size) {
      return Corrupt("the pages have changed");
    }
    PLUGIN_RETURN_IF_ERROR(take(next++, packet->data));
  }
  return {};
}

Status DecodeRuns(const SoundIndex& index, const std::vector<DecodeRun>& runs,
                  const PacketBytes& packets, Bytes* out) {
  for (const DecodeRun& run : runs) {
    PLUGIN_ASSIGN_OR_RETURN(const auto decoder, SoundDecoder::Open(index));
    const size_t before = out->size();
    RunDecoder decode(index, run, decoder.get(), out);
    PLUGIN_RETURN_IF_ERROR(packets.ForEach(
        run.first, run.last, [&](uint32_t ordinal, ByteSpan data) {
          return decode.Take(ordinal, data);
        }));
    if (out->size() - before != run.window.size() * index.FrameBytes()) {
      return Corrupt("the sound does not decode to its length");
    }
  }
  return {};
}

}  // namespace rowfs::plugin
