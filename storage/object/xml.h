// The XML that S3 and STS answer with: elements and text, bounded. No DTD, no
// entities but the five and numbers; namespaces and attributes are skipped.
//
// Values; thread-safe to read.
#ifndef ROWFS_STORAGE_OBJECT_XML_H_
#define ROWFS_STORAGE_OBJECT_XML_H_

#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"

namespace rowfs {

struct XmlElement {
  std::string name;  // without prefix
  std::string text;  // of this element alone, entities decoded
  std::vector<XmlElement> children;

  // Null when there is none.
  const XmlElement* Find(std::string_view child) const;
  // The text of that child; empty when there is none.
  std::string TextOf(std::string_view child) const;
};

// The root element. kCorruption for what is not well-formed or nested more than
// 16 deep.
Result<XmlElement> ParseXml(std::string_view text);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_OBJECT_XML_H_
