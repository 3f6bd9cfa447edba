#include "index/plugins/audio/info_json.h"

#include <algorithm>

#include "index/plugins/audio/sound_config.h"
#include "index/plugins/audio/sound_file.h"
#include "index/plugins/common/exact_time.h"
#include "index/plugins/common/json_object.h"

namespace rowfs::plugin {
namespace {

void PutStreams(const SoundIndex& index, std::string* out) {
  *out += '[';
  for (size_t i = 0; i < index.streams.size(); ++i) {
    const SoundStream& stream = index.streams[i];
    if (i > 0) *out += ", ";
    ObjectWriter object(out);
    object.Number("index", static_cast<int64_t>(i));
    object.Text("kind", stream.kind);
    object.Text("codec", stream.codec);
    if (!stream.language.empty()) object.Text("language", stream.language);
    if (stream.sample_rate > 0) {
      object.Number("sample_rate", stream.sample_rate);
      object.Number("channels", stream.channels);
    }
  }
  *out += ']';
}

void PutTags(const SoundIndex& index, ObjectWriter tags) {
  for (size_t i = 0; i < index.tags.size(); ++i) {
    const auto& key = index.tags[i].first;
    const auto end = index.tags.begin() + static_cast<ptrdiff_t>(i);
    // A name may come once: of equal ones the first counts.
    if (std::any_of(index.tags.begin(), end,
                    [&](const auto& tag) { return tag.first == key; })) {
      continue;
    }
    tags.Text(key, index.tags[i].second);
  }
}

}  // namespace

std::string SoundInfoJson(const SoundIndex& index) {
  const SoundHead& head = index.head;
  std::string out;
  {
    ObjectWriter object(&out);
    object.Text("codec", index.codec);
    object.Time("duration",
                ExactTime::FromTicks(static_cast<int64_t>(head.samples),
                                     {1, static_cast<int>(head.sample_rate)}));
    object.Number("sample_rate", head.sample_rate);
    object.Number("channels", head.channels);
    object.Number("samples", static_cast<int64_t>(head.samples));
    object.Text("sample_format", NameOf(head.type));
    // Whether every window equals the same samples of a decode from the start.
    object.Bool("exact", head.exact);
    object.Number("delay", static_cast<int64_t>(LeadingSamples(index)));
    object.Number("padding", static_cast<int64_t>(TrailingSamples(index)));
    if (index.bit_rate > 0) object.Number("bit_rate", index.bit_rate);
    object.Number("packets", static_cast<int64_t>(index.packets.size()));
    object.Text("source_format", index.source_format);
    object.Number("source_size", static_cast<int64_t>(index.source_size));
    PutStreams(index, &object.Key("streams"));
    PutTags(index, ObjectWriter(&object.Key("tags")));
  }
  out += '\n';
  return out;
}

}  // namespace rowfs::plugin
