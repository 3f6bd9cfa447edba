#include "index/plugins/video/ingest.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "index/plugins/video/companion.h"
#include "index/plugins/video/container.h"
#include "index/plugins/video/describe.h"
#include "index/plugins/video/main_track.h"
#include "index/plugins/video/pes.h"
#include "index/plugins/video/source.h"
#include "index/plugins/video/timeline.h"

namespace rowfs::plugin {
namespace {

// Packets that wait for slow companions; beyond it interleaving gets worse, not
// wrong.
constexpr uint64_t kWaitBytesMax = 96u << 20;

class Ingestion {
 public:
  explicit Ingestion(const rowfs_ingest_request& request)
      : request_(request),
        stored_(request.layout == ROWFS_LAYOUT_STORED),
        locate_(!stored_ || request.keep_container != 0) {}

  Status Run();

 private:
  Status OpenStreams();
  Status ReadPackets();
  Status AddPacket(AVPacket* packet);
  Status AddCompanion(const AVPacket& packet, uint64_t at);
  Result<uint64_t> LocatePacket(const AVPacket& packet);
  // Where packets in pieces of one stream lie, found one behind the other.
  struct PesTrail {
    PesStream pes;
    int64_t last_pos = -1;  // of its last packet
    uint32_t last_skip = 0;
  };
  Result<Scatter> LocatePieces(const AVPacket& packet, PesTrail* trail);
  Status WriteGops(bool all);
  Status WriteGop(uint32_t gop);
  Status WriteCompanions(const ExactTime* until);
  Result<uint64_t> Store(ByteSpan data, uint64_t source_offset, bool verbatim);
  bool MayWrite(uint32_t gop) const;
  ExactTime GopEnd(uint32_t gop) const;
  Status FinishIndex();
  void TakeSound();
  void SetStart();
  void SetHead();
  Status KeepOriginal();
  Status WriteIndex();

