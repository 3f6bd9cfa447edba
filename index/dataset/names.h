// Names that a file system can carry, made of values that were not meant as
// names.
//
// Pure functions, thread-safe.
#ifndef ROWFS_INDEX_DATASET_NAMES_H_
#define ROWFS_INDEX_DATASET_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace rowfs {

inline constexpr size_t kNameBytesMax = 255;

// `value` as one path part: '/', NUL, control bytes and '%' become %XX, "." and
// ".." become %2E and %2E%2E, the empty string "%". A name longer than
// `bytes_max` is cut (at a UTF-8 border) and ends in '~' and 8 hex digits of
// the SHA-256 of `value`. Reversible when not cut.
std::string EscapeName(std::string_view value,
                       size_t bytes_max = kNameBytesMax);

// The longest prefix of at most `size` bytes that cuts neither a UTF-8 sequence
// nor a %XX.
std::string_view CutName(std::string_view text, size_t size);

// Gives every name once: the first keeps it, the next get "~2", "~3" at the
// end; stays within kNameBytesMax.
class UniqueNames {
 public:
  // `name` itself or the first free "name~N"; taken from now on.
  std::string Take(std::string_view name);
  // The stem, or the first "stem~N", for which every stem + suffix is free;
  // takes them all.
  std::string TakeStem(std::string_view stem,
                       std::span<const std::string> suffixes);
  bool Has(std::string_view name) const;
  void Reserve(std::string_view name) { taken_.emplace(name); }

 private:
  std::set<std::string, std::less<>> taken_;
};

}  // namespace rowfs
#endif  // ROWFS_INDEX_DATASET_NAMES_H_
