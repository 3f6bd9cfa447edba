#include "fs/cli/blobpack_args.h"

#include <algorithm>
#include <limits>

#include "storage/pack/blob_key.h"

namespace rowfs {
namespace {

using Kind = BlobpackOption::Kind;

constexpr std::string_view kVersion = "0.2.0";
constexpr int kUsageError = 2;

// What -h and --help are in every parser; --version is the tool's own.
constexpr BlobpackOption kHelp = {"-h", Kind::kHelp, "", ""};

struct Word {
  enum class Role { kOption, kOperand, kSeparator };
  Role role = Role::kOperand;
  const BlobpackOption* option = nullptr;  // null: unknown
  std::string spelled;                     // as the option is named in full
  std::optional<std::string> value;        // behind "=" or a short option
};

// One parser: the tool's, or a verb's.
class Parser {
 public:
  Parser(const BlobpackVerb* verb, BlobpackParse* parse)
      : verb_(verb), parse_(*parse) {
    if (verb != nullptr) {
      options_.assign(verb->options.begin(), verb->options.end());
      operand_count_ = verb->operands.size();
    } else {
      options_ = {{"--version", Kind::kFlag, "", ""}};
    }
  }

  // Takes `words`; what it does not know goes to `extras`. Ends early when the
  // parse is done.
  void Run(std::span<const std::string> words,
           std::vector<std::string>* extras) {
    words_ = words;
    extras_ = extras;
    if (!Classify()) return;
    size_t at = 0;
    while (!parse_.done) {
      const size_t option = NextOption(at);
      if (option == words_.size()) break;
      if (option != at) {
        const size_t end = TakeOperands(at);
        if (end > at) {
          at = end;
          continue;
        }
        extras_->insert(extras_->end(), words_.begin() + Offset(at),
                        words_.begin() + Offset(option));
        at = option;
      }
      at = TakeOption(at);
    }
    if (parse_.done) return;
    at = TakeOperands(at);
    if (parse_.done) return;
    extras_->insert(extras_->end(), words_.begin() + Offset(at), words_.end());
    RequireOperands();
  }

  void Fail(const std::string& message) {
    parse_.done = true;
    parse_.code = kUsageError;
    parse_.err = BlobpackUsage(verb_) + "blobpack" +
                 (verb_ != nullptr ? " " + std::string(verb_->name) : "") +
                 ": error: " + message + "\n";
  }

 private:
  static std::ptrdiff_t Offset(size_t at) {
    return static_cast<std::ptrdiff_t>(at);
  }

  bool Classify() {
    bool separated = false;
    for (const std::string& word : words_) {
      Word parsed;
      if (!separated && word == "--") {
        parsed.role = Word::Role::kSeparator;
        separated = true;
      } else if (!separated && !ClassifyOption(word, &parsed)) {
        return false;
      }
      parsed_.push_back(std::move(parsed));
    }
    return true;
  }

  // All names with what they belong to, in order.
  std::vector<std::pair<std::string_view, const BlobpackOption*>> Names()
      const {
    std::vector<std::pair<std::string_view, const BlobpackOption*>> names = {
        {"-h", &kHelp}, {"--help", &kHelp}};
    for (const BlobpackOption& option : options_) {
      names.emplace_back(option.name, &option);
    }
    return names;
  }

