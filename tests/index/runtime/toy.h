// The toy plugin in tests: ingest a toy file, render its virtual files.
#ifndef ROWFS_TESTS_INDEX_RUNTIME_TOY_H_
#define ROWFS_TESTS_INDEX_RUNTIME_TOY_H_

#include <cstring>
#include <string>
#include <vector>

#include "index/runtime/plugin.h"
#include "tests/support/status_matchers.h"

namespace rowfs {

inline std::string ToyPath() {
  return std::string(ROWFS_BUILD_DIR) + "/tests/plugins/toy_plugin.so";
}

struct Toy {
  Bytes blob;
  PluginIndex index;
};

// An input over `file`, which must outlive it.
inline IngestInput InputOf(const std::string& file) {
  IngestInput input;
  input.size = file.size();
  input.read_at = [&file](uint64_t offset, MutableByteSpan out) {
    std::memcpy(out.data(), file.data() + offset, out.size());
    return Status();
  };
  input.file_name = "x.toy";
  return input;
}

inline Result<Toy> IngestToy(Plugin& plugin, const std::string& file,
                             const std::string& config = "",
                             IngestOptions options = {}) {
  Toy toy;
  ROWFS_ASSIGN_OR_RETURN(
      IngestOutput out,
      plugin.Ingest(InputOf(file), options, [&](ByteSpan bytes) {
        AppendBytes(&toy.blob, bytes);
        return Status();
      }));
  if (options.layout == IngestOptions::Layout::kContainer) {
    toy.blob = ToBytes(file);
  }
  toy.index = MakePluginIndex(
      plugin, std::make_shared<const Bytes>(std::move(out.stream_info)),
      std::make_shared<const Bytes>(std::move(out.entries)), toy.blob.size(),
      config);
  return toy;
}

inline Toy WithConfig(const Plugin& plugin, const Toy& toy,
                      const std::string& config) {
  return {toy.blob,
          MakePluginIndex(plugin, toy.index.stream_info, toy.index.entries,
                          toy.index.blob_size, config)};
}

// The bytes of one decoded file.
inline Result<Bytes> Render(Plugin& plugin, const Toy& toy,
                            const std::string& path) {
  ROWFS_ASSIGN_OR_RETURN(const ViewPlan plan,
                         plugin.Plan(toy.index, {&path, 1}));
  std::vector<ByteSpan> ranges;
  for (const ByteRange& range : plan.groups.at(0).ranges) {
    ranges.push_back(
        ByteSpan(toy.blob).subspan(range.begin, range.end - range.begin));
  }
  ROWFS_ASSIGN_OR_RETURN(auto outputs,
                         plugin.Decode(toy.index, plan.groups[0], ranges));
  return std::move(outputs.at(0));
}

inline std::vector<std::string> NamesOf(const std::vector<ViewEntry>& entries) {
  std::vector<std::string> names;
  for (const ViewEntry& entry : entries) names.push_back(entry.name);
  return names;
}

MATCHER_P(HasText, text, "has the text " + ::testing::PrintToString(text)) {
  const Result<Bytes>& result = arg;
  if (!result.ok()) {
    *result_listener << result.status().message();
    return false;
  }
  return AsText(result.value()) == text;
}

}  // namespace rowfs
#endif  // ROWFS_TESTS_INDEX_RUNTIME_TOY_H_
