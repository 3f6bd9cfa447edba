#include "storage/object/s3_writer.h"

#include <algorithm>

#include "storage/base/hash.h"
#include "storage/object/http_object.h"
#include "storage/object/posix_file.h"
#include "storage/object/uri.h"
#include "storage/object/xml.h"

namespace rowfs {
namespace {

// Up to here creating is one request, which every store decides at once; above,
// parts, whose completion carries the condition.
constexpr uint64_t kIfAbsentBytesMax = uint64_t{64} << 20;
constexpr size_t kPartsMax = 10'000;

}  // namespace

S3Writer::~S3Writer() {
  if (upload_id_.empty()) return;
  HttpRequest request;
  request.method = "DELETE";
  // Nobody is left to tell when this fails; `rowfs gc` finds it.
  (void)store_.Send(request, TargetWith("uploadId=" + upload_id_)).ok();
}

std::string S3Writer::TargetWith(const std::string& query) const {
  return "/" + PercentEncode(key_, "/") + "?" + query;
}

// Parts grow, so that 10,000 of them reach S3's largest object.
uint64_t S3Writer::PartBytes() const {
  return S3Store::kPartBytes * (1 + etags_.size() / 1000);
}

Status S3Writer::Write(ByteSpan bytes) {
  ROWFS_RETURN_IF_ERROR(status_);
  if (mode_ == PutMode::kIfAbsent && upload_id_.empty()) {
    if (bytes.size() <= kIfAbsentBytesMax - buffer_.size()) {
      AppendBytes(&buffer_, bytes);
      return {};
    }
    if (store_.Stat(key_).ok()) {
      status_ =
          Status(Code::kAlreadyExists, store_.Uri(key_) + ": is there already");
      return status_;
    }
  }
  while (!bytes.empty() && status_.ok()) {
    // The last part is sent by Finish, so a small object stays one PUT.
    if (buffer_.size() >= PartBytes()) {
      status_ = SendPart();
      continue;
    }
    const uint64_t room = PartBytes() - buffer_.size();
    const size_t size = std::min<size_t>(room, bytes.size());
    AppendBytes(&buffer_, bytes.first(size));
    bytes = bytes.subspan(size);
  }
  return status_;
}

Status S3Writer::Begin() {
  ROWFS_ASSIGN_OR_RETURN(mark_, UniqueName());
  HttpRequest request;
  request.method = "POST";
  request.headers.emplace_back(kWriterHeader, mark_);
  ROWFS_ASSIGN_OR_RETURN(const HttpResponse response,
                         store_.Send(request, TargetWith("uploads=")));
  if (response.status != 200) return HttpError(response, store_.Uri(key_));
  const auto xml = ParseXml(AsText(response.body));
  if (xml.ok()) upload_id_ = PercentEncode(xml.value().TextOf("UploadId"), "");
  if (!upload_id_.empty()) return {};
  return {Code::kCorruption, store_.Uri(key_) + ": an upload without an id"};
}

Status S3Writer::SendPart() {
  if (upload_id_.empty()) ROWFS_RETURN_IF_ERROR(Begin());
  if (etags_.size() == kPartsMax) {
    return {Code::kResourceExhausted, store_.Uri(key_) + ": too many parts"};
  }
  HttpRequest request;
  request.method = "PUT";
  request.body = buffer_;
  ROWFS_ASSIGN_OR_RETURN(
      const HttpResponse response,
      store_.Send(request,
                  TargetWith("partNumber=" + std::to_string(etags_.size() + 1) +
                             "&uploadId=" + upload_id_)));
  if (response.status != 200) return HttpError(response, store_.Uri(key_));
  etags_.emplace_back(response.Header("etag"));
  buffer_.clear();
  return {};
}

Status S3Writer::Complete() {
  if (!buffer_.empty()) ROWFS_RETURN_IF_ERROR(SendPart());
  const Status status =
      mode_ == PutMode::kIfAbsent ? CompleteIfAbsent() : Join();
  if (status.ok()) {
    upload_id_.clear();
    return status;
  }
  // The answer that said so may have been lost and asked for again: then there
  // is no such upload any more, or an object where none must be.
  const auto writer = store_.WriterOf(key_);
  if (!writer.ok() || writer.value() != mark_) return status;
  upload_id_.clear();
  return {};
}

// One of many creators: not every store looks at the condition when it puts
// parts together, but each does for a small object.
Status S3Writer::CompleteIfAbsent() {
  const size_t slash = key_.rfind('/');
  const std::string folder =
      slash == key_.npos ? "" : key_.substr(0, slash + 1);
  const std::string place =
      folder + ".rowfs-" + ToHex(Sha256(AsBytes(key_))).substr(0, 16) + ".tmp";
  Status status = store_.PutIfAbsent(place, AsBytes(mark_));
  if (!status.ok()) {
    // kChanged: it was there, and gone when we looked whose it is.
    const bool taken = status.code() == Code::kAlreadyExists ||
                       status.code() == Code::kChanged;
    return taken ? Status(Code::kAlreadyExists,
                          store_.Uri(key_) + ": another writer is finishing it")
                 : status;
  }
  status = store_.Stat(key_).ok()
               ? Status(Code::kAlreadyExists,
                        store_.Uri(key_) + ": is there already")
               : Join();
  const Status removed = store_.Remove(place);
  return status.ok() ? removed : status;
}

Status S3Writer::Join() {
  std::string body = "<CompleteMultipartUpload>";
  for (size_t i = 0; i < etags_.size(); ++i) {
    body += "<Part><PartNumber>" + std::to_string(i + 1) +
            "</PartNumber><ETag>" + etags_[i] + "</ETag></Part>";
  }
  body += "</CompleteMultipartUpload>";
  HttpRequest request;
  request.method = "POST";
  request.body = AsBytes(body);
  if (mode_ == PutMode::kIfAbsent) {
    request.headers.emplace_back("If-None-Match", "*");
  }
  ROWFS_ASSIGN_OR_RETURN(
      const HttpResponse response,
      store_.Send(request, TargetWith("uploadId=" + upload_id_)));
  // The status goes out before the work is done: an error may come as 200.
  const auto xml = ParseXml(AsText(response.body));
  if (response.status == 200 && xml.ok() && xml.value().name != "Error") {
    return {};
  }
  if (response.status == 412) {
    return {Code::kAlreadyExists, store_.Uri(key_) + ": is there already"};
  }
  HttpResponse failed = response;
  if (failed.status == 200) failed.status = 500;
  return HttpError(failed, store_.Uri(key_));
}

Status S3Writer::PutWhole() {
  if (mode_ == PutMode::kIfAbsent) return store_.PutIfAbsent(key_, buffer_);
  ROWFS_ASSIGN_OR_RETURN(const HttpResponse response,
                         store_.Put(key_, buffer_, {}));
  if (response.status == 200) return {};
  return HttpError(response, store_.Uri(key_));
}

Status S3Writer::Finish() {
  ROWFS_RETURN_IF_ERROR(status_);
  status_ = upload_id_.empty() ? PutWhole() : Complete();
  if (!status_.ok()) return status_;
  status_ =
      Status(Code::kInternal, store_.Uri(key_) + ": written to after Finish");
  return {};
}

}  // namespace rowfs