  bool ClassifyOption(const std::string& word, Word* parsed) {
    if (!word.starts_with('-') || word.size() == 1) return true;
    const size_t equals = word.find('=');
    std::vector<Word> matches;
    const auto match = [&](std::string_view name, const BlobpackOption* option,
                           std::optional<std::string> value) {
      matches.push_back(
          {Word::Role::kOption, option, std::string(name), std::move(value)});
    };
    for (const auto& [name, option] : Names()) {
      if (name == word) {
        *parsed = {Word::Role::kOption, option, word, {}};
        return true;
      }
      if (equals != word.npos && name == word.substr(0, equals)) {
        matches.clear();
        match(name, option, word.substr(equals + 1));
        break;
      }
      if (word.starts_with("--")) {
        if (!name.starts_with(word.substr(0, equals))) continue;
        match(name, option,
              equals == word.npos
                  ? std::optional<std::string>()
                  : std::optional<std::string>(word.substr(equals + 1)));
      } else if (name == word.substr(0, 2)) {
        match(name, option, word.substr(2));
      }
    }
    if (matches.size() > 1) {
      std::string names;
      for (const Word& found : matches) {
        names += (names.empty() ? "" : ", ") + found.spelled;
      }
      Fail("ambiguous option: " + word + " could match " + names);
      return false;
    }
    if (matches.size() == 1) {
      *parsed = matches[0];
    } else if (!LooksLikeNumber(word) && word.find(' ') == word.npos) {
      parsed->role = Word::Role::kOption;
    }
    return true;
  }

  // "-5", "-.5", "-1.25": a negative number is an operand.
  static bool LooksLikeNumber(std::string_view word) {
    const auto digits = [](std::string_view text) {
      return std::all_of(text.begin(), text.end(),
                         [](char c) { return c >= '0' && c <= '9'; });
    };
    word.remove_prefix(1);
    const size_t dot = word.find('.');
    if (dot == word.npos) return !word.empty() && digits(word);
    return digits(word.substr(0, dot)) && dot + 1 < word.size() &&
           digits(word.substr(dot + 1));
  }

  size_t NextOption(size_t at) const {
    while (at < parsed_.size() && parsed_[at].role != Word::Role::kOption) {
      ++at;
    }
    return at;
  }

  bool Is(size_t at, Word::Role role) const {
    return at < parsed_.size() && parsed_[at].role == role;
  }

  // As many operands as follow one another from `at`; the tool's one operand
  // takes everything. Returns where it stopped.
  size_t TakeOperands(size_t at) {
    if (verb_ == nullptr) return TakeVerb(at);
    while (parse_.args.operands.size() < operand_count_) {
      size_t word = at;
      while (Is(word, Word::Role::kSeparator)) ++word;
      if (!Is(word, Word::Role::kOperand)) break;
      parse_.args.operands.push_back(words_[word]);
      at = word + 1;
      while (Is(at, Word::Role::kSeparator)) ++at;
    }
    return at;
  }

  size_t TakeVerb(size_t at) {
    size_t word = at;
    while (Is(word, Word::Role::kSeparator)) ++word;
    if (verb_taken_ || !Is(word, Word::Role::kOperand)) return at;
    verb_taken_ = true;
    const std::span<const BlobpackVerb> verbs = BlobpackVerbs();
    const auto found = std::find_if(
        verbs.begin(), verbs.end(),
        [&](const BlobpackVerb& v) { return v.name == words_[at]; });
    if (found == verbs.end()) {
      std::string names;
      for (const BlobpackVerb& verb : verbs) {
        names += (names.empty() ? "'" : ", '") + std::string(verb.name) + "'";
      }
      Fail("argument command: invalid choice: " + QuoteText(words_[at]) +
           " (choose from " + names + ")");
      return at;
    }
    parse_.args.verb = found->name;
    std::vector<std::string> extras;
    Parser(&*found, &parse_).Run(words_.subspan(at + 1), &extras);
    verb_extras_ = std::move(extras);
    return words_.size();
  }

