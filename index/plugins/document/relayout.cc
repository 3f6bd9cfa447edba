#include "index/plugins/document/relayout.h"

#include <algorithm>
#include <map>
#include <qpdf/Buffer.hh>
#include <qpdf/QPDF.hh>
#include <qpdf/QPDFObjectHandle.hh>
#include <qpdf/QPDFPageDocumentHelper.hh>
#include <qpdf/QPDFPageObjectHelper.hh>
#include <set>
#include <string>
#include <utility>

namespace rowfs::plugin {
namespace {

// References followed over all pages; a page may be reached by every other.
constexpr uint64_t kVisitsMax = 50'000'000;
constexpr int kNestingMax = 200;
constexpr uint32_t kNoPage = UINT32_MAX;

struct Box {
  double left = 0, bottom = 0, right = 0, top = 0;
  bool empty() const { return !(right > left && top > bottom); }
};

Box BoxOf(QPDFObjectHandle array) {
  if (!array.isArray() || array.getArrayNItems() != 4) return {};
  double v[4];
  for (int i = 0; i < 4; ++i) {
    QPDFObjectHandle item = array.getArrayItem(i);
    if (!item.isNumber()) return {};
    v[i] = item.getNumericValue();
  }
  return {std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]),
          std::max(v[1], v[3])};
}

