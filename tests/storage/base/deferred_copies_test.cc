#include "storage/base/deferred_copies.h"

#include <gtest/gtest.h>

#include <string>

namespace rowfs {
namespace {

constexpr size_t kLong = 20'000;

SharedSpan Make(char letter, size_t size) {
  auto bytes = std::make_shared<const Bytes>(size, std::byte(letter));
  return {bytes, *bytes};
}

std::string TextOf(const std::vector<SharedSpan>& pieces) {
  std::string text;
  for (const SharedSpan& piece : pieces) text += AsText(piece.bytes);
  return text;
}

TEST(DeferredCopies, WithoutAScopeBytesAreCopied) {
  Bytes out(kLong);

  DeferredCopies::Copy(Make('a', kLong), out);

  EXPECT_EQ(AsText(out), std::string(kLong, 'a'));
}

TEST(DeferredCopies, LongPiecesAreHandedOnAndOutliveTheirCache) {
  Bytes out(3 * kLong, std::byte('-'));
  std::vector<SharedSpan> pieces;
  {
    const DeferredCopies copies(out);
    const MutableByteSpan span(out);
    DeferredCopies::Copy(Make('a', kLong), span.first(kLong));
    DeferredCopies::Copy(Make('b', 10), span.subspan(kLong, 10));
    DeferredCopies::Copy(Make('c', kLong), span.subspan(2 * kLong));
    pieces = copies.Pieces(out.size() - 5);
  }

  EXPECT_EQ(TextOf(pieces), std::string(kLong, 'a') + std::string(10, 'b') +
                                std::string(kLong - 10, '-') +
                                std::string(kLong - 5, 'c'));
  EXPECT_EQ(pieces.size(), 3U);
  EXPECT_EQ(out[0], std::byte('-'));
}

TEST(DeferredCopies, OtherBuffersAndGoingBackAreCopied) {
  Bytes out(2 * kLong);
  Bytes other(kLong);
  const DeferredCopies copies(out);
  DeferredCopies::Copy(Make('a', kLong), MutableByteSpan(out).subspan(kLong));

  DeferredCopies::Copy(Make('b', kLong), other);
  DeferredCopies::Copy(Make('c', kLong), MutableByteSpan(out).first(kLong));

  EXPECT_EQ(AsText(other), std::string(kLong, 'b'));
  EXPECT_EQ(TextOf(copies.Pieces(out.size())),
            std::string(kLong, 'c') + std::string(kLong, 'a'));
}

}  // namespace
}  // namespace rowfs
