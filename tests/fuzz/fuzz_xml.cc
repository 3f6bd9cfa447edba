// Any answer of an S3 server: parsed or refused.
#include "storage/base/bytes.h"
#include "storage/object/xml.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)rowfs::ParseXml(rowfs::AsText(rowfs::FromU8(data, size))).ok();
  return 0;
}
