// A plugin in this process, for tests of what stands above plugins: views with
// exact and unknown sizes, lookup-only ones, broken ones, and a whole file.
//
//   .mp4            the whole: "PLAYABLE" and the blob's bytes
//   .info.json      exact
//   .frames/00000K.jpg   rendered; its size is wrong before that, too large for
//                   even K, too small for odd ones. Frame 3 cannot be made.
//   .at/T.jpg       lookup only: the same file as frame T
//   .broken/        cannot be listed
//
// Thread-safe.
#ifndef ROWFS_TESTS_SUPPORT_FAKE_PLUGIN_H_
#define ROWFS_TESTS_SUPPORT_FAKE_PLUGIN_H_

#include <atomic>
#include <string>
#include <vector>

#include "index/runtime/plugin.h"
#include "storage/table/blob.h"

namespace rowfs {

class FakePlugin final : public Plugin {
 public:
  // What a blob of `frames` frames has for blob_info.
  static BlobInfo MakeInfo(uint32_t frames);
  static std::string FrameText(uint64_t frame);

  uint64_t list_count() const { return lists_; }
  uint64_t decode_count() const { return decodes_; }

  const std::string& name() const override { return name_; }
  const std::string& version() const override { return version_; }
  std::array<char, 4> magic() const override { return {'F', 'A', 'K', 'E'}; }
  Result<int> Probe(ByteSpan head, std::string_view file_name) override;
  Result<IngestOutput> Ingest(
      const IngestInput& input, const IngestOptions& options,
      const std::function<Status(ByteSpan)>& payload) override;
  Result<std::vector<ViewEntry>> List(const PluginIndex& index,
                                      std::string_view directory,
                                      uint64_t start, uint64_t limit) override;
  Result<ViewEntry> Lookup(const PluginIndex& index,
                           std::string_view path) override;
  Result<std::vector<ViewEntry>> Select(const PluginIndex& index,
                                        std::string_view view,
                                        std::string_view from,
                                        std::string_view to) override;
  Result<ViewPlan> Plan(const PluginIndex& index,
                        std::span<const std::string> paths) override;
  Result<std::vector<Result<Bytes>>> Decode(
      const PluginIndex& index, const DecodeGroup& group,
      std::span<const ByteSpan> ranges) override;
  Result<std::vector<Result<Bytes>>> DecodeFrom(
      const PluginIndex& index, const DecodeGroup& group,
      const IngestInput& blob) override;

 private:
  const std::string name_ = "fake";
  const std::string version_ = "1";
  std::atomic<uint64_t> lists_{0};
  std::atomic<uint64_t> decodes_{0};
};

class FakeRegistry final : public PluginRegistry {
 public:
  FakePlugin& plugin() { return plugin_; }

  std::vector<std::string> Names() const override { return {"fake"}; }
  Plugin* FindByName(std::string_view name) override {
    return name == "fake" ? &plugin_ : nullptr;
  }
  Plugin* FindByMagic(ByteSpan stream_info) override {
    return AsText(stream_info).starts_with("FAKE") ? &plugin_ : nullptr;
  }
  Result<std::vector<Plugin*>> RankByContent(ByteSpan,
                                             std::string_view) override {
    return std::vector<Plugin*>();
  }
  // Of mp4 files: .frames, .at and .info.json.
  std::vector<ViewEntry> ForeseeViews(std::string_view extension) override;

 private:
  FakePlugin plugin_;
};

}  // namespace rowfs
#endif  // ROWFS_TESTS_SUPPORT_FAKE_PLUGIN_H_
