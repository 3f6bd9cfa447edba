#include "index/catalog/catalog.h"

#include <algorithm>
#include <utility>

#include "index/catalog/index_queries.h"
#include "storage/base/hash.h"

namespace rowfs {
namespace {

// Values larger than this are cut into parts.
constexpr size_t kPartBytes = size_t{16} << 20;
// Of PutBytes, in all; larger ones are not kept.
constexpr size_t kBytesMax = size_t{1} << 30;

constexpr char kFindSize[] =
    "SELECT size, checksum FROM rendered_size WHERE key=?1";
constexpr char kPutSize[] =
    "INSERT OR REPLACE INTO rendered_size(key, size, checksum) "
    "VALUES(?1, ?2, ?3)";
constexpr char kFindMedia[] =
    "SELECT code, message, plugin, plugin_version, blob_type, stream_info, "
    "entries, checksum FROM media WHERE key=?1";
constexpr char kPutMedia[] =
    "INSERT OR REPLACE INTO media(key, code, message, plugin, plugin_version, "
    "blob_type, stream_info, entries, checksum) "
    "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
constexpr char kFindParts[] =
    "SELECT number, bytes, checksum FROM part WHERE name=?1 ORDER BY number";
constexpr char kDeleteParts[] = "DELETE FROM part WHERE name=?1";
constexpr char kPutPart[] =
    "INSERT INTO part(name, number, bytes, checksum) VALUES(?1, ?2, ?3, ?4)";

Status Damaged(const char* what) {
  return Status(Code::kCorruption,
                std::string("catalog: ") + what + " has a wrong checksum");
}

uint64_t SizeChecksum(uint64_t key, uint64_t size) {
  Bytes bytes;
  AppendU64(&bytes, key);
  AppendU64(&bytes, size);
  return Hash64(bytes);
}

uint64_t MediaChecksum(std::string_view key, const IndexedMedia& media) {
  Bytes head;
  for (const std::string_view text :
       {key, std::string_view(media.message), std::string_view(media.plugin),
        std::string_view(media.plugin_version)}) {
    AppendVarint(&head, text.size());
    AppendText(&head, text);
  }
  AppendU8(&head, static_cast<uint8_t>(media.code));
  AppendU8(&head, media.blob_type);
  AppendU64(&head, media.stream_info.size());
  return Hash64(media.entries, Hash64(media.stream_info, Hash64(head)));
}

// The number of the part goes in, and whether it is the last, so that a value
// that lost one does not look whole.
uint64_t PartChecksum(std::string_view name, uint64_t number, bool last,
                      ByteSpan bytes) {
  Bytes head;
  AppendText(&head, name);
  AppendU64(&head, number);
  AppendU8(&head, last ? 1 : 0);
  return Hash64(bytes, Hash64(head));
}

std::string TextOf(ByteSpan bytes) { return std::string(AsText(bytes)); }

Bytes BytesOf(ByteSpan bytes) { return Bytes(bytes.begin(), bytes.end()); }

Result<std::optional<uint64_t>> ReadSize(Database& db, uint64_t key) {
  ROWFS_ASSIGN_OR_RETURN(Statement statement, db.Prepare(kFindSize));
  ROWFS_ASSIGN_OR_RETURN(const bool found, statement.Bind(1, key).Step());
  if (!found) return std::optional<uint64_t>();
  const uint64_t size = statement.Uint(0);
  if (statement.Uint(1) != SizeChecksum(key, size)) return Damaged("a size");
  return std::optional<uint64_t>(size);
}

Status WriteSizes(Database& db, const std::map<uint64_t, uint64_t>& sizes) {
  ROWFS_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(db));
  for (const auto& [key, size] : sizes) {
    ROWFS_ASSIGN_OR_RETURN(Statement statement, db.Prepare(kPutSize));
    statement.Bind(1, key).Bind(2, size).Bind(3, SizeChecksum(key, size));
    ROWFS_RETURN_IF_ERROR(statement.Run());
  }
  return transaction.Commit();
}

Result<std::optional<IndexedMedia>> ReadMedia(Database& db,
                                              std::string_view key) {
  ROWFS_ASSIGN_OR_RETURN(Statement statement, db.Prepare(kFindMedia));
  ROWFS_ASSIGN_OR_RETURN(const bool found, statement.Bind(1, key).Step());
  if (!found) return std::optional<IndexedMedia>();
  IndexedMedia media;
  const int64_t code = statement.Int(0);
  if (code < 0 || code > static_cast<int64_t>(Code::kInternal)) {
    return Damaged("a media index");
  }
  media.code = static_cast<Code>(code);
  media.message = TextOf(statement.Blob(1));
  media.plugin = TextOf(statement.Blob(2));
  media.plugin_version = TextOf(statement.Blob(3));
  media.blob_type = static_cast<uint8_t>(statement.Int(4));
  media.stream_info = BytesOf(statement.Blob(5));
  media.entries = BytesOf(statement.Blob(6));
  if (statement.Uint(7) != MediaChecksum(key, media)) {
    return Damaged("a media index");
  }
  return std::optional<IndexedMedia>(std::move(media));
}

Status WriteMedia(Database& db, std::string_view key,
                  const IndexedMedia& media) {
  ROWFS_ASSIGN_OR_RETURN(Statement statement, db.Prepare(kPutMedia));
  statement.Bind(1, key)
      .Bind(2, static_cast<int64_t>(media.code))
      .Bind(3, std::string_view(media.message))
      .Bind(4, std::string_view(media.plugin))
      .Bind(5, std::string_view(media.plugin_version))
      .Bind(6, int64_t{media.blob_type})
      .Bind(7, ByteSpan(media.stream_info))
      .Bind(8, ByteSpan(media.entries))
      .Bind(9, MediaChecksum(key, media));
  return statement.Run();
}

Result<std::optional<Bytes>> ReadParts(Database& db, std::string_view name) {
  ROWFS_ASSIGN_OR_RETURN(Statement statement, db.Prepare(kFindParts));
  statement.Bind(1, name);
  Bytes bytes;
  uint64_t number = 0;
  bool last = false;
  while (true) {
    ROWFS_ASSIGN_OR_RETURN(const bool found, statement.Step());
    if (!found) break;
    const ByteSpan part = statement.Blob(1);
    last = part.size() < kPartBytes;
    if (statement.Uint(0) != number ||
        statement.Uint(2) != PartChecksum(name, number, last, part)) {
      return Damaged("a part");
    }
    if (part.size() > kBytesMax - bytes.size()) return Damaged("a part");
    AppendBytes(&bytes, part);
    ++number;
  }
  if (number == 0) return std::optional<Bytes>();
  if (!last) return Damaged("a part");
  return std::optional<Bytes>(std::move(bytes));
}

Status WriteParts(Database& db, std::string_view name, ByteSpan bytes) {
  ROWFS_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(db));
  {
    ROWFS_ASSIGN_OR_RETURN(Statement statement, db.Prepare(kDeleteParts));
    ROWFS_RETURN_IF_ERROR(statement.Bind(1, name).Run());
  }
  // The last part is the one that is not full, be it empty.
  bool last = false;
  for (uint64_t number = 0; !last; ++number) {
    const ByteSpan part = bytes.first(std::min(bytes.size(), kPartBytes));
    bytes = bytes.subspan(part.size());
    last = part.size() < kPartBytes;
    ROWFS_ASSIGN_OR_RETURN(Statement statement, db.Prepare(kPutPart));
    statement.Bind(1, name).Bind(2, number).Bind(3, part).Bind(
        4, PartChecksum(name, number, last, part));
    ROWFS_RETURN_IF_ERROR(statement.Run());
  }
  return transaction.Commit();
}

}  // namespace

