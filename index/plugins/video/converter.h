// The packets of one stream as they are stored: Annex B becomes
// length-prefixed, ADTS becomes raw AAC, everything else stays as it is. Also
// keeps count of the versions of the extradata.
//
// One thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_CONVERTER_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_CONVERTER_H_

#include <memory>
#include <vector>

#include "index/plugins/common/bytes.h"
#include "index/plugins/common/libav.h"
#include "index/plugins/common/status.h"
#include "index/plugins/video/media_index.h"
#include "index/plugins/video/param_sets.h"

namespace rowfs::plugin {

struct Converted {
  Bytes data;
  uint16_t extradata = 0;
  bool verbatim = true;  // data is what the container has
};

class StreamConverter {
 public:
  // `stream` is what DescribeStream made of `source`, which outlive this. With
  // `convert` false (the container is kept) bytes are never changed. Changes
  // stream->nal and stream->extradata, now and with later packets.
  static Result<std::unique_ptr<StreamConverter>> Make(const AVStream& source,
                                                       bool convert,
                                                       Stream* stream);
  ~StreamConverter();
  StreamConverter(const StreamConverter&) = delete;
  StreamConverter& operator=(const StreamConverter&) = delete;

  // ROWFS_E_CORRUPT when the packet cannot be converted. `key`: new parameter
  // sets take effect here.
  Result<Converted> Convert(const AVPacket& packet, bool key);

  // Set stream->entries, one for each extradata. After the last packet.
  void DescribeCodec();

 private:
  StreamConverter(const AVStream& source, Stream* stream)
      : source_(source), stream_(stream) {}
  Result<Converted> ConvertAny(const AVPacket& packet, bool key);
  Status OpenAdts(const AVStream& source);
  Result<Converted> ConvertAdts(const AVPacket& packet);
  Result<Converted> ConvertAnnexB(const AVPacket& packet, bool key);
  // The index of `extradata` in the list, added if it is new.
  Result<uint16_t> Version(ByteSpan extradata);

  const AVStream& source_;
  Stream* stream_;
  std::vector<Bytes> first_packets_;     // of each extradata
  std::unique_ptr<ParameterSets> sets_;  // when Annex B is converted
  bool sets_changed_ = false;
  AVBSFContext* adts_ = nullptr;
  uint16_t current_ = 0;
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_CONVERTER_H_
