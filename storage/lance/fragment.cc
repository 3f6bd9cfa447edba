#include "storage/lance/fragment.h"

#include "storage/lance/deletions.h"

namespace rowfs {
namespace {

namespace pb = lance::pb;

// Field id of the hidden column that holds row ids.
constexpr int32_t kRowIdField = -3;

// Where the bytes of blobs in a file of another base lie.
void SetBase(std::optional<uint32_t> base, Array* array) {
  if (!base) return;
  for (BlobCell& cell : array->blobs) {
    const bool in_file =
        cell.kind == BlobKind::kInline || cell.kind == BlobKind::kPacked ||
        cell.kind == BlobKind::kDedicated || cell.kind == BlobKind::kManaged;
    if (in_file) cell.base_id = base;
  }
  for (Array& child : array->children) SetBase(base, &child);
}

// Live rows of [begin, end), counted from `begin`.
std::vector<uint64_t> LiveOffsets(const RoaringBitmap& deleted, uint64_t begin,
                                  uint64_t end) {
  std::vector<uint64_t> rows;
  uint64_t live = begin - deleted.Rank(begin);
  const uint64_t live_end = end - deleted.Rank(end);
  rows.reserve(live_end - live);
  for (; live < live_end; ++live) {
    rows.push_back(deleted.SelectAbsent(live) - begin);
  }
  return rows;
}

}  // namespace

// `read` gives the part of the field that one file holds.
template <typename ReadPart>
Result<Array> Fragment::Collect(const LanceField& field, uint64_t length,
                                const ReadPart& read) const {
  std::vector<FieldPart> parts;
  for (const pb::DataFile& file : message_.files()) {
    const ColumnMap columns = LiveColumns(file);
    if (FindCoverage(field, columns) == Coverage::kNone) continue;
    ROWFS_ASSIGN_OR_RETURN(const auto reader,
                           context_.files.Open(file, message_.physical_rows()));
    LanceField pruned = Prune(field, columns);
    ROWFS_ASSIGN_OR_RETURN(Array array, read(*reader, pruned, columns));
    if (array.length != length) {
      return Status(Code::kCorruption,
                    "data file " + file.path() + ": column \"" +
                        field.field.name + "\" gave " +
                        std::to_string(array.length) + " of " +
                        std::to_string(length) + " rows");
    }
    SetBase(BaseOf(file), &array);
    parts.push_back({std::move(pruned), std::move(array)});
  }
  return Assemble(field, std::move(parts), length);
}

Result<Array> Fragment::Take(const LanceField& field,
                             std::span<const uint64_t> rows,
                             BlobDetail detail) const {
  return Collect(field, rows.size(),
                 [&](const LanceFileReader& reader, const LanceField& pruned,
                     const ColumnMap& columns) {
                   return reader.Take(pruned, columns, rows, detail);
                 });
}

Result<Array> Fragment::Read(const LanceField& field, uint64_t begin,
                             uint64_t end, BlobDetail detail) const {
  ROWFS_ASSIGN_OR_RETURN(const auto deleted, Deleted());
  const uint64_t gone = deleted ? deleted->Rank(end) - deleted->Rank(begin) : 0;
  // Mostly holes: what lies in them is not worth reading.
  if (gone > (end - begin) / 4 * 3) {
    std::vector<uint64_t> rows = LiveOffsets(*deleted, begin, end);
    for (uint64_t& row : rows) row += begin;
    return Take(field, rows, detail);
  }
  ROWFS_ASSIGN_OR_RETURN(
      Array array,
      Collect(field, end - begin,
              [&](const LanceFileReader& reader, const LanceField& pruned,
                  const ColumnMap& columns) {
                return reader.Read(pruned, columns, begin, end, detail);
              }));
  if (gone == 0) return array;
  return TakeArray(array, LiveOffsets(*deleted, begin, end));
}

Result<Array> Fragment::ReadLive(const LanceField& field, uint64_t first,
                                 uint64_t count, BlobDetail detail) const {
  const std::vector<uint64_t> edges = {first, first + count - 1};
  ROWFS_ASSIGN_OR_RETURN(const std::vector<uint64_t> physical, Physical(edges));
  return Read(field, physical[0], physical[1] + 1, detail);
}

Result<std::vector<uint64_t>> Fragment::Physical(
    std::span<const uint64_t> live) const {
  std::vector<uint64_t> rows(live.begin(), live.end());
  ROWFS_ASSIGN_OR_RETURN(const auto deleted, Deleted());
  if (!deleted) return rows;
  for (uint64_t& row : rows) row = deleted->SelectAbsent(row);
  return rows;
}

Result<std::shared_ptr<const RoaringBitmap>> Fragment::Deleted() const {
  if (!message_.has_deletion_file()) {
    return std::shared_ptr<const RoaringBitmap>();
  }
  if (auto known = context_.deletions.Find(message_.id())) return known;
  const pb::DeletionFile& file = message_.deletion_file();
  const auto base = BaseOf(file);
  ROWFS_ASSIGN_OR_RETURN(
      const Location location,
      context_.files.Locate(base,
                            context_.bases.DeletionPath(
                                base, DeletionFileName(message_.id(), file))));
  ROWFS_ASSIGN_OR_RETURN(
      RoaringBitmap rows,
      ReadDeletions(location, file, message_.physical_rows()));
  return context_.deletions.Put(
      message_.id(), std::make_shared<const RoaringBitmap>(std::move(rows)));
}

Result<uint64_t> Fragment::StableRowId(uint64_t physical_row) const {
  if (message_.has_row_id_column()) return HiddenRowId(physical_row);
  auto ids = context_.row_ids.Find(message_.id());
  if (!ids) {
    auto decoded = RowIdSequence::Decode(AsBytes(message_.inline_row_ids()),
                                         message_.physical_rows());
    if (!decoded.ok()) {
      return decoded.status().With("fragment " + std::to_string(message_.id()));
    }
    ids = context_.row_ids.Put(
        message_.id(),
        std::make_shared<const RowIdSequence>(std::move(decoded).value()));
  }
  return ids->At(physical_row);
}

Result<uint64_t> Fragment::HiddenRowId(uint64_t physical_row) const {
  LanceField field;
  field.id = kRowIdField;
  field.field = {.name = "_rowid",
                 .type = MakeType(TypeId::kUint64),
                 .nullable = false,
                 .metadata = {}};
  field.logical_type = "uint64";
  for (const pb::DataFile& file : message_.files()) {
    for (int i = 0; i < file.fields_size(); ++i) {
      if (file.fields(i) != kRowIdField || file.column_indices(i) < 0) continue;
      const ColumnMap columns = {
          {kRowIdField, static_cast<uint32_t>(file.column_indices(i))}};
      ROWFS_ASSIGN_OR_RETURN(
          const auto reader,
          context_.files.Open(file, message_.physical_rows()));
      const std::vector<uint64_t> rows = {physical_row};
      ROWFS_ASSIGN_OR_RETURN(
          const Array ids,
          reader->Take(field, columns, rows, BlobDetail::kDescriptor));
      return LoadU64(ids.FixedAt(0));
    }
  }
  return Status(Code::kCorruption, "fragment " + std::to_string(message_.id()) +
                                       ": no data file holds its row ids");
}

}  // namespace rowfs
