#include "storage/base/json_members.h"

namespace rowfs {

std::string StringMember(const Json& object, std::string_view key) {
  const Json* value = object.Find(key);
  return value != nullptr && value->kind == Json::Kind::kString ? value->text
                                                                : "";
}

}  // namespace rowfs
