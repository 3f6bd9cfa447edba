// Any text: parsed or refused, and what was parsed reads back the same.
#include <cstdlib>

#include "storage/base/bytes.h"
#include "storage/base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed =
      rowfs::ParseJson(rowfs::AsText(rowfs::FromU8(data, size)));
  if (!parsed.ok()) return 0;
  const std::string text = rowfs::WriteJson(parsed.value());
  const auto again = rowfs::ParseJson(text);
  if (!again.ok() || rowfs::WriteJson(again.value()) != text) std::abort();
  return 0;
}
