#include <cstring>
#include <string>

#include "storage/lance/encoding.h"

namespace rowfs {
namespace {

// Write `length` copies of `value`, doubling what is there already.
void Repeat(const std::byte* value, size_t width, uint64_t length,
            std::byte* out) {
  if (width == 1) {
    std::memset(out, static_cast<int>(*value), length);
    return;
  }
  std::memcpy(out, value, width);
  uint64_t done = 1;
  while (done < length) {
    const uint64_t step = std::min(done, length - done);
    std::memcpy(out + done * width, out, step * width);
    done += step;
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
  uint64_t done = 0;
  for (uint64_t i = 0; i < *run_count && done < count; ++i) {
    const uint64_t length = LoadUint(
        ByteSpan(run_lengths.data).subspan(i * length_width), length_width);
    if (length == 0) return {Code::kCorruption, "a run of length 0"};
    const uint64_t here = std::min(length, count - done);
    Repeat(run_values.data.data() + i * width, width, here,
           out->data.data() + at + done * width);
    done += here;
  }
  if (done != count) {
    return {Code::kCorruption, "runs make " + std::to_string(done) + " of " +
                                   std::to_string(count) + " values"};
  }
  out->count += count;
  return {};
}

}  // namespace rowfs
