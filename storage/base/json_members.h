// Members of JSON objects that others wrote, read leniently: what is not there
// and what is of another kind are the same.
//
// Pure functions; thread-safe.
#ifndef ROWFS_STORAGE_BASE_JSON_MEMBERS_H_
#define ROWFS_STORAGE_BASE_JSON_MEMBERS_H_

#include <string>
#include <string_view>

#include "storage/base/json.h"

namespace rowfs {

// The string `key` of `object`; empty when it is none.
std::string StringMember(const Json& object, std::string_view key);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_BASE_JSON_MEMBERS_H_
