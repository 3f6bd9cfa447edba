#include <algorithm>

#include "index/plugins/video/column.h"
#include "index/plugins/video/index_format.h"

namespace rowfs::plugin {
namespace {

using Column = std::vector<int64_t>;

// One column of the packets of `s`.
template <typename Get>
void WritePacketColumn(const Stream& s, Get get, ByteWriter* out) {
  Column column;
  column.reserve(s.packets.size());
  for (size_t i = 0; i < s.packets.size(); ++i) column.push_back(get(i));
  WriteColumn(column, out);
}

int64_t DtsStep(const Stream& s, size_t i) {
  return i == 0 ? s.packets[0].dts : s.packets[i].dts - s.packets[i - 1].dts;
}

// Duration beyond the step to the next packet: 0 for nearly all.
int64_t DurationExtra(const Stream& s, size_t i) {
  const bool last = i + 1 == s.packets.size();
  return s.packets[i].duration - (last ? 0 : DtsStep(s, i + 1));
}

void WriteStreamPackets(const Stream& s, Layout layout, ByteWriter* out) {
  const std::vector<Packet>& p = s.packets;
  WritePacketColumn(
      s, [&](size_t i) { return int64_t{p[i].size}; }, out);
  // Steps of steps: constant zero for a constant frame rate.
  WritePacketColumn(
      s,
      [&](size_t i) {
        return i == 0 ? p[0].dts
                      : DtsStep(s, i) - (i == 1 ? 0 : DtsStep(s, i - 1));
      },
      out);
  WritePacketColumn(
      s, [&](size_t i) { return p[i].pts - p[i].dts; }, out);
  WritePacketColumn(
      s, [&](size_t i) { return DurationExtra(s, i); }, out);
  WritePacketColumn(
      s, [&](size_t i) { return int64_t{p[i].flags}; }, out);
  WritePacketColumn(
      s, [&](size_t i) { return int64_t{p[i].extradata}; }, out);
  if (layout == Layout::kStored) return;
  WritePacketColumn(
      s,
      [&](size_t i) {
        const uint64_t end = i == 0 ? 0 : p[i - 1].offset + p[i - 1].size;
        return static_cast<int64_t>(p[i].offset - end);
      },
      out);
  if (s.pes.kind == PesKind::kNone) return;
  WritePacketColumn(
      s, [&](size_t i) { return int64_t{s.scattered[i].skip}; }, out);
  WritePacketColumn(
      s, [&](size_t i) { return int64_t{s.scattered[i].span} - p[i].size; },
      out);
}

// Sums that leave [-kTicksMax, kTicksMax] mark the reader as failed, so that
// no later arithmetic can overflow.
int64_t Sum(int64_t a, int64_t b, ByteReader* in) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum) || sum > kTicksMax ||
      sum < -kTicksMax) {
    in->Fail();
    return 0;
  }
  return sum;
}

void ReadTimes(size_t count, ByteReader* in, std::vector<Packet>* p) {
  const Column steps = ReadColumn(count, in);
  int64_t step = 0;
  for (size_t i = 0; i < count && in->ok(); ++i) {
    if (i == 0) {
      (*p)[0].dts = Sum(0, steps[0], in);
      continue;
    }
    step = Sum(step, steps[i], in);
    (*p)[i].dts = Sum((*p)[i - 1].dts, step, in);
    if (step <= 0) in->Fail();
  }
  const Column ahead = ReadColumn(count, in);
  for (size_t i = 0; i < count && in->ok(); ++i) {
    (*p)[i].pts = Sum((*p)[i].dts, ahead[i], in);
  }
  const Column extra = ReadColumn(count, in);
  for (size_t i = 0; i < count && in->ok(); ++i) {
    const int64_t gap = i + 1 < count ? (*p)[i + 1].dts - (*p)[i].dts : 0;
    (*p)[i].duration = Sum(gap, extra[i], in);
    if ((*p)[i].duration < 0) in->Fail();
  }
}

