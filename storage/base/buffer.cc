#include "storage/base/buffer.h"

#include <sys/mman.h>

#include <array>
#include <cstdlib>
#include <new>
#include <utility>

#include "storage/base/sync.h"

namespace rowfs {
namespace {

constexpr size_t kLongBytes = 2 << 20;
constexpr size_t kHugePageBytes = 2 << 20;

// Long buffers that nobody uses now.
class Idle {
 public:
  // Null when none is of that size; then those that are go, for the sizes have
  // changed.
  std::byte* Take(size_t size) EXCLUDES(mu_) {
    std::array<Slot, kSlots> stale;
    const MutexLock lock(mu_);
    for (Slot& slot : slots_) {
      if (slot.size == size) return std::exchange(slot, {}).bytes.release();
    }
    std::swap(stale, slots_);
    return nullptr;
  }

  void Keep(std::byte* bytes, size_t size) EXCLUDES(mu_) {
    Slot given{std::unique_ptr<std::byte, Free>(bytes), size};
    const MutexLock lock(mu_);
    for (Slot& slot : slots_) {
      if (slot.bytes != nullptr) continue;
      slot = std::move(given);
      return;
    }
  }

 private:
  static constexpr size_t kSlots = 2;
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  struct Slot {
    std::unique_ptr<std::byte, Free> bytes;
    size_t size = 0;
  };

  Mutex mu_;
  std::array<Slot, kSlots> slots_ GUARDED_BY(mu_);
};

// Never destroyed: buffers may be given back while the program ends.
Idle& IdleBuffers() {
  static Idle& idle = *new Idle;
  return idle;
}

std::byte* Allocate(size_t size) {
  const bool huge = size >= 2 * kHugePageBytes;
  const size_t unit = huge ? kHugePageBytes : 4096;
  void* made = nullptr;
  if (::posix_memalign(&made, unit, size) != 0) throw std::bad_alloc();
  // One fault for 512 pages; a hint, so that failing changes nothing.
  if (huge) ::madvise(made, size / unit * unit, MADV_HUGEPAGE);
  return static_cast<std::byte*>(made);
}

}  // namespace

std::shared_ptr<std::byte[]> MakeBuffer(size_t size) {
  if (size < kLongBytes) {
    return std::make_shared_for_overwrite<std::byte[]>(size);
  }
  std::byte* bytes = IdleBuffers().Take(size);
  if (bytes == nullptr) bytes = Allocate(size);
  return {bytes, [size](std::byte* given) { IdleBuffers().Keep(given, size); }};
}

}  // namespace rowfs
