#include "storage/object/http_object.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <ctime>
#include <optional>

#include "storage/object/xml.h"

namespace rowfs {
namespace {

// How often an answer that contradicts itself is asked for.
constexpr int kLiesMax = 3;

std::optional<uint64_t> Number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

// "bytes 10-19/100"; the total is absent for "/*".
struct ContentRange {
  ByteRange range;
  std::optional<uint64_t> total;
};

std::optional<ContentRange> ParseContentRange(std::string_view text) {
  if (!text.starts_with("bytes ")) return {};
  text.remove_prefix(6);
  const size_t dash = text.find('-');
  const size_t slash = text.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos ||
      dash > slash) {
    return {};
  }
  const auto first = Number(text.substr(0, dash));
  const auto last = Number(text.substr(dash + 1, slash - dash - 1));
  if (!first || !last || *last < *first || *last == UINT64_MAX) return {};
  ContentRange range{{*first, *last + 1}, {}};
  const std::string_view total = text.substr(slash + 1);
  if (total != "*") {
    range.total = Number(total);
    if (!range.total || *range.total < range.range.end) return {};
  }
  return range;
}

Status Lie(const HttpObject& object, std::string_view what) {
  return {Code::kCorruption,
          object.uri + ": the server's answer is wrong: " + std::string(what)};
}

// Coded bytes are other bytes than the ones that were counted.
Status CheckCoding(const HttpObject& object, const HttpResponse& response) {
  const std::string_view coding = response.Header("content-encoding");
  if (object.coding_is_stored || coding.empty() || coding == "identity") {
    return {};
  }
  return {Code::kUnsupported, object.uri + ": the server sends it coded (" +
                                  std::string(coding) +
                                  ") although identity was asked for"};
}

Status CheckEtag(const HttpObject& object, const HttpResponse& response,
                 const std::string& etag) {
  const std::string now = HttpMetaOf(response, 0).etag;
  if (etag.empty() || now.empty() || now == etag) return {};
  return {Code::kChanged, object.uri + ": has changed since it was opened"};
}

HttpRequest RangeRequest(const HttpObject& object, const std::string& range,
                         uint64_t size) {
  HttpRequest request;
  request.url = object.url;
  request.headers.emplace_back("Range", "bytes=" + range);
  request.response_bytes_max = size;
  return request;
}

bool CanMatch(const HttpObject& object, const std::string& etag) {
  return object.conditional && etag.starts_with('"');
}

// What is asked for, and where it goes.
struct Wanted {
  const HttpObject& object;
  const std::string& etag;
  uint64_t offset = 0;
  MutableByteSpan out;
  const ReadProgress& progress;

  uint64_t end() const { return offset + out.size(); }
};

// Whether a partial answer, by its head, is the one that was asked for.
Result<ContentRange> CheckPartial(const Wanted& wanted,
                                  const HttpResponse& head) {
  const HttpObject& object = wanted.object;
  ROWFS_RETURN_IF_ERROR(CheckEtag(object, head, wanted.etag));
  ROWFS_RETURN_IF_ERROR(CheckCoding(object, head));
  const auto got = ParseContentRange(head.Header("content-range"));
  if (!got) return Lie(object, "a partial answer without a sound range");
  if (got->range.begin == wanted.offset && got->range.end < wanted.end() &&
      got->total && *got->total == got->range.end) {
    return Status(Code::kOutOfRange,
                  object.uri + ": ends at " + std::to_string(*got->total));
  }
  if (got->range != ByteRange{wanted.offset, wanted.end()}) {
    return Lie(object, "another range than was asked for");
  }
  return *got;
}

// Puts the body of the right answer where it belongs.
class RangeSink final : public BodySink {
 public:
  explicit RangeSink(const Wanted& wanted) : wanted_(wanted) {}

  bool Begin(const HttpResponse& head) override {
    done_ = 0;
    return head.status == 206 && CheckPartial(wanted_, head).ok();
  }

  void Write(ByteSpan bytes) override {
    // What was told is being read by others by now: not written again.
    const uint64_t known =
        std::min<uint64_t>(told_ > done_ ? told_ - done_ : 0, bytes.size());
    if (known < bytes.size()) {
      std::memcpy(wanted_.out.data() + done_ + known, bytes.data() + known,
                  bytes.size() - known);
    }
    done_ += bytes.size();
    if (wanted_.progress && done_ >= told_ + kToldBytes) {
      told_ = done_;
      wanted_.progress(told_);
    }
  }

  uint64_t done() const { return done_; }

 private:
  static constexpr uint64_t kToldBytes = 256 << 10;  // at a time