std::unique_ptr<Catalog> Catalog::Make(
    Result<std::unique_ptr<CatalogFile>> file, std::string warning) {
  std::unique_ptr<Catalog> catalog(new Catalog);
  MutexLock lock(catalog->mu_);
  if (file.ok()) {
    catalog->file_ = std::move(file).value();
    catalog->problem_ = std::move(warning);
  } else {
    catalog->usable_ = false;
    catalog->problem_ = file.status().message();
  }
  return catalog;
}

std::unique_ptr<Catalog> Catalog::Open(const std::string& path,
                                       std::string_view fingerprint) {
  std::string warning;
  auto file = CatalogFile::Open(path, fingerprint, &warning);
  return Make(std::move(file), std::move(warning));
}

std::unique_ptr<Catalog> Catalog::OpenLent(const std::string& path,
                                           std::string_view fingerprint) {
  auto file = CatalogFile::OpenLent(path, fingerprint);
  if (file.status().code() == Code::kNotFound) return nullptr;
  return Make(std::move(file), "");
}

Catalog::~Catalog() { FlushSizes(); }

bool Catalog::usable() const {
  MutexLock lock(mu_);
  return usable_;
}

std::string Catalog::problem() const {
  MutexLock lock(mu_);
  return problem_;
}

std::unique_ptr<Database> Catalog::Take() {
  {
    MutexLock lock(mu_);
    if (!usable_) return nullptr;
    if (!idle_.empty()) {
      auto db = std::move(idle_.back());
      idle_.pop_back();
      return db;
    }
  }
  auto db = file_->Connect();
  if (db.ok()) return std::move(db).value();
  Note(db.status());
  return nullptr;
}

