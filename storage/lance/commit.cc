#include "storage/lance/commit.h"

#include <algorithm>
#include <array>
#include <random>

#include "storage/base/hash.h"
#include "storage/base/json.h"
#include "storage/lance/apply.h"
#include "storage/lance/conflict.h"
#include "storage/lance/manifest_check.h"
#include "storage/lance/parse_message.h"
#include "storage/lance/versions.h"

namespace rowfs {
namespace {

constexpr uint64_t kTransactionBytesMax = uint64_t{1} << 30;
constexpr int64_t kBackOffFirstMs = 5;
constexpr int64_t kBackOffMaxMs = 500;

std::array<uint8_t, 16> RandomBytes() {
  std::random_device device;
  std::array<uint8_t, 16> bytes{};
  for (size_t i = 0; i < bytes.size(); i += 4) {
    const uint32_t word = device();
    for (size_t j = 0; j < 4; ++j) {
      bytes[i + j] = static_cast<uint8_t>(word >> (8 * j) & 0xff);
    }
  }
  return bytes;
}

// One commit on its way: what it is based on changes from attempt to attempt.
class Commit {
 public:
  Commit(const Location& root, pb::Transaction transaction,
         const CommitOptions& options, Clock* clock)
      : root_(root),
        transaction_(std::move(transaction)),
        options_(options),
        clock_(clock) {
    if (transaction_.uuid().empty()) transaction_.set_uuid(MakeUuid());
  }

  Result<CommitResult> Run();

 private:
  // The latest version; a manifest of version 0 where there is none yet.
  Result<Manifest> LoadBase() const;
  // What happened between read_version and `base`. True: this very transaction
  // is among it, an earlier attempt got through after all.
  Result<bool> Judge(const Manifest& base);
  Result<CommitResult> Attempt(const Manifest& base);
  Status WriteTransactionFile(const pb::Manifest& base);
  void BackOff(uint32_t attempt) const;

