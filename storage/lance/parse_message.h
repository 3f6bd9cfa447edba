// Parsing protobuf messages that come from outside.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_LANCE_PARSE_MESSAGE_H_
#define ROWFS_STORAGE_LANCE_PARSE_MESSAGE_H_

#include "storage/base/bytes.h"

namespace google::protobuf {
class MessageLite;
}

namespace rowfs {

// Fill `message` from all of `bytes`; false when they are not one, with nothing
// said on stderr.
[[nodiscard]] bool ParseMessage(ByteSpan bytes,
                                google::protobuf::MessageLite* message);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_PARSE_MESSAGE_H_