DocumentPage SizeOfPage(QPDFPageObjectHelper& helper) {
  Box shown = BoxOf(helper.getAttribute("/MediaBox", false));
  if (shown.empty()) shown = {0, 0, 612, 792};  // as other readers assume
  const Box crop = BoxOf(helper.getAttribute("/CropBox", false));
  if (!crop.empty()) {
    const Box both = {
        std::max(shown.left, crop.left), std::max(shown.bottom, crop.bottom),
        std::min(shown.right, crop.right), std::min(shown.top, crop.top)};
    if (!both.empty()) shown = both;
  }
  DocumentPage page;
  QPDFObjectHandle unit = helper.getObjectHandle().getKey("/UserUnit");
  if (unit.isNumber()) {
    page.user_unit = std::clamp(unit.getNumericValue(), 0.01, 75'000.0);
  }
  page.width =
      std::clamp((shown.right - shown.left) * page.user_unit, 0.01, 9e6);
  page.height =
      std::clamp((shown.top - shown.bottom) * page.user_unit, 0.01, 9e6);
  QPDFObjectHandle rotate = helper.getAttribute("/Rotate", false);
  const long long turn = rotate.isNumber()
                             ? static_cast<long long>(std::clamp(
                                   rotate.getNumericValue(), -1e6, 1e6)) /
                                   90
                             : 0;
  if (turn % 2 != 0) std::swap(page.width, page.height);
  return page;
}

class Layout {
 public:
  explicit Layout(QPDF& pdf) : pdf_(pdf) {}

  Status Run(const ByteSink& sink, DocumentIndex* index) {
    index_ = index;
    sink_ = &sink;
    auto pages = QPDFPageDocumentHelper(pdf_).getAllPages();
    pdf_.pushInheritedAttributesToPage();
    for (auto& page : pages) {
      page.removeUnreferencedResources();
      pages_.push_back(page.getObjectHandle());
      page_set_.insert(pages_.back().getObjGen());
    }
    PLUGIN_RETURN_IF_ERROR(FindUsers());
    PLUGIN_RETURN_IF_ERROR(NumberPages());
    PLUGIN_RETURN_IF_ERROR(NumberRest());
    return Write();
  }

  Status RunPage(QPDFObjectHandle page, const ByteSink& sink,
                 DocumentIndex* index) {
    index_ = index;
    sink_ = &sink;
    alone_ = true;
    QPDFPageObjectHelper helper(page);
    for (const char* key : {"/Resources", "/MediaBox", "/CropBox", "/Rotate"}) {
      QPDFObjectHandle value = helper.getAttribute(key, false);
      if (!value.isNull()) page.replaceKey(key, value);
    }
    helper.removeUnreferencedResources();
    index_->pages.assign(1, SizeOfPage(helper));
    pages_.push_back(page);
    page_set_.insert(page.getObjGen());
    PLUGIN_RETURN_IF_ERROR(FindUsers());
    PLUGIN_RETURN_IF_ERROR(NumberPages());
    return Write();
  }

 private:
  struct Use {
    uint32_t page = kNoPage;
    bool shared = false;
  };

  // Pages and page tree nodes are reached by their own run alone.
  bool IsBorder(QPDFObjectHandle& object) const {
    if (page_set_.count(object.getObjGen()) != 0) return true;
    if (!object.isDictionary()) return false;
    QPDFObjectHandle type = object.getKey("/Type");
    return type.isNameAndEquals("/Pages") ||
           (alone_ && type.isNameAndEquals("/Page"));
  }

  // Calls `found` for every indirect object below `root` that was not in
  // `seen`. Without `parents` the way up (page, form field) is left out.
  template <typename Found>
  Status Walk(QPDFObjectHandle root, bool parents, std::set<QPDFObjGen>* seen,
              Found found) {
    std::vector<QPDFObjectHandle> todo{root};
    bool first = true;
    while (!todo.empty()) {
      QPDFObjectHandle object = todo.back();
      todo.pop_back();
      if (++visits_ > kVisitsMax) return Limit("too many references");
      if (object.isIndirect()) {
        if ((!first && IsBorder(object)) || object.isNull()) continue;
        if (!seen->insert(object.getObjGen()).second) continue;
        if (seen->size() > kObjectsMax) return Limit("too many objects");
        found(object);
      }
      first = false;
      if (object.isStream()) object = object.getDict();
      if (object.isDictionary()) {
        for (auto& [key, value] : object.getDictAsMap()) {
          if (parents || key != "/Parent") todo.push_back(value);
        }
      } else if (object.isArray()) {
        for (auto& item : object.getArrayAsVector()) todo.push_back(item);
      }
      if (todo.size() > kObjectsMax) return Limit("too many references");
    }
    return {};
  }

  // What each page uses, in the order it is met.
  Status FindUsers() {
    const QPDFObjectHandle layers = pdf_.getRoot().getKey("/OCProperties");
    for (uint32_t i = 0; i < pages_.size(); ++i) {
      std::set<QPDFObjGen> seen;
      const auto use = [&](QPDFObjectHandle& object) {
        const auto [at, added] = uses_.try_emplace(object.getObjGen());
        if (added) {
          at->second.page = i;
          met_.push_back(object);
        } else if (at->second.page != i) {
          at->second.shared = true;
        }
        used_by_[i].push_back(object.getObjGen());
      };
      PLUGIN_RETURN_IF_ERROR(Walk(pages_[i], false, &seen, use));
      PLUGIN_RETURN_IF_ERROR(Walk(layers, false, &seen, use));
    }
    return {};
  }

  void Append(QPDFObjectHandle& object) {
    numbers_[object.getObjGen()] =
        kFirstObjectNumber + static_cast<uint32_t>(order_.size());
    order_.push_back(object);
  }

  Status Write() {
    for (QPDFObjectHandle& object : order_) {
      PLUGIN_RETURN_IF_ERROR(WriteObject(object));
    }
    return WriteCatalogs();
  }

  Status NumberPages() {
    for (auto& object : met_) {
      if (uses_[object.getObjGen()].shared) Append(object);
    }
    index_->shared_count = static_cast<uint32_t>(order_.size());
    size_t at = 0;
    for (uint32_t i = 0; i < pages_.size(); ++i) {
      DocumentPage& page = index_->pages[i];
      page.first = static_cast<uint32_t>(order_.size());
      // met_ is in page order, and each page begins with itself.
      for (; at < met_.size() && uses_[met_[at].getObjGen()].page == i; ++at) {
        if (!uses_[met_[at].getObjGen()].shared) Append(met_[at]);
      }
      page.count = static_cast<uint32_t>(order_.size()) - page.first;
      for (const QPDFObjGen& used : used_by_[i]) {
        if (uses_[used].shared) {
          page.shared.push_back(numbers_[used] - kFirstObjectNumber);
        }
      }
      std::sort(page.shared.begin(), page.shared.end());
      if (page.count == 0) return Corrupt("two pages are one object");
    }
    used_by_.clear();
    return {};
  }

  Status NumberRest() {
    std::set<QPDFObjGen> seen;
    const auto add = [&](QPDFObjectHandle& object) {
      if (numbers_.count(object.getObjGen()) == 0) Append(object);
    };
    for (auto& [key, value] : pdf_.getRoot().getDictAsMap()) {
      if (key == "/Pages") continue;
      PLUGIN_RETURN_IF_ERROR(Walk(value, true, &seen, add));
    }
    // Fields above widgets are reached from pages alone.
    for (QPDFObjectHandle& page : pages_) {
      PLUGIN_RETURN_IF_ERROR(Walk(page, true, &seen, add));
    }
    return Walk(pdf_.getTrailer().getKey("/Info"), true, &seen, add);
  }

  // `object` as text; references renumbered, those that lead nowhere are null.
  Status AppendText(QPDFObjectHandle object, bool top, int depth,
                    std::string* out) {
    if (depth > kNestingMax) return Limit("values are nested too deep");
    if (!top && object.isIndirect()) {
      const auto at = numbers_.find(object.getObjGen());
      *out +=
          at == numbers_.end() ? "null" : std::to_string(at->second) + " 0 R";
      return {};
    }
    if (object.isArray()) {
      *out += "[";
      for (auto& item : object.getArrayAsVector()) {
        *out += " ";
        PLUGIN_RETURN_IF_ERROR(AppendText(item, false, depth + 1, out));
      }
      *out += " ]";
      return {};
    }
    if (object.isDictionary()) {
      const bool page = page_set_.count(object.getObjGen()) != 0;
      return AppendDictionary(object, page, depth, "", out);
    }
    *out += top ? object.unparseResolved() : object.unparse();
    return {};
  }

  Status AppendDictionary(QPDFObjectHandle object, bool page, int depth,
                          const std::string& more, std::string* out) {
    *out += "<<";
    for (auto& [key, value] : object.getDictAsMap()) {
      *out += " " + QPDFObjectHandle::newName(key).unparse() + " ";
      if (page && key == "/Parent") {
        *out += "2 0 R";
      } else {
        PLUGIN_RETURN_IF_ERROR(AppendText(value, false, depth + 1, out));
      }
    }
    *out += more + " >>";
    return {};
  }

  Status WriteObject(QPDFObjectHandle& object) {
    std::string text =
        std::to_string(numbers_[object.getObjGen()]) + " 0 obj\n";
    if (object.isStream()) {
      const auto data = object.getRawStreamData();
      QPDFObjectHandle dict = object.getDict().shallowCopy();
      dict.removeKey("/Length");
      DropCrypt(&dict);
      PLUGIN_RETURN_IF_ERROR(AppendDictionary(
          dict, false, 0, " /Length " + std::to_string(data->getSize()),
          &text));
      text += "\nstream\n";
      text.append(AsText({data->getBuffer(), data->getSize()}));
      text += "\nendstream";
    } else {
      PLUGIN_RETURN_IF_ERROR(AppendText(object, true, 0, &text));
    }
    text += "\nendobj\n";
    const uint64_t begin = index_->ends.empty() ? 0 : index_->ends.back();
    index_->ends.push_back(begin + text.size());
    if (index_->ends.size() <= index_->shared_count) KeepShared(text);
    return (*sink_)(AsBytes(text));
  }

  // The data is decrypted, so a filter that says "decrypt" must go.
  static void DropCrypt(QPDFObjectHandle* dict) {
    QPDFObjectHandle filter = dict->getKey("/Filter");
    if (filter.isNameAndEquals("/Crypt")) {
      dict->removeKey("/Filter");
      dict->removeKey("/DecodeParms");
    } else if (filter.isArray() && filter.getArrayNItems() > 0 &&
               filter.getArrayItem(0).isNameAndEquals("/Crypt")) {
      for (const char* key : {"/Filter", "/DecodeParms"}) {
        QPDFObjectHandle list = dict->getKey(key);
        if (!list.isArray() || list.getArrayNItems() == 0) continue;
        auto items = list.getArrayAsVector();
        items.erase(items.begin());
        dict->replaceKey(key, QPDFObjectHandle::newArray(items));
      }
    }
  }

  void KeepShared(const std::string& text) {
    if (index_->ends.back() <= kSharedInlineBytesMax) {
      const ByteSpan bytes = AsBytes(text);
      index_->shared.insert(index_->shared.end(), bytes.begin(), bytes.end());
    }
    if (index_->ends.size() == index_->shared_count &&
        index_->ends.back() > kSharedInlineBytesMax) {
      index_->shared.clear();
    }
  }

  Status WriteCatalogs() {
    QPDFObjectHandle root = pdf_.getRoot();
    index_->page_catalog = "<< /Type /Catalog /Pages 2 0 R";
    index_->whole_catalog = index_->page_catalog;
    for (auto& [key, value] : root.getDictAsMap()) {
      if (key == "/Pages" || key == "/Type") continue;
      std::string text = " " + QPDFObjectHandle::newName(key).unparse() + " ";
      PLUGIN_RETURN_IF_ERROR(AppendText(value, false, 0, &text));
      index_->whole_catalog += text;
      if (key == "/OCProperties") index_->page_catalog += text;
    }
    index_->page_catalog += " >>";
    index_->whole_catalog += " >>";
    QPDFObjectHandle info = pdf_.getTrailer().getKey("/Info");
    const auto at = numbers_.find(info.getObjGen());
    if (info.isIndirect() && at != numbers_.end()) {
      index_->info_number = at->second;
    }
    return {};
  }

  QPDF& pdf_;
  DocumentIndex* index_ = nullptr;
  const ByteSink* sink_ = nullptr;
  bool alone_ = false;  // one page, whatever there is besides
  uint64_t visits_ = 0;
  std::vector<QPDFObjectHandle> pages_;
  std::set<QPDFObjGen> page_set_;
  std::map<QPDFObjGen, Use> uses_;
  std::map<uint32_t, std::vector<QPDFObjGen>> used_by_;
  std::vector<QPDFObjectHandle> met_;    // what pages use, by first use
  std::vector<QPDFObjectHandle> order_;  // as they are written
  std::map<QPDFObjGen, uint32_t> numbers_;
};

}  // namespace