  const Location root_;
  pb::Transaction transaction_;
  const CommitOptions options_;
  Clock* const clock_;
  uint64_t judged_ = 0;  // versions up to this one are no obstacle
  bool written_ = false;
};

Result<Manifest> Commit::LoadBase() const {
  auto latest = FindLatest(root_);
  if (latest.ok()) {
    return ReadManifest(root_.Join("_versions"), latest.value(),
                        ManifestParts::kAll);
  }
  const bool creating =
      transaction_.read_version() == 0 && transaction_.has_overwrite();
  if (latest.status().code() == Code::kNotFound && creating) {
    return Manifest{};
  }
  return latest.status();
}

Result<bool> Commit::Judge(const Manifest& base) {
  const uint64_t latest = base.message.version();
  const uint64_t read = transaction_.read_version();
  if (read > latest) {
    return Status(
        Code::kInvalidArgument,
        root_.uri() + ": no version " + std::to_string(read) + " to commit on");
  }
  for (uint64_t version = std::max(read, judged_) + 1; version <= latest;
       ++version) {
    Result<pb::Transaction> theirs = version == latest
                                         ? ReadTransaction(root_, base)
                                         : ReadTransaction(root_, version);
    if (theirs.ok() && theirs.value().uuid() == transaction_.uuid()) {
      return true;
    }
    if (read == 0) {
      return Status(Code::kAlreadyExists,
                    root_.uri() + ": there is a Lance dataset already");
    }
    const std::string where =
        root_.uri() + ": version " + std::to_string(version);
    if (!theirs.ok()) {
      return Status(Code::kChanged, where +
                                        " was committed meanwhile and does "
                                        "not say what it changed (" +
                                        std::string(theirs.status().message()) +
                                        ")");
    }
    const Conflict conflict = FindConflict(transaction_, theirs.value());
    if (conflict == Conflict::kIncompatible) {
      return Status(Code::kAlreadyExists,
                    where + ", committed meanwhile, replaced the table");
    }
    if (conflict == Conflict::kRetry) {
      return Status(Code::kChanged,
                    where + ", committed meanwhile, changed the same rows");
    }
  }
  judged_ = latest;
  return false;
}

Status Commit::WriteTransactionFile(const pb::Manifest& base) {
  if ((base.writer_feature_flags() & kFlagNoTransactionFiles) != 0) return {};
  // Fragment ids inside a rewrite depend on the version it is based on.
  if (written_ && !transaction_.has_rewrite()) return {};
  ROWFS_RETURN_IF_ERROR(WriteWhole(
      root_.Join("_transactions").Join(TransactionFileName(transaction_)),
      SerializeMessage(transaction_), PutMode::kOverwrite));
  written_ = true;
  return {};
}

Result<CommitResult> Commit::Attempt(const Manifest& base) {
  ROWFS_RETURN_IF_ERROR(CheckWritable(base.message).With(root_.uri()));
  Manifest next;
  pb::Transaction attempt = transaction_;
  ROWFS_ASSIGN_OR_RETURN(
      next.message,
      ApplyTransaction(base.message, &attempt, options_, clock_->NowNs()));
  transaction_ = std::move(attempt);
  ROWFS_RETURN_IF_ERROR(CheckManifest(next.message).With(root_.uri()));
  ROWFS_RETURN_IF_ERROR(WriteTransactionFile(base.message));
  next.message.clear_transaction_file();
  if ((base.message.writer_feature_flags() & kFlagNoTransactionFiles) == 0) {
    next.message.set_transaction_file(TransactionFileName(transaction_));
  }
  next.transaction = SerializeMessage(transaction_);
  // An overwritten table's indices describe rows that are gone.
  if (!transaction_.has_overwrite()) next.index_section = base.index_section;
  const uint64_t version = next.message.version();
  ROWFS_RETURN_IF_ERROR(WriteWhole(
      root_.Join("_versions").Join(FormatManifestName(version, base.naming)),
      EncodeManifest(next), PutMode::kIfAbsent));
  return CommitResult{version, std::move(next.message)};
}

void Commit::BackOff(uint32_t attempt) const {
  const int64_t limit = std::min(
      kBackOffMaxMs, kBackOffFirstMs << std::min<uint32_t>(attempt, 10));
  const uint64_t spread = Hash64(AsBytes(transaction_.uuid()), attempt);
  clock_->SleepMs(static_cast<int64_t>(spread % static_cast<uint64_t>(limit)) +
                  1);
}

Result<CommitResult> Commit::Run() {
  Status last;
  for (uint32_t i = 0; i < std::max(options_.attempts_max, 1U); ++i) {
    if (i > 0) BackOff(i);
    ROWFS_ASSIGN_OR_RETURN(const Manifest base, LoadBase());
    ROWFS_ASSIGN_OR_RETURN(const bool done, Judge(base));
    if (done) {
      return CommitResult{base.message.version(), base.message};
    }
    auto result = Attempt(base);
    if (result.ok()) return result;
    last = result.status();
    // Lost the race, or an answer was lost and the write may have happened:
    // the next round sees which.
    if (last.code() != Code::kAlreadyExists &&
        last.code() != Code::kUnavailable) {
      return last;
    }
  }
  return Status(Code::kUnavailable,
                root_.uri() + ": others committed first, " +
                    std::to_string(options_.attempts_max) +
                    " times in a row: " + std::string(last.message()));
}

// Lets stores that cannot list find the version. Failing is harmless: a hint
// may be stale or missing.
void WriteHint(const Location& root, uint64_t version) {
  Json json = Json::Object();
  json.Add("version", Json::Uint(version));
  const Status ignored =
      WriteWhole(root.Join("_versions/latest_version_hint.json"),
                 AsBytes(WriteJson(json)), PutMode::kOverwrite);
  static_cast<void>(ignored);
}

Result<pb::Transaction> ParseTransaction(ByteSpan bytes,
                                         std::string_view what) {
  pb::Transaction out;
  if (bytes.size() > kTransactionBytesMax || !ParseMessage(bytes, &out)) {
    return Status(Code::kCorruption,
                  std::string(what) + ": not a valid transaction");
  }
  return out;
}

}  // namespace

std::string TransactionFileName(const pb::Transaction& transaction) {
  return std::to_string(transaction.read_version()) + "-" + transaction.uuid() +
         ".txn";
}

Result<pb::Transaction> ReadTransaction(const Location& root,
                                        const Manifest& manifest) {
  if (manifest.transaction) {
    auto parsed = ParseTransaction(*manifest.transaction, root.uri());
    if (parsed.ok()) return parsed;
  }
  const std::string& name = manifest.message.transaction_file();
  if (!IsConfinedPath(name)) {
    return Status(Code::kNotFound, "it holds no transaction");
  }
  const Location file = root.Join("_transactions").Join(name);
  ROWFS_ASSIGN_OR_RETURN(const Bytes bytes,
                         ReadWhole(file, kTransactionBytesMax));
  return ParseTransaction(bytes, file.uri());
}

Result<pb::Transaction> ReadTransaction(const Location& root,
                                        uint64_t version) {
  ROWFS_ASSIGN_OR_RETURN(const ManifestName name, FindVersion(root, version));
  ROWFS_ASSIGN_OR_RETURN(
      const Manifest manifest,
      ReadManifest(root.Join("_versions"), name, ManifestParts::kAll));
  return ReadTransaction(root, manifest);
}

Result<CommitResult> CommitTransaction(const Location& root,
                                       pb::Transaction transaction,
                                       const CommitOptions& options) {
  RealClock real;
  Clock* clock = options.clock != nullptr ? options.clock : &real;
  Commit commit(root, std::move(transaction), options, clock);
  auto result = commit.Run();
  if (result.ok()) WriteHint(root, result.value().version);
  return result;
}

std::string MakeUuid() {
  std::array<uint8_t, 16> bytes = RandomBytes();
  bytes[6] = static_cast<uint8_t>((bytes[6] & 0x0f) | 0x40);  // version 4
  bytes[8] = static_cast<uint8_t>((bytes[8] & 0x3f) | 0x80);  // RFC variant
  const std::string hex = ToHex(FromU8(bytes.data(), bytes.size()));
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) +
         "-" + hex.substr(16, 4) + "-" + hex.substr(20);
}

std::string MakeDataFileStem() {
  const std::array<uint8_t, 16> bytes = RandomBytes();
  std::string stem;
  for (size_t i = 0; i < 3; ++i) {
    for (int bit = 7; bit >= 0; --bit) {
      stem += (bytes[i] >> bit & 1) != 0 ? '1' : '0';
    }
  }
  return stem + ToHex(FromU8(bytes.data() + 3, bytes.size() - 3));
}

}  // namespace rowfs
