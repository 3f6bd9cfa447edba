// A video plugin driven through its C entry point, as the host does it, with
// everything it reads and writes in memory.
//
// One thread at a time.
#ifndef ROWFS_TESTS_INDEX_PLUGINS_VIDEO_HARNESS_H_
#define ROWFS_TESTS_INDEX_PLUGINS_VIDEO_HARNESS_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "index/abi/rowfs_plugin.h"

extern "C" const rowfs_plugin* rowfs_plugin_entry(void);

namespace rowfs::video_test {

using Bytes = std::vector<uint8_t>;

inline Bytes ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}

inline void WriteFile(const std::string& path, const Bytes& bytes) {
  std::ofstream out(path, std::ios::binary);
  for (uint8_t b : bytes) out.put(static_cast<char>(b));
}

// The output of a command; its exit code in `*code` if that is given.
inline Bytes RunCommand(const std::string& command, int* code = nullptr) {
  Bytes out;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return out;
  std::array<uint8_t, 65536> buffer;
  size_t n = 0;
  while ((n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0) {
    out.insert(out.end(), buffer.begin(), buffer.begin() + n);
  }
  const int status = pclose(pipe);
  if (code != nullptr) *code = status;
  return out;
}

inline std::string RunText(const std::string& command) {
  const Bytes out = RunCommand(command);
  return std::string(out.begin(), out.end());
}

struct IngestSpec {
  int layout = ROWFS_LAYOUT_STORED;
  int verify = ROWFS_VERIFY_KEYS;
  bool keep_container = false;
};

struct Ingested {
  int32_t code = 0;
  std::string error;
  Bytes payload;  // what the blob holds, in both layouts
  Bytes stream_info;
  Bytes entries;
};

inline int32_t AppendTo(void* ctx, const uint8_t* data, size_t size) {
  auto* out = static_cast<Bytes*>(ctx);
  out->insert(out->end(), data, data + size);
  return 0;
}

inline Ingested Ingest(const Bytes& file, const std::string& name,
                       const IngestSpec& spec) {
  Ingested out;
  rowfs_ingest_request r = {};
  r.struct_size = sizeof(r);
  r.layout = spec.layout;
  r.verify = spec.verify;
  r.keep_container = spec.keep_container ? 1 : 0;
  r.input.ctx = const_cast<Bytes*>(&file);
  r.input.size = file.size();
  r.input.read_at = [](void* ctx, uint64_t offset, uint8_t* to,
                       size_t size) -> int32_t {
    const auto& bytes = *static_cast<const Bytes*>(ctx);
    if (offset > bytes.size() || size > bytes.size() - offset) {
      return ROWFS_E_IO;
    }
    std::memcpy(to, bytes.data() + offset, size);
    return 0;
  };
  r.file_name = {name.data(), name.size()};
  r.payload = {&out.payload, AppendTo};
  r.stream_info = {&out.stream_info, AppendTo};
  r.entries = {&out.entries, AppendTo};
  rowfs_ingest_result result = {};
  result.struct_size = sizeof(result);
  rowfs_error error = {};
  out.code = rowfs_plugin_entry()->ingest(&r, &result, &error);
  out.error = error.message;
  if (spec.layout == ROWFS_LAYOUT_CONTAINER) out.payload = file;
  return out;
}

struct FileEntry {
  std::string name;
  bool directory = false;
  uint32_t flags = 0;
  uint64_t size = 0;
  std::string media_type;
  std::string canonical;
  std::map<std::string, std::string> attributes;
};

// One planned decode, as the host keeps it.
struct Group {
  std::vector<size_t> items;
  std::vector<rowfs_range> ranges;
  Bytes recipe;
};

struct Plan {
  int32_t code = 0;
  std::string error;
  std::map<size_t, Bytes> files;  // items made of segments, put together
  std::vector<Group> groups;
};

class OpenIndex {
 public:
  OpenIndex(Ingested ingested, const std::string& config)
      : data_(std::move(ingested)) {
    rowfs_error error = {};
    code_ = plugin_->open({data_.stream_info.data(), data_.stream_info.size()},
                          {data_.entries.data(), data_.entries.size()},
                          data_.payload.size(), {config.data(), config.size()},
                          &index_, &error);
    error_ = error.message;
  }
  ~OpenIndex() {
    if (index_ != nullptr) plugin_->close(index_);
  }
  OpenIndex(const OpenIndex&) = delete;
  OpenIndex& operator=(const OpenIndex&) = delete;

  int32_t code() const { return code_; }
  const std::string& error() const { return error_; }
  const Bytes& payload() const { return data_.payload; }

  std::vector<FileEntry> List(const std::string& directory, uint64_t start = 0,
                              uint64_t limit = UINT64_MAX) {
    std::vector<FileEntry> entries;
    rowfs_entry_sink sink = {&entries, Put};
    last_ = plugin_->list(index_, {directory.data(), directory.size()}, start,
                          limit, &sink, &last_error_);
    return entries;
  }
  std::vector<FileEntry> Lookup(const std::string& path) {
    std::vector<FileEntry> entries;
    rowfs_entry_sink sink = {&entries, Put};
    last_ = plugin_->lookup(index_, {path.data(), path.size()}, &sink,
                            &last_error_);
    return entries;
  }
  std::vector<FileEntry> Select(const std::string& view,
                                const std::string& from,
                                const std::string& to) {
    std::vector<FileEntry> entries;
    rowfs_entry_sink sink = {&entries, Put};
    last_ = plugin_->select(index_, {view.data(), view.size()},
                            {from.data(), from.size()}, {to.data(), to.size()},
                            &sink, &last_error_);
    return entries;
  }
  // Of the last List, Lookup or Select.
  int32_t last() const { return last_; }
  std::string last_error() const { return last_error_.message; }

  video_test::Plan MakePlan(const std::vector<std::string>& paths) {
    video_test::Plan plan;
    std::vector<rowfs_str> strs;
    for (const std::string& p : paths) strs.push_back({p.data(), p.size()});
    struct Context {
      video_test::Plan* plan;
      const Bytes* payload;
    } context{&plan, &data_.payload};
    rowfs_plan_sink sink = {&context, nullptr, nullptr};
    sink.segments = [](void* ctx, size_t item, const rowfs_segment* segments,
                       size_t count) -> int32_t {
      auto* c = static_cast<Context*>(ctx);
      Bytes& file = c->plan->files[item];
      for (size_t i = 0; i < count; ++i) {
        const rowfs_segment& s = segments[i];
        if (s.literal.data != nullptr) {
          file.insert(file.end(), s.literal.data,
                      s.literal.data + s.literal.size);
        } else {
          EXPECT_LE(s.range.begin, s.range.end);
          EXPECT_LE(s.range.end, c->payload->size());
          if (s.range.end > c->payload->size()) return ROWFS_E_INTERNAL;
          file.insert(file.end(), c->payload->data() + s.range.begin,
                      c->payload->data() + s.range.end);
        }
      }
      return 0;
    };
    sink.decode = [](void* ctx, const size_t* items, size_t item_count,
                     const rowfs_range* ranges, size_t range_count,
                     rowfs_bytes recipe) -> int32_t {
      auto* c = static_cast<Context*>(ctx);
      Group group;
      group.items.assign(items, items + item_count);
      group.ranges.assign(ranges, ranges + range_count);
      group.recipe.assign(recipe.data, recipe.data + recipe.size);
      c->plan->groups.push_back(std::move(group));
      return 0;
    };
    rowfs_error error = {};
    plan.code = plugin_->plan(index_, strs.data(), strs.size(), &sink, &error);
    plan.error = error.message;
    return plan;
  }

  // Outputs of one group by its items; failed ones are empty. What lies before
  // `known` in the blob is given as nonsense.
  std::vector<Bytes> Decode(const Group& group, uint64_t known = 0) {
    std::vector<Bytes> inputs;
    std::vector<rowfs_bytes> ranges;
    for (const rowfs_range& r : group.ranges) {
      EXPECT_LE(r.end, data_.payload.size());
      inputs.emplace_back(data_.payload.begin() + static_cast<long>(r.begin),
                          data_.payload.begin() + static_cast<long>(r.end));
      if (known > r.begin) {
        std::fill_n(inputs.back().begin(), std::min(known, r.end) - r.begin, 7);
      }
      ranges.push_back({inputs.back().data(), inputs.back().size()});
    }
    std::vector<Bytes> outputs(group.items.size());
    struct Context {
      std::vector<Bytes>* outputs;
      std::string* error;
    } context{&outputs, &decode_error_};
    decode_error_.clear();
    rowfs_output_sink sink = {&context, nullptr, nullptr};
    sink.write = [](void* ctx, size_t item, const uint8_t* data,
                    size_t size) -> int32_t {
      return AppendTo(&static_cast<Context*>(ctx)->outputs->at(item), data,
                      size);
    };
    sink.fail = [](void* ctx, size_t, int32_t, rowfs_str message) -> int32_t {
      *static_cast<Context*>(ctx)->error =
          std::string(message.data, message.size);
      return 0;
    };
    rowfs_error error = {};
    const rowfs_bytes recipe = {group.recipe.data(), group.recipe.size()};
    rowfs_reader blob = {this, data_.payload.size(), ReadBlob};
    const int32_t code =
        group.ranges.empty() && plugin_->decode_from != nullptr
            ? plugin_->decode_from(index_, recipe, &blob, &sink, &error)
            : plugin_->decode(index_, recipe, ranges.data(), ranges.size(),
                              &sink, &error);
    if (code != ROWFS_OK) decode_error_ = error.message;
    return outputs;
  }
  const std::string& decode_error() const { return decode_error_; }
  // What decodes without planned ranges have read so far.
  const std::vector<rowfs_range>& blob_reads() const { return blob_reads_; }

  // The content of one file; empty on any failure.
  Bytes Read(const std::string& path) {
    video_test::Plan plan = MakePlan({path});
    if (plan.code != ROWFS_OK) return {};
    if (plan.groups.empty()) return plan.files[0];
    return Decode(plan.groups[0])[0];
  }

 private:
  static int32_t ReadBlob(void* ctx, uint64_t offset, uint8_t* out,
                          size_t size) {
    auto& self = *static_cast<OpenIndex*>(ctx);
    const Bytes& blob = self.data_.payload;
    if (offset > blob.size() || size > blob.size() - offset) return ROWFS_E_IO;
    std::memcpy(out, blob.data() + offset, size);
    self.blob_reads_.push_back({offset, offset + size});
    return 0;
  }
  static int32_t Put(void* ctx, const rowfs_entry* e) {
    FileEntry entry;
    const auto text = [](rowfs_str s) {
      return s.size == 0 ? std::string() : std::string(s.data, s.size);
    };
    entry.name = text(e->name);
    entry.directory = e->kind == ROWFS_ENTRY_DIRECTORY;
    entry.flags = e->flags;
    entry.size = e->size;
    entry.media_type = text(e->media_type);
    entry.canonical = text(e->canonical_path);
    for (size_t i = 0; i < e->attribute_count; ++i) {
      entry.attributes[text(e->attributes[i].key)] =
          text(e->attributes[i].value);
    }
    static_cast<std::vector<FileEntry>*>(ctx)->push_back(entry);
    return 0;
  }

  const rowfs_plugin* plugin_ = rowfs_plugin_entry();
  Ingested data_;
  std::vector<rowfs_range> blob_reads_;
  rowfs_index* index_ = nullptr;
  int32_t code_ = 0;
  std::string error_;
  int32_t last_ = 0;
  rowfs_error last_error_ = {};
  std::string decode_error_;
};

// The pixels of a P6 file with maxval 255.
inline Bytes PpmPixels(const Bytes& ppm) {
  size_t lines = 0;
  size_t at = 0;
  while (at < ppm.size() && lines < 3) {
    if (ppm[at++] == '\n') ++lines;
  }
  return Bytes(ppm.begin() + static_cast<long>(at), ppm.end());
}

// A folder for generated videos, kept between runs of the same build.
inline std::string CorpusFolder() {
  const std::string folder = std::string(ROWFS_BUILD_DIR) + "/video_corpus";
  std::filesystem::create_directories(folder);
  return folder;
}

// Make `folder`/`name` by a shell command that writes "$OUT" (a path of the
// same extension) unless it is there. False when the command fails.
inline bool MakeVideo(const std::string& name, const std::string& command) {
  const std::string path = CorpusFolder() + "/" + name;
  if (std::filesystem::exists(path)) return true;
  // Tests may run at the same time: each writes its own, the last rename wins.
  const std::string work = CorpusFolder() + "/work" + std::to_string(getpid());
  std::filesystem::create_directories(work);
  int code = 0;
  RunCommand("cd '" + work + "' && export OUT='" + work + "/" + name +
                 "' && FF='ffmpeg -hide_banner -nostdin -loglevel error -y' && "
                 "( " +
                 command + " ) </dev/null >&2",
             &code);
  std::error_code error;
  if (code == 0) std::filesystem::rename(work + "/" + name, path, error);
  std::filesystem::remove_all(work);
  return code == 0 && !error;
}

// The folder of inputs shared by all tasks; empty when there is none.
inline std::string SharedFolder() {
  std::string folder = std::string(ROWFS_SOURCE_DIR) + "/../shared";
  if (const char* set = std::getenv("ROWFS_SHARED")) folder = set;
  return std::filesystem::exists(folder) ? folder : std::string();
}

// What one sequential decode of `path` shows: all frames one behind the other
// as RGB, upright. The scaler options are the ones that do not depend on SIMD.
inline Bytes SequentialRgb(const std::string& path,
                           const std::string& options = "") {
  return RunCommand("ffmpeg -nostdin -loglevel quiet -threads 1 -i '" + path +
                    "' -map 0:V:0 -an -noautoscale -vsync passthrough " +
                    options +
                    " -vf scale=flags=bicubic+accurate_rnd+full_chroma_int+"
                    "bitexact,format=rgb24 -f rawvideo - </dev/null");
}

}  // namespace rowfs::video_test
#endif  // ROWFS_TESTS_INDEX_PLUGINS_VIDEO_HARNESS_H_
