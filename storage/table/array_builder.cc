#include <cassert>
#include <cstring>

#include "storage/table/array_layout.h"

namespace rowfs {
namespace {

bool HasOffsets(TypeId id) { return IsByteLike(id) || IsListLike(id); }

void AppendZeros(Bytes* out, uint64_t count) {
  out->resize(out->size() + count);
}

// Append bit number `i`, all bits before it being there.
void AppendBit(Bytes* bits, uint64_t i, bool value) {
  if (i % 8 == 0) bits->push_back(std::byte{0});
  if (value) bits->back() |= std::byte{1} << (i % 8);
}

SharedBytes Share(Bytes bytes) {
  return std::make_shared<const Bytes>(std::move(bytes));
}

// 64-bit offsets as `type` stores them. When they pass what 32 bits hold the
// type becomes its large form: never a wrapped offset.
SharedBytes FinishOffsets(Bytes offsets, TypePtr* type) {
  const uint64_t last = LoadU64(ByteSpan(offsets).last(8));
  if (!HasLargeOffsets((*type)->id) && last > kSmallOffsetMax) {
    DataType large = **type;
    large.id = LargeForm(large.id);
    *type = MakeType(std::move(large));
  }
  if (HasLargeOffsets((*type)->id)) return Share(std::move(offsets));
  const size_t count = offsets.size() / 8;
  for (size_t i = 0; i < count; ++i) {
    std::memmove(offsets.data() + i * 4, offsets.data() + i * 8, 4);
  }
  offsets.resize(count * 4);
  return Share(std::move(offsets));
}

}  // namespace

ArrayBuilder::ArrayBuilder(TypePtr type) : type_(std::move(type)) {
  if (HasOffsets(type_->id)) AppendU64(&offsets_, 0);
  if (type_->id == TypeId::kDictionary) {
    children_.push_back(
        std::make_unique<ArrayBuilder>(type_->children[1].type));
    return;
  }
  for (const Field& field : type_->children) {
    children_.push_back(std::make_unique<ArrayBuilder>(field.type));
  }
}

void ArrayBuilder::AppendValidity(bool valid) {
  if (!valid && null_count_ == 0) {
    // The bitmap starts with the first null: all before it are valid.
    validity_.assign(length_ / 8, std::byte{0xff});
    if (length_ % 8 != 0) {
      validity_.push_back(static_cast<std::byte>((1U << (length_ % 8)) - 1));
    }
  }
  if (!valid) ++null_count_;
  if (null_count_ > 0) AppendBit(&validity_, length_, valid);
  ++length_;
}

void ArrayBuilder::AppendNull() {
  const TypeId id = type_->id;
  if (id == TypeId::kNull) {
    ++length_;
    ++null_count_;
    return;
  }
  if (id == TypeId::kBool) AppendBit(&data_, length_, false);
  if (IsByteLike(id)) AppendU64(&offsets_, data_.size());
  if (IsListLike(id)) AppendU64(&offsets_, children_[0]->length());
  if (id == TypeId::kBlob) blobs_.emplace_back();
  AppendZeros(&data_, ValueWidth(*type_));
  // A null still takes its place in children that count along with it.
  const uint64_t items = id == TypeId::kStruct          ? 1
                         : id == TypeId::kFixedSizeList ? type_->width
                                                        : 0;
  for (const auto& child : children_) {
    while (child->length() < (length_ + 1) * items) child->AppendNull();
  }
  AppendValidity(false);
}

void ArrayBuilder::AppendBool(bool value) {
  assert(type_->id == TypeId::kBool);
  AppendBit(&data_, length_, value);
  AppendValidity(true);
}

void ArrayBuilder::AppendFixed(ByteSpan value) {
  assert(value.size() == ValueWidth(*type_));
  rowfs::AppendBytes(&data_, value);
  AppendValidity(true);
}

void ArrayBuilder::AppendInt(int64_t value) {
  const uint32_t width = ValueWidth(*type_);
  assert(width > 0);
  AppendUint(&data_, static_cast<uint64_t>(value), width < 8 ? width : 8);
  // Decimals are wider: the sign fills the rest.
  const std::byte sign = value < 0 ? std::byte{0xff} : std::byte{0};
  for (uint32_t i = 8; i < width; ++i) data_.push_back(sign);
  AppendValidity(true);
}

void ArrayBuilder::AppendDouble(double value) {
  assert(type_->id == TypeId::kDouble || type_->id == TypeId::kFloat);
  if (type_->id == TypeId::kDouble) {
    AppendFixed(std::as_bytes(std::span(&value, 1)));
    return;
  }
  const auto narrow = static_cast<float>(value);
  AppendFixed(std::as_bytes(std::span(&narrow, 1)));
}

void ArrayBuilder::AppendBytes(ByteSpan value) {
  assert(IsByteLike(type_->id));
  rowfs::AppendBytes(&data_, value);
  AppendU64(&offsets_, data_.size());
  AppendValidity(true);
}

void ArrayBuilder::AppendBlob(BlobCell value) {
  assert(type_->id == TypeId::kBlob);
  blobs_.push_back(std::move(value));
  AppendValidity(true);
}

void ArrayBuilder::AppendValid() {
  if (IsListLike(type_->id)) AppendU64(&offsets_, children_[0]->length());
  AppendValidity(true);
}

Array ArrayBuilder::Finish() {
  Array array;
  array.type = type_;
  array.length = length_;
  array.null_count = null_count_;
  const bool is_null_type = type_->id == TypeId::kNull;
  if (null_count_ > 0 && !is_null_type) {
    array.validity = Share(std::move(validity_));
  }
  if (type_->id == TypeId::kBool || ValueWidth(*type_) > 0 ||
      IsByteLike(type_->id)) {
    array.data = Share(std::move(data_));
  }
  array.blobs = std::move(blobs_);
  if (type_->id == TypeId::kDictionary) {
    array.dictionary = std::make_shared<const Array>(children_[0]->Finish());
  } else {
    for (const auto& child : children_) {
      array.children.push_back(child->Finish());
    }
    AdoptChildTypes(&array);
  }
  if (HasOffsets(type_->id)) {
    array.offsets = FinishOffsets(std::move(offsets_), &array.type);
  }
  return array;
}

}  // namespace rowfs