  const Wanted& wanted_;
  uint64_t done_ = 0;
  uint64_t told_ = 0;
};

// One try. kCorruption for a lie. `meta`: what the answer says about the
// object, the size UINT64_MAX when it does not say.
Status ReadOnce(const Wanted& wanted, RangeSink* sink, ObjectMeta* meta) {
  const HttpObject& object = wanted.object;
  const MutableByteSpan out = wanted.out;
  HttpRequest request = RangeRequest(
      object,
      std::to_string(wanted.offset) + "-" + std::to_string(wanted.end() - 1),
      out.size());
  request.sink = sink;
  if (CanMatch(object, wanted.etag)) {
    request.headers.emplace_back("If-Match", wanted.etag);
  }
  ROWFS_ASSIGN_OR_RETURN(const HttpResponse response, object.send(request));
  if (response.status == 416) {
    return {Code::kOutOfRange, object.uri + ": ends before byte " +
                                   std::to_string(wanted.end()) +
                                   ", or the server refuses ranges"};
  }
  if (response.status == 200) {
    // The whole object; right only when that was asked for.
    ROWFS_RETURN_IF_ERROR(CheckEtag(object, response, wanted.etag));
    ROWFS_RETURN_IF_ERROR(CheckCoding(object, response));
    if (wanted.offset != 0 || response.body.size() != out.size()) {
      return {Code::kUnsupported, object.uri +
                                      ": the server ignores ranges "
                                      "and sends the whole object"};
    }
    std::memcpy(out.data(), response.body.data(), out.size());
    *meta = HttpMetaOf(response, out.size());
    return {};
  }
  if (response.status != 206) return HttpError(response, object.uri);
  ROWFS_ASSIGN_OR_RETURN(const ContentRange got,
                         CheckPartial(wanted, response));
  const uint64_t size = response.in_sink ? sink->done() : response.body.size();
  if (size != out.size()) return Lie(object, "another length than it says");
  if (!response.in_sink) {
    std::memcpy(out.data(), response.body.data(), out.size());
  }
  *meta = HttpMetaOf(response, got.total.value_or(UINT64_MAX));
  return {};
}

// ReadOnce, until the answer is sound. A server that goes on lying may be right
// another time, which cannot be said of bytes that are wrong: kUnavailable.
Status ReadSound(const Wanted& wanted, ObjectMeta* meta) {
  if (!CheckedAdd(wanted.offset, wanted.out.size())) {
    return {Code::kOutOfRange, wanted.object.uri + ": no object is that long"};
  }
  RangeSink sink(wanted);
  for (int attempt = 1;; ++attempt) {
    const Status status = ReadOnce(wanted, &sink, meta);
    const bool lie = status.code() == Code::kCorruption;
    if (!lie && status.code() != Code::kUnsupported) return status;
    if (attempt == kLiesMax) {
      return lie ? Status(Code::kUnavailable, std::string(status.message()))
                 : status;
    }
  }
}

// Size and etag by asking for one byte, where HEAD is not allowed.
Result<ObjectMeta> StatByRange(const HttpObject& object) {
  ROWFS_ASSIGN_OR_RETURN(const HttpResponse response,
                         object.send(RangeRequest(object, "0-0", 1)));
  if (response.status == 416) {
    const std::string_view range = response.Header("content-range");
    if (range == "bytes */0") return HttpMetaOf(response, 0);
  }
  if (response.status == 200) {
    return HttpMetaOf(response, response.body.size());
  }
  if (response.status != 206) return HttpError(response, object.uri);
  ROWFS_RETURN_IF_ERROR(CheckCoding(object, response));
  const auto got = ParseContentRange(response.Header("content-range"));
  if (!got || !got->total || got->range != ByteRange{0, 1}) {
    return Lie(object, "a partial answer without a sound range and size");
  }
  return HttpMetaOf(response, *got->total);
}

Result<ObjectStore::Tail> TailInTwo(const HttpObject& object, uint64_t wanted) {
  ObjectStore::Tail tail;
  ROWFS_ASSIGN_OR_RETURN(tail.meta, HttpStat(object));
  tail.bytes.resize(std::min(wanted, tail.meta.size));
  if (tail.bytes.empty()) return tail;
  ROWFS_RETURN_IF_ERROR(HttpReadAt(object, tail.meta.etag,
                                   tail.meta.size - tail.bytes.size(),
                                   tail.bytes, nullptr));
  return tail;
}

int64_t LastModifiedNs(const HttpResponse& response) {
  std::tm parts{};
  const std::string text(response.Header("last-modified"));
  if (text.empty() || ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT",
                                 &parts) == nullptr) {
    return 0;
  }
  return int64_t{::timegm(&parts)} * 1'000'000'000;
}

}  // namespace