  const rowfs_ingest_request& request_;
  const bool stored_;
  const bool locate_;
  std::unique_ptr<SourceFile> source_;
  std::unique_ptr<Timeline> timeline_;
  std::unique_ptr<MainTrack> main_;
  std::vector<std::unique_ptr<Companion>> companions_;  // null: the main one
  std::vector<uint64_t> last_end_;  // per stream, where its last packet ended
  int sound_ = -1;                  // the stream that is heard
  PesTrail pes_;                    // of the main stream
  PesTrail sound_pes_;
  uint32_t next_gop_ = 0;  // to be written
  uint64_t payload_size_ = 0;
  std::vector<StoredPiece> pieces_;
  MediaIndex index_;
};

Status Ingestion::OpenStreams() {
  const std::string name(request_.file_name.data, request_.file_name.size);
  PLUGIN_ASSIGN_OR_RETURN(source_, SourceFile::Open(request_.input, name));
  const AVFormatContext& format = *source_->format();
  const int main = ChooseMainStream(format);
  if (main < 0) return Unsupported("there is no video stream in it");
  if (format.nb_streams > kStreamsMax) {
    return Unsupported("more than " + std::to_string(kStreamsMax) + " streams");
  }
  timeline_ = std::make_unique<Timeline>(format);
  index_.main = static_cast<uint32_t>(main);
  index_.streams.resize(format.nb_streams);
  index_.source_size = source_->size();
  index_.source_format = format.iformat->name;
  index_.tags = DescribeTags(format.metadata);
  pes_.pes = source_->PesOf(*format.streams[main]);
  for (unsigned i = 0; i < format.nb_streams; ++i) {
    companions_.push_back(nullptr);
    last_end_.push_back(0);
    const AVStream& stream = *format.streams[i];
    if (i == index_.main) {
      PLUGIN_ASSIGN_OR_RETURN(
          main_, MainTrack::Open(stream, stored_,
                                 static_cast<Verify>(request_.verify)));
      if (!stored_) main_->SetPes(pes_.pes);
    } else {
      PLUGIN_ASSIGN_OR_RETURN(companions_[i], Companion::Open(stream, stored_));
    }
  }
  sound_ = av_find_best_stream(source_->format(), AVMEDIA_TYPE_AUDIO, -1, main,
                               nullptr, 0);
  if (sound_ >= 0) {
    companions_[static_cast<size_t>(sound_)]->Listen(request_.verify);
    sound_pes_.pes = source_->PesOf(*format.streams[sound_]);
  }
  return {};
}

// Where the packet lies in the source; Companion::kUnknown when it is not in
// one piece there or nobody needs to know.
Result<uint64_t> Ingestion::LocatePacket(const AVPacket& packet) {
  if (!locate_ || pes_.pes.kind != PesKind::kNone) return Companion::kUnknown;
  const ByteSpan data(packet.data, static_cast<size_t>(packet.size));
  const size_t stream = static_cast<size_t>(packet.stream_index);
  PLUGIN_ASSIGN_OR_RETURN(std::optional<uint64_t> at,
                          source_->Locate(packet.pos, data));
  if (!at) {
    // Frames of one laced block share its position.
    PLUGIN_ASSIGN_OR_RETURN(
        at, source_->Locate(static_cast<int64_t>(last_end_[stream]), data));
  }
  if (at) last_end_[stream] = *at + data.size();
  return at.value_or(Companion::kUnknown);
}

// The pieces of a packet, which may start in the middle of
// the multiplex packet that the demuxer names, behind the packet before.
Result<Scatter> Ingestion::LocatePieces(const AVPacket& packet,
                                        PesTrail* trail) {
  const ByteSpan data(packet.data, static_cast<size_t>(packet.size));
  const uint64_t pos = static_cast<uint64_t>(packet.pos);
  if (trail->last_pos < 0 && packet.pos >= 0 && pos < source_->size()) {
    Bytes head(
        static_cast<size_t>(std::min<uint64_t>(4096, source_->size() - pos)));
    PLUGIN_RETURN_IF_ERROR(source_->ReadAt(pos, head));
    trail->pes.packet_size = std::max<uint8_t>(188, TransportPacketSize(head));
  }
  // A frame may start in the multiplex packet before the one that is named,
  // behind the frame before it.
  const std::pair<int64_t, uint32_t> guesses[] = {
      {packet.pos, packet.pos == trail->last_pos ? trail->last_skip : 0},
      {trail->last_pos, trail->last_skip}};
  for (const auto& [hint, skip] : guesses) {
    PLUGIN_ASSIGN_OR_RETURN(
        const std::optional<Scatter> at,
        source_->LocatePieces(trail->pes, hint, skip, data));
    if (!at) continue;
    trail->last_pos = hint;
    trail->last_skip = at->skip + static_cast<uint32_t>(data.size());
    return *at;
  }
  return Unsupported("a packet of the " + index_.source_format +
                     " stream cannot be found again in the file; ingest it");
}

// Of a multiplex, only the sound is found again.
Status Ingestion::AddCompanion(const AVPacket& packet, uint64_t at) {
  Companion& companion = *companions_[static_cast<size_t>(packet.stream_index)];
  if (stored_ || sound_pes_.pes.kind == PesKind::kNone ||
      packet.stream_index != sound_) {
    return companion.Add(packet, at);
  }
  const auto scatter = LocatePieces(packet, &sound_pes_);
  if (!scatter.ok()) return companion.Add(packet, Companion::kUnknown);
  return companion.AddScattered(packet,
                                static_cast<uint64_t>(sound_pes_.last_pos),
                                sound_pes_.pes, scatter.value());
}

Status Ingestion::AddPacket(AVPacket* packet) {
  const size_t stream = static_cast<size_t>(packet->stream_index);
  // Streams that a transport stream adds on the way are not in the index.
  if (stream >= companions_.size() || packet->size <= 0) return {};
  timeline_->Shift(packet);
  PLUGIN_ASSIGN_OR_RETURN(const uint64_t at, LocatePacket(*packet));
  if (stream != index_.main) return AddCompanion(*packet, at);
  uint64_t offset = at;
  Scatter scatter;
  if (!stored_ && pes_.pes.kind != PesKind::kNone) {
    PLUGIN_ASSIGN_OR_RETURN(scatter, LocatePieces(*packet, &pes_));
    main_->SetPes(pes_.pes);
    offset = static_cast<uint64_t>(pes_.last_pos);
  } else if (!stored_ && at == Companion::kUnknown) {
    return Unsupported("packets of " + index_.source_format +
                       " do not lie in one piece in the file; ingest it");
  }
  size_t size = 0;
  const bool has_alpha =
      av_packet_get_side_data(packet, AV_PKT_DATA_MATROSKA_BLOCKADDITIONAL,
                              &size) != nullptr;
  if (stored_ && has_alpha) {
    return Unsupported(
        "pictures with additional blocks (alpha) would lose "
        "them");
  }
  PLUGIN_RETURN_IF_ERROR(main_->Add(*packet, offset, scatter));
  return WriteGops(false);
}

Status Ingestion::ReadPackets() {
  PacketPtr packet = NewPacket();
  while (true) {
    PLUGIN_ASSIGN_OR_RETURN(const bool more, source_->NextPacket(packet.get()));
    if (!more) break;
    PLUGIN_RETURN_IF_ERROR(AddPacket(packet.get()));
  }
  PLUGIN_RETURN_IF_ERROR(main_->Finish());
  return WriteGops(true);
}

ExactTime Ingestion::GopEnd(uint32_t gop) const {
  const Gop& next = main_->gops()[gop + 1];
  const AVRational base = source_->format()->streams[index_.main]->time_base;
  return ExactTime::FromTicks(main_->packets()[next.first_packet].dts,
                              {base.num, base.den});
}

bool Ingestion::MayWrite(uint32_t gop) const {
  if (!stored_ || main_->held_bytes() > kWaitBytesMax) return true;
  const ExactTime end = GopEnd(gop);
  for (const auto& companion : companions_) {
    if (companion == nullptr) continue;
    if (companion->held_bytes() > kWaitBytesMax) return true;
    if (!companion->ReachedOrSparse(end)) return false;
  }
  return true;
}

Status Ingestion::WriteGops(bool all) {
  while (next_gop_ < main_->settled()) {
    const bool last = next_gop_ + 1 == main_->gops().size();
    if (!all && (last || !MayWrite(next_gop_))) break;
    PLUGIN_RETURN_IF_ERROR(WriteGop(next_gop_));
    main_->Release(++next_gop_);
  }
  return {};
}

Result<uint64_t> Ingestion::Store(ByteSpan data, uint64_t source_offset,
                                  bool verbatim) {
  if (!stored_) return source_offset;
  const uint64_t at = payload_size_;
  const int32_t code =
      request_.payload.write(request_.payload.ctx, data.data(), data.size());
  if (code != ROWFS_OK) return Status(code, "writing the payload failed");
  payload_size_ += data.size();
  if (request_.keep_container != 0 && verbatim &&
      source_offset != Companion::kUnknown) {
    pieces_.push_back({source_offset, data.size(), at});
  }
  return at;
}

Status Ingestion::WriteCompanions(const ExactTime* until) {
  for (const auto& companion : companions_) {
    if (companion == nullptr) continue;
    PLUGIN_RETURN_IF_ERROR(companion->Take(
        until, [this](Packet* p, const Companion::Waiting& w) -> Status {
          PLUGIN_ASSIGN_OR_RETURN(p->offset,
                                  Store(w.data, w.source_offset, w.verbatim));
          return {};
        }));
  }
  return {};
}

Status Ingestion::WriteGop(uint32_t gop) {
  const Gop& g = main_->gops()[gop];
  bool wanted = false;
  for (uint32_t i = 0; i < g.packet_count; ++i) {
    wanted = wanted || main_->Wanted(g.first_packet + i);
  }
  if (!wanted) return {};  // its sound goes with the next one
  const bool last = gop + 1 == main_->gops().size();
  const ExactTime end = last ? ExactTime() : GopEnd(gop);
  PLUGIN_RETURN_IF_ERROR(WriteCompanions(last ? nullptr : &end));
  for (uint32_t i = 0; i < g.packet_count; ++i) {
    const uint32_t ordinal = g.first_packet + i;
    if (!main_->Wanted(ordinal)) continue;
    PLUGIN_ASSIGN_OR_RETURN(
        const uint64_t at,
        Store(main_->data(ordinal), main_->source_offset(ordinal),
              main_->verbatim(ordinal)));
    main_->SetOffset(ordinal, at);
  }
  return {};
}

// The media starts with the first thing that is seen or heard.
void Ingestion::SetStart() {
  const Stream* first = &index_.video();
  for (const Stream& s : index_.streams) {
    if ((s.kind != StreamKind::kAudio && s.kind != StreamKind::kVideo) ||
        s.packets.empty()) {
      continue;
    }
    if (ExactTime::FromTicks(s.first_tick, s.time_base) <
        ExactTime::FromTicks(first->first_tick, first->time_base)) {
      first = &s;
    }
  }
  index_.head.start_tick = first->first_tick;
  index_.head.start_base = first->time_base;
}

Status Ingestion::KeepOriginal() {
  std::sort(pieces_.begin(), pieces_.end(),
            [](const StoredPiece& a, const StoredPiece& b) {
              return a.source_offset < b.source_offset;
            });
  // An edit list may play the same packet twice.
  std::vector<StoredPiece> disjoint;
  uint64_t end = 0;
  for (const StoredPiece& p : pieces_) {
    if (p.source_offset < end) continue;
    end = p.source_offset + p.size;
    disjoint.push_back(p);
  }
  PLUGIN_ASSIGN_OR_RETURN(index_.original,
                          KeepContainer(
                              source_->size(), disjoint,
                              [this](uint64_t offset, std::span<uint8_t> out) {
                                return source_->ReadAt(offset, out);
                              },
                              [this](ByteSpan bytes) {
                                return Store(bytes, Companion::kUnknown, false);
                              }));
  index_.head.original_size = source_->size();
  return {};
}

void Ingestion::SetHead() {
  IndexHead& head = index_.head;
  head.blob_size = stored_ ? payload_size_ : source_->size();
  head.frame_count = static_cast<uint32_t>(index_.shown.size());
  for (uint32_t ordinal : index_.shown) {
    if (index_.video().packets[ordinal].key()) ++head.key_frame_count;
  }
  head.gop_count = static_cast<uint32_t>(index_.gops.size());
  const FrameShape& shape = index_.shapes.front();
  head.width = shape.width;
  head.height = shape.height;
  const int cover = index_.FirstStream(StreamKind::kPicture);
  if (cover >= 0) {
    const Stream& s = index_.streams[static_cast<size_t>(cover)];
    head.cover_is_png = s.codec == "png";
    if (!s.packets.empty() && (s.codec == "mjpeg" || s.codec == "png")) {
      head.cover_size = s.packets[0].size;
    }
  }
  head.duration_us = std::max<int64_t>(
      0, static_cast<int64_t>(index_.EndTime().ToDouble() * 1e6));
}

// A sound that cannot be shown takes nothing from the pictures.
void Ingestion::TakeSound() {
  if (sound_ < 0) return;
  const auto stream = static_cast<size_t>(sound_);
  std::optional<SoundIndex> sound = companions_[stream]->TakeSound();
  if (!sound) return;
  index_.sound = {static_cast<uint32_t>(stream), std::move(*sound)};
}

Status Ingestion::FinishIndex() {
  index_.head.layout = stored_ ? Layout::kStored : Layout::kContainer;
  TakeSound();
  for (size_t i = 0; i < companions_.size(); ++i) {
    if (companions_[i] == nullptr) continue;
    index_.streams[i] = companions_[i]->Finish(stored_);
  }
  PLUGIN_RETURN_IF_ERROR(main_->MoveInto(&index_));
  if (index_.sound && index_.streams[index_.sound->stream].packets.size() !=
                          index_.sound->index.packets.size()) {
    index_.sound.reset();  // not all of it lies where it can be read
  }
  index_.head.has_sound = index_.sound.has_value();
  SetStart();
  if (request_.keep_container != 0 && stored_) {
    PLUGIN_RETURN_IF_ERROR(KeepOriginal());
  }
  SetHead();
  index_.Derive();
  return {};
}

Status Ingestion::WriteIndex() {
  IndexHead& head = index_.head;
  // Only packets in one piece can be put into another container.
  if (index_.video().pes.kind == PesKind::kNone) {
    head.file_type = ChooseFileType(index_);
  }
  if (stored_ && head.file_type == FileType::kNone) {
    return Unsupported("no container can carry " + index_.video().codec +
                       " as it is stored");
  }
  if (stored_) {
    PLUGIN_ASSIGN_OR_RETURN(head.whole_size, WholeSize(index_));
  }
  head.info_size = InfoJson(index_).size();
  PLUGIN_ASSIGN_OR_RETURN(const EncodedIndex encoded, EncodeIndex(index_));
  const auto put = [](const rowfs_sink& sink, const Bytes& bytes) {
    return sink.write(sink.ctx, bytes.data(), bytes.size());
  };
  if (int32_t code = put(request_.stream_info, encoded.stream_info)) {
    return Status(code, "writing stream_info failed");
  }
  if (int32_t code = put(request_.entries, encoded.entries)) {
    return Status(code, "writing entries failed");
  }
  return {};
}

// The extension of the source, for NAME.original.EXT.
std::string ExtensionOfSource(const std::string& name,
                              const std::string& format) {
  const size_t point = name.rfind('.');
  if (point != std::string::npos) {
    std::string extension = name.substr(point + 1);
    const bool plain =
        std::all_of(extension.begin(), extension.end(), [](char c) {
          return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                 (c >= 'A' && c <= 'Z');
        });
    if (plain && !extension.empty() && extension.size() <= 8) {
      return extension;
    }
  }
  if (format.starts_with("mov")) return "mp4";
  if (format.starts_with("matroska")) return "mkv";
  return format == "mpegts" ? "ts" : format == "avi" ? "avi" : "bin";
}

Status Ingestion::Run() {
  PLUGIN_RETURN_IF_ERROR(OpenStreams());
  PLUGIN_RETURN_IF_ERROR(ReadPackets());
  index_.head.source_extension = ExtensionOfSource(
      std::string(request_.file_name.data, request_.file_name.size),
      index_.source_format);
  PLUGIN_RETURN_IF_ERROR(FinishIndex());
  return WriteIndex();
}

}  // namespace

Status IngestVideo(const rowfs_ingest_request& request) {
  if (request.layout != ROWFS_LAYOUT_STORED &&
      request.layout != ROWFS_LAYOUT_CONTAINER) {
    return Invalid("unknown layout");
  }
  if (request.verify < ROWFS_VERIFY_OFF || request.verify > ROWFS_VERIFY_FULL) {
    return Invalid("unknown verify level");
  }
  return Ingestion(request).Run();
}

}  // namespace rowfs::plugin
