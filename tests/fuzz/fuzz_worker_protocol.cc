// Anything that a worker, or a parent, might say: refused, or read as something
// that reads back the same. The first byte chooses the reader.
#include <cstdlib>

#include "index/runtime/protocol.h"

namespace {

constexpr uint64_t kBlobSize = 1000;
constexpr uint64_t kPathCount = 3;
constexpr uint64_t kEntriesMax = 100;

void ReadWorkerMessage(rowfs::ByteSpan bytes) {
  const auto message = rowfs::DecodeWorkerMessage(bytes);
  if (!message.ok()) return;
  const rowfs::Bytes again = rowfs::EncodeWorkerMessage(message.value());
  if (!rowfs::DecodeWorkerMessage(again).ok()) std::abort();
}

void ReadParentMessage(rowfs::ByteSpan bytes) {
  const auto message = rowfs::DecodeParentMessage(bytes);
  if (!message.ok()) return;
  const rowfs::Bytes again = rowfs::EncodeParentMessage(message.value());
  if (!rowfs::DecodeParentMessage(again).ok()) std::abort();
}

void ReadRequest(rowfs::ByteSpan bytes) {
  if (bytes.empty()) return;
  const auto request =
      rowfs::DecodeRequest(bytes.subspan(1), static_cast<uint8_t>(bytes[0]));
  if (!request.ok()) return;
  uint64_t sum = 0;
  for (const rowfs::ByteSpan part : request.value().parts) {
    for (const std::byte byte : part) sum += static_cast<uint8_t>(byte);
  }
  if (sum > bytes.size() * 255 * bytes.size()) std::abort();
}

void ReadEntries(rowfs::ByteSpan bytes) {
  const auto entries = rowfs::DecodeEntries(bytes, kEntriesMax);
  if (!entries.ok()) return;
  const rowfs::Bytes again = rowfs::EncodeEntries(entries.value());
  if (!rowfs::DecodeEntries(again, kEntriesMax).ok()) std::abort();
}

void ReadPlan(rowfs::ByteSpan bytes) {
  const auto plan = rowfs::DecodePlan(bytes, kPathCount, kBlobSize);
  if (!plan.ok()) return;
  const rowfs::Bytes again = rowfs::EncodePlan(plan.value());
  if (!rowfs::DecodePlan(again, kPathCount, kBlobSize).ok()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const rowfs::ByteSpan bytes = rowfs::FromU8(data + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      ReadWorkerMessage(bytes);
      break;
    case 1:
      ReadParentMessage(bytes);
      break;
    case 2:
      ReadRequest(bytes);
      break;
    case 3:
      ReadEntries(bytes);
      break;
    default:
      ReadPlan(bytes);
      break;
  }
  return 0;
}
