#include "fs/fuse/fuse_ops.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "fs/fuse/fuse_listing.h"
#include "storage/base/deferred_copies.h"

namespace rowfs {
namespace {

constexpr std::string_view kPidXattr = "user.rowfs.pid";

FuseContext& ContextOf(fuse_req_t request) {
  return *static_cast<FuseContext*>(fuse_req_userdata(request));
}

bool WouldWait(const Status& status) {
  return status.code() == Code::kUnavailable;
}
const Status& StatusOf(const Status& status) { return status; }
template <typename T>
Status StatusOf(const Result<T>& result) {
  return result.status();
}

// Answer an error, count it, and log what a person would want to know about.
void Fail(FuseContext& context, Request request, const char* operation,
          const Status& status, int error) {
  if (error != ENOENT) context.tree.CountError(ErrnoName(error));
  if (context.log != nullptr && error != ENOENT) {
    context.log->Log(
        LogLevel::kError, "fuse",
        std::string(operation) + ": " + std::string(status.message()));
  }
  request.Error(error);
}

// Call the tree without waiting and answer; where it would have to wait, do the
// same on the blocking pool.
template <typename Call, typename Answer>
void Do(FuseContext& context, Request request, Call call, Answer answer) {
  auto result = call(Wait::kNo);
  if (!WouldWait(StatusOf(result))) {
    answer(std::move(request), std::move(result));
    return;
  }
  context.blocking.Run(std::move(request), [call, answer] {
    auto made = std::make_shared<decltype(result)>(call(Wait::kYes));
    return [answer, made](Request own) {
      answer(std::move(own), std::move(*made));
    };
  });
}

// No exception leaves an operation; whatever was not answered is EIO.
template <typename Body>
void Guard(fuse_req_t raw, Body body) {
  Request request(raw);
  try {
    body(ContextOf(raw), request);
  } catch (...) {
  }
}

// ---- capabilities -----------------------------------------------------------

struct Capability {
  unsigned flag;
  bool wanted;
  const char* reason;
};

constexpr Capability kCapabilities[] = {
    {FUSE_CAP_READDIRPLUS, true, "list and stat in one request"},
    {FUSE_CAP_READDIRPLUS_AUTO, true, "but a bare `ls` needs no attributes"},
    {FUSE_CAP_PARALLEL_DIROPS, true, "folders never change"},
    {FUSE_CAP_ASYNC_READ, true, "several reads of one file at a time"},
    {FUSE_CAP_AUTO_INVAL_DATA, true,
     "pages of .rowfs/stats go with its mtime; other mtimes never change"},
    {FUSE_CAP_CACHE_SYMLINKS, true, "links never change"},
    {FUSE_CAP_ATOMIC_O_TRUNC, false, "truncation is answered by setattr"},
    {FUSE_CAP_SPLICE_READ, false, "requests are small; measured slower"},
    {FUSE_CAP_SPLICE_WRITE, false, "measured no faster from memory"},
    {FUSE_CAP_SPLICE_MOVE, false, "nothing is spliced"},
    {FUSE_CAP_EXPORT_SUPPORT, false, "needs lookups of \"..\""},
};

void OpInit(void* userdata, fuse_conn_info* connection) {
  auto& context = *static_cast<FuseContext*>(userdata);
  for (const Capability& capability : kCapabilities) {
    if (capability.wanted && (connection->capable & capability.flag) != 0) {
      connection->want |= capability.flag;
    } else {
      connection->want &= ~capability.flag;
    }
  }
  // Beyond these the kernel gives readahead up and asks page by page: a small
  // file would come in five reads. What waits, waits in our own pool.
  connection->max_background = 1024;
  connection->congestion_threshold = 1024;
  connection->max_readahead = 1 << 20;
  context.open_unanswered =
      !context.tree.open_needed() &&
      (connection->capable & FUSE_CAP_NO_OPEN_SUPPORT) != 0;
  context.opendir_unanswered =
      context.tree.folders_fixed() &&
      (connection->capable & FUSE_CAP_NO_OPENDIR_SUPPORT) != 0;
  // What the kernel keeps is listed once: with attributes, or each name would
  // be looked up.
  if (context.opendir_unanswered) {
    connection->want &= ~unsigned{FUSE_CAP_READDIRPLUS_AUTO};
  }
  if (context.on_init) context.on_init();
}

// ---- names and attributes ---------------------------------------------------

// Valid replies: entry (inode 0 = not there, for ever), error.
void OpLookup(fuse_req_t raw, fuse_ino_t parent, const char* name) {
  Guard(raw, [&](FuseContext& context, Request& request) {
    context.tree.CountRequest(Operation::kLookup);
    Do(
        context, std::move(request),
        [&context, parent, name = std::string(name)](Wait wait) {
          return context.tree.Lookup(parent, name, wait);
        },
        [&context, parent](Request own, Result<Entry> entry) {
          if (entry.ok()) {
            const fuse_entry_param reply =
                EntryOf(entry.value(), context.owner);
            // A reply that was not delivered gave no reference.
            if (fuse_reply_entry(own.Take(), &reply) != 0) {
              context.tree.Forget(entry.value().node, 1);
            }
          } else if (entry.status().code() == Code::kNotFound &&
                     context.tree.AbsenceIsFinal(parent)) {
            fuse_entry_param reply = {};
            reply.entry_timeout = kForever;
            fuse_reply_entry(own.Take(), &reply);
          } else {
            Fail(context, std::move(own), "lookup", entry.status(),
                 ErrnoOf(entry.status().code()));
          }
        });
  });
}

void OpForget(fuse_req_t raw, fuse_ino_t node, uint64_t count) {
  ContextOf(raw).tree.Forget(node, count);
  fuse_reply_none(raw);
}

void OpForgetMulti(fuse_req_t raw, size_t count, fuse_forget_data* forgets) {
  for (size_t i = 0; i < count; ++i) {
    ContextOf(raw).tree.Forget(forgets[i].ino, forgets[i].nlookup);
  }
  fuse_reply_none(raw);
}

void ReplyAttributes(FuseContext& context, Request request,
                     const Result<Attributes>& attributes) {
  if (!attributes.ok()) {
    Fail(context, std::move(request), "getattr", attributes.status(),
         ErrnoOf(attributes.status().code()));
    return;
  }
  const struct stat reply = StatOf(attributes.value(), context.owner);
  fuse_reply_attr(request.Take(), &reply,
                  attributes.value().size_exact ? kForever : 0);
}

// Valid replies: attr, error.
void OpGetAttr(fuse_req_t raw, fuse_ino_t node, fuse_file_info*) {
  Guard(raw, [&](FuseContext& context, Request& request) {
    context.tree.CountRequest(Operation::kGetAttr);
    Do(
        context, std::move(request),
        [&context, node](Wait wait) {
          return context.tree.GetAttr(node, wait);
        },
        [&context](Request own, const Result<Attributes>& attributes) {
          ReplyAttributes(context, std::move(own), attributes);
        });
  });
}

// Only the control file may be truncated or touched, which changes nothing.
void OpSetAttr(fuse_req_t raw, fuse_ino_t node, struct stat*, int to_set,
               fuse_file_info*) {
  Guard(raw, [&](FuseContext& context, Request& request) {
    const Result<Attributes> attributes = context.tree.GetAttr(node, Wait::kNo);
    constexpr int kOwner =
        FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID;
    if (!attributes.ok() || !attributes.value().writable ||
        (to_set & kOwner) != 0) {
      request.Error(EROFS);
      return;
    }
    ReplyAttributes(context, std::move(request), attributes);
  });
}

// Valid replies: readlink, error.
void OpReadLink(fuse_req_t raw, fuse_ino_t node) {
  Guard(raw, [&](FuseContext& context, Request& request) {
    context.tree.CountRequest(Operation::kReadLink);
    Do(
        context, std::move(request),
        [&context, node](Wait wait) {
          return context.tree.ReadLink(node, wait);
        },
        [&context](Request own, const Result<std::string>& target) {
          if (target.ok()) {
            fuse_reply_readlink(own.Take(), target.value().c_str());
          } else {
            Fail(context, std::move(own), "readlink", target.status(),
                 ErrnoOf(target.status().code()));
          }
        });
  });
}

// ---- folders ----------------------------------------------------------------

// Valid replies: open, error (ENOSYS: never ask again).
void OpOpenDir(fuse_req_t raw, fuse_ino_t node, fuse_file_info* info) {
  Guard(raw, [&](FuseContext& context, Request& request) {
    context.tree.CountRequest(Operation::kOpenDir);
    if (context.opendir_unanswered) {
      request.Error(ENOSYS);
      return;
    }
    Do(
        context, std::move(request),
        [&context, node](Wait wait) {
          return context.tree.OpenDir(node, wait);
        },
        [&context, reply = *info](Request own, const Status& status) {
          if (status.ok()) {
            fuse_reply_open(own.Take(), &reply);
          } else {
            Fail(context, std::move(own), "opendir", status,
                 ContentErrnoOf(status.code()));
          }
        });
  });
}

void AnswerListing(FuseContext& context, Request request, const Status& status,
                   const Listing& listing) {
  if (!status.ok()) {
    Fail(context, std::move(request), "readdir", status,
         ContentErrnoOf(status.code()));
    return;
  }
  const std::string_view bytes = listing.bytes();
  if (fuse_reply_buf(request.Take(), bytes.data(), bytes.size()) != 0) {
    listing.Forget(context.tree);
  }
}

// Valid replies: buf (empty = the end), error.
void OpReadDirAny(fuse_req_t raw, const Listing::Wanted& wanted) {
  Guard(raw, [&](FuseContext& context, Request& request) {
    context.tree.CountRequest(Operation::kReadDir);
    thread_local Listing quick;
    const Status status =
        quick.Fill(context.tree, context.owner, wanted, Wait::kNo);
    if (!WouldWait(status)) {
      AnswerListing(context, std::move(request), status, quick);
      return;
    }
    context.blocking.Run(std::move(request), [&context, wanted] {
      auto listing = std::make_shared<Listing>();
      const Status made =
          listing->Fill(context.tree, context.owner, wanted, Wait::kYes);
      return [&context, listing, made](Request own) {
        AnswerListing(context, std::move(own), made, *listing);
      };
    });
  });
}

void OpReadDir(fuse_req_t raw, fuse_ino_t node, size_t size, off_t offset,
               fuse_file_info*) {
  OpReadDirAny(raw, {node, size, static_cast<uint64_t>(offset), false});
}

void OpReadDirPlus(fuse_req_t raw, fuse_ino_t node, size_t size, off_t offset,
                   fuse_file_info*) {
  OpReadDirAny(raw, {node, size, static_cast<uint64_t>(offset), true});
}

// ---- bytes ------------------------------------------------------------------

// Valid replies: open, error (ENOSYS: never ask again).
void OpOpen(fuse_req_t raw, fuse_ino_t node, fuse_file_info* info) {
  Guard(raw, [&](FuseContext& context, Request& request) {
    context.tree.CountRequest(Operation::kOpen);
    if ((info->flags & O_ACCMODE) != O_RDONLY) {
      const auto attributes = context.tree.GetAttr(node, Wait::kNo);
      if (!attributes.ok() || !attributes.value().writable) {
        request.Error(EROFS);
        return;
      }
    }
    if (context.open_unanswered) {
      request.Error(ENOSYS);
      return;
    }
    Do(
        context, std::move(request),
        [&context, node](Wait wait) { return context.tree.Open(node, wait); },
        [&context, info = *info](Request own,
                                 const Result<OpenedFile>& opened) {
          if (!opened.ok()) {
            Fail(context, std::move(own), "open", opened.status(),
                 ContentErrnoOf(opened.status().code()));
            return;
          }
          fuse_file_info reply = info;
          reply.fh = opened.value().handle;
          reply.keep_cache = !opened.value().changing;
          reply.direct_io = opened.value().changing;
          reply.noflush = 1;
          if (fuse_reply_open(own.Take(), &reply) != 0) {
            context.tree.Release(opened.value().handle);
          }
        });
  });
}

void AnswerRead(FuseContext& context, Request request,
                const Result<size_t>& done, ByteSpan bytes) {
  if (!done.ok()) {
    Fail(context, std::move(request), "read", done.status(),
         ContentErrnoOf(done.status().code()));
    return;
  }
  const std::string_view text = AsText(bytes.first(done.value()));
  fuse_reply_buf(request.Take(), text.data(), text.size());
}

// Pieces of a buffer and of what the caches hold, as they lie there.
void AnswerPieces(FuseContext& context, Request request, const Status& done,
                  const std::vector<SharedSpan>& pieces) {
  if (!done.ok()) {
    AnswerRead(context, std::move(request), done, {});
    return;
  }
  std::vector<iovec> parts;
  for (const SharedSpan& piece : pieces) {
    // An iovec is for writing to as well, which nobody does here.
    parts.push_back(
        {const_cast<std::byte*>(piece.bytes.data()), piece.bytes.size()});
  }
  fuse_reply_iov(request.Take(), parts.data(), static_cast<int>(parts.size()));
}

// Valid replies: buf or iov (shorter than asked = the end), error.
void OpRead(fuse_req_t raw, fuse_ino_t node, size_t size, off_t offset,
            fuse_file_info* info) {
  Guard(raw, [&](FuseContext& context, Request& request) {
    context.tree.CountRequest(Operation::kRead);
    const uint64_t handle = info == nullptr ? 0 : info->fh;
    const auto read = [&context, node, handle, offset](MutableByteSpan out,
                                                       Wait wait) {
      return context.tree.Read(node, handle, static_cast<uint64_t>(offset), out,
                               wait);
    };
    thread_local Bytes quick;
    if (quick.size() < size) quick.resize(size);
    const MutableByteSpan out = MutableByteSpan(quick).first(size);
    const Result<size_t> done = read(out, Wait::kNo);
    if (!WouldWait(done.status())) {
      AnswerRead(context, std::move(request), done, out);
      return;
    }
    context.blocking.Run(std::move(request), [&context, read, size] {
      const std::shared_ptr<std::byte[]> bytes =
          std::make_unique_for_overwrite<std::byte[]>(size);
      const MutableByteSpan own_out(bytes.get(), size);
      const DeferredCopies copies(own_out);
      const Result<size_t> made = read(own_out, Wait::kYes);
      return
          [&context, bytes, made,
           pieces = copies.Pieces(made.ok() ? made.value() : 0)](Request own) {
            AnswerPieces(context, std::move(own), made.status(), pieces);
          };
    });
  });
}

// Valid replies: write, error.
void OpWrite(fuse_req_t raw, fuse_ino_t node, const char* data, size_t size,
             off_t, fuse_file_info*) {
  Guard(raw, [&](FuseContext& context, Request& request) {
    const Result<Attributes> attributes = context.tree.GetAttr(node, Wait::kNo);
    if (!attributes.ok() || !attributes.value().writable) {
      request.Error(EROFS);
      return;
    }
    const Status status =
        context.tree.Write(node, AsBytes(std::string_view(data, size)));
    if (status.ok()) {
      fuse_reply_write(request.Take(), size);
    } else {
      Fail(context, std::move(request), "write", status,
           ErrnoOf(status.code()));
    }
  });
}

void OpRelease(fuse_req_t raw, fuse_ino_t, fuse_file_info* info) {
  Guard(raw, [&](FuseContext& context, Request& request) {
    if (info->fh != 0) context.tree.Release(info->fh);
    request.Done();
  });
}

// ---- the rest ---------------------------------------------------------------

// Valid replies: statfs.
void OpStatFs(fuse_req_t raw, fuse_ino_t) {
  Guard(raw, [&](FuseContext& context, Request& request) {
    struct statvfs reply = {};
    reply.f_bsize = 4096;
    reply.f_frsize = 4096;
    reply.f_namemax = 255;
    reply.f_files = context.tree.Stats().row_count;
    fuse_reply_statfs(request.Take(), &reply);
  });
}

// A text whose size the kernel may ask for first (`size` 0).
void ReplyXattr(Request request, std::string_view text, size_t size) {
  if (size == 0) {
    fuse_reply_xattr(request.Take(), text.size());
  } else if (text.size() > size) {
    request.Error(ERANGE);
  } else {
    fuse_reply_buf(request.Take(), text.data(), text.size());
  }
}

// Valid replies: buf, xattr (the size), error.
void OpGetXattr(fuse_req_t raw, fuse_ino_t node, const char* name,
                size_t size) {
  Guard(raw, [&](FuseContext& context, Request& request) {
    context.tree.CountRequest(Operation::kGetXattr);
    if (node == kRootNode && name == kPidXattr) {
      ReplyXattr(std::move(request), std::to_string(getpid()), size);
      return;
    }
    Do(
        context, std::move(request),
        [&context, node, name = std::string(name)](Wait wait) {
          return context.tree.GetXattr(node, name, wait);
        },
        [&context, size](Request own, const Result<std::string>& value) {
          if (value.ok()) {
            ReplyXattr(std::move(own), value.value(), size);
          } else if (value.status().code() == Code::kNotFound) {
            own.Error(ENODATA);
          } else {
            Fail(context, std::move(own), "getxattr", value.status(),
                 ContentErrnoOf(value.status().code()));
          }
        });
  });
}

// Valid replies: buf, xattr (the size), error.
void OpListXattr(fuse_req_t raw, fuse_ino_t node, size_t size) {
  Guard(raw, [&](FuseContext& context, Request& request) {
    context.tree.CountRequest(Operation::kGetXattr);
    Do(
        context, std::move(request),
        [&context, node](Wait wait) {
          return context.tree.ListXattr(node, wait);
        },
        [&context, node, size](Request own,
                               const Result<std::vector<std::string>>& names) {
          if (!names.ok()) {
            Fail(context, std::move(own), "listxattr", names.status(),
                 ContentErrnoOf(names.status().code()));
            return;
          }
          std::vector<std::string> all = names.value();
          if (node == kRootNode) all.emplace_back(kPidXattr);
          std::sort(all.begin(), all.end());
          std::string text;
          for (const std::string& name : all) text += name + '\0';
          ReplyXattr(std::move(own), text, size);
        });
  });
}

// Everything that would change something.
void ReadOnly(fuse_req_t raw) { fuse_reply_err(raw, EROFS); }

fuse_lowlevel_ops MakeOps() {
  fuse_lowlevel_ops ops = {};
  ops.init = OpInit;
  ops.lookup = OpLookup;
  ops.forget = OpForget;
  ops.forget_multi = OpForgetMulti;
  ops.getattr = OpGetAttr;
  ops.setattr = OpSetAttr;
  ops.readlink = OpReadLink;
  ops.opendir = OpOpenDir;
  ops.readdir = OpReadDir;
  ops.readdirplus = OpReadDirPlus;
  ops.open = OpOpen;
  ops.read = OpRead;
  ops.write = OpWrite;
  ops.release = OpRelease;
  ops.statfs = OpStatFs;
  ops.getxattr = OpGetXattr;
  ops.listxattr = OpListXattr;
  ops.mknod = [](fuse_req_t raw, fuse_ino_t, const char*, mode_t, dev_t) {
    ReadOnly(raw);
  };
  ops.mkdir = [](fuse_req_t raw, fuse_ino_t, const char*, mode_t) {
    ReadOnly(raw);
  };
  ops.unlink = [](fuse_req_t raw, fuse_ino_t, const char*) { ReadOnly(raw); };
  ops.rmdir = [](fuse_req_t raw, fuse_ino_t, const char*) { ReadOnly(raw); };
  ops.symlink = [](fuse_req_t raw, const char*, fuse_ino_t, const char*) {
    ReadOnly(raw);
  };
  ops.rename = [](fuse_req_t raw, fuse_ino_t, const char*, fuse_ino_t,
                  const char*, unsigned) { ReadOnly(raw); };
  ops.link = [](fuse_req_t raw, fuse_ino_t, fuse_ino_t, const char*) {
    ReadOnly(raw);
  };
  ops.create = [](fuse_req_t raw, fuse_ino_t, const char*, mode_t,
                  fuse_file_info*) { ReadOnly(raw); };
  ops.setxattr = [](fuse_req_t raw, fuse_ino_t, const char*, const char*,
                    size_t, int) { ReadOnly(raw); };
  ops.removexattr = [](fuse_req_t raw, fuse_ino_t, const char*) {
    ReadOnly(raw);
  };
  ops.fallocate = [](fuse_req_t raw, fuse_ino_t, int, off_t, off_t,
                     fuse_file_info*) { ReadOnly(raw); };
  return ops;
}

}  // namespace

const fuse_lowlevel_ops& FuseOps() {
  static const fuse_lowlevel_ops kOps = MakeOps();
  return kOps;
}

}  // namespace rowfs