void ReadOffsets(size_t count, ByteReader* in, std::vector<Packet>* p) {
  const Column gaps = ReadColumn(count, in);
  int64_t end = 0;
  for (size_t i = 0; i < count && in->ok(); ++i) {
    const int64_t offset = Sum(end, gaps[i], in);
    end = Sum(offset, (*p)[i].size, in);
    if (offset < 0) in->Fail();
    (*p)[i].offset = static_cast<uint64_t>(offset);
  }
}

void ReadScatter(size_t count, ByteReader* in, Stream* s) {
  const Column skips = ReadColumn(count, in);
  const Column extra = ReadColumn(count, in);
  for (size_t i = 0; i < count && in->ok(); ++i) {
    const int64_t span = Sum(extra[i], s->packets[i].size, in);
    if (skips[i] < 0 || skips[i] > INT32_MAX || span < 1 || span > INT32_MAX) {
      return in->Fail();
    }
    s->scattered.push_back(
        {static_cast<uint32_t>(skips[i]), static_cast<uint32_t>(span)});
  }
}

void ReadStreamPackets(size_t count, Layout layout, ByteReader* in, Stream* s) {
  std::vector<Packet>& p = s->packets;
  const Column sizes = ReadColumn(count, in);
  if (!in->ok()) return;
  p.resize(count);
  for (size_t i = 0; i < count; ++i) {
    if (sizes[i] < 1 || sizes[i] > INT32_MAX) return in->Fail();
    p[i].size = static_cast<uint32_t>(sizes[i]);
  }
  ReadTimes(count, in, &p);
  const Column flags = ReadColumn(count, in);
  const Column extradata = ReadColumn(count, in);
  const int64_t versions =
      std::max<int64_t>(1, static_cast<int64_t>(s->extradata.size()));
  for (size_t i = 0; i < count && in->ok(); ++i) {
    if (flags[i] < 0 || flags[i] > 31 || extradata[i] < 0 ||
        extradata[i] >= versions) {
      return in->Fail();
    }
    p[i].flags = static_cast<uint8_t>(flags[i]);
    p[i].extradata = static_cast<uint16_t>(extradata[i]);
  }
  if (layout == Layout::kStored) return;
  ReadOffsets(count, in, &p);
  if (s->pes.kind != PesKind::kNone) ReadScatter(count, in, s);
}

template <typename Get>
void WriteGopColumn(const MediaIndex& index, Get get, ByteWriter* out) {
  Column column;
  column.reserve(index.gops.size());
  for (const Gop& gop : index.gops) column.push_back(get(gop));
  WriteColumn(column, out);
}

void WriteGops(const MediaIndex& index, ByteWriter* out) {
  WriteGopColumn(
      index, [](const Gop& g) { return int64_t{g.packet_count}; }, out);
  WriteGopColumn(
      index, [](const Gop& g) { return static_cast<int64_t>(g.kind); }, out);
  WriteGopColumn(
      index, [](const Gop& g) { return int64_t{g.recovery_count}; }, out);
  WriteGopColumn(
      index,
      [](const Gop& g) {
        return int64_t{g.decode_back_lead} << 8 | g.decode_back_body;
      },
      out);
}

bool ReadGops(uint32_t packets, ByteReader* in, MediaIndex* index) {
  const size_t count = index->head.gop_count;
  if (count > packets) return false;
  const Column sizes = ReadColumn(count, in);
  const Column kinds = ReadColumn(count, in);
  const Column recovery = ReadColumn(count, in);
  const Column back = ReadColumn(count, in);
  if (!in->ok()) return false;
  uint64_t first = 0;
  index->gops.resize(count);
  for (size_t g = 0; g < count; ++g) {
    Gop& gop = index->gops[g];
    const int64_t lead = back[g] >> 8;
    const int64_t body = back[g] & 255;
    if (sizes[g] < 1 || sizes[g] > packets || kinds[g] < 0 ||
        kinds[g] > static_cast<int64_t>(KeyKind::kIntra) || recovery[g] < 0 ||
        recovery[g] > sizes[g] || lead < 0 ||
        lead > std::min<int64_t>(255, static_cast<int64_t>(g)) ||
        body > static_cast<int64_t>(g)) {
      return false;
    }
    gop.first_packet = static_cast<uint32_t>(first);
    gop.packet_count = static_cast<uint32_t>(sizes[g]);
    gop.kind = static_cast<KeyKind>(kinds[g]);
    gop.recovery_count = static_cast<uint32_t>(recovery[g]);
    gop.decode_back_lead = static_cast<uint8_t>(lead);
    gop.decode_back_body = static_cast<uint8_t>(body);
    first += gop.packet_count;
    if (first > packets) return false;
  }
  return first == packets;
}

