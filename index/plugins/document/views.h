// The files and folders that a document shows.
//
// Immutable; one thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_DOCUMENT_VIEWS_H_
#define ROWFS_INDEX_PLUGINS_DOCUMENT_VIEWS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "index/plugins/common/emit.h"
#include "index/plugins/common/iiif.h"
#include "index/plugins/common/image_encoder.h"
#include "index/plugins/common/status.h"
#include "index/plugins/document/document_index.h"
#include "index/plugins/document/render.h"

namespace rowfs::plugin {

struct DocumentConfig {
  uint32_t dpi = 150;
  std::string password;
  ImageOptions options;
};

// "dpi=300,password=...,quality=85". Keys that other plugins know are ignored;
// ROWFS_E_INVALID for bad values.
Result<DocumentConfig> ParseDocumentConfig(std::string_view text);

// A page in pixels at the configured resolution, smaller for pages that would
// pass kPagePixelsMax.
inline constexpr uint64_t kPagePixelsMax = 64'000'000;
struct PixelSize {
  uint32_t width = 0;
  uint32_t height = 0;
};
PixelSize PagePixels(const DocumentPage& page, uint32_t dpi);

// info.json: page count and sizes in points.
std::string DocumentInfoJson(const DocumentIndex& index);

// What a path means.
struct DocumentItem {
  enum class Kind : uint8_t {
    kDirectory,
    kWhole,
    kOriginal,
    kInfo,
    kImageInfo,  // of `page`, IIIF
    kPicture,    // of `page`: `request`
    kText,
    kPagePdf
  };
  Kind kind = Kind::kDirectory;
  bool lookup_only = false;  // folders
  uint32_t page = 0;
  IiifRequest request;
};

class DocumentViews {
 public:
  // `index` must outlive the views.
  DocumentViews(const DocumentIndex& index, const DocumentConfig& config)
      : index_(index), config_(config) {}

  // The entries beside the blob, from the head alone.
  static std::vector<Entry> ListTop(const DocumentHead& head);

  // Entries [start, start + limit) of `directory`; ROWFS_E_NOT_FOUND.
  Status List(std::string_view directory, uint64_t start, uint64_t limit,
              const rowfs_entry_sink& out) const;
  Result<Entry> Lookup(std::string_view path) const;
  // ROWFS_E_NOT_FOUND when there is no such file, ROWFS_E_INVALID for an IIIF
  // request that is malformed.
  Result<DocumentItem> Resolve(std::string_view path) const;

  // info.json of a page (IIIF).
  std::string ImageInfo(uint32_t page) const;
  // The kPicture `item` as a file; `renderer` has its page as `page`.
  Result<Bytes> DrawPicture(const DocumentItem& item, uint32_t page,
                            PdfRenderer& renderer) const;

 private:
  Result<DocumentItem> ResolvePage(std::string_view name) const;
  Result<DocumentItem> ResolvePageFile(uint32_t page,
                                       std::string_view extension) const;
  Result<DocumentItem> ResolveBelowPage(uint32_t page,
                                        std::string_view path) const;
  Result<Entry> EntryOf(const DocumentItem& item, std::string name) const;
  Result<Entry> PictureEntry(const DocumentItem& item, std::string name) const;
  std::string PageName(uint32_t page) const;

  const DocumentIndex& index_;
  const DocumentConfig config_;
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_DOCUMENT_VIEWS_H_
