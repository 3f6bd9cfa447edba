// What the blobpack tool's --help says, laid out as argparse does.
#include <stdlib.h>

#include <algorithm>

#include "fs/cli/blobpack_args.h"

namespace rowfs {
namespace {

using Kind = BlobpackOption::Kind;
using Lines = std::vector<std::string>;

constexpr std::string_view kPrefix = "usage: ";
constexpr size_t kHelpPositionMax = 24;

constexpr std::string_view kRefBaseHelp =
    "pack dir path as seen from the dataset root (default: dst's final path "
    "component)";
constexpr BlobpackOption kPackOptions[] = {
    {"--ref-base", Kind::kValue, "REF_BASE", kRefBaseHelp},
    {"--max-pack-bytes", Kind::kInteger, "MAX_PACK_BYTES",
     "maximum shard file size (default 4 GiB, the classic-zip ceiling; use "
     "smaller for finer transfer granularity)"},
};
constexpr BlobpackOption kWdsOptions[] = {
    {"--ref-base", Kind::kValue, "REF_BASE", kRefBaseHelp},
    {"--max-pack-bytes", Kind::kInteger, "MAX_PACK_BYTES",
     "maximum shard file size (default 4 GiB)"},
    {"--shard-prefix", Kind::kFlag, "",
     "prefix keys with the source tar's stem (use when keys repeat across "
     "tars)"},
};
constexpr BlobpackOption kLanceOptions[] = {
    {"--column", Kind::kAppend, "COLUMN",
     "restrict extraction to this column (repeatable)"},
    {"--ref-base", Kind::kValue, "REF_BASE",
     "pack dir path as seen from the dataset root"},
    {"--max-pack-bytes", Kind::kInteger, "MAX_PACK_BYTES",
     "maximum shard file size (default 4 GiB)"},
    {"--yes", Kind::kFlag, "", "skip the confirmation prompt"},
    {"--dry-run", Kind::kFlag, "", "print the plan and stop"},
};
constexpr BlobpackOption kParquetOptions[] = {
    {"--column", Kind::kAppend, "COLUMN",
     "literal top-level binary column name (repeatable)"},
    {"--field", Kind::kAppendMany, "FIELD",
     "literal field path components, e.g. --field camera bytes"},
    {"--max-pack-bytes", Kind::kInteger, "MAX_PACK_BYTES", ""},
    {"--dry-run", Kind::kFlag, "", ""},
    {"--yes", Kind::kFlag, "", ""},
};
constexpr BlobpackOption kManifestOptions[] = {
    {"--force", Kind::kFlag, "", "rewrite an existing manifest"},
};

using Operand = std::pair<std::string_view, std::string_view>;
constexpr Operand kPackOperands[] = {
    {"src", "source directory (keys = relative paths)"},
    {"dst", "output pack directory"}};
constexpr Operand kWdsOperands[] = {
    {"src", "directory of .tar shards (or a single .tar)"},
    {"dst", "output pack directory"}};
constexpr Operand kLanceOperands[] = {
    {"src", "Lance dataset (.lance directory)"},
    {"dst", "output directory (receives media/ and table.lance)"}};
constexpr Operand kParquetOperands[] = {
    {"src", "Parquet file or directory of Parquet files"},
    {"dst", "new output directory (tables/, media/, extraction.json)"}};
constexpr Operand kUnpackOperands[] = {{"src", "pack directory"},
                                       {"dst", "output directory"}};
constexpr Operand kSourceOperands[] = {{"src", "pack directory"}};

constexpr BlobpackVerb kVerbs[] = {
    {"pack", "pack a directory of files into shards", kPackOptions,
     kPackOperands},
    {"convert-wds", "convert WebDataset tar shards into packs", kWdsOptions,
     kWdsOperands},
    {"convert-lance", "move a Lance dataset's payload columns into packs",
     kLanceOptions, kLanceOperands},
    {"convert-parquet", "extract selected Parquet binary fields into packs",
     kParquetOptions, kParquetOperands},
    {"unpack", "extract all blobs back to files", {}, kUnpackOperands},
    {"ls", "list blobs (size, shard, key)", {}, kSourceOperands},
    {"verify",
     "at-rest integrity check (STORED + CRC + manifest if present)",
     {},
     kSourceOperands},
    {"manifest", "write a per-shard sha256 manifest", kManifestOptions,
     kSourceOperands},
};

size_t Width() {
  const char* columns = ::getenv("COLUMNS");
  const auto value =
      columns == nullptr ? std::nullopt : ParsePythonInt(columns);
  return value && *value > 0 ? static_cast<size_t>(std::max<int64_t>(
                                   std::min<int64_t>(*value, 10'000) - 2, 11))
                             : 78;
}

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Words and the spaces between; a hyphen between letters ends a word too.
std::vector<std::string_view> Chunks(std::string_view text) {
  std::vector<std::string_view> chunks;
  size_t begin = 0;
  const auto cut = [&](size_t end) {
    if (end > begin) chunks.push_back(text.substr(begin, end - begin));
    begin = end;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') {
      cut(i);
      cut(i + 1);
    } else if (text[i] == '-' && i >= begin + 2 && IsLetter(text[i - 1]) &&
               IsLetter(text[i - 2]) && i + 2 < text.size() &&
               IsLetter(text[i + 1]) && IsLetter(text[i + 2])) {
      cut(i + 1);
    }
  }
  cut(text.size());
  return chunks;
}

Lines Wrap(std::string_view text, size_t width) {
  Lines lines;
  std::string line;
  for (const std::string_view chunk : Chunks(text)) {
    if (line.size() + chunk.size() > width) {
      while (line.ends_with(' ')) line.pop_back();
      if (!line.empty()) lines.push_back(std::move(line));
      line.clear();
    }
    if (chunk == " " && line.empty()) continue;
    line += chunk;
  }
  while (line.ends_with(' ')) line.pop_back();
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string Invocation(const BlobpackOption& option) {
  std::string text(option.name);
  if (!option.metavar.empty()) {
    const std::string metavar(option.metavar);
    text += " " + metavar;
    if (option.kind == Kind::kAppendMany) text += " [" + metavar + " ...]";
  }
  return text;
}

std::string Choices() {
  std::string text = "{";
  for (const BlobpackVerb& verb : kVerbs) {
    text += (text.size() > 1 ? "," : "") + std::string(verb.name);
  }
  return text + "}";
}

std::string Joined(const Lines& parts) {
  std::string text;
  for (const std::string& part : parts) {
    text += (text.empty() ? "" : " ") + part;
  }
  return text;
}

// Parts in lines behind `indent`; the first line has `used` columns taken.
Lines Fill(const Lines& parts, size_t indent, size_t used) {
  Lines lines;
  std::string line;
  size_t column = used - 1;
  for (const std::string& part : parts) {
    if (column + 1 + part.size() > Width() && !line.empty()) {
      lines.push_back(std::string(indent, ' ') + line);
      line.clear();
      column = indent - 1;
    }
    line += (line.empty() ? "" : " ") + part;
    column += part.size() + 1;
  }
  if (!line.empty()) lines.push_back(std::string(indent, ' ') + line);
  return lines;
}

struct Entry {
  size_t indent;
  std::string invocation;
  std::string_view help;
};

std::string Section(std::string_view title, const std::vector<Entry>& entries,
                    size_t help_position) {
  std::string text = std::string(title) + ":\n";
  const size_t help_width =
      Width() > help_position + 11 ? Width() - help_position : 11;
  for (const Entry& entry : entries) {
    const std::string head = std::string(entry.indent, ' ') + entry.invocation;
    text += head;
    if (entry.help.empty()) {
      text += "\n";
      continue;
    }
    const bool beside = head.size() + 2 <= help_position;
    if (!beside) text += "\n";
    bool first = true;
    for (const std::string& line : Wrap(entry.help, help_width)) {
      text += std::string(
          first && beside ? help_position - head.size() : help_position, ' ');
      text += line + "\n";
      first = false;
    }
  }
  return text;
}

}  // namespace

std::span<const BlobpackVerb> BlobpackVerbs() { return kVerbs; }

std::string BlobpackUsage(const BlobpackVerb* verb) {
  std::string program = "blobpack";
  Lines options = {"[-h]"};
  Lines operands;
  if (verb == nullptr) {
    options.push_back("[--version]");
    operands = {Choices(), "..."};
  } else {
    program += " " + std::string(verb->name);
    for (const BlobpackOption& option : verb->options) {
      options.push_back("[" + Invocation(option) + "]");
    }
    for (const Operand& operand : verb->operands) {
      operands.emplace_back(operand.first);
    }
  }
  const std::string whole =
      program + " " + Joined(options) + " " + Joined(operands);
  if (kPrefix.size() + whole.size() <= Width()) {
    return std::string(kPrefix) + whole + "\n";
  }
  Lines lines;
  const size_t head = kPrefix.size() + program.size();
  if (4 * head <= 3 * Width()) {
    // Behind the program's name, operands on lines of their own.
    const size_t indent = head + 1;
    lines = Fill(options, indent, indent);
    lines[0] = program + " " + lines[0].substr(indent);
    for (std::string& line : Fill(operands, indent, indent)) {
      lines.push_back(std::move(line));
    }
  } else {
    const size_t indent = kPrefix.size();
    Lines parts = options;
    parts.insert(parts.end(), operands.begin(), operands.end());
    lines = Fill(parts, indent, indent);
    if (lines.size() > 1) {
      lines = Fill(options, indent, indent);
      for (std::string& line : Fill(operands, indent, indent)) {
        lines.push_back(std::move(line));
      }
    }
    lines.insert(lines.begin(), program);
  }
  std::string text(kPrefix);
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string BlobpackHelp(const BlobpackVerb* verb) {
  std::vector<Entry> operands;
  std::vector<Entry> options = {
      {2, "-h, --help", "show this help message and exit"}};
  if (verb == nullptr) {
    operands.push_back({2, Choices(), ""});
    for (const BlobpackVerb& each : kVerbs) {
      operands.push_back({4, std::string(each.name), each.summary});
    }
    options.push_back(
        {2, "--version", "show program's version number and exit"});
  } else {
    for (const Operand& operand : verb->operands) {
      operands.push_back({2, std::string(operand.first), operand.second});
    }
    for (const BlobpackOption& option : verb->options) {
      options.push_back({2, Invocation(option), option.help});
    }
  }
  size_t longest = 0;
  for (const auto* entries : {&operands, &options}) {
    for (const Entry& entry : *entries) {
      longest = std::max(longest, entry.indent + entry.invocation.size());
    }
  }
  const size_t cap = std::min(
      kHelpPositionMax, std::max<size_t>(Width() > 20 ? Width() - 20 : 0, 4));
  const size_t help_position = std::min(longest + 2, cap);
  std::string text = BlobpackUsage(verb) + "\n";
  if (verb == nullptr) {
    text += "Pack dataset media into plain STORED zip shards.\n\n";
  }
  return text + Section("positional arguments", operands, help_position) +
         "\n" + Section("options", options, help_position);
}

}  // namespace rowfs
