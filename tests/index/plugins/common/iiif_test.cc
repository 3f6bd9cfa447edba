#include "index/plugins/common/iiif.h"

#include <gtest/gtest.h>

#include <string>

namespace rowfs::plugin {
namespace {

// What `path` gives for a picture of 300 x 200, canonical; "" when it is
// refused.
std::string Canonical(const std::string& path) {
  const auto request = ParseIiif(path);
  if (!request.ok()) return "";
  const auto geometry = ResolveIiif(request.value(), 300, 200);
  if (!geometry.ok()) return "";
  return CanonicalIiif(request.value(), geometry.value(), 300, 200);
}

TEST(Iiif, GivesEqualPixelsOneCanonicalPath) {
  EXPECT_EQ(Canonical("full/max/0/default.png"), "full/max/0/default.png");
  EXPECT_EQ(Canonical("0,0,300,200/300,200/360/default.png"),
            "full/max/0/default.png");
  EXPECT_EQ(Canonical("0,0,9999,9999/max/0/color.jpg"), "full/max/0/color.jpg");
  EXPECT_EQ(Canonical("square/max/!90/gray.webp"),
            "50,0,200,200/max/!90/gray.webp");
  EXPECT_EQ(Canonical("pct:50,50,50,50/max/0/bitonal.tif"),
            "150,100,150,100/max/0/bitonal.tif");
  EXPECT_EQ(Canonical("pct_50,50,50,50/max/0/bitonal.npy"),
            "150,100,150,100/max/0/bitonal.npy");
}

TEST(Iiif, KeepsTheRatioOfTheRegion) {
  EXPECT_EQ(Canonical("full/150,/0/default.png"), "full/150,100/0/default.png");
  EXPECT_EQ(Canonical("full/,50/0/default.png"), "full/75,50/0/default.png");
  EXPECT_EQ(Canonical("full/pct:50/0/default.png"),
            "full/150,100/0/default.png");
  EXPECT_EQ(Canonical("full/!100,100/0/default.png"),
            "full/100,67/0/default.png");
  EXPECT_EQ(Canonical("full/!1000,1000/0/default.png"),
            "full/max/0/default.png");
  EXPECT_EQ(Canonical("full/30,200/0/default.png"),
            "full/30,200/0/default.png");
}

TEST(Iiif, EnlargesOnlyWhenAsked) {
  EXPECT_EQ(Canonical("full/600,/0/default.png"), "");
  EXPECT_EQ(Canonical("full/301,200/0/default.png"), "");
  EXPECT_EQ(Canonical("full/^600,/0/default.png"),
            "full/^600,400/0/default.png");
  EXPECT_EQ(Canonical("full/^!600,600/0/default.png"),
            "full/^600,400/0/default.png");
  EXPECT_EQ(Canonical("full/^pct:200/0/default.png"),
            "full/^600,400/0/default.png");
  EXPECT_EQ(Canonical("full/pct:200/0/default.png"), "");
}

TEST(Iiif, RefusesWhatIsMalformedOrOutside) {
  for (const char* path : {"",
                           "full",
                           "full/max/0",
                           "full/max/0/default.png/x",
                           "0,0,0,5/max/0/default.png",
                           "300,0,1,1/max/0/default.png",
                           "0,200,1,1/max/0/default.png",
                           "-1,0,5,5/max/0/default.png",
                           "0,0,5/max/0/default.png",
                           "0,0,5,5,5/max/0/default.png",
                           "a,b,c,d/max/0/default.png",
                           "0,0,5,/max/0/default.png",
                           "99999999999,0,5,5/max/0/default.png",
                           "full/0,/0/default.png",
                           "full/,/0/default.png",
                           "full/!5,/0/default.png",
                           "full/pct:0/0/default.png",
                           "full/maxx/0/default.png",
                           "full/^999999999,/0/default.png",
                           "full/max/45/default.png",
                           "full/max/450/default.png",
                           "full/max/-90/default.png",
                           "full/max/!/default.png",
                           "full/max/0/default",
                           "full/max/0/x.png",
                           "full/max/0/default.exe",
                           "full/max/0/.png",
                           "pct:1,2,3/max/0/color.png",
                           "pct:0,0,0,0/max/0/color.png",
                           "full//0/default.png"}) {
    EXPECT_EQ(Canonical(path), "") << path;
  }
}

TEST(Iiif, KnowsTheFoldersOnTheWay) {
  EXPECT_TRUE(CheckIiifFolder("0,0,512,512").ok());
  EXPECT_TRUE(CheckIiifFolder("full/max").ok());
  EXPECT_TRUE(CheckIiifFolder("full/max/!270").ok());
  EXPECT_FALSE(CheckIiifFolder("full/max/0/default.png").ok());
  EXPECT_FALSE(CheckIiifFolder("nothing").ok());
  EXPECT_FALSE(CheckIiifFolder("full/big").ok());
  EXPECT_FALSE(CheckIiifFolder("full/max/north").ok());
}

}  // namespace
}  // namespace rowfs::plugin
