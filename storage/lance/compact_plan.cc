#include "storage/lance/compact_plan.h"

#include "storage/lance/parse_message.h"
#include "storage/lance/roaring.h"

namespace rowfs {
namespace {

// An index that translates old fragments to new ones; what is compacted without
// telling it would vanish from the other indices.
constexpr std::string_view kFragmentReuseIndex = "__lance_frag_reuse";

// Fragments that some index covers; `all` when one does not say.
struct Indexed {
  bool all = false;
  std::vector<RoaringBitmap> bitmaps;

  bool Covers(uint64_t id) const {
    if (all) return true;
    for (const RoaringBitmap& bitmap : bitmaps) {
      if (bitmap.Contains(static_cast<uint32_t>(id))) return true;
    }
    return false;
  }
};

Result<Indexed> FindIndexed(const Manifest& manifest) {
  Indexed out;
  if (!manifest.index_section) return out;
  pb::IndexSection section;
  if (!ParseMessage(*manifest.index_section, &section)) {
    return Status(Code::kCorruption, "damaged index section");
  }
  for (const pb::IndexMetadata& index : section.indices()) {
    if (index.name() == kFragmentReuseIndex) {
      return Status(Code::kUnsupported,
                    "compacting a table whose indices follow compactions by a "
                    "fragment-reuse index");
    }
    if (!index.has_fragment_bitmap()) {
      out.all = true;
      continue;
    }
    ROWFS_ASSIGN_OR_RETURN(
        RoaringBitmap bitmap,
        RoaringBitmap::Decode(AsBytes(index.fragment_bitmap()),
                              uint64_t{1} << 32, "index " + index.name()));
    out.bitmaps.push_back(std::move(bitmap));
  }
  return out;
}

uint64_t LiveRows(const pb::DataFragment& fragment) {
  return fragment.physical_rows() - fragment.deletion_file().num_deleted_rows();
}

class Planner {
 public:
  Planner(const pb::Manifest& manifest, const CompactOptions& options)
      : manifest_(manifest), options_(options) {}

  CompactPlan Run(const Indexed& indexed) {
    for (int i = 0; i < manifest_.fragments_size(); ++i) {
      const pb::DataFragment& fragment = manifest_.fragments(i);
      const bool fixed =
          indexed.Covers(fragment.id()) || fragment.has_row_id_column();
      if (fixed && IsCandidate(fragment)) ++plan_.fragments_kept;
      if (fixed || !IsCandidate(fragment)) {
        Close();
        continue;
      }
      group_.push_back(static_cast<size_t>(i));
      rows_ += LiveRows(fragment);
      worn_ |= IsWorn(fragment);
      if (rows_ >= options_.rows_per_fragment) Close();
    }
    Close();
    return std::move(plan_);
  }

 private:
  bool IsWorn(const pb::DataFragment& fragment) const {
    const auto gone =
        static_cast<double>(fragment.deletion_file().num_deleted_rows());
    return gone > options_.deleted_share_max *
                      static_cast<double>(fragment.physical_rows());
  }
  bool IsCandidate(const pb::DataFragment& fragment) const {
    return LiveRows(fragment) < options_.rows_per_fragment || IsWorn(fragment);
  }
  void Close() {
    if (group_.size() > 1 || worn_) {
      plan_.groups.push_back(std::move(group_));
      plan_.row_count += rows_;
    }
    group_.clear();
    rows_ = 0;
    worn_ = false;
  }

  const pb::Manifest& manifest_;
  const CompactOptions& options_;
  CompactPlan plan_;
  std::vector<size_t> group_;
  uint64_t rows_ = 0;
  bool worn_ = false;
};

}  // namespace

Result<CompactPlan> PlanCompaction(const Manifest& manifest,
                                   const CompactOptions& options) {
  ROWFS_ASSIGN_OR_RETURN(const Indexed indexed, FindIndexed(manifest));
  return Planner(manifest.message, options).Run(indexed);
}

}  // namespace rowfs
