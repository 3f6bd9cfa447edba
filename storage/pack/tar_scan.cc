#include "storage/pack/tar_scan.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace rowfs {
namespace {

// What a header with its PAX records usually takes.
constexpr uint64_t kHeaderReadBytes = 4 * kTarBlock;
// PAX headers and GNU long names.
constexpr uint64_t kExtensionBytesMax = 1 << 20;
constexpr uint64_t kSparseMapBytesMax = 48 << 20;
constexpr int kLinksMax = 40;

uint64_t PaddedSize(uint64_t size) {
  return (size + kTarBlock - 1) / kTarBlock * kTarBlock;
}

// Bytes of the tar at any place, read in chunks where headers lie close
// together and alone where they do not.
class Window {
 public:
  explicit Window(const TarInput& input) : input_(input) {}

  // Up to `size` bytes at `offset`, fewer where the tar ends. Valid until the
  // next call.
  Result<ByteSpan> At(uint64_t offset, uint64_t size) {
    if (offset >= begin_ && offset - begin_ <= buffer_.size() &&
        buffer_.size() - (offset - begin_) >= size) {
      return ByteSpan(buffer_).subspan(offset - begin_, size);
    }
    const bool close = offset < last_ || offset - last_ <= input_.gap_bytes;
    last_ = offset;
    uint64_t wanted =
        std::max(size, close ? input_.chunk_bytes : kHeaderReadBytes);
    if (input_.size) {
      wanted = std::min(wanted, *input_.size - std::min(*input_.size, offset));
    }
    buffer_.resize(wanted);
    begin_ = offset;
    ROWFS_ASSIGN_OR_RETURN(
        const size_t got,
        wanted == 0 ? Result<size_t>(size_t{0}) : input_.read(offset, buffer_));
    buffer_.resize(got);
    return ByteSpan(buffer_).first(std::min<uint64_t>(size, got));
  }
  // A header was seen at `offset`: the next one shows how far apart they are.
  void Passed(uint64_t offset) { last_ = offset; }

 private:
  const TarInput& input_;
  uint64_t begin_ = 0;
  uint64_t last_ = 0;
  Bytes buffer_;
};

struct Link {
  uint64_t member;
  std::string target;  // a name in the tar; empty when it leads out of it
};

// `link` seen from the folder of `name`, without "." and ".."; empty when it
// leads out of the tar.
std::string TargetOf(std::string_view name, std::string_view link) {
  if (link.starts_with('/')) return {};
  std::vector<std::string_view> parts;
  const std::string path =
      std::string(name.substr(0, name.rfind('/') + 1)) + std::string(link);
  std::string_view rest = path;
  while (!rest.empty()) {
    const size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view part = rest.substr(0, slash);
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (parts.empty()) {
      return {};
    } else {
      parts.pop_back();
    }
  }
  std::string target;
  for (const std::string_view part : parts) {
    if (!target.empty()) target += '/';
    target += part;
  }
  return target;
}

class Scanner {
 public:
  Scanner(const TarInput& input, std::string_view what)
      : input_(input), what_(what), window_(input), builder_(kTarBlock) {}

  Result<TarContents> Run();

 private:
  // What headers in front of a member say about it.
  struct Overrides {
    std::optional<std::string> name;
    std::optional<std::string> link;
    PaxRecords pax;
    bool broken = false;
  };

  Result<bool> Step();
  Status Entry(TarHeader header);
  Status Extension(const TarHeader& header);
  Status AddMember(const TarHeader& header);
  Status AddSparse(const TarHeader& header, Member* member);
  void AddLink(const TarHeader& header, Member* member);
  Result<Bytes> Payload(uint64_t size, uint64_t size_max);
  Status FindHeader();
  Status Flush();
  Status ResolveLinks();
  void Damage(std::string_view message) {
    if (contents_.damage.empty()) contents_.damage = message;
  }

  const TarInput& input_;
  const std::string_view what_;
  Window window_;
  MemberTableBuilder builder_;
  TarContents contents_;
  uint64_t at_ = 0;
  bool zeros_ = false;  // behind an end mark
  bool ended_ = false;  // an end mark was seen
  Overrides next_;
  PaxRecords global_;
  std::optional<Member> pending_;
  uint64_t count_ = 0;
  std::vector<Link> links_;
};

// A member is kept back until it is known whether the tar goes on behind it.
Status Scanner::Flush() {
  if (!pending_) return {};
  const uint64_t end = pending_->offset + pending_->stored;
  bool cut = input_.size && end > *input_.size;
  if (!input_.size && pending_->stored > 0) {
    const auto last = window_.At(end - 1, 1);
    cut = !last.ok() || last.value().empty();
  }
  if (cut && pending_->fault == MemberFault::kNone) {
    pending_->fault = MemberFault::kTruncated;
    Damage("the tar is cut off inside " + pending_->name);
  }
  builder_.Add(*pending_);
  const Member member = *std::exchange(pending_, {});
  return input_.found ? input_.found(member, at_) : Status();
}

Result<Bytes> Scanner::Payload(uint64_t size, uint64_t size_max) {
  if (size > size_max) {
    return Status(Code::kCorruption, "tar: an extended header of " +
                                         std::to_string(size) + " bytes");
  }
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan bytes, window_.At(at_, size));
  if (bytes.size() < size) {
    return Status(Code::kCorruption, "tar: cut off inside a header");
  }
  return Bytes(bytes.begin(), bytes.end());
}

