#include "fs/fuse/fuse_reply.h"

#include <cerrno>

namespace rowfs {

int ErrnoOf(Code code) {
  switch (code) {
    case Code::kOk:
      return 0;
    case Code::kNotFound:
      return ENOENT;
    case Code::kInvalidArgument:
    case Code::kOutOfRange:
      return EINVAL;
    case Code::kAlreadyExists:
      return EEXIST;
    case Code::kUnsupported:
      return EOPNOTSUPP;
    case Code::kChanged:
      return ESTALE;
    case Code::kPermissionDenied:
      return EACCES;
    case Code::kDeadlineExceeded:
      return ETIMEDOUT;
    case Code::kResourceExhausted:
      return ENOMEM;
    case Code::kCancelled:
      return EINTR;
    case Code::kCorruption:
    case Code::kUnavailable:
    case Code::kInternal:
      return EIO;
  }
  return EIO;
}

int ContentErrnoOf(Code code) {
  const int error = ErrnoOf(code);
  const bool kept = error == 0 || error == ESTALE || error == EINTR;
  return kept ? error : EIO;
}

std::string_view ErrnoName(int error) {
  switch (error) {
    case ENOENT:
      return "ENOENT";
    case EINVAL:
      return "EINVAL";
    case EEXIST:
      return "EEXIST";
    case EOPNOTSUPP:
      return "EOPNOTSUPP";
    case ESTALE:
      return "ESTALE";
    case EACCES:
      return "EACCES";
    case ETIMEDOUT:
      return "ETIMEDOUT";
    case ENOMEM:
      return "ENOMEM";
    case EINTR:
      return "EINTR";
    case EIO:
      return "EIO";
    case EROFS:
      return "EROFS";
    default:
      return "other";
  }
}

struct stat StatOf(const Attributes& attributes, const Ownership& owner) {
  struct stat result = {};
  result.st_ino = attributes.inode;
  result.st_size = static_cast<off_t>(attributes.size);
  // `du` and `cp` look for holes where this is short.
  result.st_blocks = static_cast<blkcnt_t>((attributes.size + 511) / 512);
  result.st_blksize = 4096;
  result.st_uid = owner.uid;
  result.st_gid = owner.gid;
  result.st_nlink = 1;
  switch (attributes.type) {
    case NodeType::kFile:
      result.st_mode = S_IFREG | (0666 & ~owner.umask);
      break;
    case NodeType::kDirectory:
      result.st_mode = S_IFDIR | (0777 & ~owner.umask);
      result.st_nlink = 2;
      break;
    case NodeType::kLink:
      result.st_mode = S_IFLNK | 0777;
      break;
  }
  constexpr int64_t kSecond = 1'000'000'000;
  result.st_mtim.tv_sec = attributes.mtime_ns / kSecond;
  result.st_mtim.tv_nsec = attributes.mtime_ns % kSecond;
  result.st_ctim = result.st_mtim;
  result.st_atim = result.st_mtim;
  return result;
}

fuse_entry_param EntryOf(const Entry& entry, const Ownership& owner) {
  fuse_entry_param result = {};
  result.ino = entry.node;
  result.attr = StatOf(entry.attributes, owner);
  result.attr_timeout = entry.attributes.size_exact ? kForever : 0;
  result.entry_timeout = kForever;
  return result;
}

Request::~Request() {
  if (request_ != nullptr) fuse_reply_err(request_, EIO);
}

}  // namespace rowfs
