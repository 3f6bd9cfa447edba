#include "index/plugins/video/converter.h"

#include <algorithm>
#include <new>

#include "index/plugins/video/bitstream.h"
#include "index/plugins/video/codec_entries.h"

namespace rowfs::plugin {

Result<std::unique_ptr<StreamConverter>> StreamConverter::Make(
    const AVStream& source, bool convert, Stream* stream) {
  std::unique_ptr<StreamConverter> made(new StreamConverter(source, stream));
  if (convert && stream->nal == NalFormat::kAnnexB) {
    made->sets_ = std::make_unique<ParameterSets>(stream->codec == "hevc");
    if (!stream->extradata.empty()) {
      made->sets_changed_ = made->sets_->Update(
          SplitNals(stream->extradata[0], NalFormat::kAnnexB, 0));
    }
    stream->extradata.clear();
    stream->nal = NalFormat::kLengthPrefixed;
    stream->nal_length_size = 4;
  }
  if (convert && stream->codec == "aac" && stream->extradata.empty()) {
    PLUGIN_RETURN_IF_ERROR(made->OpenAdts(source));
  }
  return made;
}

StreamConverter::~StreamConverter() { av_bsf_free(&adts_); }

Status StreamConverter::OpenAdts(const AVStream& source) {
  const AVBitStreamFilter* filter = av_bsf_get_by_name("aac_adtstoasc");
  if (filter == nullptr || av_bsf_alloc(filter, &adts_) < 0 ||
      avcodec_parameters_copy(adts_->par_in, source.codecpar) < 0 ||
      av_bsf_init(adts_) < 0) {
    return Internal("the aac_adtstoasc filter does not open");
  }
  return {};
}

Result<uint16_t> StreamConverter::Version(ByteSpan extradata) {
  std::vector<Bytes>& list = stream_->extradata;
  for (size_t i = 0; i < list.size(); ++i) {
    if (std::equal(extradata.begin(), extradata.end(), list[i].begin(),
                   list[i].end())) {
      return static_cast<uint16_t>(i);
    }
  }
  if (list.size() == kExtradataMax || extradata.size() > kExtradataBytesMax) {
    return Limit("the stream changes its parameters too often");
  }
  list.emplace_back(extradata.begin(), extradata.end());
  return static_cast<uint16_t>(list.size() - 1);
}

Result<Converted> StreamConverter::ConvertAdts(const AVPacket& packet) {
  PacketPtr copy(av_packet_clone(&packet));
  if (copy == nullptr) throw std::bad_alloc();
  if (av_bsf_send_packet(adts_, copy.get()) < 0 ||
      av_bsf_receive_packet(adts_, copy.get()) < 0) {
    return Corrupt("an AAC packet has no sound ADTS header");
  }
  size_t size = 0;
  const uint8_t* config =
      av_packet_get_side_data(copy.get(), AV_PKT_DATA_NEW_EXTRADATA, &size);
  if (config != nullptr) {
    PLUGIN_ASSIGN_OR_RETURN(current_, Version(ByteSpan(config, size)));
  }
  Converted out;
  out.data.assign(copy->data, copy->data + copy->size);
  out.extradata = current_;
  out.verbatim = false;
  return out;
}

Result<Converted> StreamConverter::ConvertAnnexB(const AVPacket& packet,
                                                 bool key) {
  const std::vector<ByteSpan> nals =
      SplitNals(ByteSpan(packet.data, static_cast<size_t>(packet.size)),
                NalFormat::kAnnexB, 0);
  sets_changed_ = sets_->Update(nals) || sets_changed_;
  if (sets_changed_ && sets_->complete() &&
      (key || stream_->extradata.empty())) {
    const Bytes record = sets_->Record();
    if (record.empty()) {
      return Corrupt("the parameter sets of the stream do not parse");
    }
    PLUGIN_ASSIGN_OR_RETURN(current_, Version(record));
    sets_changed_ = false;
  }
  Converted out;
  out.data = ToLengthPrefixed(nals, stream_->codec == "hevc");
  out.extradata = current_;
  out.verbatim = false;
  return out;
}

Result<Converted> StreamConverter::Convert(const AVPacket& packet, bool key) {
  PLUGIN_ASSIGN_OR_RETURN(Converted out, ConvertAny(packet, key));
  if (out.extradata >= first_packets_.size()) {
    first_packets_.resize(size_t{out.extradata} + 1);
  }
  Bytes& first = first_packets_[out.extradata];
  if (first.empty()) first = out.data;
  return out;
}

void StreamConverter::DescribeCodec() {
  const size_t versions = std::max<size_t>(1, stream_->extradata.size());
  first_packets_.resize(versions);
  for (size_t i = 0; i < versions; ++i) {
    ParametersPtr parameters(avcodec_parameters_alloc());
    if (parameters == nullptr ||
        avcodec_parameters_copy(parameters.get(), source_.codecpar) < 0) {
      throw std::bad_alloc();
    }
    av_freep(&parameters->extradata);
    parameters->extradata_size = 0;
    if (i < stream_->extradata.size() &&
        !SetExtradata(stream_->extradata[i], parameters.get())) {
      throw std::bad_alloc();
    }
    stream_->entries.push_back(MakeCodecEntries(*parameters, stream_->time_base,
                                                stream_->frame_rate,
                                                first_packets_[i]));
  }
}

Result<Converted> StreamConverter::ConvertAny(const AVPacket& packet,
                                              bool key) {
  if (adts_ != nullptr) return ConvertAdts(packet);
  if (sets_ != nullptr) return ConvertAnnexB(packet, key);
  size_t size = 0;
  const uint8_t* changed =
      av_packet_get_side_data(&packet, AV_PKT_DATA_NEW_EXTRADATA, &size);
  if (changed != nullptr && size > 0) {
    PLUGIN_ASSIGN_OR_RETURN(current_, Version(ByteSpan(changed, size)));
  }
  Converted out;
  out.data.assign(packet.data, packet.data + packet.size);
  out.extradata = current_;
  return out;
}

}  // namespace rowfs::plugin
