// The document plugin against qpdf and poppler, through its C entry point.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/index/plugins/document/pdf_builder.h"
#include "tests/index/plugins/video/harness.h"

namespace rowfs {
namespace {

using document_test::MakePdf;
using document_test::PageSpec;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using video_test::Bytes;
using video_test::Ingest;
using video_test::Ingested;
using video_test::IngestSpec;
using video_test::OpenIndex;
using video_test::RunCommand;
using video_test::RunText;

constexpr IngestSpec kContainer{ROWFS_LAYOUT_CONTAINER, ROWFS_VERIFY_KEYS,
                                false};

// A file of this test alone, removed at its end.
class Scratch {
 public:
  explicit Scratch(const Bytes& bytes) { video_test::WriteFile(path_, bytes); }
  ~Scratch() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  const std::string path_ = std::string(ROWFS_BUILD_DIR) + "/document_test_" +
                            std::to_string(getpid()) + ".pdf";
};

std::vector<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::string Text(const Bytes& bytes) {
  return std::string(bytes.begin(), bytes.end());
}

std::vector<std::string> Names(const std::vector<video_test::FileEntry>& list) {
  std::vector<std::string> names;
  for (const auto& entry : list) names.push_back(entry.name);
  return names;
}

// Mean difference of two P6 files of one size; 255 when sizes differ.
double Difference(const Bytes& a, const Bytes& b) {
  if (a.size() != b.size() || a.empty()) return 255;
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  return sum / static_cast<double>(a.size());
}

std::vector<PageSpec> ThreePages() {
  return {{"first words"}, {"second words"}, {"third words"}};
}

TEST(DocumentTest, ListsAPictureATextAndAFileForEachPage) {
  const Ingested in = Ingest(MakePdf(ThreePages()), "a.pdf", {});
  ASSERT_EQ(in.code, ROWFS_OK) << in.error;
  OpenIndex index(in, "");
  EXPECT_THAT(Names(index.List("")),
              ElementsAre(".pdf", ".pages", ".info.json"));
  EXPECT_THAT(Names(index.List(".pages", 3, 3)),
              ElementsAre("0002.png", "0002.txt", "0002.pdf"));
  EXPECT_EQ(index.List(".pages").size(), 9u);
  EXPECT_EQ(Text(index.Read(".info.json")),
            "{\"format\": \"pdf\", \"page_count\": 3, \"pages\": [{\"width\": "
            "300, \"height\": 200}, {\"width\": 300, \"height\": 200}, "
            "{\"width\": 300, \"height\": 200}], \"unit\": \"point\"}\n");
}

TEST(DocumentTest, OnePageIsOneRangeAfterIngest) {
  const Ingested in = Ingest(MakePdf(ThreePages()), "a.pdf", {});
  OpenIndex index(in, "");
  for (const char* path : {".pages/0002.png", ".pages/0002.txt",
                           ".pages/0002/0,0,50,50/max/0/default.jpg"}) {
    const auto plan = index.MakePlan({path});
    ASSERT_EQ(plan.groups.size(), 1u);
    ASSERT_EQ(plan.groups[0].ranges.size(), 1u);
    const rowfs_range range = plan.groups[0].ranges[0];
    EXPECT_LT(range.end - range.begin, in.payload.size() / 2);
  }
}

TEST(DocumentTest, SharedObjectsThatAreLargeAreOneMoreRange) {
  const Ingested in =
      Ingest(MakePdf(ThreePages(), std::string(200'000, 'x')), "a.pdf", {});
  OpenIndex index(in, "");
  EXPECT_EQ(index.MakePlan({".pages/0001.png"}).groups[0].ranges.size(), 1u);
  EXPECT_EQ(index.MakePlan({".pages/0003.png"}).groups[0].ranges.size(), 2u);
  EXPECT_EQ(Text(index.Read(".pages/0003.txt")), "third words\n");
}

TEST(DocumentTest, FilesOfOnePageAndOfAllAreSoundAndOfTheSizeTold) {
  const Ingested in = Ingest(MakePdf(ThreePages()), "a.pdf", {});
  OpenIndex index(in, "");
  for (const char* path : {".pdf", ".pages/0001.pdf", ".pages/0003.pdf"}) {
    const Bytes file = index.Read(path);
    const auto entry = index.Lookup(path);
    ASSERT_EQ(entry.size(), 1u);
    EXPECT_EQ(entry[0].size, file.size());
    EXPECT_TRUE(entry[0].flags & ROWFS_ENTRY_SIZE_EXACT);
    const Scratch scratch(file);
    int code = 0;
    RunCommand("qpdf --check '" + scratch.path() + "' >&2", &code);
    EXPECT_EQ(code, 0) << path;
  }
  const Scratch whole(index.Read(".pdf"));
  EXPECT_THAT(RunText("pdfinfo '" + whole.path() + "'"),
              HasSubstr("Pages:           3"));
  EXPECT_EQ(Words(RunText("pdftotext '" + whole.path() + "' -")),
            Words("first words second words third words"));
}

TEST(DocumentTest, KeptContainerIsTheFileByteForByte) {
  const Bytes file = MakePdf(ThreePages());
  const Ingested in =
      Ingest(file, "a.pdf", {ROWFS_LAYOUT_STORED, ROWFS_VERIFY_FULL, true});
  ASSERT_EQ(in.code, ROWFS_OK) << in.error;
  OpenIndex index(in, "");
  EXPECT_EQ(index.Read(".original.pdf"), file);
}

// Each page has a content of its own that is large, and a link to the first.
TEST(DocumentTest, APageOfAFileAsItLiesReadsItsOwnObjectsAlone) {
  constexpr size_t kPages = 40;
  std::vector<std::string> objects = {
      "<< /Type /Catalog /Pages 2 0 R >>", "",
      "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"};
  std::string kids;
  for (size_t i = 1; i <= kPages; ++i) {
    kids += " " + std::to_string(objects.size() + 1) + " 0 R";
    objects.push_back(
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Resources << "
        "/Font << /F1 3 0 R >> >> /Annots [ << /Subtype /Link /Rect [0 0 9 9] "
        "/Dest [4 0 R /Fit] >> ] /Contents " +
        std::to_string(objects.size() + 2) + " 0 R >>");
    objects.push_back(document_test::Stream("%" + std::string(60'000, 'x') +
                                            "\nBT /F1 18 Tf 40 50 Td (word" +
                                            std::to_string(i) + ") Tj ET"));
  }
  objects[1] = "<< /Type /Pages /Count 40 /Kids [" + kids + " ] >>";
  const Bytes file = document_test::MakeFile(objects);
  OpenIndex index(Ingest(file, "a.pdf", kContainer), "");
  EXPECT_TRUE(index.MakePlan({".pages/0020.txt"}).groups[0].ranges.empty());
  EXPECT_EQ(Text(index.Read(".pages/0020.txt")), "word20\n");
  uint64_t bytes = 0;
  for (const rowfs_range& r : index.blob_reads()) bytes += r.end - r.begin;
  EXPECT_LT(bytes, file.size() / 10);
  EXPECT_LE(index.blob_reads().size(), 8u);
  const Scratch scratch(index.Read(".pages/0031.pdf"));
  EXPECT_EQ(RunText("qpdf --show-npages '" + scratch.path() + "'"), "1\n");
  EXPECT_EQ(Words(RunText("pdftotext '" + scratch.path() + "' -")),
            std::vector<std::string>{"word31"});
}

TEST(DocumentTest, PagesAreTheSameWithAndWithoutIngest) {
  const Bytes file = MakePdf(ThreePages());
  OpenIndex stored(Ingest(file, "a.pdf", {}), "");
  OpenIndex lying(Ingest(file, "a.pdf", kContainer), "");
  for (const char* path :
       {".pages/0001.png", ".pages/0003.ppm", ".pages/0002.txt"}) {
    const Bytes page = stored.Read(path);
    ASSERT_FALSE(page.empty()) << path << stored.decode_error();
    EXPECT_EQ(page, lying.Read(path)) << path;
  }
  const Scratch page(lying.Read(".pages/0002.pdf"));
  EXPECT_EQ(Words(RunText("pdftotext '" + page.path() + "' -")),
            Words("second words"));
}

TEST(DocumentTest, SizesFollowBoxesRotationAndUnit) {
  const Bytes file =
      MakePdf({{"a", "/MediaBox [0 0 300 200]"},
               {"b", "/MediaBox [0 0 300 200] /Rotate 90"},
               {"c", "/MediaBox [0 0 300 200] /CropBox [50 50 150 100]"},
               {"d", "/MediaBox [300 200 0 0] /CropBox [-50 -50 100 500]"},
               {"e", "/MediaBox [0 0 300 200] /UserUnit 2 /Rotate -90"},
               {"f", "/MediaBox [0 0 595.276 841.89]"}});
  for (const IngestSpec& spec : {IngestSpec{}, kContainer}) {
    OpenIndex index(Ingest(file, "a.pdf", spec), "dpi=72");
    const char* const sizes[] = {"300 200", "200 300", "100 50",
                                 "100 200", "400 600", "596 842"};
    for (size_t i = 0; i < std::size(sizes); ++i) {
      const std::string ppm =
          Text(index.Read(".pages/000" + std::to_string(i + 1) + ".ppm"));
      EXPECT_THAT(ppm.substr(0, 20),
                  StartsWith(std::string("P6\n") + sizes[i] + "\n"));
    }
  }
}

TEST(DocumentTest, RegionsAreCutOutOfThePage) {
  OpenIndex index(Ingest(MakePdf(ThreePages()), "a.pdf", {}), "dpi=72");
  // The red square lies 10 to 30 points from the left and from the bottom.
  const Bytes red = index.Read(".pages/0001/12,172,10,10/max/0/default.ppm");
  ASSERT_EQ(red.size(), 13u + 300u);
  for (size_t i = 13; i < red.size(); i += 3) {
    EXPECT_EQ(red[i], 255);
    EXPECT_EQ(red[i + 1], 0);
  }
  const auto half = index.Lookup(".pages/0001/full/150,/90/gray.bmp");
  ASSERT_EQ(half.size(), 1u);
  EXPECT_EQ(half[0].size,
            index.Read(".pages/0001/full/150,/90/gray.bmp").size());
  const auto whole = index.Lookup(".pages/0001/full/max/0/default.png");
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0].canonical, ".pages/0001.png");
  EXPECT_THAT(Text(index.Read(".pages/0001/info.json")),
              HasSubstr("\"width\""));
}

TEST(DocumentTest, NamesThatAreNoPageAreNotFound) {
  OpenIndex index(Ingest(MakePdf(ThreePages()), "a.pdf", {}), "");
  for (const char* path :
       {".pages/0000.png", ".pages/0004.png", ".pages/1.png", ".pages/0001",
        ".pages/0001.gif", ".pages/00001.png", ".frames", ".original.pdf",
        ".pages/99999999999999999999.png"}) {
    index.Lookup(path);
    EXPECT_EQ(index.last() == ROWFS_OK, std::string(path) == ".pages/0001")
        << path;
  }
  index.Lookup(".pages/0001/nonsense");
  EXPECT_EQ(index.last(), ROWFS_E_INVALID);
}

TEST(DocumentTest, EncryptedFilesOpenWithTheirPasswordOrWithoutOne) {
  const Scratch plain(MakePdf(ThreePages()));
  const std::string out = plain.path() + ".enc";
  RunCommand("qpdf --encrypt '' owner 256 -- '" + plain.path() + "' '" + out +
             "'");
  const Bytes owner_only = video_test::ReadFile(out);
  RunCommand("qpdf --encrypt user owner 256 -- '" + plain.path() + "' '" + out +
             "'");
  const Bytes locked = video_test::ReadFile(out);
  std::filesystem::remove(out);
  for (const IngestSpec& spec : {IngestSpec{}, kContainer}) {
    OpenIndex index(Ingest(owner_only, "a.pdf", spec), "");
    EXPECT_EQ(Text(index.Read(".pages/0002.txt")), "second words\n");
    const Ingested refused = Ingest(locked, "a.pdf", spec);
    EXPECT_EQ(refused.code, ROWFS_E_UNSUPPORTED);
    EXPECT_THAT(refused.error, HasSubstr("password"));
  }
}

TEST(DocumentTest, DamagedFilesAndIndexesAreRefusedOrServed) {
  const Bytes file = MakePdf(ThreePages(), "shared");
  unsigned seed = 1;
  for (int i = 0; i < 150; ++i) {
    Bytes bad = file;
    if (i % 2 == 0)
      bad.resize(static_cast<size_t>(rand_r(&seed)) % file.size());
    for (int k = 0; k < 3 && !bad.empty(); ++k) {
      bad[static_cast<size_t>(rand_r(&seed)) % bad.size()] =
          static_cast<uint8_t>(rand_r(&seed));
    }
    const Ingested in = Ingest(bad, "a.pdf", {});
    if (in.code != ROWFS_OK) {
      EXPECT_FALSE(in.error.empty());
      continue;
    }
    OpenIndex index(in, "dpi=20");
    index.Read(".pages/0001.png");
  }
  const Ingested good = Ingest(file, "a.pdf", {});
  for (int i = 0; i < 400; ++i) {
    Ingested bad = good;
    Bytes& cell = i % 4 == 0 ? bad.stream_info : bad.entries;
    if (i % 3 == 0)
      cell.resize(static_cast<size_t>(rand_r(&seed)) % cell.size());
    if (!cell.empty()) {
      cell[static_cast<size_t>(rand_r(&seed)) % cell.size()] ^=
          static_cast<uint8_t>(1 + rand_r(&seed) % 255);
    }
    OpenIndex index(bad, "dpi=20");
    if (index.code() != ROWFS_OK) continue;
    index.List(".pages", 0, 100);
    index.Read(".pages/0002.png");
    index.Read(".pdf");
  }
}

TEST(DocumentTest, BlownUpPagesAreDrawnSmallerOrRefused) {
  OpenIndex index(
      Ingest(MakePdf({{"huge", "/MediaBox [0 0 900000 900000]"}}), "a.pdf", {}),
      "");
  const Bytes ppm = index.Read(".pages/0001.ppm");
  EXPECT_GT(ppm.size(), 100'000'000u);
  EXPECT_LT(ppm.size(), 250'000'000u);
  index.Lookup(".pages/0001/0,0,1,1/^100000,100000/0/default.png");
  EXPECT_EQ(index.last(), ROWFS_E_INVALID);
}

// Files by other programs: size, text and, up to the smoothing of edges, pixels
// as poppler has them.
TEST(DocumentTest, SharedDocumentsLookAsPopplerShowsThem) {
  const std::string folder = video_test::SharedFolder() + "/data/pdf";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no ../shared/data/pdf";
  for (const char* name :
       {"cmyk-image.pdf", "minimal-document.pdf", "pdflatex-4-pages.pdf"}) {
    const std::string path = folder + "/" + name;
    const Ingested in = Ingest(video_test::ReadFile(path), name,
                               {ROWFS_LAYOUT_STORED, ROWFS_VERIFY_FULL, false});
    ASSERT_EQ(in.code, ROWFS_OK) << in.error;
    OpenIndex index(in, "dpi=72");
    const size_t pages = index.List(".pages").size() / 3;
    for (size_t i = 1; i <= pages; ++i) {
      const std::string k = std::to_string(i);
      const std::string only = " -f " + k + " -l " + k + " '" + path + "' ";
      EXPECT_LT(Difference(index.Read(".pages/000" + k + ".ppm"),
                           RunCommand("pdftoppm -cropbox -r 72" + only)),
                10)
          << name << " page " << i;
      EXPECT_EQ(Words(Text(index.Read(".pages/000" + k + ".txt"))),
                Words(RunText("pdftotext" + only + "-")))
          << name << " page " << i;
    }
  }
}

}  // namespace
}  // namespace rowfs
