#include "storage/pack/member_store.h"

#include <charconv>

#include "storage/base/no_wait.h"

namespace rowfs {
namespace {

class MemberStore final : public ObjectStore {
 public:
  explicit MemberStore(std::shared_ptr<const Pack> pack)
      : pack_(std::move(pack)) {}

  StoreCapabilities capabilities() const override {
    StoreCapabilities capabilities = pack_->location().store->capabilities();
    capabilities.list = false;
    capabilities.write = false;
    return capabilities;
  }
  std::string Uri(const std::string& path) const override {
    const auto i = Number(path);
    const std::string name = i ? pack_->members().Get(*i).name : path;
    return std::string(pack_->kind()) + "://" + name +
           "::" + pack_->location().uri();
  }
  Result<ObjectMeta> Stat(const std::string& path) override {
    const auto i = Number(path);
    if (!i) return Status(Code::kNotFound, path + ": no such member");
    ObjectMeta meta = pack_->meta();
    meta.size = pack_->members().Get(*i).size;
    return meta;
  }
  Status ReadAt(const ObjectRef& object, uint64_t offset,
                MutableByteSpan out) override {
    // Members that are read this way are far away or have to be decoded.
    if (NoWaitScope::Active()) return NoWaitScope::Refuse();
    const auto i = Number(object.path);
    if (!i) return {Code::kNotFound, object.path + ": no such member"};
    return pack_->ReadMember(*i, offset, out);
  }
  Result<Tail> ReadTail(const std::string& path, uint64_t wanted) override {
    Tail tail;
    ROWFS_ASSIGN_OR_RETURN(tail.meta, Stat(path));
    tail.bytes.resize(std::min(wanted, tail.meta.size));
    if (tail.bytes.empty()) return tail;
    ROWFS_RETURN_IF_ERROR(ReadAt({path, tail.meta.etag},
                                 tail.meta.size - tail.bytes.size(),
                                 tail.bytes));
    return tail;
  }
  Result<std::vector<ListEntry>> List(const std::string&) override {
    return ReadOnly();
  }
  Result<std::unique_ptr<ObjectWriter>> Create(const std::string&,
                                               PutMode) override {
    return ReadOnly();
  }
  Status Remove(const std::string&) override { return ReadOnly(); }

 private:
  static Status ReadOnly() {
    return {Code::kUnsupported, "members of a pack are only read"};
  }
  std::optional<uint64_t> Number(const std::string& path) const {
    uint64_t i = 0;
    const char* end = path.data() + path.size();
    const auto parsed = std::from_chars(path.data(), end, i);
    const bool good = parsed.ec == std::errc() && parsed.ptr == end &&
                      i < pack_->members().size();
    return good ? std::optional(i) : std::nullopt;
  }

  const std::shared_ptr<const Pack> pack_;
};

}  // namespace

BlobSource OpenThroughPack(std::shared_ptr<const Pack> pack, uint64_t i,
                           const ReadContext& context) {
  const uint64_t size = pack->members().Get(i).size;
  BlobSource source;
  if (size == 0) {
    source.bytes = std::make_shared<const Bytes>();
    return source;
  }
  ObjectMeta meta = pack->meta();
  meta.size = size;
  source.reader = ObjectReader::Make(
      {std::make_shared<MemberStore>(std::move(pack)), std::to_string(i)}, meta,
      context);
  source.range = {0, size};
  return source;
}

}  // namespace rowfs
