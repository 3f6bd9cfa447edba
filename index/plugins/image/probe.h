// Which family of picture files some first bytes belong to.
//
// Pure functions.
#ifndef ROWFS_INDEX_PLUGINS_IMAGE_PROBE_H_
#define ROWFS_INDEX_PLUGINS_IMAGE_PROBE_H_

#include <cstdint>
#include <string_view>

#include "index/plugins/common/bytes.h"

namespace rowfs::plugin {

enum class ImageFamily : uint8_t {
  kNone,
  kTiff,
  kJpeg,
  kPng,
  kWebp,
  kGif,
  kHeif,
  kJp2,
  kPlain,  // BMP, PNM
  kDicom
};

ImageFamily FamilyOf(ByteSpan head);
// How sure the plugin is, as rowfs_plugin.probe wants it.
int32_t ProbeImage(ByteSpan head);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_IMAGE_PROBE_H_
