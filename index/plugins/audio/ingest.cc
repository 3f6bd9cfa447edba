#include "index/plugins/audio/ingest.h"

#include <algorithm>
#include <memory>

#include "index/plugins/audio/info_json.h"
#include "index/plugins/audio/sound_config.h"
#include "index/plugins/audio/sound_file.h"
#include "index/plugins/audio/sound_track.h"
#include "index/plugins/audio/source_sound.h"
#include "index/plugins/audio/wav.h"
#include "index/plugins/common/emit.h"
#include "index/plugins/common/mux_one.h"

namespace rowfs::plugin {
namespace {

constexpr size_t kCopyBytes = 1 << 20;
// PCM is copied in pieces of so many samples, and looked at in smaller ones.
constexpr uint64_t kLinearSamples = 1 << 16;
constexpr uint32_t kLookSamples = 1 << 10;

std::string LowerExtension(std::string_view name) {
  const size_t point = name.rfind('.');
  std::string out;
  if (point == std::string_view::npos) return out;
  for (const char c : name.substr(point + 1)) {
    const char low =
        c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if ((low < 'a' || low > 'z') && (low < '0' || low > '9')) return {};
    out += low;
  }
  return out.size() <= 8 ? out : std::string();
}

class Ingest {
 public:
  explicit Ingest(const rowfs_ingest_request& request) : request_(request) {}

  Status Run();

 private:
  Status Open();
  void ChooseLayout();
  void KeepSource();
  Status ScanLinear();
  Status CopyLinear();
  // False when the container does not list its packets.
  Result<bool> ScanListed();
  Status ScanPackets();
  Status AddPacket(const SourcePacket& source);
  Status StorePacket(const SourcePacket& source);
  void MakeSampleEntry(ByteSpan packet);
  Status Write(ByteSpan bytes);
  Status CopySource(uint64_t begin, uint64_t end);
  Status Finish();
  bool verifies() const { return request_.verify != ROWFS_VERIFY_OFF; }

