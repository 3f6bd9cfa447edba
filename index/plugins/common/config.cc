#include "index/plugins/common/config.h"

#include <charconv>

namespace rowfs::plugin {

Result<std::map<std::string, std::string>> ParseConfig(std::string_view text) {
  std::map<std::string, std::string> config;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view()
                                           : text.substr(comma + 1);
    if (part.empty()) continue;
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return Invalid("configuration \"" + std::string(part) +
                     "\" is not key=value");
    }
    config[std::string(part.substr(0, equals))] = part.substr(equals + 1);
  }
  return config;
}

Result<int64_t> ParseNumber(std::string_view key, std::string_view value,
                            int64_t min, int64_t max) {
  int64_t number = 0;
  const auto [end, error] =
      std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() ||
      number < min || number > max) {
    return Invalid(std::string(key) + "=" + std::string(value) +
                   " is not a number from " + std::to_string(min) + " to " +
                   std::to_string(max));
  }
  return number;
}

}  // namespace rowfs::plugin
