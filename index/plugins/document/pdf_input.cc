#include "index/plugins/document/pdf_input.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <list>
#include <new>
#include <qpdf/InputSource.hh>
#include <qpdf/QPDF.hh>
#include <qpdf/QPDFExc.hh>
#include <stdexcept>
#include <utility>

namespace rowfs::plugin {
namespace {

constexpr uint64_t kBlockBytes = 64 * 1024;
constexpr size_t kBlocksMax = 64;

class ReaderInput : public InputSource {
 public:
  explicit ReaderInput(const rowfs_reader& reader) : reader_(reader) {}

  std::string const& getName() const override { return name_; }
  qpdf_offset_t tell() override { return static_cast<qpdf_offset_t>(at_); }
  void rewind() override { at_ = 0; }
  void unreadCh(char) override { at_ -= at_ > 0 ? 1 : 0; }

  void seek(qpdf_offset_t offset, int whence) override {
    const auto base = whence == SEEK_SET ? 0
                      : whence == SEEK_CUR
                          ? static_cast<qpdf_offset_t>(at_)
                          : static_cast<qpdf_offset_t>(reader_.size);
    qpdf_offset_t to = 0;
    if (__builtin_add_overflow(base, offset, &to) || to < 0) {
      throw std::runtime_error("seek before the beginning");
    }
    at_ = static_cast<uint64_t>(to);
  }

  size_t read(char* out, size_t length) override {
    setLastOffset(static_cast<qpdf_offset_t>(at_));
    size_t done = 0;
    while (done < length && at_ < reader_.size) {
      const ByteSpan block = BlockAt(at_);
      const size_t skip = static_cast<size_t>(at_ % kBlockBytes);
      const size_t size = std::min(length - done, block.size() - skip);
      std::memcpy(out + done, block.data() + skip, size);
      done += size;
      at_ += size;
    }
    return done;
  }

  // To the first byte of the next line; the end of this one is what it returns.
  qpdf_offset_t findAndSkipNextEOL() override {
    while (at_ < reader_.size) {
      const ByteSpan block = BlockAt(at_);
      for (size_t i = static_cast<size_t>(at_ % kBlockBytes); i < block.size();
           ++i, ++at_) {
        if (block[i] == '\r' || block[i] == '\n') return SkipLineEnds();
      }
    }
    return static_cast<qpdf_offset_t>(at_);
  }

 private:
  struct Block {
    uint64_t number;
    Bytes bytes;
  };

  qpdf_offset_t SkipLineEnds() {
    const auto result = static_cast<qpdf_offset_t>(at_);
    char c = 0;
    while (read(&c, 1) == 1) {
      if (c != '\r' && c != '\n') {
        --at_;
        break;
      }
    }
    return result;
  }

  ByteSpan BlockAt(uint64_t offset) {
    const uint64_t number = offset / kBlockBytes;
    for (auto it = blocks_.begin(); it != blocks_.end(); ++it) {
      if (it->number != number) continue;
      blocks_.splice(blocks_.begin(), blocks_, it);
      return blocks_.front().bytes;
    }
    const uint64_t begin = number * kBlockBytes;
    Bytes bytes(
        static_cast<size_t>(std::min(kBlockBytes, reader_.size - begin)));
    if (reader_.read_at(reader_.ctx, begin, bytes.data(), bytes.size()) !=
        ROWFS_OK) {
      throw HostReadError();
    }
    if (blocks_.size() == kBlocksMax) blocks_.pop_back();
    blocks_.push_front({number, std::move(bytes)});
    return blocks_.front().bytes;
  }

  const rowfs_reader reader_;
  const std::string name_ = "document";
  uint64_t at_ = 0;
  std::list<Block> blocks_;  // latest first
};

}  // namespace

std::shared_ptr<InputSource> MakePdfInput(const rowfs_reader& reader) {
  return std::make_shared<ReaderInput>(reader);
}

Status PdfError() {
  try {
    throw;
  } catch (const HostReadError&) {
    return Status(ROWFS_E_IO, "reading the document failed");
  } catch (const QPDFExc& e) {
    if (e.getErrorCode() == qpdf_e_password) {
      return Unsupported(
          "the document needs a password; give it with the configuration "
          "password=...");
    }
    return Corrupt("not a readable PDF: " + e.getMessageDetail());
  } catch (const std::bad_alloc&) {
    return Limit("out of memory");
  } catch (const std::exception& e) {
    return Corrupt(std::string("not a readable PDF: ") + e.what());
  }
}

Result<std::unique_ptr<QPDF>> OpenPdf(std::shared_ptr<InputSource> input,
                                      const std::string& password) {
  return GuardPdf([&]() -> Result<std::unique_ptr<QPDF>> {
    auto pdf = std::make_unique<QPDF>();
    pdf->setSuppressWarnings(true);
    pdf->processInputSource(std::move(input), password.c_str());
    return pdf;
  });
}

}  // namespace rowfs::plugin