// How many packets of each other stream lie before each GOP.
void WriteRuns(const MediaIndex& index, ByteWriter* out) {
  for (size_t i = 0; i < index.streams.size(); ++i) {
    if (i == index.main) continue;
    const std::vector<uint32_t>& first = index.streams[i].gop_first;
    Column column;
    for (size_t g = 0; g < index.gops.size(); ++g) {
      column.push_back(int64_t{first[g + 1]} - first[g]);
    }
    WriteColumn(column, out);
  }
}

bool ReadRuns(const std::vector<uint32_t>& counts, ByteReader* in,
              MediaIndex* index) {
  for (size_t i = 0; i < index->streams.size(); ++i) {
    if (i == index->main) continue;
    std::vector<uint32_t>& first = index->streams[i].gop_first;
    first.push_back(0);
    for (int64_t run : ReadColumn(index->gops.size(), in)) {
      if (run < 0 || run > int64_t{counts[i]} - first.back()) return false;
      first.push_back(first.back() + static_cast<uint32_t>(run));
    }
    if (!in->ok() || first.back() != counts[i]) return false;
  }
  return true;
}

// Shown packets in the order of their pts; ties in decode order.
std::vector<uint32_t> PresentationOrder(const Stream& s) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < s.packets.size(); ++i) {
    if (s.packets[i].shown()) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return s.packets[a].pts < s.packets[b].pts;
  });
  return order;
}

// Only frames of equal pts can have another order than the derived one; then
// the whole order is written.
void WriteOrder(const MediaIndex& index, ByteWriter* out) {
  const bool derived = index.shown == PresentationOrder(index.video());
  out->U8(derived ? 0 : 1);
  if (derived) return;
  Column column;
  int64_t previous = 0;
  for (uint32_t ordinal : index.shown) {
    column.push_back(ordinal - previous);
    previous = ordinal;
  }
  WriteColumn(column, out);
}

bool ReadOrder(ByteReader* in, MediaIndex* index) {
  index->shown = PresentationOrder(index->video());
  if (index->shown.size() != index->head.frame_count) return false;
  if (in->U8() == 0) return in->ok();
  std::vector<uint32_t> order;
  int64_t ordinal = 0;
  for (int64_t step : ReadColumn(index->shown.size(), in)) {
    ordinal = Sum(ordinal, step, in);
    const bool inside =
        ordinal >= 0 &&
        ordinal < static_cast<int64_t>(index->video().packets.size());
    if (!inside ||
        !index->video().packets[static_cast<size_t>(ordinal)].shown())
      return false;
    order.push_back(static_cast<uint32_t>(ordinal));
  }
  if (!in->ok()) return false;
  std::vector<uint32_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return false;
  }
  index->shown = std::move(order);
  return true;
}

void WriteShapes(const MediaIndex& index, ByteWriter* out) {
  out->Varint(index.shapes.size());
  for (const FrameShape& shape : index.shapes) {
    out->Varint(shape.first_frame);
    out->Varint(shape.width);
    out->Varint(shape.height);
    out->U8(shape.bit_depth);
    out->U8(shape.has_alpha ? 1 : 0);
  }
}

bool ReadShapes(ByteReader* in, MediaIndex* index) {
  const uint32_t frames = index->head.frame_count;
  const uint32_t count = in->Varint32(frames);
  if (frames > 0 && count == 0) return false;
  for (uint32_t i = 0; i < count && in->ok(); ++i) {
    FrameShape shape;
    shape.first_frame = in->Varint32(frames - 1);
    shape.width = in->Varint32(kSideMax);
    shape.height = in->Varint32(kSideMax);
    shape.bit_depth = in->U8();
    shape.has_alpha = in->U8() != 0;
    const bool sorted =
        i == 0 ? shape.first_frame == 0
               : shape.first_frame > index->shapes.back().first_frame;
    if (!sorted || shape.width == 0 || shape.height == 0) return false;
    index->shapes.push_back(shape);
  }
  return in->ok();
}

