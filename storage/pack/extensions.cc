#include "storage/pack/extensions.h"

#include <algorithm>
#include <string>

namespace rowfs {
namespace {

constexpr struct {
  std::string_view extension;
  std::string_view media_type;
} kTypes[] = {
    {"jpg", "image/jpeg"},        {"jpeg", "image/jpeg"},
    {"png", "image/png"},         {"gif", "image/gif"},
    {"webp", "image/webp"},       {"tif", "image/tiff"},
    {"tiff", "image/tiff"},       {"bmp", "image/bmp"},
    {"avif", "image/avif"},       {"heic", "image/heic"},
    {"jp2", "image/jp2"},         {"svg", "image/svg+xml"},
    {"mp4", "video/mp4"},         {"m4v", "video/mp4"},
    {"mov", "video/quicktime"},   {"mkv", "video/x-matroska"},
    {"webm", "video/webm"},       {"avi", "video/x-msvideo"},
    {"mpg", "video/mpeg"},        {"ogv", "video/ogg"},
    {"wav", "audio/wav"},         {"flac", "audio/flac"},
    {"mp3", "audio/mpeg"},        {"ogg", "audio/ogg"},
    {"opus", "audio/opus"},       {"m4a", "audio/mp4"},
    {"aac", "audio/aac"},         {"aiff", "audio/aiff"},
    {"pdf", "application/pdf"},   {"json", "application/json"},
    {"txt", "text/plain"},        {"csv", "text/csv"},
    {"html", "text/html"},        {"xml", "application/xml"},
    {"md", "text/markdown"},      {"yaml", "application/yaml"},
    {"npy", "application/x-npy"}, {"tar", "application/x-tar"},
    {"zip", "application/zip"},   {"gz", "application/gzip"},
    {"zst", "application/zstd"},
};

constexpr std::string_view kValues =
    " json jsonl jsn txt text transcript caption cls cls2 index inx id csv tsv "
    "html xml md yaml yml npy npz pth pt pyd pkl pickle ten tb mp msg cbor "
    "safetensors parquet arrow zip gz zst tar py log srt vtt ";
constexpr std::string_view kPictures = " jpg jpeg png bmp ";
constexpr std::string_view kVague = " bin dat data raw blob ";

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

bool IsOneOf(std::string_view words, std::string_view word) {
  return !word.empty() && words.find(" " + LowerCase(word) + " ") != words.npos;
}

}  // namespace

std::string_view MediaTypeOfExtension(std::string_view extension) {
  const std::string lower = LowerCase(extension);
  for (const auto& type : kTypes) {
    if (type.extension == lower) return type.media_type;
  }
  return {};
}

bool IsValueExtension(std::string_view extension) {
  return IsOneOf(kValues, extension);
}

bool IsPictureExtension(std::string_view extension) {
  return IsOneOf(kPictures, extension);
}

bool IsVagueExtension(std::string_view extension) {
  return extension.empty() || IsOneOf(kVague, extension);
}

}  // namespace rowfs
