// The text of a JSON object, written member by member.
//
// Values without locks.
#ifndef ROWFS_INDEX_PLUGINS_COMMON_JSON_OBJECT_H_
#define ROWFS_INDEX_PLUGINS_COMMON_JSON_OBJECT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "index/plugins/common/exact_time.h"
#include "index/plugins/common/json_text.h"

namespace rowfs::plugin {

// One JSON object, member by member.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string* out) : out_(out) { *out_ += '{'; }
  ~ObjectWriter() { *out_ += '}'; }
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;

  // The name; the caller appends the value.
  std::string& Key(std::string_view name) {
    if (!first_) *out_ += ", ";
    first_ = false;
    PutQuoted(name, out_);
    *out_ += ": ";
    return *out_;
  }
  void Text(std::string_view name, std::string_view value) {
    PutQuoted(value, &Key(name));
  }
  void Number(std::string_view name, int64_t value) {
    Key(name) += std::to_string(value);
  }
  void Bool(std::string_view name, bool value) {
    Key(name) += value ? "true" : "false";
  }
  void Time(std::string_view name, const ExactTime& value) {
    Key(name) += value.ToDecimal();
  }

 private:
  std::string* out_;
  bool first_ = true;
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_COMMON_JSON_OBJECT_H_
