#include "fs/tree/row_contents.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "fs/tree/blob_shape.h"
#include "index/dataset/names.h"
#include "index/dataset/reference_table.h"
#include "index/dataset/value_text.h"

namespace rowfs {
namespace {

constexpr size_t kNestingMax = 64;
// Names stay this much below the limit, so that what is put behind them fits.
constexpr size_t kSuffixBytesMax = 40;

const std::string* FindKey(const Metadata& metadata, std::string_view key) {
  for (const auto& [name, value] : metadata) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::string TextOf(const Array& value) {
  if (value.type->id == TypeId::kDictionary)
    return ValueJson(value, 0, {}).text;
  return std::string(AsText(value.BytesAt(0)));
}

class Builder {
 public:
  Builder(const RowReader& reader, const Row& row)
      : reader_(reader), row_(row) {
    contents_.row = row.number;
  }

  RowContents Build();
  std::vector<std::string> TakeTexts() { return std::move(texts_); }

 private:
  using ByCell = std::map<CellPath, uint32_t>;

  // A cell on the way down: where it is and which fields led there.
  struct Place {
    const Array* array;
    uint64_t index;
    const Metadata* metadata;
    std::string_view name;  // not escaped
    uint32_t parent;
    CellPath cell;
    uint32_t code = 0;
    bool indexed = false;
  };

  uint32_t Add(RowItem item);
  void AddColumn(size_t column, UniqueNames* taken);
  void AddValue(size_t column, RowItem::Kind kind, std::string_view suffix,
                uint64_t size, UniqueNames* taken);
  void AddJson(size_t column, UniqueNames* taken);
  void AddBlob(const Place& place, UniqueNames* taken);
  void AddOwnFile(const Place& place, const BlobShape& shape,
                  const std::string& stem);
  void AddViews(const Place& place, const BlobShape& shape,
                const std::string& stem);
  void AddNested(const Place& place, size_t depth, UniqueNames* taken);
  void AddChildren(const Place& folder, size_t depth);
  void AddTimeView(const Place& blob, uint64_t time_ns, std::string_view name,
                   std::string_view views, UniqueNames* taken);
  void AddTimeViews(const Place& folder, UniqueNames* taken);
  bool HasViews(const RowItem& file, std::string_view views) const;
  std::string FileName(const Metadata& metadata) const;
  Json BlobJsonOf(const CellPath& cell) const;
  Json ColumnJson(size_t column) const;
  std::string RowJson();

  const RowReader& reader_;
  const Row& row_;
  RowContents contents_;
  ByCell main_items_;               // the file of each blob cell
  std::vector<std::string> texts_;  // JSON of columns that are done
};

uint32_t Builder::Add(RowItem item) {
  if (item.parent != RowItem::kTop) {
    item.path = contents_.items[item.parent].path + "/" + item.name;
  } else {
    item.path = item.name;
  }
  contents_.items.push_back(std::move(item));
  return static_cast<uint32_t>(contents_.items.size() - 1);
}

void Builder::AddValue(size_t column, RowItem::Kind kind,
                       std::string_view suffix, uint64_t size,
                       UniqueNames* taken) {
  const Column& about = reader_.dataset.columns()[column];
  std::string stem = StemOf(about.name);
  std::string suffixes[] = {std::string(suffix)};
  if (kind == RowItem::Kind::kText) {
    const std::string name = FileName(about.metadata);
    if (!name.empty()) {
      std::tie(stem, suffixes[0]) = SplitExtension(StemOf(name));
    }
  }
  RowItem item;
  item.kind = kind;
  item.name = taken->TakeStem(stem, suffixes) + suffixes[0];
  item.code = CodeOfColumn(column);
  item.size = size;
  item.cell.column = column;
  item.media_type = kind == RowItem::Kind::kJson     ? "application/json"
                    : kind == RowItem::Kind::kTensor ? "application/x-npy"
                                                     : "text/plain";
  Add(std::move(item));
}

void Builder::AddJson(size_t column, UniqueNames* taken) {
  std::string text = texts_[column] + "\n";
  AddValue(column, RowItem::Kind::kJson, ".json", text.size(), taken);
  contents_.items.back().text = std::move(text);
}

std::string Builder::FileName(const Metadata& metadata) const {
  if (const std::string* name = FindKey(metadata, kFileNameKey)) return *name;
  const std::string* column = FindKey(metadata, kNameColumnKey);
  if (column == nullptr) return {};
  const auto found = reader_.dataset.FindColumn(*column);
  if (!found || row_.values[*found].length == 0) return {};
  const Array& names = row_.values[*found];
  if (names.IsNull(0) || (names.type->id != TypeId::kString &&
                          names.type->id != TypeId::kLargeString)) {
    return {};
  }
  const std::string_view path = AsText(names.BytesAt(0));
  const std::string* suffix = FindKey(metadata, kNameSuffixKey);
  return std::string(path.substr(path.rfind('/') + 1)) +
         (suffix == nullptr ? "" : *suffix);
}

void Builder::AddBlob(const Place& place, UniqueNames* taken) {
  std::string name = FileName(*place.metadata);
  if (!name.empty()) name = StemOf(name);
  RowReader reader = reader_;
  // Values that have blobs in them say their sizes.
  reader.paths_only = reader.paths_only && place.cell.steps.empty();
  BlobShape shape = DescribeBlob(
      reader, {row_.number, place.cell, *place.metadata, place.indexed, name},
      BlobCellAt(*place.array, place.index));
  if (contents_.failure.ok()) contents_.failure = shape.failure;
  contents_.unsure = contents_.unsure || shape.unsure;
  std::string wanted = StemOf(place.name);
  if (!name.empty() && shape.own_file) wanted = SplitExtension(name).first;
  std::vector<std::string> suffixes;
  if (shape.own_file) suffixes.push_back(shape.extension);
  if (!shape.late_views) {
    for (const ViewEntry& view : shape.views) suffixes.push_back(view.name);
  }
  std::string stem = taken->TakeStem(wanted, suffixes);
  if (shape.own_file) AddOwnFile(place, shape, stem);
  if (shape.late_views) {
    // The file keeps its name whatever its views are called.
    stem = taken->TakeStem(stem, shape.reserved);
    contents_.items.back().view_stem = stem;
    std::erase_if(shape.views, [&](const ViewEntry& view) {
      const auto& reserved = shape.reserved;
      if (std::ranges::find(reserved, view.name) != reserved.end()) {
        return false;
      }
      return taken->Take(stem + view.name) != stem + view.name;
    });
  }
  AddViews(place, shape, stem);
}

void Builder::AddOwnFile(const Place& place, const BlobShape& shape,
                         const std::string& stem) {
  RowItem item;
  item.kind = shape.broken ? RowItem::Kind::kBroken : RowItem::Kind::kBlob;
  item.name = stem + shape.extension;
  item.parent = place.parent;
  item.code = place.code;
  item.size = shape.size;
  item.cell = place.cell;
  item.media_type = shape.media_type;
  item.error = shape.error;
  main_items_[place.cell] = Add(std::move(item));
}

void Builder::AddViews(const Place& place, const BlobShape& shape,
                       const std::string& stem) {
  for (const ViewEntry& view : shape.views) {
    RowItem item;
    item.kind = view.is_directory ? RowItem::Kind::kViewFolder
                                  : RowItem::Kind::kViewFile;
    item.name = stem + view.name;
    item.parent = place.parent;
    item.size = view.size;
    item.size_exact = view.is_directory || view.size_exact;
    item.cell = place.cell;
    item.foreseen = shape.foreseen;
    item.view = view.name;
    item.media_type = view.media_type;
    item.attributes = view.attributes;
    if (view.is_whole && !main_items_.contains(place.cell)) {
      item.code = place.code;
      main_items_[place.cell] = Add(std::move(item));
    } else {
      Add(std::move(item));
    }
  }
}

bool HoldsBlob(const DataType& type) {
  return type.id == TypeId::kBlob ||
         std::any_of(type.children.begin(), type.children.end(),
                     [](const Field& child) { return HoldsBlob(*child.type); });
}

// A value of a nested column: a blob becomes a file, what holds blobs a folder,
// anything else stays in NAME.json.
void Builder::AddNested(const Place& place, size_t depth, UniqueNames* taken) {
  if (depth > kNestingMax || place.index >= place.array->length ||
      place.array->IsNull(place.index)) {
    return;
  }
  if (place.array->type->id == TypeId::kBlob) {
    AddBlob(place, taken);
    return;
  }
  if (!HoldsBlob(*place.array->type)) return;
  RowItem item;
  item.kind = RowItem::Kind::kFolder;
  item.name = taken->Take(StemOf(place.name));
  item.parent = place.parent;
  item.code = place.code;
  item.cell = place.cell;
  Place folder = place;
  folder.parent = Add(std::move(item));
  AddChildren(folder, depth + 1);
}

// Whether the folder `views` is among the views that `file` has, or that such
// files usually have.
bool Builder::HasViews(const RowItem& file, std::string_view views) const {
  const auto listed = [&](const RowItem& item) {
    return item.cell == file.cell && item.view == views;
  };
  if (std::ranges::any_of(contents_.items, listed)) return true;
  std::string extension = SplitExtension(file.name).second;
  if (extension.empty() || file.view_stem.empty()) return false;
  const auto foreseen = reader_.plugins.ForeseeViews(extension.substr(1));
  return std::ranges::any_of(
      foreseen, [&](const ViewEntry& view) { return view.name == views; });
}

void Builder::AddTimeView(const Place& blob, uint64_t time_ns,
                          std::string_view name, std::string_view views,
                          UniqueNames* taken) {
  const auto file = main_items_.find(blob.cell);
  if (file == main_items_.end() ||
      !HasViews(contents_.items[file->second], views)) {
    return;
  }
  constexpr uint64_t kSecond = 1'000'000'000;
  const std::string part = std::to_string(kSecond + time_ns % kSecond);
  RowItem item;
  item.kind = RowItem::Kind::kViewFile;
  item.name = taken->Take(std::string(name));
  item.parent = blob.parent;
  item.size = 1;
  item.size_exact = false;
  item.foreseen = true;
  item.cell = blob.cell;
  item.view = std::string(views) + "/" + std::to_string(time_ns / kSecond) +
              "." + part.substr(1) + SplitExtension(std::string(name)).second;
  Add(std::move(item));
}

// Files of blobs in a struct at the times that stand beside them.
void Builder::AddTimeViews(const Place& folder, UniqueNames* taken) {
  const Array& array = *folder.array;
  for (size_t i = 0; i < array.children.size(); ++i) {
    const Field& field = array.type->children[i];
    const std::string* rule = FindKey(field.metadata, kTimeViewKey);
    if (rule == nullptr) continue;
    std::istringstream words(*rule);
    std::string number;
    std::string name;
    std::string views;
    words >> number >> name >> views;
    for (size_t k = 0; k < array.children.size(); ++k) {
      const Array& times = array.children[k];
      if (array.type->children[k].name != number ||
          times.type->id != TypeId::kInt64 || folder.index >= times.length ||
          times.IsNull(folder.index) || times.IntAt(folder.index) < 0) {
        continue;
      }
      Place blob = folder;
      blob.cell.steps.push_back(static_cast<uint32_t>(i));
      AddTimeView(blob, static_cast<uint64_t>(times.IntAt(folder.index)), name,
                  views, taken);
    }
  }
}

void Builder::AddChildren(const Place& folder, size_t depth) {
  const Array& array = *folder.array;
  const DataType& type = *array.type;
  UniqueNames taken;
  Place child = folder;
  child.code = 0;
  child.indexed = false;
  child.cell.steps.push_back(0);
  if (type.id == TypeId::kStruct) {
    for (size_t i = 0; i < array.children.size(); ++i) {
      child.array = &array.children[i];
      child.metadata = &type.children[i].metadata;
      child.name = type.children[i].name;
      child.cell.steps.back() = static_cast<uint32_t>(i);
      AddNested(child, depth, &taken);
    }
    AddTimeViews(folder, &taken);
    return;
  }
  const bool fixed = type.id == TypeId::kFixedSizeList;
  if (array.children.empty() || (!fixed && !array.offsets)) return;
  const uint64_t begin =
      fixed ? folder.index * type.width : array.OffsetAt(folder.index);
  const uint64_t end =
      fixed ? begin + type.width : array.OffsetAt(folder.index + 1);
  child.array = &array.children[0];
  child.metadata = &type.children[0].metadata;
  for (uint64_t i = begin; i < end; ++i) {
    std::string name = std::to_string(i - begin);
    child.name = name;
    child.index = i;
    child.cell.steps.back() = static_cast<uint32_t>(i - begin);
    if (type.id != TypeId::kMap) {
      AddNested(child, depth, &taken);
      continue;
    }
    // An entry of a map: its key names its value.
    const Array& entries = array.children[0];
    const Json key = ValueJson(entries.children[0], i, {});
    name = key.kind == Json::Kind::kString ? key.text : WriteJson(key);
    Place value = child;
    value.name = name;
    value.array = &entries.children[1];
    value.metadata = &entries.type->children[1].metadata;
    value.cell.steps.push_back(1);
    AddNested(value, depth, &taken);
  }
}

void Builder::AddColumn(size_t column, UniqueNames* taken) {
  const Column& about = reader_.dataset.columns()[column];
  const Array& value = row_.values[column];
  if (about.role == ColumnRole::kIndex || value.length == 0 ||
      value.IsNull(0) || FindKey(about.metadata, kNoFileKey) != nullptr) {
    return;
  }
  Place place{&value,        0,           &about.metadata, about.name,
              RowItem::kTop, {column, {}}};
  place.code = CodeOfColumn(column);
  place.indexed = about.index_field.has_value();
  switch (about.role) {
    case ColumnRole::kNumber:
      AddValue(column, RowItem::Kind::kNumber, "",
               NumberText(value, 0).size() + 1, taken);
      break;
    case ColumnRole::kText:
      AddValue(column, RowItem::Kind::kText, ".txt", TextOf(value).size(),
               taken);
      break;
    case ColumnRole::kTensor:
      // A null item has no place in an integer tensor; then NpyBytes fails.
      if (NpyBytes(value, 0).ok()) {
        AddValue(column, RowItem::Kind::kTensor, ".npy", NpySize(*value.type),
                 taken);
        break;
      }
      texts_[column] = WriteJson(ColumnJson(column));
      AddJson(column, taken);
      break;
    case ColumnRole::kNested:
      texts_[column] = WriteJson(ColumnJson(column));
      AddJson(column, taken);
      break;
    case ColumnRole::kBlob: {
      AddBlob(place, taken);
      const auto item = main_items_.find(place.cell);
      if (item != main_items_.end()) {
        contents_.blobs.emplace_back(column, item->second);
      }
      break;
    }
    case ColumnRole::kTree:
      AddNested(place, 0, taken);
      texts_[column] = WriteJson(ColumnJson(column));
      AddJson(column, taken);
      contents_.items.back().code += 1;  // the folder has the column's own
      break;
    case ColumnRole::kIndex:
      break;
  }
}

Json Builder::BlobJsonOf(const CellPath& cell) const {
  const auto found = main_items_.find(cell);
  if (found == main_items_.end()) return {};
  const RowItem& item = contents_.items[found->second];
  Json json = Json::Object();
  json.Add("path", Json::String(item.path))
      .Add("size", Json::Uint(item.size))
      .Add("media_type", Json::String(item.media_type));
  // A cell that names its bytes keeps what it says.
  const Result<CellRef> value = FindCell(row_, cell);
  if (value.ok() && value.value().array->type->id == TypeId::kBlob) {
    const auto& [array, index] = value.value();
    const BlobCell& stored = array->blobs[index];
    if (!array->IsNull(index) && stored.base_id == kReferenceBase) {
      json.Add("reference", Json::String(stored.object));
    }
  }
  return json;
}

Json Builder::ColumnJson(size_t column) const {
  const Array& value = row_.values[column];
  if (value.length == 0 || value.IsNull(0)) return {};
  if (reader_.dataset.columns()[column].role == ColumnRole::kBlob) {
    return BlobJsonOf({column, {}});
  }
  return ValueJson(
      value, 0,
      [&](const Array&, uint64_t, const std::vector<uint32_t>& steps) {
        return BlobJsonOf({column, steps});
      });
}

std::string Builder::RowJson() {
  const std::vector<Column>& columns = reader_.dataset.columns();
  UniqueNames keys;
  std::string json = "{";
  for (size_t i = 0; i < texts_.size(); ++i) {
    if (columns[i].role == ColumnRole::kIndex) continue;
    if (json.size() > 1) json += ", ";
    json += JsonQuote(keys.Take(columns[i].name)) + ": ";
    if (texts_[i].empty()) texts_[i] = WriteJson(ColumnJson(i));
    json += texts_[i];
  }
  return json + "}\n";
}

RowContents Builder::Build() {
  RowItem json;
  json.name = kRowJsonName;
  json.code = kRowJsonCode;
  json.media_type = "application/json";
  Add(std::move(json));
  UniqueNames taken;
  taken.Reserve(kRowJsonName);
  texts_.resize(std::min(reader_.dataset.columns().size(), row_.values.size()));
  for (size_t i = 0; i < texts_.size(); ++i) AddColumn(i, &taken);
  contents_.items[0].text = RowJson();
  contents_.items[0].size = contents_.items[0].text.size();
  contents_.by_path.resize(contents_.items.size());
  for (uint32_t i = 0; i < contents_.by_path.size(); ++i) {
    contents_.by_path[i] = i;
  }
  std::sort(contents_.by_path.begin(), contents_.by_path.end(),
            [&](uint32_t a, uint32_t b) {
              return contents_.items[a].path < contents_.items[b].path;
            });
  return std::move(contents_);
}

}  // namespace

BlobCell BlobCellAt(const Array& array, uint64_t index) {
  if (array.type->id == TypeId::kBlob) return array.blobs[index];
  BlobCell cell;
  const ByteSpan bytes = array.BytesAt(index);
  cell.bytes = std::make_shared<const Bytes>(bytes.begin(), bytes.end());
  cell.size = bytes.size();
  return cell;
}

RowContents ReadRowContents(const RowReader& reader, const Row& row,
                            std::vector<std::string>* column_texts) {
  Builder builder(reader, row);
  RowContents contents = builder.Build();
  if (column_texts != nullptr) *column_texts = builder.TakeTexts();
  return contents;
}

std::string StemOf(std::string_view name) {
  return EscapeName(name, kNameBytesMax - kSuffixBytesMax);
}

std::optional<uint32_t> RowContents::FindPath(std::string_view path) const {
  const auto it = std::lower_bound(by_path.begin(), by_path.end(), path,
                                   [&](uint32_t item, std::string_view wanted) {
                                     return items[item].path < wanted;
                                   });
  if (it == by_path.end() || items[*it].path != path) return {};
  return *it;
}

std::optional<uint32_t> RowContents::Find(uint32_t parent,
                                          std::string_view name) const {
  if (parent == RowItem::kTop) return FindPath(name);
  return FindPath(items[parent].path + "/" + std::string(name));
}

std::optional<uint32_t> RowContents::FindCode(uint32_t code) const {
  for (uint32_t i = 0; i < items.size(); ++i) {
    if (items[i].code == code && code != 0) return i;
  }
  return {};
}

Result<std::string> ValueFileText(const RowItem& item, const Row& row) {
  const Array& value = row.values[item.cell.column];
  switch (item.kind) {
    case RowItem::Kind::kRowJson:
    case RowItem::Kind::kJson:
      return item.text;
    case RowItem::Kind::kNumber:
      return NumberText(value, 0) + "\n";
    case RowItem::Kind::kText:
      return TextOf(value);
    case RowItem::Kind::kTensor: {
      ROWFS_ASSIGN_OR_RETURN(const Bytes npy, NpyBytes(value, 0));
      return std::string(AsText(npy));
    }
    case RowItem::Kind::kBlob:
    case RowItem::Kind::kBroken:
    case RowItem::Kind::kFolder:
    case RowItem::Kind::kViewFolder:
    case RowItem::Kind::kViewFile:
      break;
  }
  return Status(Code::kInternal, "not a value file");
}

}  // namespace rowfs
