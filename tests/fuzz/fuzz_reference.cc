// Any text in a cell of a table: taken for a reference by all who ask or by
// none, and what it resolves to lies where the dataset may reach. Keys that are
// good survive being made a reference and read again.
#include <cstdlib>

#include "index/dataset/reference_table.h"
#include "storage/object/open_store.h"
#include "storage/pack/blob_key.h"
#include "storage/pack/pack.h"
#include "storage/table/reach_policy.h"

namespace rowfs {
namespace {

constexpr char kRemote[] = "https://data.example/set";
constexpr char kLocal[] = "/usr/share";

void Require(bool holds) {
  if (!holds) std::abort();
}

// A folder, and the policy of a dataset in it.
class Dataset {
 public:
  explicit Dataset(const std::string& folder)
      : folder_(folder),
        root_(stores_->Resolve(folder).value()),
        policy_(root_, {root_}, stores_.get(), {}) {}

  void Resolve(const std::string& uri) const {
    const auto place = policy_.Resolve(uri);
    if (!place.ok()) return;
    const std::string found = place.value().uri();
    Require(found == folder_ || found.starts_with(folder_ + "/"));
    Require(found.find("/../") == found.npos);
  }

 private:
  const std::string folder_;
  const std::unique_ptr<StoreRegistry> stores_ = MakeStoreRegistry();
  const Location root_;
  const ReachPolicy policy_;
};

void TryKey(std::string_view text) {
  (void)QuoteText(text);
  if (!CheckBlobKey(text).ok()) return;
  Require(CheckPathKey(text).ok());
  const auto read = ParsePackReference(MakeBlobReference(text, "m/p.zip"));
  Require(read && read->member == text && read->shard == "m/p.zip");
}

void TryReference(std::string_view text) {
  static const Dataset remote(kRemote);
  static const Dataset local(kLocal);
  const auto reference = ParsePackReference(text);
  Require(reference.has_value() == IsReference(text));
  const std::string uri = reference ? reference->shard : std::string(text);
  remote.Resolve(uri);
  local.Resolve(uri);
}

}  // namespace
}  // namespace rowfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = rowfs::AsText(rowfs::FromU8(data, size));
  rowfs::TryKey(text);
  rowfs::TryReference(text);
  return 0;
}
