// The fixed head of stream_info, kHeadSize bytes, little-endian:
//   0 "RVI1"  4 u16 version  6 u8 layout  7 u8 file type
//   8 u64 blob size  16 u32 frames  20 u32 key frames  24 u32 GOPs
//  28 u32 width  32 u32 height  36 u64 whole size  44 u64 info size
//  52 u64 original size  60 u64 cover size  68 u8 cover is PNG
//  69 u8[8] source extension, zero-padded  77 i64 start tick
//  85 i32 start num  89 i32 start den  93 i64 duration in us
// 101 u64 size and 109 u32 CRC of the rest of stream_info
// 113 u64 size and 121 u32 CRC of entries
// 125 u8 has sound
// zeros up to 252, where the CRC of bytes 0..252 is.
#include "index/plugins/video/index_format.h"

namespace rowfs::plugin {
namespace {

// Version 2 has sound; what has none is still written as version 1.
constexpr uint16_t kVersion = 2;
constexpr size_t kExtensionSize = 8;

bool Sane(const IndexHead& head) {
  return head.layout <= Layout::kContainer &&
         head.file_type <= FileType::kWebm && head.width <= kSideMax &&
         head.height <= kSideMax && head.start_base.num > 0 &&
         head.start_base.den > 0 && head.start_tick <= kTicksMax &&
         head.start_tick >= -kTicksMax && head.frame_count <= kPacketsMax &&
         head.key_frame_count <= head.frame_count &&
         head.gop_count <= kPacketsMax && head.duration_us >= 0 &&
         head.source_extension.find('/') == std::string::npos;
}

}  // namespace

void WriteHead(const IndexHead& head, const BodySums& sums, ByteWriter* out) {
  const size_t begin = out->size();
  out->Text(kMagic);
  out->U16(head.has_sound ? kVersion : 1);
  out->U8(static_cast<uint8_t>(head.layout));
  out->U8(static_cast<uint8_t>(head.file_type));
  out->U64(head.blob_size);
  out->U32(head.frame_count);
  out->U32(head.key_frame_count);
  out->U32(head.gop_count);
  out->U32(head.width);
  out->U32(head.height);
  out->U64(head.whole_size);
  out->U64(head.info_size);
  out->U64(head.original_size);
  out->U64(head.cover_size);
  out->U8(head.cover_is_png ? 1 : 0);
  std::string extension = head.source_extension;
  extension.resize(kExtensionSize, '\0');
  out->Text(extension);
  out->I64(head.start_tick);
  out->U32(static_cast<uint32_t>(head.start_base.num));
  out->U32(static_cast<uint32_t>(head.start_base.den));
  out->I64(head.duration_us);
  out->U64(sums.body_size);
  out->U32(sums.body_crc);
  out->U64(sums.entries_size);
  out->U32(sums.entries_crc);
  out->U8(head.has_sound ? 1 : 0);
  while (out->size() - begin < kHeadSize - 4) out->U8(0);
  out->U32(Crc32(ByteSpan(out->bytes()).subspan(begin)));
}

Result<IndexHead> ReadHead(ByteSpan bytes, BodySums* sums) {
  if (bytes.size() < kHeadSize || AsText(bytes.first(4)) != kMagic) {
    return Corrupt("stream_info does not start with a video index");
  }
  const ByteSpan head_bytes = bytes.first(kHeadSize);
  ByteReader crc(head_bytes.subspan(kHeadSize - 4));
  if (crc.U32() != Crc32(head_bytes.first(kHeadSize - 4))) {
    return Corrupt("the head of stream_info is damaged: wrong checksum");
  }
  ByteReader in(head_bytes.subspan(4));
  if (const uint16_t version = in.U16(); version < 1 || version > kVersion) {
    return Unsupported("video index version " + std::to_string(version) +
                       "; this plugin reads versions up to " +
                       std::to_string(kVersion));
  }
  IndexHead head;
  head.layout = static_cast<Layout>(in.U8());
  head.file_type = static_cast<FileType>(in.U8());
  head.blob_size = in.U64();
  head.frame_count = in.U32();
  head.key_frame_count = in.U32();
  head.gop_count = in.U32();
  head.width = in.U32();
  head.height = in.U32();
  head.whole_size = in.U64();
  head.info_size = in.U64();
  head.original_size = in.U64();
  head.cover_size = in.U64();
  head.cover_is_png = in.U8() != 0;
  const std::string_view extension = AsText(in.Take(kExtensionSize));
  head.source_extension = extension.substr(0, extension.find('\0'));
  head.start_tick = in.I64();
  head.start_base.num = static_cast<int32_t>(in.U32());
  head.start_base.den = static_cast<int32_t>(in.U32());
  head.duration_us = in.I64();
  sums->body_size = in.U64();
  sums->body_crc = in.U32();
  sums->entries_size = in.U64();
  sums->entries_crc = in.U32();
  head.has_sound = in.U8() != 0;
  if (!in.ok() || !Sane(head)) {
    return Corrupt("the head of stream_info holds impossible values");
  }
  return head;
}

Result<IndexHead> ParseHead(ByteSpan stream_info) {
  BodySums sums;
  return ReadHead(stream_info, &sums);
}

}  // namespace rowfs::plugin