ObjectMeta HttpMetaOf(const HttpResponse& response, uint64_t size) {
  ObjectMeta meta;
  meta.size = size;
  meta.mtime_ns = LastModifiedNs(response);
  meta.etag = response.Header("etag");
  if (meta.etag.empty()) meta.etag = response.Header("last-modified");
  return meta;
}

Status HttpError(const HttpResponse& response, const std::string& uri) {
  std::string what =
      uri + ": the server answers " + std::to_string(response.status);
  const auto xml = ParseXml(AsText(response.body));
  if (xml.ok() && xml.value().name == "Error") {
    what += " " + xml.value().TextOf("Code");
    const std::string message = xml.value().TextOf("Message");
    if (!message.empty()) what += " (" + message.substr(0, 200) + ")";
  }
  switch (response.status) {
    case 401:
    case 403:
      return {Code::kPermissionDenied, what + "; check the credentials"};
    case 404:
    case 410:
      return {Code::kNotFound, what};
    case 409:
      return {Code::kUnavailable, what};
    case 412:
      return {Code::kChanged, what + ": it has changed since it was opened"};
    case 416:
      return {Code::kOutOfRange, what};
    default:
      break;
  }
  if (response.status == 408 || response.status == 429 ||
      response.status >= 500) {
    return {Code::kUnavailable, what};
  }
  return {Code::kUnsupported, what};
}

Result<ObjectMeta> HttpStat(const HttpObject& object) {
  HttpRequest request;
  request.method = "HEAD";
  request.url = object.url;
  ROWFS_ASSIGN_OR_RETURN(const HttpResponse response, object.send(request));
  // Signed URLs are for GET alone and say 403; others do not know HEAD.
  if (response.status == 403 || response.status == 405 ||
      response.status == 400 || response.status == 501) {
    return StatByRange(object);
  }
  if (response.status != 200) return HttpError(response, object.uri);
  const auto size = Number(response.Header("content-length"));
  if (!size || !CheckCoding(object, response).ok()) return StatByRange(object);
  return HttpMetaOf(response, *size);
}

Status HttpReadAt(const HttpObject& object, const std::string& etag,
                  uint64_t offset, MutableByteSpan out,
                  const ReadProgress& progress) {
  ObjectMeta meta;
  return ReadSound({object, etag, offset, out, progress}, &meta);
}

Result<ObjectMeta> HttpReadFirst(const HttpObject& object, uint64_t offset,
                                 MutableByteSpan out) {
  ObjectMeta meta;
  const std::string any;
  const ReadProgress nobody;
  ROWFS_RETURN_IF_ERROR(ReadSound({object, any, offset, out, nobody}, &meta));
  if (meta.size != UINT64_MAX) return meta;
  ROWFS_ASSIGN_OR_RETURN(const ObjectMeta now, HttpStat(object));
  if (now.etag == meta.etag) return now;
  return Status(Code::kChanged, object.uri + ": changed while it was read");
}

Result<ObjectStore::Tail> HttpReadTail(const HttpObject& object,
                                       uint64_t wanted) {
  const Result<HttpResponse> sent =
      object.send(RangeRequest(object, "-" + std::to_string(wanted), wanted));
  if (!sent.ok()) {
    // Too many bytes for a tail: the server does not know suffix ranges.
    const Code code = sent.status().code();
    if (code != Code::kUnsupported && code != Code::kCorruption) {
      return sent.status();
    }
    return TailInTwo(object, wanted);
  }
  const HttpResponse& response = sent.value();
  if (response.status != 200 && response.status != 206) {
    if (response.status == 416 || response.status == 501) {
      return TailInTwo(object, wanted);  // of an empty object, for one
    }
    return HttpError(response, object.uri);
  }
  if (!CheckCoding(object, response).ok()) return TailInTwo(object, wanted);
  ObjectStore::Tail tail;
  if (response.status == 200) {  // not longer than the tail: all of it
    tail.meta = HttpMetaOf(response, response.body.size());
    tail.bytes = response.body;
    return tail;
  }
  const auto got = ParseContentRange(response.Header("content-range"));
  if (!got || !got->total || got->range.end != *got->total ||
      got->range.size() != std::min(wanted, *got->total) ||
      response.body.size() != got->range.size()) {
    return TailInTwo(object, wanted);
  }
  tail.meta = HttpMetaOf(response, *got->total);
  tail.bytes = response.body;
  return tail;
}

}  // namespace rowfs
