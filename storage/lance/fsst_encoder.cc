#include "storage/lance/fsst_encoder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <tuple>

namespace rowfs {
namespace {

constexpr size_t kSymbolsMax = 255;
constexpr uint8_t kEscape = 255;
constexpr size_t kSymbolBytesMax = 8;
constexpr size_t kSampleBytes = size_t{1} << 15;
constexpr size_t kSampleStringBytes = 512;
constexpr size_t kTableBytes = 8 + 256 * 8 + 256;
constexpr int kRounds = 5;

struct Symbol {
  uint64_t value = 0;  // the bytes, the first one lowest
  uint8_t length = 0;

  auto operator<=>(const Symbol&) const = default;
};

uint64_t Mask(size_t length) {
  return length >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * length)) - 1;
}

uint64_t LoadUpTo8(ByteSpan bytes) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), size_t{8}));
  return value;
}

class SymbolTable {
 public:
  SymbolTable() = default;
  explicit SymbolTable(std::vector<Symbol> symbols)
      : symbols_(std::move(symbols)) {
    for (size_t i = 0; i < symbols_.size(); ++i) {
      by_first_[symbols_[i].value & 0xFF].push_back(static_cast<uint8_t>(i));
    }
    for (auto& codes : by_first_) {
      std::stable_sort(codes.begin(), codes.end(), [&](uint8_t a, uint8_t b) {
        return symbols_[a].length > symbols_[b].length;
      });
    }
  }

  const std::vector<Symbol>& symbols() const { return symbols_; }

  // The code of the longest symbol that `bytes` starts with, or kEscape.
  uint8_t Find(ByteSpan bytes) const {
    const uint64_t value = LoadUpTo8(bytes);
    for (const uint8_t code : by_first_[value & 0xFF]) {
      const Symbol& symbol = symbols_[code];
      if (symbol.length <= bytes.size() &&
          (value & Mask(symbol.length)) == symbol.value) {
        return code;
      }
    }
    return kEscape;
  }

  void Encode(ByteSpan bytes, Bytes* out) const {
    while (!bytes.empty()) {
      const uint8_t code = Find(bytes);
      out->push_back(std::byte{code});
      if (code == kEscape) out->push_back(bytes[0]);
      bytes = bytes.subspan(code == kEscape ? 1 : symbols_[code].length);
    }
  }

 private:
  std::vector<Symbol> symbols_;
  std::array<std::vector<uint8_t>, 256> by_first_;
};

// Pieces of the strings, spread over all of them.
std::vector<ByteSpan> MakeSample(ByteSpan data,
                                 std::span<const uint64_t> ends) {
  std::vector<ByteSpan> sample;
  const size_t step = std::max<size_t>(1, data.size() / kSampleBytes / 2 + 1);
  size_t size = 0;
  for (size_t i = 0; i < ends.size() && size < kSampleBytes; i += step) {
    const uint64_t begin = i == 0 ? 0 : ends[i - 1];
    ByteSpan piece = data.subspan(begin, ends[i] - begin);
    piece = piece.first(std::min(piece.size(), kSampleStringBytes));
    size += piece.size();
    sample.push_back(piece);
  }
  return sample;
}

// Count how often each symbol (or literal byte), and each pair of neighbours,
// would be used; return the symbols worth most.
SymbolTable Improve(const SymbolTable& table,
                    const std::vector<ByteSpan>& sample) {
  std::map<Symbol, uint64_t> gains;
  const auto count = [&](const Symbol& symbol) {
    // Single bytes save an escape each time, which the length does not show.
    gains[symbol] += symbol.length == 1 ? 8 : symbol.length;
  };
  for (ByteSpan piece : sample) {
    Symbol previous;
    while (!piece.empty()) {
      const uint8_t code = table.Find(piece);
      const Symbol current = code == kEscape
                                 ? Symbol{LoadUpTo8(piece) & 0xFF, 1}
                                 : table.symbols()[code];
      count(current);
      if (current.length > 1) count({current.value & 0xFF, 1});
      if (previous.length > 0 && previous.length < kSymbolBytesMax) {
        const size_t length = std::min<size_t>(
            kSymbolBytesMax, size_t{previous.length} + current.length);
        const uint64_t value =
            previous.value | (current.value << (8 * previous.length));
        count({value & Mask(length), static_cast<uint8_t>(length)});
      }
      previous = current;
      piece = piece.subspan(current.length);
    }
  }
  std::vector<std::pair<uint64_t, Symbol>> ranked;
  for (const auto& [symbol, gain] : gains) ranked.emplace_back(gain, symbol);
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
    return std::tie(b.first, a.second) < std::tie(a.first, b.second);
  });
  std::vector<Symbol> best;
  for (const auto& [gain, symbol] : ranked) {
    if (best.size() == kSymbolsMax) break;
    best.push_back(symbol);
  }
  return SymbolTable(std::move(best));
}

std::string ExportTable(const SymbolTable& table) {
  Bytes out;
  constexpr uint64_t kMagic = uint64_t{0x46535354} << 32;  // "FSST"
  constexpr uint64_t kCompressed = uint64_t{1} << 24;
  AppendU64(&out, kMagic | kCompressed | table.symbols().size());
  for (const Symbol& symbol : table.symbols()) AppendU64(&out, symbol.value);
  for (const Symbol& symbol : table.symbols()) AppendU8(&out, symbol.length);
  out.resize(kTableBytes);
  return std::string(AsText(out));
}

}  // namespace

FsstStrings EncodeFsst(ByteSpan data, std::span<const uint64_t> ends) {
  const std::vector<ByteSpan> sample = MakeSample(data, ends);
  SymbolTable table;
  for (int i = 0; i < kRounds; ++i) table = Improve(table, sample);
  FsstStrings out;
  out.table = ExportTable(table);
  out.ends.reserve(ends.size());
  uint64_t begin = 0;
  for (const uint64_t end : ends) {
    table.Encode(data.subspan(begin, end - begin), &out.data);
    out.ends.push_back(out.data.size());
    begin = end;
  }
  return out;
}

}  // namespace rowfs