void Catalog::GiveBack(std::unique_ptr<Database> db) {
  MutexLock lock(mu_);
  if (usable_ && idle_.size() < kIdleMax) idle_.push_back(std::move(db));
}

void Catalog::Note(const Status& error) {
  if (error.ok()) return;
  MutexLock lock(mu_);
  problem_ = error.message();
  if (error.code() != Code::kCorruption) return;
  usable_ = false;
  idle_.clear();
  file_->MarkDamaged();
}

std::unique_ptr<Database> Catalog::TakeForWriting() {
  if (file_ == nullptr || file_->read_only()) return nullptr;
  return Take();
}

void Catalog::Put(const std::function<Status(Database&)>& write) {
  auto db = TakeForWriting();
  if (db == nullptr) return;
  const Status status = write(*db);
  GiveBack(std::move(db));
  Note(status);
}

std::optional<uint64_t> Catalog::FindSize(uint64_t key) {
  {
    MutexLock lock(mu_);
    const auto pending = sizes_pending_.find(key);
    if (pending != sizes_pending_.end()) return pending->second;
  }
  return Find<uint64_t>([&](Database& db) { return ReadSize(db, key); });
}

void Catalog::PutSize(uint64_t key, uint64_t size) {
  bool full = false;
  {
    MutexLock lock(mu_);
    if (!usable_ || file_->read_only()) return;
    sizes_pending_[key] = size;
    full = sizes_pending_.size() >= kSizesPendingMax;
  }
  if (full) FlushSizes();
}

void Catalog::FlushSizes() {
  std::map<uint64_t, uint64_t> sizes;
  {
    MutexLock lock(mu_);
    sizes.swap(sizes_pending_);
  }
  if (sizes.empty()) return;
  Put([&](Database& db) { return WriteSizes(db, sizes); });
}

std::optional<IndexedMedia> Catalog::FindMedia(std::string_view key) {
  return Find<IndexedMedia>([&](Database& db) { return ReadMedia(db, key); });
}

void Catalog::PutMedia(std::string_view key, const IndexedMedia& media) {
  Put([&](Database& db) { return WriteMedia(db, key, media); });
}

std::optional<Bytes> Catalog::FindBytes(std::string_view name) {
  return Find<Bytes>([&](Database& db) { return ReadParts(db, name); });
}

void Catalog::PutBytes(std::string_view name, ByteSpan bytes) {
  if (bytes.size() > kBytesMax) return;
  Put([&](Database& db) { return WriteParts(db, name, bytes); });
}

std::optional<uint64_t> Catalog::CountValues(std::string_view column) {
  return Find<uint64_t>(
      [&](Database& db) { return ReadValueCount(db, column); });
}

std::optional<IndexedValue> Catalog::FindValue(std::string_view column,
                                               uint64_t number) {
  return Find<IndexedValue>(
      [&](Database& db) { return ReadValue(db, column, number); });
}

std::optional<uint64_t> Catalog::FindValueNumber(std::string_view column,
                                                 std::string_view name) {
  return Find<uint64_t>(
      [&](Database& db) { return ReadValueNumber(db, column, name); });
}

std::optional<std::vector<uint64_t>> Catalog::FindRows(std::string_view column,
                                                       uint64_t number,
                                                       uint64_t start,
                                                       uint64_t limit) {
  return Find<std::vector<uint64_t>>(
      [&](Database& db) { return ReadRows(db, column, number, start, limit); });
}

std::optional<uint64_t> Catalog::CountNames(std::string_view column) {
  return Find<uint64_t>(
      [&](Database& db) { return ReadNameCount(db, column); });
}

std::optional<uint64_t> Catalog::FindRow(std::string_view column,
                                         std::string_view name) {
  return Find<uint64_t>(
      [&](Database& db) { return ReadNamedRow(db, column, name); });
}

std::optional<std::vector<std::string>> Catalog::FindNames(
    std::string_view column, uint64_t start, uint64_t limit) {
  return Find<std::vector<std::string>>(
      [&](Database& db) { return ReadNames(db, column, start, limit); });
}

}  // namespace rowfs
