// Tar files made block by block, right or wrong in one place.
#ifndef ROWFS_TESTS_STORAGE_PACK_TAR_BUILDER_H_
#define ROWFS_TESTS_STORAGE_PACK_TAR_BUILDER_H_

#include <string>
#include <string_view>

namespace rowfs {

class TarBuilder {
 public:
  // A member of `type` with `data` behind its header, which says `size`.
  void Add(std::string_view name, std::string_view data, char type = '0',
           std::string_view link = "") {
    AddSized(name, data, data.size(), type, link);
  }
  void AddSized(std::string_view name, std::string_view data, size_t size,
                char type = '0', std::string_view link = "") {
    std::string block(512, '\0');
    block.replace(0, std::min<size_t>(name.size(), 100), name.substr(0, 100));
    Octal(0644, 8, 100, &block);
    Octal(0, 8, 108, &block);
    Octal(0, 8, 116, &block);
    Octal(size, 12, 124, &block);
    Octal(0, 12, 136, &block);
    block[156] = type;
    block.replace(157, link.size(), link);
    block.replace(257, 8, std::string("ustar\0", 6) + "00");
    AddHeader(block, data);
  }
  // A header whose checksum is set here.
  void AddHeader(std::string block, std::string_view data) {
    block.replace(148, 8, "        ");
    unsigned sum = 0;
    for (const char c : block) sum += static_cast<unsigned char>(c);
    Octal(sum, 8, 148, &block);
    bytes_ += block + std::string(data);
    bytes_.resize((bytes_.size() + 511) / 512 * 512);
  }
  static std::string PaxRecord(std::string_view key, std::string_view value) {
    const size_t rest = key.size() + value.size() + 3;
    size_t length = rest + 1;
    while (std::to_string(length).size() + rest != length) ++length;
    return std::to_string(length) + " " + std::string(key) + "=" +
           std::string(value) + "\n";
  }
  void Raw(std::string_view bytes) { bytes_ += bytes; }
  // With the end mark.
  std::string Finish() const { return bytes_ + std::string(1024, '\0'); }
  std::string Unfinished() const { return bytes_; }

 private:
  static void Octal(size_t value, size_t width, size_t at, std::string* block) {
    for (size_t i = width - 1; i-- > 0; value /= 8) {
      (*block)[at + i] = static_cast<char>('0' + value % 8);
    }
  }

  std::string bytes_;
};

}  // namespace rowfs
#endif  // ROWFS_TESTS_STORAGE_PACK_TAR_BUILDER_H_
