// What g++ -fsanitize=thread calls in front of each load and store of a kernel, and what device.h calls in front of each atomic.
#include "memory.h"
#include "run.h"

using namespace cuemu;

namespace {
[[gnu::noinline, gnu::cold]] void bad(uintptr_t a, size_t bytes, bool write) {
  fault(IllegalAddress, "invalid %s of %zu bytes at %p: %s", write ? "write" : "read", bytes, (void*)a, memoryDescribe((void*)a).c_str());
}

[[gnu::noinline]] void elsewhere(uintptr_t a, size_t bytes, bool write) {
  const Slot& s = *self->slot;
  char* p = (char*)a;
  if (p >= stacksLow() && p + bytes <= stacksHigh()) return;
  if (!write && s.imageLow && p >= s.imageLow && p + bytes <= s.imageHigh) return;
  if (memoryRegistered(p, bytes)) return;
  bad(a, bytes, write);
}

inline void check(const volatile void* p, size_t bytes, bool write) {
  uintptr_t a = (uintptr_t)p, off = a - arenaBase;
  if (off < arenaBytes) {
    if (!memoryMay(off, bytes, launch->owners)) bad(a, bytes, write);
    return;
  }
  const Slot& s = *self->slot;
  if ((char*)a >= s.sharedLow && (char*)a + bytes <= s.sharedHigh) return;
  elsewhere(a, bytes, write);
}

inline void aligned(const volatile void* p, size_t bytes) {
  if ((uintptr_t)p & (bytes - 1)) fault(Misaligned, "an access of %zu bytes at %p, which is not aligned to its size", bytes, p);
}

inline void spend(int n) {
  if ((countdown -= n) <= 0) stand();
}
}  // namespace

#define HOOKS(n)                                                                                              \
  CUEMU_EXPORT void __tsan_read##n(void* p) { spend(1), aligned(p, n), check(p, n, false); }                  \
  CUEMU_EXPORT void __tsan_write##n(void* p) { spend(1), aligned(p, n), check(p, n, true), progress++; }      \
  CUEMU_EXPORT void __tsan_unaligned_read##n(void* p) { spend(1), check(p, n, false); }                       \
  CUEMU_EXPORT void __tsan_unaligned_write##n(void* p) { spend(1), check(p, n, true), progress++; }           \
  CUEMU_EXPORT void __tsan_volatile_read##n(void* p) { spend(64), aligned(p, n), check(p, n, false); }        \
  CUEMU_EXPORT void __tsan_volatile_write##n(void* p) { spend(16), aligned(p, n), check(p, n, true), progress++; } \
  CUEMU_EXPORT void __tsan_unaligned_volatile_read##n(void* p) { spend(64), check(p, n, false); }             \
  CUEMU_EXPORT void __tsan_unaligned_volatile_write##n(void* p) { spend(16), check(p, n, true), progress++; }
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
CUEMU_EXPORT void __tsan_read_range(void* p, size_t n) { spend(1), check(p, n, false); }
CUEMU_EXPORT void __tsan_write_range(void* p, size_t n) { spend(1), check(p, n, true), progress++; }
CUEMU_EXPORT void __tsan_init() {}
CUEMU_EXPORT void __tsan_func_entry(void*) {}
CUEMU_EXPORT void __tsan_func_exit() {}

CUEMU_EXPORT void cuemu_atomic(const volatile void* p, unsigned size) { spend(32), aligned(p, size), check(p, size, true); }
CUEMU_EXPORT void cuemu_changed() { progress++; }
CUEMU_EXPORT void cuemu_pause() { spend(32); }
