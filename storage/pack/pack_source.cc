#include "storage/pack/pack_source.h"

#include <algorithm>
#include <array>
#include <set>

#include "storage/base/hash.h"
#include "storage/pack/extensions.h"
#include "storage/pack/folder_pack.h"
#include "storage/pack/member_rows.h"
#include "storage/pack/shard_list.h"
#include "storage/table/file_rows.h"

namespace rowfs {
namespace {

// Text parts of samples are values when none of them is longer than this.
constexpr uint64_t kTextBytesMax = 64 << 10;
constexpr std::array<std::string_view, 12> kTextSuffixes = {
    "txt",   "text", "transcript", "caption", "cls", "cls2",
    "index", "inx",  "id",         "json",    "jsn", "jsonl"};

// How a blob column says what its files are called; see fs/tree.
constexpr std::string_view kNameColumn = "rowfs:name_column";
constexpr std::string_view kNameSuffix = "rowfs:name_suffix";
constexpr std::string_view kMediaType = "rowfs:media_type";
constexpr std::string_view kViews = "rowfs:views";
constexpr std::string_view kByMagic = "by_magic";
constexpr std::string_view kWebDataset = "webdataset";
constexpr std::string_view kNoFile = "rowfs:no_file";
constexpr std::string_view kQuick = "rowfs:quick";

bool IsText(const MemberRows::Column& column) {
  return column.readable && column.size_max <= kTextBytesMax &&
         std::find(kTextSuffixes.begin(), kTextSuffixes.end(), column.suffix) !=
             kTextSuffixes.end();
}

Field MakeField(std::string name, TypeId type) {
  Field field;
  field.name = std::move(name);
  field.type = MakeType(type);
  return field;
}

// What identifies a shard, for a fingerprint.
void AppendShard(std::string_view name, const ObjectMeta& meta, Bytes* facts) {
  AppendText(facts, std::string(name) + '\0' + meta.etag + '\0' +
                        std::to_string(meta.size) + '\0' +
                        std::to_string(meta.mtime_ns) + '\n');
}

class PackSource final : public TableSource, public FileRows {
 public:
  PackSource(std::string format, MemberRows rows,
             std::vector<std::string> shard_names,
             std::vector<std::string> damaged_shards)
      : format_(std::move(format)),
        rows_(std::move(rows)),
        shard_names_(std::move(shard_names)),
        damaged_shards_(std::move(damaged_shards)) {
    MakeSchema();
    MakeFingerprint();
  }

  std::string_view format() const override { return format_; }
  const Schema& schema() const override { return schema_; }
  uint64_t row_count() const override { return rows_.row_count(); }
  std::string fingerprint() const override { return fingerprint_; }
  Json Describe() const override;
  Result<RecordBatch> Take(std::span<const uint64_t> rows,
                           std::span<const size_t> columns,
                           BlobDetail detail) override;
  Result<std::unique_ptr<BatchReader>> Scan(std::span<const size_t> columns,
                                            uint64_t begin, uint64_t end,
                                            uint64_t batch_rows,
                                            BlobDetail detail) override;
  Result<uint64_t> RowId(uint64_t row) override { return row; }
  Result<BlobSource> OpenBlob(const BlobCell& cell) override;
  Result<std::vector<TableVersion>> Versions() override {
    return std::vector<TableVersion>();
  }
  std::optional<FileRow> FilesOf(uint64_t row) const override;
  Result<BlobSource> OpenFile(const File& file) const override {
    return Open(file.place);
  }

 private:
  using Parts = std::vector<MemberRows::Part>;

  bool Remote() const;
  // Whether rows come from memory and members from shards that stay open.
  bool Quick() const;
  void MakeSchema();
  void MakeFingerprint();
  std::string_view KeyOf(const MemberRows::Part& part) const {
    const std::string_view name = part.about.name;
    return rows_.rule() == RowRule::kMember ? name : SplitMemberName(name).key;
  }
  BlobCell CellOf(const MemberRows::Part& part) const;
  Array KeyColumn(std::span<const Parts> rows) const;
  Array BlobColumn(std::span<const Parts> rows, size_t column) const;
  Result<Array> TextColumn(std::span<const Parts> rows, size_t column) const;
  Result<BlobSource> Open(uint64_t member) const;

