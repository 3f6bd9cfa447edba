#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "storage/lance/encoding.h"

namespace rowfs {
namespace {

template <typename T>
T LoadAt(const std::byte* bytes, uint64_t i) {
  T value;
  std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
  return value;
}

// Write `length` copies of the `width` bytes at `value`.
void Repeat(const std::byte* value, size_t width, uint64_t length,
            std::byte* out) {
  for (uint64_t i = 0; i < length; ++i) {
    std::memcpy(out + i * width, value, width);
  }
}

template <typename T>
void RepeatAs(const std::byte* value, uint64_t length, std::byte* out) {
  const T copied = LoadAt<T>(value, 0);
  for (uint64_t i = 0; i < length; ++i) {
    std::memcpy(out + i * sizeof(T), &copied, sizeof(T));
  }
}

// What runs are made of, all one behind the other.
struct Runs {
  uint64_t count = 0;
  size_t width = 0;
  const std::byte* values = nullptr;
  const std::byte* lengths = nullptr;
};

// Fill `out` with `count` values; returns how many there were, or nothing where
// a run has the length 0.
template <typename Length, typename RepeatOne>
std::optional<uint64_t> Expand(const Runs& runs, uint64_t count, std::byte* out,
                               const RepeatOne& repeat) {
  uint64_t done = 0;
  for (uint64_t i = 0; i < runs.count && done < count; ++i) {
    const uint64_t length = LoadAt<Length>(runs.lengths, i);
    if (length == 0) return std::nullopt;
    const uint64_t here = std::min(length, count - done);
    repeat(runs.values + i * runs.width, here, out + done * runs.width);
    done += here;
  }
  return done;
}

template <typename Length>
std::optional<uint64_t> ExpandBy(const Runs& runs, uint64_t count,
                                 std::byte* out) {
  switch (runs.width) {
    case 1:
      return Expand<Length>(runs, count, out, RepeatAs<uint8_t>);
    case 2:
      return Expand<Length>(runs, count, out, RepeatAs<uint16_t>);
    case 4:
      return Expand<Length>(runs, count, out, RepeatAs<uint32_t>);
    case 8:
      return Expand<Length>(runs, count, out, RepeatAs<uint64_t>);
    default:
      return Expand<Length>(
          runs, count, out,
          [&](const std::byte* value, uint64_t length, std::byte* to) {
            Repeat(value, runs.width, length, to);
          });
  }
}

}  // namespace

Status RunDecoder::Check(const BlockDecoder& values,
                         const BlockDecoder& lengths) {
  const uint64_t length_bits = lengths.bits();
  if (values.bits() == 0 || values.bits() % 8 != 0 ||
      (length_bits != 8 && length_bits != 16 && length_bits != 32)) {
    return {Code::kCorruption, "runs of " + std::to_string(values.bits()) +
                                   "-bit values with lengths of " +
                                   std::to_string(length_bits) + " bits"};
  }
  return {};
}

Status RunDecoder::Decode(ByteSpan value_bytes, ByteSpan length_bytes,
                          std::optional<uint64_t> run_count, uint64_t count,
                          ValueBlock* out) const {
  if (!run_count) run_count = values->CountOf(value_bytes);
  if (!run_count) run_count = lengths->CountOf(length_bytes);
  if (!run_count) return {Code::kCorruption, "runs whose number nothing tells"};
  if (*run_count > count) {
    return {Code::kCorruption, std::to_string(*run_count) + " runs for " +
                                   std::to_string(count) + " values"};
  }
  ROWFS_ASSIGN_OR_RETURN(const uint64_t bytes,
                         DecodedBytes(count, values->bits(), "runs"));
  ValueBlock run_values = values->NewBlock();
  ROWFS_RETURN_IF_ERROR(values->Decode(value_bytes, *run_count, &run_values));
  ValueBlock run_lengths = lengths->NewBlock();
  ROWFS_RETURN_IF_ERROR(
      lengths->Decode(length_bytes, *run_count, &run_lengths));
  if (lengths->has_payload() &&
      lengths->CountOf(length_bytes).value_or(*run_count) != *run_count) {
    return {Code::kCorruption, "as many runs as lengths are wanted"};
  }
  const size_t width = values->bits() / 8;
  const size_t length_width = lengths->bits() / 8;
  const size_t at = out->data.size();
  out->data.resize(at + bytes);
  const Runs runs{*run_count, width, run_values.data.data(),
                  run_lengths.data.data()};
  std::byte* const to = out->data.data() + at;
  const auto made = length_width == 1   ? ExpandBy<uint8_t>(runs, count, to)
                    : length_width == 2 ? ExpandBy<uint16_t>(runs, count, to)
                                        : ExpandBy<uint32_t>(runs, count, to);
  if (!made) return {Code::kCorruption, "a run of length 0"};
  if (*made != count) {
    return {Code::kCorruption, "runs make " + std::to_string(*made) + " of " +
                                   std::to_string(count) + " values"};
  }
  out->count += count;
  return {};
}

}  // namespace rowfs
