#include "index/plugins/document/pdf_input.h"

#include <algorithm>
#include <cstdio>
#include <new>
#include <qpdf/InputSource.hh>
#include <qpdf/QPDF.hh>
#include <qpdf/QPDFExc.hh>
#include <stdexcept>
#include <utility>

#include "index/plugins/document/block_reader.h"

namespace rowfs::plugin {
namespace {

class ReaderInput : public InputSource {
 public:
  explicit ReaderInput(const rowfs_reader& reader) : blocks_(reader) {}

  std::string const& getName() const override { return name_; }
  qpdf_offset_t tell() override { return static_cast<qpdf_offset_t>(at_); }
  void rewind() override { at_ = 0; }
  void unreadCh(char) override { at_ -= at_ > 0 ? 1 : 0; }

  void seek(qpdf_offset_t offset, int whence) override {
    const auto base = whence == SEEK_SET ? 0
                      : whence == SEEK_CUR
                          ? static_cast<qpdf_offset_t>(at_)
                          : static_cast<qpdf_offset_t>(blocks_.size());
    qpdf_offset_t to = 0;
    if (__builtin_add_overflow(base, offset, &to) || to < 0) {
      throw std::runtime_error("seek before the beginning");
    }
    at_ = static_cast<uint64_t>(to);
  }

  size_t read(char* out, size_t length) override {
    setLastOffset(static_cast<qpdf_offset_t>(at_));
    const uint64_t left = blocks_.size() - std::min(at_, blocks_.size());
    const auto size = static_cast<size_t>(std::min<uint64_t>(length, left));
    void* to = out;
    if (!blocks_.ReadAt(at_, {static_cast<uint8_t*>(to), size})) {
      throw HostReadError();
    }
    at_ += size;
    return size;
  }

  // To the first byte of the next line; the end of this one is what it returns.
  qpdf_offset_t findAndSkipNextEOL() override {
    while (at_ < blocks_.size()) {
      const ByteSpan bytes = blocks_.Peek(at_);
      if (bytes.empty()) throw HostReadError();
      for (const uint8_t byte : bytes) {
        if (byte == '\r' || byte == '\n') return SkipLineEnds();
        ++at_;
      }
    }
    return static_cast<qpdf_offset_t>(at_);
  }

 private:
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

  BlockReader blocks_;
  const std::string name_ = "document";
  uint64_t at_ = 0;
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
