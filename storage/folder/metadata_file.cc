#include "storage/folder/metadata_file.h"

namespace rowfs {
namespace {

Status LineError(std::string_view what, size_t line, std::string_view message) {
  return {Code::kInvalidArgument, std::string(what) + " line " +
                                      std::to_string(line) + ": " +
                                      std::string(message)};
}

struct CsvField {
  std::string text;
  bool quoted = false;
};

// Reads one record at a time; a quoted field may hold commas and newlines.
class CsvReader {
 public:
  CsvReader(std::string_view text, std::string_view what)
      : text_(text), what_(what) {}

  bool AtEnd() const { return at_ >= text_.size(); }
  size_t line() const { return line_; }

  Result<std::vector<CsvField>> Next() {
    std::vector<CsvField> record;
    for (;;) {
      ROWFS_ASSIGN_OR_RETURN(record.emplace_back(), NextField());
      if (AtEnd()) return record;
      const char c = text_[at_++];
      if (c == ',') continue;
      if (c == '\r' && !AtEnd() && text_[at_] == '\n') ++at_;
      ++line_;
      return record;
    }
  }

 private:
  Result<CsvField> NextField() {
    CsvField field;
    if (AtEnd() || text_[at_] != '"') {
      const size_t end =
          std::min(text_.find_first_of(",\r\n", at_), text_.size());
      field.text = text_.substr(at_, end - at_);
      at_ = end;
      return field;
    }
    field.quoted = true;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] != '"') {
        field.text += text_[at_];
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
        field.text += text_[at_++];
      } else {
        ++at_;
        const bool ends = AtEnd() || text_[at_] == ',' || text_[at_] == '\r' ||
                          text_[at_] == '\n';
        if (ends) return field;
        return LineError(what_, line_, "text behind a closing quote");
      }
    }
    return LineError(what_, line_, "a quote is not closed");
  }

  const std::string_view text_;
  const std::string_view what_;
  size_t at_ = 0;
  size_t line_ = 1;
};

Json CsvValue(const CsvField& field) {
  if (field.quoted) return Json::String(field.text);
  if (field.text.empty()) return {};
  if (field.text == "true" || field.text == "True") return Json::Bool(true);
  if (field.text == "false" || field.text == "False") return Json::Bool(false);
  // Leading zeros and signs are codes, not numbers ("007"): JSON knows.
  const Result<Json> number = ParseJson(field.text);
  if (number.ok() && number.value().kind == Json::Kind::kNumber) {
    return number.value();
  }
  return Json::String(field.text);
}

std::string_view WithoutByteOrderMark(std::string_view text) {
  return text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text;
}

}  // namespace

Result<std::vector<Json>> ParseJsonLines(std::string_view text,
                                         std::string_view what) {
  text = WithoutByteOrderMark(text);
  std::vector<Json> rows;
  size_t line = 0;
  while (!text.empty()) {
    ++line;
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view row = text.substr(0, end);
    text = text.substr(std::min(end + 1, text.size()));
    if (row.find_first_not_of(" \t\r") == row.npos) continue;
    Result<Json> value = ParseJson(row);
    if (!value.ok()) return LineError(what, line, value.status().message());
    if (value.value().kind != Json::Kind::kObject) {
      return LineError(what, line, "not a JSON object");
    }
    rows.push_back(std::move(value).value());
  }
  return rows;
}

Result<std::vector<Json>> ParseCsv(std::string_view text,
                                   std::string_view what) {
  CsvReader reader(WithoutByteOrderMark(text), what);
  if (reader.AtEnd()) return std::vector<Json>();
  ROWFS_ASSIGN_OR_RETURN(const std::vector<CsvField> header, reader.Next());
  std::vector<Json> rows;
  while (!reader.AtEnd()) {
    const size_t line = reader.line();
    ROWFS_ASSIGN_OR_RETURN(const std::vector<CsvField> record, reader.Next());
    if (record.size() == 1 && record[0].text.empty()) continue;
    if (record.size() != header.size()) {
      return LineError(what, line,
                       std::to_string(record.size()) +
                           " fields, the header "
                           "has " +
                           std::to_string(header.size()));
    }
    Json row = Json::Object();
    for (size_t i = 0; i < record.size(); ++i) {
      row.Add(header[i].text, CsvValue(record[i]));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace rowfs