  const std::string format_;
  const MemberRows rows_;
  const std::vector<std::string> shard_names_;
  const std::vector<std::string> damaged_shards_;  // why they are left out
  Schema schema_;                       // the key, then rows_.columns()
  std::vector<bool> has_listed_views_;  // of rows_.columns()
  std::string fingerprint_;
};

// Part of a row in `column`; null when it has none.
const MemberRows::Part* FindPart(const std::vector<MemberRows::Part>& parts,
                                 size_t column) {
  for (const MemberRows::Part& part : parts) {
    if (part.column == column) return &part;
  }
  return nullptr;
}

// What a suffix says about the files of a column. On a network nothing is read
// to find out more: listing a row costs no request.
void DescribeFiles(std::string_view suffix, bool remote, Field* field) {
  const std::string_view extension =
      suffix.substr(suffix.rfind('.') + 1);  // npos + 1 == 0
  const std::string_view type = MediaTypeOfExtension(extension);
  if (!type.empty()) field->metadata.emplace_back(kMediaType, type);
  if (remote || IsValueExtension(extension)) {
    field->metadata.emplace_back(kViews, "none");
  } else if (IsVagueExtension(extension)) {
    field->metadata.emplace_back(kViews, kByMagic);
  } else if (IsPictureExtension(extension)) {
    field->metadata.emplace_back(kViews, "by_name");
  }
}

bool PackSource::Remote() const {
  return std::any_of(rows_.packs().begin(), rows_.packs().end(),
                     [](const std::shared_ptr<const Pack>& pack) {
                       return pack->location().store->capabilities().remote;
                     });
}

bool PackSource::Quick() const {
  return !Remote() && std::none_of(rows_.packs().begin(), rows_.packs().end(),
                                   [](const std::shared_ptr<const Pack>& pack) {
                                     return pack->kind() == "folder";
                                   });
}

void PackSource::MakeSchema() {
  const bool single = rows_.rule() == RowRule::kMember;
  const std::string key = single ? "file_name" : "__key__";
  schema_.fields.push_back(MakeField(key, TypeId::kString));
  schema_.fields.back().metadata.emplace_back(kNoFile, "true");
  if (Quick()) schema_.fields.back().metadata.emplace_back(kQuick, "true");
  std::set<std::string> taken = {key};
  for (const MemberRows::Column& column : rows_.columns()) {
    std::string name = column.suffix.empty() ? "file" : column.suffix;
    const std::string wanted = name;
    for (uint32_t n = 2; !taken.insert(name).second; ++n) {
      name = wanted + "~" + std::to_string(n);
    }
    const bool text = rows_.rule() == RowRule::kSample && IsText(column);
    Field field =
        MakeField(std::move(name), text ? TypeId::kString : TypeId::kBlob);
    field.metadata.emplace_back(kNameColumn, key);
    DescribeFiles(column.suffix, Remote(), &field);
    if (!column.suffix.empty()) {
      field.metadata.emplace_back(kNameSuffix, "." + column.suffix);
    }
    has_listed_views_.push_back(!text && !field.FindMetadata(kViews));
    schema_.fields.push_back(std::move(field));
  }
}

void PackSource::MakeFingerprint() {
  Bytes facts;
  AppendText(&facts, format_);
  for (size_t i = 0; i < rows_.packs().size(); ++i) {
    const Pack& pack = *rows_.packs()[i];
    AppendShard(shard_names_[i], pack.meta(), &facts);
    // The index of a tar is known long after its rows are first shown.
    if (pack.kind() == "tar" && !pack.meta().etag.empty()) continue;
    // What the index was made of, for stores that know no etag.
    Bytes members;
    pack.members().Encode(&members);
    AppendBytes(&facts, Sha256(members));
  }
  fingerprint_ = ToHex(Sha256(facts));
}

Json PackSource::Describe() const {
  Json facts = Json::Object();
  facts.Add("format", Json::String(format_));
  facts.Add("shards", Json::Uint(rows_.packs().size()));
  facts.Add("members", Json::Uint(rows_.member_count()));
  facts.Add("rows_are",
            Json::String(rows_.rule() == RowRule::kMember   ? "members"
                         : rows_.rule() == RowRule::kSample ? "samples"
                                                            : "stems"));
  facts.Add("index_bytes", Json::Uint(rows_.bytes()));
  Json damaged = Json::Array();
  for (const std::string& why : damaged_shards_) {
    damaged.items.push_back(Json::String(why));
  }
  for (size_t i = 0; i < rows_.packs().size(); ++i) {
    const std::string_view damage = rows_.packs()[i]->damage();
    if (damage.empty()) continue;
    damaged.items.push_back(
        Json::String(shard_names_[i] + ": " + std::string(damage)));
  }
  if (!damaged.items.empty()) facts.Add("damaged", std::move(damaged));
  if (rows_.skipped() > 0) {
    facts.Add("skipped_members", Json::Uint(rows_.skipped()));
    Json names = Json::Array();
    for (const std::string& name : rows_.skipped_names()) {
      names.items.push_back(Json::String(name));
    }
    facts.Add("skipped_first", std::move(names));
  }
  return facts;
}

std::optional<FileRows::FileRow> PackSource::FilesOf(uint64_t row) const {
  const Parts parts = rows_.Row(row);
  FileRow files;
  if (parts.empty()) return {};
  // All files of a row are called after its key, which is the first one's.
  files.key = KeyOf(parts[0]);
  const std::string stem = files.key.substr(files.key.rfind('/') + 1);
  files.files.reserve(parts.size());
  for (const MemberRows::Part& part : parts) {
    if (part.about.fault != MemberFault::kNone ||
        part.about.coding == MemberCoding::kOther ||
        has_listed_views_[part.column]) {
      return {};
    }
    const std::string& suffix = rows_.columns()[part.column].suffix;
    files.files.push_back({suffix.empty() ? stem : stem + "." + suffix,
                           part.about.size, part.column + 1, part.member});
  }
  std::ranges::sort(files.files, {}, &File::field);
  return files;
}

BlobCell PackSource::CellOf(const MemberRows::Part& part) const {
  const auto [pack, member] = rows_.Locate(part.member);
  const Pack& shard = *rows_.packs()[pack];
  BlobCell cell;
  cell.kind = BlobKind::kExternal;
  cell.object = shard.kind() == "folder"
                    ? part.about.name
                    : std::string(shard.kind()) + "://" + part.about.name +
                          "::" + shard_names_[pack];
  // The format's own key: which member it is.
  cell.base_id = static_cast<uint32_t>(part.member);
  cell.offset = part.about.offset;
  if (FaultOf(part.about, "").ok()) cell.size = part.about.size;
  return cell;
}

Array PackSource::KeyColumn(std::span<const Parts> rows) const {
  ArrayBuilder builder(MakeType(TypeId::kString));
  for (const Parts& parts : rows) {
    if (parts.empty()) {
      builder.AppendNull();
      continue;
    }
    builder.AppendBytes(AsBytes(KeyOf(parts[0])));
  }
  return builder.Finish();
}

Array PackSource::BlobColumn(std::span<const Parts> rows, size_t column) const {
  ArrayBuilder builder(MakeType(TypeId::kBlob));
  for (const Parts& parts : rows) {
    const MemberRows::Part* part = FindPart(parts, column);
    if (part == nullptr) {
      builder.AppendNull();
    } else {
      builder.AppendBlob(CellOf(*part));
    }
  }
  return builder.Finish();
}

Result<Array> PackSource::TextColumn(std::span<const Parts> rows,
                                     size_t column) const {
  // Together where they lie in one shard.
  std::map<const ObjectReader*, std::vector<size_t>> by_reader;
  std::vector<std::optional<BlobSource>> sources;
  std::vector<Bytes> texts(rows.size());
  for (size_t r = 0; r < rows.size(); ++r) {
    const MemberRows::Part* part = FindPart(rows[r], column);
    sources.emplace_back();
    if (part == nullptr) continue;
    ROWFS_ASSIGN_OR_RETURN(sources.back(), Open(part->member));
    if (sources.back()->bytes) {
      texts[r] = *sources.back()->bytes;
    } else {
      by_reader[sources.back()->reader.get()].push_back(r);
    }
  }
  for (const auto& [reader, wanted] : by_reader) {
    std::vector<ByteRange> ranges;
    for (const size_t r : wanted) ranges.push_back(sources[r]->range);
    ROWFS_ASSIGN_OR_RETURN(std::vector<Bytes> parts,
                           reader->ReadMany(ranges, ReadKind::kMetadata));
    for (size_t i = 0; i < wanted.size(); ++i) {
      texts[wanted[i]] = std::move(parts[i]);
    }
  }
  ArrayBuilder builder(MakeType(TypeId::kString));
  for (size_t r = 0; r < rows.size(); ++r) {
    if (sources[r]) {
      builder.AppendBytes(texts[r]);
    } else {
      builder.AppendNull();
    }
  }
  return builder.Finish();
}

Result<RecordBatch> PackSource::Take(std::span<const uint64_t> rows,
                                     std::span<const size_t> columns,
                                     BlobDetail) {
  std::vector<Parts> parts;
  for (const uint64_t row : rows) {
    if (row >= row_count()) {
      return Status(Code::kOutOfRange, "row " + std::to_string(row) +
                                           ": there are " +
                                           std::to_string(row_count()));
    }
    parts.push_back(rows_.Row(row));
  }
  RecordBatch batch;
  batch.row_count = rows.size();
  for (const size_t column : columns) {
    const Field& field = schema_.fields[column];
    batch.schema.fields.push_back(field);
    if (column == 0) {
      batch.columns.push_back(KeyColumn(parts));
    } else if (field.type->id == TypeId::kBlob) {
      batch.columns.push_back(BlobColumn(parts, column - 1));
    } else {
      ROWFS_ASSIGN_OR_RETURN(batch.columns.emplace_back(),
                             TextColumn(parts, column - 1));
    }
  }
  return batch;
}

Result<std::unique_ptr<BatchReader>> PackSource::Scan(
    std::span<const size_t> columns, uint64_t begin, uint64_t end,
    uint64_t batch_rows, BlobDetail detail) {
  class Reader final : public BatchReader {
   public:
    Reader(PackSource& source, std::span<const size_t> wanted, uint64_t first,
           uint64_t last, uint64_t rows, BlobDetail how)
        : source_(source),
          columns_(wanted.begin(), wanted.end()),
          next_(first),
          end_(std::min(last, source.row_count())),
          batch_rows_(rows),
          detail_(how) {}
    Result<RecordBatch> Next() override {
      std::vector<uint64_t> rows;
      while (next_ < end_ && rows.size() < batch_rows_) {
        rows.push_back(next_++);
      }
      return source_.Take(rows, columns_, detail_);
    }

   private:
    PackSource& source_;
    const std::vector<size_t> columns_;
    uint64_t next_;
    const uint64_t end_;
    const uint64_t batch_rows_;
    const BlobDetail detail_;
  };
  return std::unique_ptr<BatchReader>(
      std::make_unique<Reader>(*this, columns, begin, end, batch_rows, detail));
}

Result<BlobSource> PackSource::Open(uint64_t member) const {
  const auto [pack, i] = rows_.Locate(member);
  return rows_.packs()[pack]->OpenMember(i);
}

Result<BlobSource> PackSource::OpenBlob(const BlobCell& cell) {
  if (!cell.base_id || *cell.base_id >= rows_.member_count()) {
    return Status(Code::kInvalidArgument,
                  cell.object + ": not a member of this pack");
  }
  return Open(*cell.base_id);
}

// Opens all shards, several at once. One that is no zip or tar costs itself
// alone, unless there is no other: then it is left out of the list, and
// `damaged` says why.
Result<std::vector<std::shared_ptr<const Pack>>> OpenAll(
    ShardList* list, const OpenContext& context, const TarObserver& found,
    std::vector<std::string>* damaged) {
  const std::vector<Location>& shards = list->shards;
  std::vector<Status> errors(shards.size());
  std::vector<std::shared_ptr<const Pack>> packs(shards.size());
  std::vector<std::function<Status()>> tasks;
  for (size_t i = 0; i < shards.size(); ++i) {
    tasks.push_back([&, i]() -> Status {
      Result<std::shared_ptr<const Pack>> pack =
          OpenPack(shards[i], context, found);
      errors[i] = pack.status();
      if (pack.ok()) packs[i] = std::move(pack).value();
      const Code code = errors[i].code();
      const bool bad = code == Code::kCorruption || code == Code::kUnsupported;
      return bad ? Status() : errors[i];
    });
  }
  if (context.read.pool != nullptr && tasks.size() > 1) {
    ROWFS_RETURN_IF_ERROR(RunAll(*context.read.pool, tasks));
  } else {
    for (const auto& task : tasks) ROWFS_RETURN_IF_ERROR(task());
  }
  ShardList good;
  std::vector<std::shared_ptr<const Pack>> opened;
  for (size_t i = 0; i < shards.size(); ++i) {
    if (!packs[i]) {
      damaged->push_back(std::string(errors[i].message()));
      continue;
    }
    opened.push_back(std::move(packs[i]));
    good.shards.push_back(shards[i]);
    good.names.push_back(list->names[i]);
  }
  if (opened.empty()) return errors[0];
  *list = std::move(good);
  return opened;
}

Result<std::unique_ptr<TableSource>> OpenRows(const Location& location,
                                              const std::string& format,
                                              RowRule rule,
                                              const OpenContext& context,
                                              const TarObserver& found = {}) {
  ROWFS_ASSIGN_OR_RETURN(ShardList list, ListShards(location, false));
  std::vector<std::shared_ptr<const Pack>> packs;
  std::vector<std::string> damaged;
  if (list.shards.empty()) {
    // No shards: the folder itself is the pack.
    ROWFS_ASSIGN_OR_RETURN(packs.emplace_back(),
                           OpenFolderPack(location, context));
    list.names = {""};
  } else {
    ROWFS_ASSIGN_OR_RETURN(packs, OpenAll(&list, context, found, &damaged));
  }
  ROWFS_ASSIGN_OR_RETURN(MemberRows rows, MemberRows::Make(packs, rule));
  if (rule == RowRule::kSample && rows.row_count() == 0 &&
      rows.member_count() > 0) {
    // No member has a WebDataset key: then it is a pack of files.
    ROWFS_ASSIGN_OR_RETURN(rows,
                           MemberRows::Make(std::move(packs), RowRule::kStem));
  }
  return std::unique_ptr<TableSource>(std::make_unique<PackSource>(
      format, std::move(rows), std::move(list.names), std::move(damaged)));
}

// What a file is whose name does not say.
ShardKind KindByMagic(const Location& file) {
  Bytes head(264);
  const Result<ObjectMeta> meta = file.store->Stat(file.path);
  if (!meta.ok()) return ShardKind::kNone;
  head.resize(std::min<uint64_t>(head.size(), meta.value().size));
  if (head.size() < 22 ||
      !file.store->ReadAt({file.path, meta.value().etag}, 0, head).ok()) {
    return ShardKind::kNone;
  }
  const std::string_view text = AsText(head);
  if (text.starts_with("PK\x03\x04") || text.starts_with("PK\x05\x06")) {
    return ShardKind::kZip;
  }
  const bool tar = text.size() > 262 && text.substr(257, 5) == "ustar";
  return tar ? ShardKind::kTar : ShardKind::kNone;
}

TableFormat MakeFormat(std::string name, RowRule rule,
                       std::function<Result<bool>(const Location&)> detect) {
  TableFormat format;
  format.name = name;
  format.detect = [detect = std::move(detect)](const Location& location,
                                               const OpenContext&) {
    return detect(location);
  };
  format.open =
      [name, rule](
          const Location& location, std::string_view version,
          const OpenContext& context) -> Result<std::unique_ptr<TableSource>> {
    if (!version.empty() && version != "latest") {
      return Status(Code::kInvalidArgument, location.uri() + ": a " + name +
                                                " has no version \"" +
                                                std::string(version) + "\"");
    }
    return OpenRows(location, name, rule, context);
  };
  return format;
}

}  // namespace

Result<std::unique_ptr<TableSource>> OpenWebDataset(const Location& location,
                                                    const OpenContext& context,
                                                    const TarObserver& found) {
  return OpenRows(location, std::string(kWebDataset), RowRule::kSample, context,
                  found);
}

std::string WebDatasetFingerprint(const Location& location,
                                  const ObjectMeta& meta) {
  Bytes facts;
  AppendText(&facts, kWebDataset);
  AppendShard(location.path.substr(location.path.rfind('/') + 1), meta, &facts);
  return ToHex(Sha256(facts));
}

bool HasPlainFiles(std::string_view suffix, bool remote) {
  Field field;
  DescribeFiles(suffix, remote, &field);
  const auto views = field.FindMetadata(kViews);
  return views && *views != kByMagic;
}

std::vector<TableFormat> PackFormats() {
  const auto shards = [](ShardKind kind) {
    return [kind](const Location& location) -> Result<bool> {
      ROWFS_ASSIGN_OR_RETURN(const ShardList list, ListShards(location, true));
      if (list.others && list.shards.size() == 1 &&
          list.zips + list.tars == 0) {
        return KindByMagic(list.shards[0]) == kind;
      }
      if (list.others) return false;
      return kind == ShardKind::kZip ? list.zips > 0
                                     : list.tars > 0 && list.zips == 0;
    };
  };
  return {MakeFormat(std::string(kWebDataset), RowRule::kSample,
                     shards(ShardKind::kTar)),
          MakeFormat("blobpack", RowRule::kStem, shards(ShardKind::kZip)),
          MakeFormat("blobpack-members", RowRule::kMember,
                     [](const Location&) { return false; })};
}

}  // namespace rowfs