void WriteOriginal(const MediaIndex& index, ByteWriter* out) {
  out->Varint(index.original.size());
  Column gaps;
  Column sizes;
  uint64_t end = 0;
  for (const BlobRange& piece : index.original) {
    gaps.push_back(static_cast<int64_t>(piece.begin - end));
    sizes.push_back(static_cast<int64_t>(piece.size()));
    end = piece.end;
  }
  WriteColumn(gaps, out);
  WriteColumn(sizes, out);
}

bool ReadOriginal(ByteReader* in, MediaIndex* index) {
  size_t packets = 0;
  for (const Stream& s : index->streams) packets += s.packets.size();
  const size_t count = static_cast<size_t>(in->Varint(2 * packets + 1));
  const Column gaps = ReadColumn(count, in);
  const Column sizes = ReadColumn(count, in);
  int64_t end = 0;
  uint64_t total = 0;
  for (size_t i = 0; i < count && in->ok(); ++i) {
    const int64_t begin = Sum(end, gaps[i], in);
    end = Sum(begin, sizes[i], in);
    if (begin < 0 || end <= begin ||
        static_cast<uint64_t>(end) > index->head.blob_size) {
      return false;
    }
    total += static_cast<uint64_t>(end - begin);
    if (total > index->head.original_size) return false;
    index->original.push_back(
        {static_cast<uint64_t>(begin), static_cast<uint64_t>(end)});
  }
  return in->ok() && total == index->head.original_size;
}

}  // namespace

Status WritePackets(const MediaIndex& index, ByteWriter* out) {
  WriteGops(index, out);
  if (index.head.layout == Layout::kStored) WriteRuns(index, out);
  for (const Stream& s : index.streams) {
    WriteStreamPackets(s, index.head.layout, out);
  }
  WriteOrder(index, out);
  WriteShapes(index, out);
  WriteOriginal(index, out);
  return {};
}

Status ReadPackets(const std::vector<uint32_t>& counts, ByteReader* in,
                   MediaIndex* index) {
  if (!ReadGops(counts[index->main], in, index)) {
    return Corrupt("the GOPs of entries are damaged");
  }
  const Layout layout = index->head.layout;
  if (layout == Layout::kStored && !ReadRuns(counts, in, index)) {
    return Corrupt("the interleaving in entries is damaged");
  }
  for (size_t i = 0; i < index->streams.size(); ++i) {
    ReadStreamPackets(counts[i], layout, in, &index->streams[i]);
    if (!in->ok()) {
      return Corrupt("the packets of stream " + std::to_string(i) +
                     " in entries are damaged");
    }
  }
  if (!ReadOrder(in, index) || !ReadShapes(in, index) ||
      !ReadOriginal(in, index) || in->remaining() != 0) {
    return Corrupt(
        "the frame order or the kept container in entries is damaged");
  }
  return {};
}

uint64_t PlaceStoredPackets(MediaIndex* index) {
  uint64_t at = 0;
  bool fits = true;
  const auto place = [&](Packet* p) {
    p->offset = at;
    fits = fits && AddFits(at, p->size, &at);
  };
  for (size_t g = 0; g < index->gops.size(); ++g) {
    for (size_t i = 0; i < index->streams.size(); ++i) {
      if (i == index->main) continue;
      Stream& s = index->streams[i];
      for (uint32_t k = s.gop_first[g]; k < s.gop_first[g + 1]; ++k) {
        place(&s.packets[k]);
      }
    }
    const Gop& gop = index->gops[g];
    for (uint32_t k = 0; k < gop.packet_count; ++k) {
      place(&index->streams[index->main].packets[gop.first_packet + k]);
    }
  }
  return fits ? at : UINT64_MAX;
}

}  // namespace rowfs::plugin