  const rowfs_ingest_request& request_;
  std::unique_ptr<SourceSound> source_;
  SoundIndex index_;
  bool verbatim_ = false;  // the blob is the source
  uint64_t written_ = 0;
  std::unique_ptr<SoundTrack> track_;
  OggPager pager_;
};

Status Ingest::Write(ByteSpan bytes) {
  const rowfs_sink& sink = request_.payload;
  const int32_t code = sink.write(sink.ctx, bytes.data(), bytes.size());
  written_ += bytes.size();
  return code == ROWFS_OK ? Status() : Status(code, "the host stopped");
}

Status Ingest::CopySource(uint64_t begin, uint64_t end) {
  Bytes buffer;
  for (uint64_t at = begin; at < end; at += buffer.size()) {
    buffer.resize(
        static_cast<size_t>(std::min<uint64_t>(kCopyBytes, end - at)));
    PLUGIN_RETURN_IF_ERROR(source_->ReadAt(at, buffer));
    PLUGIN_RETURN_IF_ERROR(Write(buffer));
  }
  return {};
}

Status Ingest::Open() {
  index_ = {};
  const std::string name(FromStr(request_.file_name));
  PLUGIN_ASSIGN_OR_RETURN(source_, SourceSound::Open(request_.input, name));
  PLUGIN_RETURN_IF_ERROR(source_->Describe(&index_));
  PLUGIN_ASSIGN_OR_RETURN(const SoundConfig config,
                          ParseSoundConfig(FromStr(request_.config), true));
  index_.segment_ns = config.segment_ns.value_or(kSecondNs);
  index_.head.type = config.type.value_or(index_.head.type);
  PLUGIN_ASSIGN_OR_RETURN(track_,
                          SoundTrack::Open(&index_, request_.verify,
                                           InitialSkip(source_->parameters())));
  ChooseLayout();
  return {};
}

void Ingest::ChooseLayout() {
  SoundHead& head = index_.head;
  head.stored = request_.layout == ROWFS_LAYOUT_STORED;
  head.file = ChooseSoundFile(index_, source_->IsFramed());
  verbatim_ = !head.stored || request_.keep_container != 0 ||
              source_->HasOtherStreams() || head.file == SoundFile::kVerbatim;
  head.ogg_pages = verbatim_ && source_->IsOgg();
  head.source_extension = LowerExtension(FromStr(request_.file_name));
  head.extension = ExtensionOf(head.file, index_.codec);
  if (verbatim_) KeepSource();
}

// The blob is the source file as it is.
void Ingest::KeepSource() {
  SoundHead& head = index_.head;
  verbatim_ = true;
  head.file = SoundFile::kVerbatim;
  head.extension =
      head.source_extension.empty() ? "bin" : head.source_extension;
}

Status Ingest::Run() {
  PLUGIN_RETURN_IF_ERROR(Open());
  if (source_->MayBeLinear()) {
    PLUGIN_ASSIGN_OR_RETURN(const bool linear, source_->FindLinear(&index_));
    if (linear) {
      PLUGIN_RETURN_IF_ERROR(ScanLinear());
      return Finish();
    }
    PLUGIN_RETURN_IF_ERROR(Open());
  }
  if (!verifies() && verbatim_) {
    PLUGIN_ASSIGN_OR_RETURN(const bool listed, ScanListed());
    if (listed) return Finish();
    PLUGIN_RETURN_IF_ERROR(Open());
  }
  PLUGIN_RETURN_IF_ERROR(ScanPackets());
  return Finish();
}

Status Ingest::ScanLinear() {
  index_.head.exact = true;
  const uint64_t bytes = index_.head.samples * index_.block_align;
  if (index_.head.file == SoundFile::kAiff && bytes > kAiffBytesMax) {
    KeepSource();
  }
  if (verbatim_) return {};
  PLUGIN_RETURN_IF_ERROR(CopyLinear());
  index_.linear_offset = 0;
  return {};
}

// Copy the samples, looking at them on the way.
Status Ingest::CopyLinear() {
  const uint64_t begin = index_.linear_offset;
  Bytes buffer;
  for (uint64_t at = 0; at < index_.head.samples;) {
    const uint64_t count =
        std::min<uint64_t>(kLinearSamples, index_.head.samples - at);
    buffer.resize(static_cast<size_t>(count * index_.block_align));
    PLUGIN_RETURN_IF_ERROR(
        source_->ReadAt(begin + at * index_.block_align, buffer));
    PLUGIN_RETURN_IF_ERROR(Write(buffer));
    const size_t step = size_t{kLookSamples} * index_.block_align;
    for (size_t from = 0; from < buffer.size(); from += step) {
      const ByteSpan part =
          ByteSpan(buffer).subspan(from, std::min(step, buffer.size() - from));
      Peaks peaks = kNoPeaks;
      PLUGIN_ASSIGN_OR_RETURN(
          const uint32_t heard,
          track_->decoder().Decode(part, {nullptr, &peaks}));
      track_->envelope().Add(peaks, heard);
    }
    at += count;
  }
  return {};
}

Result<bool> Ingest::ScanListed() {
  if (index_.frame_size == 0 || !source_->FindListed(&index_)) return false;
  const size_t count = index_.packets.size();
  const size_t head = std::min<size_t>(count, kTailPackets);
  for (SoundPacket& packet : index_.packets) {
    packet.samples = index_.frame_size;
    packet.preroll = BasePreroll(index_.codec, packet.samples);
  }
  // What is not heard is told with the packets themselves, at both ends.
  const auto read = [&](size_t i) -> Result<bool> {
    SourcePacket source;
    PLUGIN_ASSIGN_OR_RETURN(const bool more, source_->Next(&source));
    if (!more || source.data.size() != index_.packets[i].size) return false;
    track_->AddListed(source, &index_.packets[i]);
    return true;
  };
  for (size_t i = 0; i < head; ++i) {
    PLUGIN_ASSIGN_OR_RETURN(const bool ok, read(i));
    if (!ok) return false;
  }
  const size_t tail = std::max(head, count - std::min(count, kTailHeld));
  if (tail > head) {
    track_->SkipListed();
    if (!source_->SeekListed(tail)) return false;
  }
  for (size_t i = tail; i < count; ++i) {
    PLUGIN_ASSIGN_OR_RETURN(const bool ok, read(i));
    if (!ok) return false;
  }
  return true;
}

Status Ingest::ScanPackets() {
  SourcePacket source;
  for (;;) {
    PLUGIN_ASSIGN_OR_RETURN(const bool more, source_->Next(&source));
    if (!more) return {};
    PLUGIN_RETURN_IF_ERROR(AddPacket(source));
  }
}

Status Ingest::AddPacket(const SourcePacket& source) {
  PLUGIN_RETURN_IF_ERROR(track_->Add(source));
  SoundPacket& packet = index_.packets.back();
  if (verbatim_) return source_->Place(source, &packet);
  packet.offset = written_;
  return StorePacket(source);
}

Status Ingest::StorePacket(const SourcePacket& source) {
  if (index_.head.file == SoundFile::kOgg) {
    PLUGIN_RETURN_IF_ERROR(pager_.Add(index_.packets.back(),
                                      index_.head.sample_rate, source.data));
  }
  if (index_.head.file == SoundFile::kM4a && index_.sample_entry.empty()) {
    MakeSampleEntry(source.data);
  }
  return Write(source.data);
}

void Ingest::MakeSampleEntry(ByteSpan packet) {
  ParametersPtr codec(avcodec_parameters_alloc());
  if (codec == nullptr ||
      avcodec_parameters_copy(codec.get(), &source_->parameters()) < 0) {
    throw std::bad_alloc();
  }
  const StreamTimes times{{1, static_cast<int32_t>(index_.head.sample_rate)},
                          {0, 1}};
  index_.sample_entry = SampleEntry(MuxOne("mp4", *codec, 0, times, packet));
}

Status Ingest::Finish() {
  SoundHead& head = index_.head;
  if (verbatim_ && head.stored) {
    PLUGIN_RETURN_IF_ERROR(CopySource(0, source_->size()));
    if (request_.keep_container != 0) head.original_size = source_->size();
  }
  const ByteSpan cover = source_->Cover();
  if (!verbatim_ && !cover.empty()) {
    head.cover_offset = written_;
    head.cover_size = cover.size();
    head.cover_is_png = cover[0] == 0x89;
    PLUGIN_RETURN_IF_ERROR(Write(cover));
  }
  head.blob_size = head.stored ? written_ : source_->size();
  PLUGIN_RETURN_IF_ERROR(track_->Finish());
  if (head.file == SoundFile::kOgg) pager_.Finish(&index_);
  if (head.stored) {
    PLUGIN_ASSIGN_OR_RETURN(const auto whole, PlanSoundFile(index_));
    head.whole_size = SizeOf(whole);
  }
  head.info_size = SoundInfoJson(index_).size();
  const EncodedSound encoded = EncodeSoundIndex(index_);
  // Nothing is handed over that would not be read back.
  PLUGIN_RETURN_IF_ERROR(
      ParseSoundIndex(encoded.stream_info, encoded.entries, head.blob_size)
          .status());
  for (const auto& [sink, bytes] :
       {std::pair(&request_.stream_info, &encoded.stream_info),
        std::pair(&request_.entries, &encoded.entries)}) {
    const int32_t code = sink->write(sink->ctx, bytes->data(), bytes->size());
    if (code != ROWFS_OK) return Status(code, "the host stopped");
  }
  return {};
}

}  // namespace

Status IngestSound(const rowfs_ingest_request& request) {
  return Ingest(request).Run();
}

}  // namespace rowfs::plugin
