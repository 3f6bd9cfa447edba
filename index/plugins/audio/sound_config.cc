#include "index/plugins/audio/sound_config.h"

#include <string>

#include "index/plugins/common/config.h"
#include "index/plugins/common/exact_time.h"

namespace rowfs::plugin {
namespace {

constexpr std::string_view kTypes[] = {"u8", "s16", "s24", "s32", "f32", "f64"};

Result<uint64_t> ParseSegment(const std::string& value) {
  const auto time = ExactTime::Parse(value);
  if (time) {
    const int64_t ns = time->FloorTicks({1, static_cast<int32_t>(kSecondNs)});
    if (ns >= static_cast<int64_t>(kSegmentNsMin) &&
        ns <= static_cast<int64_t>(kSegmentNsMax)) {
      return static_cast<uint64_t>(ns);
    }
  }
  return Invalid("segment=" + value + " is not a length from 0.001 to 86400 s");
}

Result<SampleType> ParseType(const std::string& value) {
  for (size_t i = 0; i < std::size(kTypes); ++i) {
    if (value == kTypes[i]) return static_cast<SampleType>(i);
  }
  return Invalid("sample=" + value +
                 " is not one of u8, s16, s24, s32, f32, f64");
}

}  // namespace

std::string_view NameOf(SampleType type) {
  return kTypes[static_cast<size_t>(type)];
}

Result<SoundConfig> ParseSoundConfig(std::string_view text, bool strict) {
  SoundConfig config;
  PLUGIN_ASSIGN_OR_RETURN(const auto pairs, ParseConfig(text));
  for (const auto& [key, value] : pairs) {
    if (key == "segment") {
      PLUGIN_ASSIGN_OR_RETURN(config.segment_ns, ParseSegment(value));
    } else if (key == "sample") {
      PLUGIN_ASSIGN_OR_RETURN(config.type, ParseType(value));
    } else if (strict) {
      return Invalid("unknown configuration key \"" + key +
                     "\"; audio knows segment, sample");
    }
  }
  return config;
}

}  // namespace rowfs::plugin
