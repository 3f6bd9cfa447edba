// From Annex B to what MP4 and Matroska store: length-prefixed packets, and
// the avcC and hvcC records made of the parameter sets found in the stream.
//
// ParameterSets is a value; one thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_PARAM_SETS_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_PARAM_SETS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "index/plugins/common/bytes.h"

namespace rowfs::plugin {

// The packet with 4-byte lengths instead of start codes. Access unit
// delimiters go: MP4 does not want them.
Bytes ToLengthPrefixed(const std::vector<ByteSpan>& nals, bool hevc);

// The parameter sets in force, by kind and id.
class ParameterSets {
 public:
  explicit ParameterSets(bool hevc) : hevc_(hevc) {}

  // Take over the parameter sets among `nals`. True when that changed
  // anything.
  bool Update(const std::vector<ByteSpan>& nals);
  bool complete() const;
  // avcC (ISO 14496-15 5.3.3.1) or hvcC (8.3.3.1) of the sets in force. Empty
  // when there is no sequence parameter set or it does not parse.
  Bytes Record() const;

 private:
  struct Key {
    uint8_t type;
    uint32_t id;
    auto operator<=>(const Key&) const = default;
  };

  Bytes AvcRecord() const;
  Bytes HevcRecord() const;
  const Bytes* First(uint8_t type) const;

  bool hevc_;
  std::map<Key, Bytes> sets_;
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_PARAM_SETS_H_