Result<std::vector<DocumentPage>> ReadPages(QPDF& pdf) {
  std::vector<DocumentPage> pages;
  // Pages that are no objects, or twice in the tree, get new ones.
  const size_t objects = pdf.getObjectCount();
  for (auto& page : QPDFPageDocumentHelper(pdf).getAllPages()) {
    if (pages.size() == kPagesMax) return Limit("too many pages");
    pages.push_back(SizeOfPage(page));
    const QPDFObjGen own = page.getObjectHandle().getObjGen();
    if (own.getObj() <= 0 || static_cast<size_t>(own.getObj()) > objects ||
        own.getGen() < 0 || own.getGen() > UINT16_MAX) {
      continue;
    }
    pages.back().object = static_cast<uint32_t>(own.getObj());
    pages.back().generation = static_cast<uint32_t>(own.getGen());
  }
  if (pages.empty()) return Corrupt("the document has no page");
  return pages;
}

Status WriteObjects(QPDF& pdf, const ByteSink& sink, DocumentIndex* index) {
  return Layout(pdf).Run(sink, index);
}

Status WritePage(QPDF& pdf, const QPDFObjectHandle& page, const ByteSink& sink,
                 DocumentIndex* index) {
  return Layout(pdf).RunPage(page, sink, index);
}

}  // namespace rowfs::plugin