// PAX headers and GNU long names: what they say is for the next member.
Status Scanner::Extension(const TarHeader& header) {
  ROWFS_ASSIGN_OR_RETURN(const Bytes bytes,
                         Payload(header.size, kExtensionBytesMax));
  at_ += PaddedSize(header.size);
  const std::string_view text = AsText(bytes);
  switch (header.type) {
    case 'L':
      next_.name = std::string(text.substr(0, text.find('\0')));
      return {};
    case 'K':
      next_.link = std::string(text.substr(0, text.find('\0')));
      return {};
    case 'g':
      return ReadPax(bytes, &global_);
    default:
      return ReadPax(bytes, &next_.pax);
  }
}

void Scanner::AddLink(const TarHeader& header, Member* member) {
  member->stored = 0;
  member->size = 0;
  member->fault = MemberFault::kLink;
  // A hard link names its target from the top.
  links_.push_back({count_, header.type == '1'
                                ? TargetOf("", header.link)
                                : TargetOf(member->name, header.link)});
}

Status Scanner::AddSparse(const TarHeader& header, Member* member) {
  const PaxRecords& pax = next_.pax;
  SparseMap map = pax.sparse ? pax.sparse_map : header.pieces;
  member->size = pax.sparse ? pax.sparse_size.value_or(0) : header.real_size;
  if (pax.sparse && pax.sparse_major == 1) {
    // The map stands in front of the data.
    std::optional<SparseMap> found;
    uint64_t used = 0;
    for (uint64_t size = 4 * kTarBlock; !found; size *= 4) {
      size = std::min(size, member->stored);
      ROWFS_ASSIGN_OR_RETURN(const Bytes bytes,
                             Payload(size, kSparseMapBytesMax));
      ROWFS_ASSIGN_OR_RETURN(found, ReadSparseMap(bytes, &used));
      if (!found && size == member->stored) {
        return {Code::kCorruption, "tar: a sparse map does not end"};
      }
    }
    map = *std::move(found);
    used = std::min(used, member->stored);
    member->offset += used;
    member->stored -= used;
  }
  ROWFS_RETURN_IF_ERROR(CheckSparseMap(map, member->size, member->stored));
  contents_.maps.push_back(std::move(map));
  member->coding = MemberCoding::kSparse;
  member->detail = contents_.maps.size();
  return {};
}

Status Scanner::AddMember(const TarHeader& header) {
  ROWFS_RETURN_IF_ERROR(Flush());
  if (count_ >= std::numeric_limits<uint32_t>::max()) {
    return {Code::kResourceExhausted,
            std::string(what_) + ": too many members"};
  }
  Member member;
  member.name = header.name;
  member.offset = at_;
  member.stored = header.size;
  member.size = header.size;
  if (header.type == '1' || header.type == '2') {
    AddLink(header, &member);
  } else if (header.type == 'S' || next_.pax.sparse) {
    const Status status = AddSparse(header, &member);
    if (!status.ok()) member.fault = MemberFault::kBadSize;
  }
  // A hard link may carry the content once more (pax -l); it is skipped.
  at_ += PaddedSize(header.size);
  pending_ = std::move(member);
  ++count_;
  return {};
}

Status Scanner::Entry(TarHeader header) {
  const std::string_view extensions = "xgLK";
  if (extensions.find(header.type) != extensions.npos || header.type == 'X') {
    return Extension(header);
  }
  if (header.type == 'S') {
    while (header.more_pieces) {
      ROWFS_ASSIGN_OR_RETURN(const Bytes block, Payload(kTarBlock, kTarBlock));
      at_ += kTarBlock;
      ROWFS_ASSIGN_OR_RETURN(header.more_pieces,
                             ReadSparseExtension(block, &header.pieces));
    }
  }
  if (next_.name) header.name = *next_.name;
  if (next_.link) header.link = *next_.link;
  for (const PaxRecords* pax : {&global_, &next_.pax}) {
    if (pax->path) header.name = *pax->path;
    if (pax->link) header.link = *pax->link;
    if (pax->size) header.size = *pax->size;
    if (pax->sparse_name) header.name = *pax->sparse_name;
  }
  if (header.size > uint64_t{1} << 62) {
    return {Code::kCorruption, "tar: a member is too large"};
  }
  const bool folder = header.type == '5' || header.name.ends_with('/');
  const std::string_view members = "0712S";
  if (!folder && members.find(header.type) != members.npos &&
      !header.name.empty()) {
    ROWFS_RETURN_IF_ERROR(AddMember(header));
  } else {
    // Devices and folders have no bytes, whatever their size says; labels and
    // what nobody knows may.
    const std::string_view empty = "3456";
    if (empty.find(header.type) == empty.npos) at_ += PaddedSize(header.size);
  }
  next_ = Overrides();
  return {};
}

