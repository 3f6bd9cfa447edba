#include <utility>

#include "storage/object/http_object.h"
#include "storage/object/s3_store.h"
#include "storage/object/uri.h"
#include "storage/object/xml.h"

namespace rowfs {
namespace {

constexpr int kListPagesMax = 1'000;
constexpr uint64_t kListPageBytesMax = 16 << 20;

}  // namespace

Result<std::vector<UnfinishedUploads::Upload>> S3Store::ListUploads(
    const std::string& prefix) {
  std::vector<Upload> uploads;
  std::string markers;
  for (int page = 0; page < kListPagesMax; ++page) {
    HttpRequest request;
    request.response_bytes_max = kListPageBytesMax;
    const std::string target = "/?encoding-type=url" + markers +
                               "&prefix=" + PercentEncode(prefix, "") +
                               "&uploads=";
    ROWFS_ASSIGN_OR_RETURN(const HttpResponse response, Send(request, target));
    if (response.status != 200) return HttpError(response, Uri(prefix));
    const Result<XmlElement> xml = ParseXml(AsText(response.body));
    if (!xml.ok()) return xml.status().With(Uri(prefix) + ": uploads");
    for (const XmlElement& element : xml.value().children) {
      if (element.name != "Upload") continue;
      ROWFS_ASSIGN_OR_RETURN(std::string key,
                             DecodeS3Key(element.TextOf("Key")));
      // Some servers do not look at the prefix.
      if (!key.starts_with(prefix)) continue;
      uploads.push_back({std::move(key), element.TextOf("UploadId"),
                         ParseIsoTimeNs(element.TextOf("Initiated"))});
    }
    if (xml.value().TextOf("IsTruncated") != "true") break;
    ROWFS_ASSIGN_OR_RETURN(const std::string key,
                           DecodeS3Key(xml.value().TextOf("NextKeyMarker")));
    if (key.empty()) break;
    markers = "&key-marker=" + PercentEncode(key, "");
    const std::string id = xml.value().TextOf("NextUploadIdMarker");
    if (!id.empty()) markers += "&upload-id-marker=" + PercentEncode(id, "");
  }
  return uploads;
}

Status S3Store::AbortUpload(const Upload& upload) {
  HttpRequest request;
  request.method = "DELETE";
  ROWFS_ASSIGN_OR_RETURN(
      const HttpResponse response,
      Send(request, "/" + PercentEncode(upload.path, "/") +
                        "?uploadId=" + PercentEncode(upload.id, "")));
  if (response.status == 204 || response.status == 200 ||
      response.status == 404) {
    return {};
  }
  return HttpError(response, Uri(upload.path));
}

Result<std::vector<UnfinishedUploads::Upload>> AbortUploads(
    const Location& folder, int64_t begun_before_ns, bool dry_run) {
  auto* store = dynamic_cast<UnfinishedUploads*>(&folder.store->direct());
  if (store == nullptr) return std::vector<UnfinishedUploads::Upload>();
  ROWFS_ASSIGN_OR_RETURN(auto uploads, store->ListUploads(folder.path + "/"));
  std::erase_if(uploads, [&](const UnfinishedUploads::Upload& upload) {
    return upload.begun_ns == 0 || upload.begun_ns >= begun_before_ns;
  });
  for (const UnfinishedUploads::Upload& upload : uploads) {
    if (!dry_run) ROWFS_RETURN_IF_ERROR(store->AbortUpload(upload));
  }
  return uploads;
}

}  // namespace rowfs
