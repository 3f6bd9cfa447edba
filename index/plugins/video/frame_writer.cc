#include "index/plugins/video/frame_writer.h"

#include <utility>

#include "index/plugins/common/emit.h"
#include "index/plugins/common/entry_point.h"

namespace rowfs::plugin {
namespace {

// Parts of files that wait to be made: decoded frames are large.
constexpr size_t kWaitingMax = 8;

}  // namespace

Status FrameWriter::Add(size_t item, RenderRequest request) {
  auto file = std::make_shared<File>();
  file->item = item;
  file->request = std::move(request);
  const uint32_t parts = file->request.parts();
  file->parts.resize(parts);
  file->results.resize(parts);
  file->missing = parts;
  files_.push_back(file);
  for (uint32_t part = 0; part < parts; ++part) {
    beside_.Add([this, file, part](size_t lane) {
      auto made = renderers_[lane].RenderPart(file->request, part);
      file->results[part] = made.status();
      if (made.ok()) file->parts[part] = std::move(made).value();
      --file->missing;
    });
  }
  while (beside_.waiting() > kWaitingMax && beside_.RunOne()) {
  }
  return GiveReady();
}

void FrameWriter::Fail(size_t item, Status why) {
  auto file = std::make_shared<File>();
  file->item = item;
  file->results.push_back(std::move(why));
  files_.push_back(std::move(file));
}

Status FrameWriter::Finish() {
  beside_.Finish();
  return GiveReady();
}

Status FrameWriter::GiveReady() {
  while (!files_.empty() && files_.front()->missing == 0) {
    PLUGIN_RETURN_IF_ERROR(Give(files_.front().get()));
    files_.pop_front();
  }
  return {};
}

Status FrameWriter::Give(File* file) {
  for (const Status& result : file->results) {
    if (result.ok()) continue;
    return Stopped(out_.fail(out_.ctx, file->item, result.code(),
                             ToStr(result.message())));
  }
  const Bytes bytes = JoinParts(file->request, std::move(file->parts));
  return Stopped(out_.write(out_.ctx, file->item, bytes.data(), bytes.size()));
}

}  // namespace rowfs::plugin
