#include "storage/lance/parse_message.h"

#include <google/protobuf/message_lite.h>
#include <google/protobuf/stubs/logging.h>

namespace rowfs {

bool ParseMessage(ByteSpan bytes, google::protobuf::MessageLite* message) {
  // The library prints what is wrong with a string; our caller names the
  // object.
  const google::protobuf::LogSilencer quiet;
  return bytes.size() <= INT32_MAX &&
         message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace rowfs
