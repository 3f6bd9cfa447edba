// Zip files made byte by byte, right or wrong in one place.
#ifndef ROWFS_TESTS_STORAGE_PACK_ZIP_BUILDER_H_
#define ROWFS_TESTS_STORAGE_PACK_ZIP_BUILDER_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/hash.h"

namespace rowfs {

struct ZipFile {
  std::string name;
  std::string data;  // as stored
  uint16_t method = 0;
  uint16_t flags = 0;
  std::optional<uint32_t> size;    // of the content; default: data.size()
  std::optional<uint32_t> stored;  // as the directory says
  std::optional<uint32_t> crc;
  std::optional<uint32_t> offset;  // of the local header, as it says
  std::string local_name;          // empty: name
  std::string local_extra;
  std::string extra;
};

class ZipBuilder {
 public:
  void Add(ZipFile file) {
    const auto at = static_cast<uint32_t>(bytes_.size());
    const std::string& local =
        file.local_name.empty() ? file.name : file.local_name;
    AppendU32(&bytes_, 0x04034b50);
    AppendU16(&bytes_, 20);
    Common(file, &bytes_);
    AppendU16(&bytes_, static_cast<uint16_t>(local.size()));
    AppendU16(&bytes_, static_cast<uint16_t>(file.local_extra.size()));
    AppendText(&bytes_, local + file.local_extra + file.data);
    if (!file.offset) file.offset = at;
    files_.push_back(std::move(file));
  }
  void Add(std::string_view name, std::string_view data) {
    Add(ZipFile{std::string(name), std::string(data)});
  }

  // The whole file. `entries` is what the end record states.
  std::string Finish(std::string_view comment = "",
                     std::optional<uint16_t> entries = {}) {
    const size_t begin = bytes_.size();
    for (const ZipFile& file : files_) {
      AppendU32(&bytes_, 0x02014b50);
      AppendU16(&bytes_, 20 | (3 << 8));
      AppendU16(&bytes_, 20);
      Common(file, &bytes_);
      AppendU16(&bytes_, static_cast<uint16_t>(file.name.size()));
      AppendU16(&bytes_, static_cast<uint16_t>(file.extra.size()));
      AppendU16(&bytes_, 0);
      AppendU16(&bytes_, 0);
      AppendU16(&bytes_, 0);
      AppendU32(&bytes_, 0x01800000);
      AppendU32(&bytes_, *file.offset);
      AppendText(&bytes_, file.name + file.extra);
    }
    const size_t size = bytes_.size() - begin;
    AppendU32(&bytes_, 0x06054b50);
    AppendU32(&bytes_, 0);
    const auto count =
        entries.value_or(static_cast<uint16_t>(files_.size() & 0xffff));
    AppendU16(&bytes_, count);
    AppendU16(&bytes_, count);
    AppendU32(&bytes_, static_cast<uint32_t>(size));
    AppendU32(&bytes_, static_cast<uint32_t>(begin));
    AppendU16(&bytes_, static_cast<uint16_t>(comment.size()));
    AppendText(&bytes_, comment);
    return std::string(AsText(bytes_));
  }

 private:
  static void Common(const ZipFile& file, Bytes* out) {
    AppendU16(out, file.flags);
    AppendU16(out, file.method);
    AppendU16(out, 0);
    AppendU16(out, 0x21);
    AppendU32(out, file.crc.value_or(Crc32(AsBytes(file.data))));
    const auto size = static_cast<uint32_t>(file.data.size());
    AppendU32(out, file.stored.value_or(size));
    AppendU32(out, file.size.value_or(size));
  }

  Bytes bytes_;
  std::vector<ZipFile> files_;
};

}  // namespace rowfs
#endif  // ROWFS_TESTS_STORAGE_PACK_ZIP_BUILDER_H_
