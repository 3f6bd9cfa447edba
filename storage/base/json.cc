#include "storage/base/json.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace rowfs {
namespace {

constexpr size_t kDepthMax = 128;

// Builds a Json from nlohmann's events; numbers keep their text.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Json root;
  std::string error;

  bool null() override { return Put({}); }
  bool boolean(bool value) override { return Put(Json::Bool(value)); }
  bool number_integer(int64_t value) override { return Put(Json::Int(value)); }
  bool number_unsigned(uint64_t value) override {
    return Put(Json::Uint(value));
  }
  bool number_float(double, const std::string& text) override {
    Json number;
    number.kind = Json::Kind::kNumber;
    number.text = text;
    return Put(std::move(number));
  }
  bool string(std::string& value) override { return Put(Json::String(value)); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(Json::Object()); }
  bool start_array(size_t) override { return Open(Json::Array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(std::string& name) override {
    if (!keys_.back().insert(name).second) {
      error = "repeated key " + JsonQuote(name);
      return false;
    }
    key_ = name;
    return true;
  }
  bool parse_error(size_t position, const std::string& token,
                   const nlohmann::json::exception&) override {
    error = "not JSON at byte " + std::to_string(position) + ", near " +
            JsonQuote(token.substr(0, 40));
    return false;
  }

 private:
  Json* Place(Json value) {
    if (stack_.empty()) {
      root = std::move(value);
      return &root;
    }
    Json& parent = *stack_.back();
    if (parent.kind == Json::Kind::kArray) {
      return &parent.items.emplace_back(std::move(value));
    }
    return &parent.members.emplace_back(std::move(key_), std::move(value))
                .second;
  }
  bool Put(Json value) {
    Place(std::move(value));
    return true;
  }
  bool Open(Json value) {
    if (stack_.size() >= kDepthMax) {
      error = "nested deeper than " + std::to_string(kDepthMax);
      return false;
    }
    // A pointer into the parent stays valid: the parent grows again only after
    // this value is closed.
    stack_.push_back(Place(std::move(value)));
    keys_.emplace_back();
    return true;
  }
  bool Close() {
    stack_.pop_back();
    keys_.pop_back();
    return true;
  }

  std::vector<Json*> stack_;
  std::vector<std::unordered_set<std::string>> keys_;
  std::string key_;
};

// Bytes of the UTF-8 sequence at `at`, 0 when it is not one (RFC 3629).
size_t Utf8Length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto tail = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned lead = byte(at);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return tail(at + 1) ? 2 : 0;
  const unsigned next = byte(at + 1);
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool bad =
        (lead == 0xE0 && next < 0xA0) || (lead == 0xED && next > 0x9F);
    return !bad && tail(at + 1) && tail(at + 2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool bad =
        (lead == 0xF0 && next < 0x90) || (lead == 0xF4 && next > 0x8F);
    return !bad && tail(at + 1) && tail(at + 2) && tail(at + 3) ? 4 : 0;
  }
  return 0;
}

void AppendEscaped(std::string* out, unsigned char c) {
  static constexpr char kDigits[] = "0123456789abcdef";
  switch (c) {
    case '"':
      *out += "\\\"";
      return;
    case '\\':
      *out += "\\\\";
      return;
    case '\n':
      *out += "\\n";
      return;
    case '\r':
      *out += "\\r";
      return;
    case '\t':
      *out += "\\t";
      return;
    default:
      *out += "\\u00";
      *out += kDigits[c >> 4];
      *out += kDigits[c & 15];
  }
}

void Write(const Json& value, std::string* out) {
  switch (value.kind) {
    case Json::Kind::kNull:
      *out += "null";
      return;
    case Json::Kind::kBool:
      *out += value.boolean ? "true" : "false";
      return;
    case Json::Kind::kNumber:
      *out += value.text;
      return;
    case Json::Kind::kString:
      *out += JsonQuote(value.text);
      return;
    case Json::Kind::kArray: {
      *out += '[';
      const char* comma = "";
      for (const Json& item : value.items) {
        *out += std::exchange(comma, ", ");
        Write(item, out);
      }
      *out += ']';
      return;
    }
    case Json::Kind::kObject: {
      *out += '{';
      const char* comma = "";
      for (const auto& [key, member] : value.members) {
        *out += std::exchange(comma, ", ") + JsonQuote(key) + ": ";
        Write(member, out);
      }
      *out += '}';
      return;
    }
  }
}

template <typename T>
std::string Shortest(T value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  // "-0" is an integer to many readers, and loses its sign.
  if (value == 0 && std::signbit(value)) return "-0.0";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

template <typename T>
std::optional<T> Parse(const Json& value) {
  if (value.kind != Json::Kind::kNumber) return std::nullopt;
  T number{};
  const char* end = value.text.data() + value.text.size();
  const auto [ptr, error] = std::from_chars(value.text.data(), end, number);
  if (error != std::errc() || ptr != end) return std::nullopt;
  return number;
}

Json Number(std::string text) {
  Json json;
  json.kind = Json::Kind::kNumber;
  json.text = std::move(text);
  return json;
}

}  // namespace

Json::Json() = default;
Json::~Json() = default;
Json::Json(const Json& other) = default;
Json& Json::operator=(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(Json&& other) noexcept = default;

Json Json::Bool(bool value) {
  Json json;
  json.kind = Kind::kBool;
  json.boolean = value;
  return json;
}

Json Json::Int(int64_t value) { return Number(std::to_string(value)); }
Json Json::Uint(uint64_t value) { return Number(std::to_string(value)); }

Json Json::Double(double value) {
  if (!std::isfinite(value)) return String(ShortestDecimal(value));
  return Number(ShortestDecimal(value));
}

Json Json::String(std::string_view value) {
  Json json;
  json.kind = Kind::kString;
  json.text = value;
  return json;
}

Json Json::Array() {
  Json json;
  json.kind = Kind::kArray;
  return json;
}

Json Json::Object() {
  Json json;
  json.kind = Kind::kObject;
  return json;
}

Json& Json::Add(std::string_view key, Json value) {
  members.emplace_back(key, std::move(value));
  return *this;
}

const Json* Json::Find(std::string_view key) const {
  for (const auto& [name, value] : members) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::optional<int64_t> Json::AsInt() const { return Parse<int64_t>(*this); }
std::optional<uint64_t> Json::AsUint() const { return Parse<uint64_t>(*this); }
std::optional<double> Json::AsDouble() const { return Parse<double>(*this); }

Result<Json> ParseJson(std::string_view text) {
  Builder builder;
  if (!nlohmann::json::sax_parse(text, &builder)) {
    return Status(Code::kInvalidArgument, builder.error);
  }
  return std::move(builder.root);
}

std::string WriteJson(const Json& value) {
  std::string out;
  Write(value, &out);
  return out;
}

std::string JsonQuote(std::string_view text) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f) {
      AppendEscaped(&out, c);
      ++at;
      continue;
    }
    const size_t length = Utf8Length(text, at);
    const std::string_view character = text.substr(at, length);
    // These end a line for some readers of JSON lines.
    if (character == "\u0085") {
      out += "\\u0085";
    } else if (character == "\u2028") {
      out += "\\u2028";
    } else if (character == "\u2029") {
      out += "\\u2029";
    } else {
      out += length == 0 ? "\xEF\xBF\xBD" : character;
    }
    at += length == 0 ? 1 : length;
  }
  return out + '"';
}

std::string ShortestDecimal(double value) { return Shortest(value); }
std::string ShortestDecimal(float value) { return Shortest(value); }

}  // namespace rowfs