  size_t TakeOption(size_t at) {
    const Word& word = parsed_[at];
    if (word.option == nullptr) {
      extras_->push_back(words_[at]);
      return at + 1;
    }
    const BlobpackOption& option = *word.option;
    const bool takes_value =
        option.kind != Kind::kFlag && option.kind != Kind::kHelp;
    std::vector<std::string> values;
    size_t end = at + 1;
    if (word.value && !takes_value) {
      // "-hh" is -h twice.
      const bool repeated = word.spelled == "-h" && !word.value->empty() &&
                            word.value->front() == 'h';
      if (!repeated) {
        FailOption(option,
                   "ignored explicit argument " + QuoteText(*word.value));
        return end;
      }
    } else if (word.value) {
      values.push_back(*word.value);
    } else if (takes_value) {
      const bool many = option.kind == Kind::kAppendMany;
      while (Is(end, Word::Role::kOperand) && (many || values.empty())) {
        values.push_back(words_[end++]);
      }
      if (values.empty()) {
        FailOption(option, many ? "expected at least one argument"
                                : "expected one argument");
        return end;
      }
    }
    Apply(option, std::move(values));
    return end;
  }

  void Apply(const BlobpackOption& option, std::vector<std::string> values) {
    if (option.kind == Kind::kHelp || option.name == "--version") {
      parse_.done = true;
      parse_.out = option.kind == Kind::kHelp ? BlobpackHelp(verb_)
                                              : std::string(kVersion) + "\n";
      return;
    }
    if (option.kind == Kind::kInteger && !ParsePythonInt(values[0])) {
      FailOption(option, "invalid int value: " + QuoteText(values[0]));
      return;
    }
    parse_.args.values[option.name].push_back(std::move(values));
  }

  void FailOption(const BlobpackOption& option, const std::string& message) {
    const std::string name =
        option.kind == Kind::kHelp ? "-h/--help" : std::string(option.name);
    Fail("argument " + name + ": " + message);
  }

  void RequireOperands() {
    std::string missing;
    if (verb_ == nullptr) {
      if (!verb_taken_) missing = "command";
      extras_->insert(extras_->end(), verb_extras_.begin(), verb_extras_.end());
    } else {
      for (size_t i = parse_.args.operands.size(); i < operand_count_; ++i) {
        missing += (missing.empty() ? "" : ", ") +
                   std::string(verb_->operands[i].first);
      }
    }
    if (!missing.empty()) {
      Fail("the following arguments are required: " + missing);
    }
  }

  const BlobpackVerb* const verb_;
  BlobpackParse& parse_;
  std::vector<BlobpackOption> options_;
  size_t operand_count_ = 0;
  bool verb_taken_ = false;
  std::vector<std::string> verb_extras_;
  std::span<const std::string> words_;
  std::vector<Word> parsed_;
  std::vector<std::string>* extras_ = nullptr;
};

}  // namespace

std::string BlobpackArgs::Get(std::string_view option,
                              std::string_view otherwise) const {
  const auto found = values.find(option);
  return found == values.end() ? std::string(otherwise)
                               : found->second.back().front();
}

std::vector<std::string> BlobpackArgs::GetAll(std::string_view option) const {
  std::vector<std::string> all;
  const auto found = values.find(option);
  if (found == values.end()) return all;
  for (const auto& given : found->second) all.push_back(given.front());
  return all;
}

BlobpackParse ParseBlobpack(std::span<const std::string> words) {
  BlobpackParse parse;
  Parser parser(nullptr, &parse);
  std::vector<std::string> extras;
  parser.Run(words, &extras);
  if (!parse.done && !extras.empty()) {
    std::string text;
    for (const std::string& extra : extras) {
      text += (text.empty() ? "" : " ") + extra;
    }
    parser.Fail("unrecognized arguments: " + text);
  }
  return parse;
}

std::optional<int64_t> ParsePythonInt(std::string_view text) {
  const auto is_space = [](char c) {
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
  };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  int64_t value = 0;
  bool after_digit = false;
  for (const char c : text) {
    if (c == '_' && after_digit) {
      after_digit = false;
      continue;
    }
    if (c < '0' || c > '9') return {};
    const int64_t digit = c - '0';
    value = value > (kMax - digit) / 10 ? kMax : value * 10 + digit;
    after_digit = true;
  }
  if (!after_digit) return {};
  return negative ? -value : value;
}

}  // namespace rowfs
