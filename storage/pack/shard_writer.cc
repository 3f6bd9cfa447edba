#include "storage/pack/shard_writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "storage/base/hash.h"

namespace rowfs {
namespace {

constexpr uint32_t kLocalMagic = 0x04034b50;
constexpr uint32_t kEntryMagic = 0x02014b50;
constexpr uint32_t kEndMagic = 0x06054b50;
constexpr uint32_t kZip64EndMagic = 0x06064b50;
constexpr uint32_t kZip64LocatorMagic = 0x07064b50;
constexpr uint16_t kVersion = 20;
constexpr uint16_t kZip64Version = 45;
constexpr uint16_t kUnix = 3;
constexpr uint16_t kUtf8Flag = 0x800;
constexpr uint16_t kDate = 0x21;                  // 1980-01-01
constexpr uint32_t kMode = uint32_t{0600} << 16;  // what zipfile writes
constexpr uint16_t kZip64Extra = 1;
constexpr uint32_t kInExtra = 0xffffffff;
constexpr uint64_t kCountMax = 0xffff;

// Small members reach the file in pieces of this size, with their headers.
constexpr size_t kBufferBytes = 1 << 20;

uint16_t NameFlags(std::string_view key) {
  const bool ascii = std::all_of(key.begin(), key.end(), [](char c) {
    return static_cast<uint8_t>(c) < 0x80;
  });
  return ascii ? 0 : kUtf8Flag;
}

Bytes LocalHeader(std::string_view key, uint64_t size, uint32_t crc) {
  const bool zip64 = size > kZip64Limit;
  const uint32_t small = zip64 ? kInExtra : static_cast<uint32_t>(size);
  Bytes out;
  AppendU32(&out, kLocalMagic);
  AppendU16(&out, zip64 ? kZip64Version : kVersion);
  AppendU16(&out, NameFlags(key));
  AppendU16(&out, 0);  // STORED
  AppendU16(&out, 0);  // time
  AppendU16(&out, kDate);
  AppendU32(&out, crc);
  AppendU32(&out, small);
  AppendU32(&out, small);
  AppendU16(&out, static_cast<uint16_t>(key.size()));
  AppendU16(&out, zip64 ? 20 : 0);
  AppendText(&out, key);
  if (zip64) {
    AppendU16(&out, kZip64Extra);
    AppendU16(&out, 16);
    AppendU64(&out, size);
    AppendU64(&out, size);
  }
  return out;
}

}  // namespace

ShardWriter::ShardWriter(std::string path, std::string temporary,
                         PosixFile file)
    : path_(std::move(path)),
      temporary_(std::move(temporary)),
      file_(std::move(file)) {
  buffer_.reserve(kBufferBytes);
}

ShardWriter::~ShardWriter() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<std::unique_ptr<ShardWriter>> ShardWriter::Create(
    const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name;
  ROWFS_RETURN_IF_ERROR(CheckPath(path));
  ROWFS_ASSIGN_OR_RETURN(const std::string unique, UniqueName());
  // Hidden, and no "*.zip": no reader takes it for a shard.
  std::string temporary = folder + "/." + name + "." + unique;
  PosixFile file(
      ::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.is_open()) return ErrnoStatus(errno, path, "create");
  return std::unique_ptr<ShardWriter>(
      new ShardWriter(path, std::move(temporary), std::move(file)));
}

Status ShardWriter::Flush() {
  if (!status_.ok() || buffer_.empty()) return status_;
  status_ = WriteAll(file_, path_, buffer_);
  flushed_ += buffer_.size();
  buffer_.clear();
  return status_;
}

Status ShardWriter::Begin(std::string_view key, uint64_t size) {
  ROWFS_RETURN_IF_ERROR(status_);
  key_ = key;
  size_ = size;
  written_ = 0;
  crc_ = 0;
  const Bytes header = LocalHeader(key, size, 0);
  if (buffer_.size() + header.size() + size > kBufferBytes) {
    ROWFS_RETURN_IF_ERROR(Flush());
  }
  header_offset_ = flushed_ + buffer_.size();
  AppendBytes(&buffer_, header);
  return {};
}

Status ShardWriter::Write(ByteSpan bytes) {
  ROWFS_RETURN_IF_ERROR(status_);
  crc_ = Crc32(bytes, crc_);
  written_ += bytes.size();
  if (buffer_.size() + bytes.size() > kBufferBytes) {
    ROWFS_RETURN_IF_ERROR(Flush());
  }
  if (bytes.size() < kBufferBytes) {
    AppendBytes(&buffer_, bytes);
    return {};
  }
  status_ = WriteAll(file_, path_, bytes);
  flushed_ += bytes.size();
  return status_;
}

Status ShardWriter::PatchHeader() {
  const Bytes header = LocalHeader(key_, size_, crc_);
  if (header_offset_ >= flushed_) {
    std::copy(header.begin(), header.end(),
              buffer_.begin() +
                  static_cast<std::ptrdiff_t>(header_offset_ - flushed_));
    return {};
  }
  size_t done = 0;
  while (done < header.size()) {
    const ssize_t count =
        ::pwrite(file_.fd(), header.data() + done, header.size() - done,
                 static_cast<off_t>(header_offset_ + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, path_, "write");
    done += static_cast<size_t>(count);
  }
  return {};
}

Status ShardWriter::End() {
  ROWFS_RETURN_IF_ERROR(status_);
  if (written_ != size_) {
    status_ = Status(Code::kCorruption, path_ + ": member got " +
                                            std::to_string(written_) + " of " +
                                            std::to_string(size_) + " bytes");
    return status_;
  }
  status_ = PatchHeader();
  if (status_.ok()) AppendEntry();
  return status_;
}

void ShardWriter::AppendEntry() {
  Bytes extra;
  uint32_t small = static_cast<uint32_t>(size_);
  if (size_ > kZip64Limit) {
    small = kInExtra;
    AppendU64(&extra, size_);
    AppendU64(&extra, size_);
  }
  uint32_t offset = static_cast<uint32_t>(header_offset_);
  if (header_offset_ > kZip64Limit) {
    offset = kInExtra;
    AppendU64(&extra, header_offset_);
  }
  const uint16_t version = extra.empty() ? kVersion : kZip64Version;
  AppendU32(&directory_, kEntryMagic);
  AppendU16(&directory_, static_cast<uint16_t>(version | kUnix << 8));
  AppendU16(&directory_, version);
  AppendU16(&directory_, NameFlags(key_));
  AppendU16(&directory_, 0);  // STORED
  AppendU16(&directory_, 0);  // time
  AppendU16(&directory_, kDate);
  AppendU32(&directory_, crc_);
  AppendU32(&directory_, small);
  AppendU32(&directory_, small);
  AppendU16(&directory_, static_cast<uint16_t>(key_.size()));
  AppendU16(&directory_,
            static_cast<uint16_t>(extra.empty() ? 0 : extra.size() + 4));
  AppendU16(&directory_, 0);  // comment
  AppendU16(&directory_, 0);  // disk
  AppendU16(&directory_, 0);  // internal attributes
  AppendU32(&directory_, kMode);
  AppendU32(&directory_, offset);
  AppendText(&directory_, key_);
  if (!extra.empty()) {
    AppendU16(&directory_, kZip64Extra);
    AppendU16(&directory_, static_cast<uint16_t>(extra.size()));
    AppendBytes(&directory_, extra);
  }
  ++member_count_;
}

void ShardWriter::AppendEnd() {
  const uint64_t offset = flushed_;
  const uint64_t size = directory_.size();
  Bytes end;
  if (member_count_ > kCountMax || offset > kZip64Limit || size > kZip64Limit) {
    AppendU32(&end, kZip64EndMagic);
    AppendU64(&end, 44);  // bytes of this record behind here
    AppendU16(&end, kZip64Version);
    AppendU16(&end, kZip64Version);
    AppendU32(&end, 0);
    AppendU32(&end, 0);
    AppendU64(&end, member_count_);
    AppendU64(&end, member_count_);
    AppendU64(&end, size);
    AppendU64(&end, offset);
    AppendU32(&end, kZip64LocatorMagic);
    AppendU32(&end, 0);
    AppendU64(&end, offset + size);
    AppendU32(&end, 1);
  }
  // The classic record keeps true values as long as they fit.
  const auto count = static_cast<uint16_t>(std::min(member_count_, kCountMax));
  const auto clamp = [](uint64_t value) {
    return static_cast<uint32_t>(std::min<uint64_t>(value, kInExtra));
  };
  AppendU32(&end, kEndMagic);
  AppendU32(&end, 0);  // disks
  AppendU16(&end, count);
  AppendU16(&end, count);
  AppendU32(&end, clamp(size));
  AppendU32(&end, clamp(offset));
  AppendU16(&end, 0);  // comment
  AppendBytes(&directory_, end);
}

Status ShardWriter::Close() {
  ROWFS_RETURN_IF_ERROR(Flush());
  AppendEnd();
  status_ = WriteAll(file_, path_, directory_);
  if (status_.ok() && ::fsync(file_.fd()) != 0) {
    status_ = ErrnoStatus(errno, path_, "sync");
  }
  file_ = PosixFile();
  directory_ = Bytes();
  buffer_ = Bytes();
  return status_;
}

Status ShardWriter::Publish() {
  ROWFS_RETURN_IF_ERROR(status_);
  if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(),
                  RENAME_NOREPLACE) != 0) {
    // File systems without the flag: the folder was empty of shards when this
    // began.
    if (errno != EINVAL || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
      status_ = ErrnoStatus(errno, path_, "rename");
      return status_;
    }
  }
  temporary_.clear();
  return {};
}

}  // namespace rowfs
