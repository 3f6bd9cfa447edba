#include "storage/object/xml.h"

#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

TEST(Xml, ReadsElementsTextAndEntities) {
  ASSERT_OK_AND_ASSIGN(
      const XmlElement root,
      ParseXml("<?xml version=\"1.0\"?>\n<!-- c --><s3:List xmlns:s3='x'>"
               "<Key a=\"1\">a&amp;b&#x20;&#233;<![CDATA[<c>]]></Key><Empty/>"
               "<Key>2</Key></s3:List>"));

  EXPECT_EQ(root.name, "List");
  ASSERT_EQ(root.children.size(), 3U);
  EXPECT_EQ(root.TextOf("Key"), "a&b \xc3\xa9<c>");
  EXPECT_EQ(root.TextOf("Empty"), "");
  EXPECT_EQ(root.Find("Nothing"), nullptr);
}

TEST(Xml, RefusesWhatIsNotWellFormed) {
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "<a>";
  for (const std::string& text :
       {std::string(""), std::string("text"), std::string("<a>"),
        std::string("<a></b>"), std::string("<a>&unknown;</a>"),
        std::string("<a>&#1114112;</a>"), std::string("<a>&amp</a>"),
        std::string("<!DOCTYPE a><a/>"), std::string("<a><!-- </a>"), deep}) {
    EXPECT_THAT(ParseXml(text), HasCode(Code::kCorruption)) << text;
  }
}

TEST(Xml, EveryPrefixOfADocumentIsRefused) {
  const std::string text = "<a><b>x&lt;</b><c/><![CDATA[y]]></a>";
  ASSERT_OK(ParseXml(text));

  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(ParseXml(text.substr(0, size)).ok()) << size;
  }
}

}  // namespace
}  // namespace rowfs