// Go to the next block that is a header, from a damaged one on.
Status Scanner::FindHeader() {
  next_ = Overrides();
  for (;; at_ += kTarBlock) {
    ROWFS_ASSIGN_OR_RETURN(const ByteSpan block, window_.At(at_, kTarBlock));
    if (block.size() < kTarBlock || IsZeroBlock(block)) return {};
    if (ReadTarHeader(block).ok()) return {};
    window_.Passed(at_);
  }
}

// False at the end.
Result<bool> Scanner::Step() {
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan block, window_.At(at_, kTarBlock));
  window_.Passed(at_);
  if (block.size() < kTarBlock) {
    if (!block.empty() && !IsZeroBlock(block)) {
      Damage("the tar is cut off inside a header");
    }
    return false;
  }
  if (IsZeroBlock(block)) {
    zeros_ = ended_ = true;
    at_ += kTarBlock;
    return true;
  }
  Result<TarHeader> header = ReadTarHeader(block);
  if (!header.ok()) {
    if (count_ == 0 && !ended_) {
      return Status(Code::kCorruption,
                    std::string(what_) + ": not a tar file: " +
                        std::string(header.status().message()));
    }
    // What stands behind an end mark need not be a tar.
    if (zeros_) return false;
    Damage("a header at byte " + std::to_string(at_) + " is damaged");
    ROWFS_RETURN_IF_ERROR(FindHeader());
    return true;
  }
  zeros_ = false;
  at_ += kTarBlock;
  const uint64_t begin = at_;
  const Status status = Entry(std::move(header).value());
  if (status.ok()) return true;
  if (status.code() != Code::kCorruption) return status;
  Damage(std::string(status.message()) + " at byte " + std::to_string(begin));
  at_ = begin;
  ROWFS_RETURN_IF_ERROR(FindHeader());
  return true;
}

Status Scanner::ResolveLinks() {
  const MemberIndex index(contents_.members);
  const auto find = [&](const std::string& name,
                        uint64_t from) -> std::optional<uint64_t> {
    for (const std::string& way : {name, "./" + name, "/" + name}) {
      std::optional<uint64_t> best;
      for (const uint64_t i : index.Find(contents_.members, way)) {
        // The last one before the link, else the first one behind it.
        if (i < from || (!best && i > from)) best = i;
      }
      if (best) return best;
    }
    return {};
  };
  const auto link_of = [&](uint64_t member) {
    const auto it = std::lower_bound(
        links_.begin(), links_.end(), member,
        [](const Link& link, uint64_t wanted) { return link.member < wanted; });
    return it != links_.end() && it->member == member ? &*it : nullptr;
  };
  MemberTableBuilder builder(kTarBlock);
  MemberTable::Cursor cursor(contents_.members);
  for (uint64_t i = 0; cursor.Next(); ++i) {
    Member member = cursor.member();
    const Link* link = link_of(i);
    for (int n = 0; link != nullptr && n < kLinksMax; ++n) {
      const auto target = link->target.empty()
                              ? std::optional<uint64_t>()
                              : find(link->target, link->member);
      if (!target) break;
      link = link_of(*target);
      if (link != nullptr) continue;
      const std::string name = std::move(member.name);
      member = contents_.members.Get(*target);
      member.name = name;
    }
    builder.Add(member);
  }
  contents_.members = builder.Finish();
  return {};
}

Result<TarContents> Scanner::Run() {
  for (;;) {
    const Result<bool> more = Step();
    if (!more.ok()) {
      // A compressed tar that is cut off or damaged still has its first part.
      if (input_.size || count_ == 0 ||
          more.status().code() != Code::kCorruption) {
        return more.status();
      }
      Damage(more.status().message());
      break;
    }
    if (!more.value()) break;
  }
  ROWFS_RETURN_IF_ERROR(Flush());
  if (!ended_) Damage("the tar has no end mark; it may be cut off");
  contents_.members = builder_.Finish();
  if (!links_.empty()) ROWFS_RETURN_IF_ERROR(ResolveLinks());
  return std::move(contents_);
}

}  // namespace

Result<TarContents> ScanTar(const TarInput& input, std::string_view what) {
  return Scanner(input, what).Run();
}

}  // namespace rowfs
