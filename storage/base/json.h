// JSON values: a bounded strict parser and a writer that loses no digit.
// Numbers keep the text they had, so 64-bit integers and decimals survive.
//
// Values; thread-safe to read.
#ifndef ROWFS_STORAGE_BASE_JSON_H_
#define ROWFS_STORAGE_BASE_JSON_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/status.h"

namespace rowfs {

struct Json {
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  bool boolean = false;
  std::string text;  // of a string: its value; of a number: its digits
  std::vector<Json> items;
  std::vector<std::pair<std::string, Json>> members;  // in order, unique keys

  // Written out: clang 14 cannot make them while Json is incomplete.
  Json();
  ~Json();
  Json(const Json& other);
  Json& operator=(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(Json&& other) noexcept;

  static Json Bool(bool value);
  static Json Int(int64_t value);
  static Json Uint(uint64_t value);
  static Json Double(double value);  // shortest; NaN, Infinity as strings
  static Json String(std::string_view value);
  static Json Array();
  static Json Object();

  Json& Add(std::string_view key, Json value);  // appends; returns *this
  // Null when absent or when this is no object.
  const Json* Find(std::string_view key) const;
  std::optional<int64_t> AsInt() const;
  std::optional<uint64_t> AsUint() const;
  std::optional<double> AsDouble() const;
};

// kInvalidArgument, with line and column, on anything RFC 8259 does not allow,
// invalid UTF-8, a repeated key, or nesting above 128.
Result<Json> ParseJson(std::string_view text);

// One line, no trailing newline, UTF-8 as it is; bytes that are not UTF-8
// become U+FFFD so that the result is always valid JSON.
std::string WriteJson(const Json& value);

// `text` with quotes, escaped, as WriteJson writes strings.
std::string JsonQuote(std::string_view text);
// Shortest decimal that reads back as `value`: "0.1", "1e+300", "NaN".
std::string ShortestDecimal(double value);
std::string ShortestDecimal(float value);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_BASE_JSON_H_
