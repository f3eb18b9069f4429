// The shadow of device memory, for the look-up in front of every load and store of a kernel.
#pragma once
#include "runtime.h"

namespace cuemu {

const size_t arenaBytes = size_t(1) << 40;
extern uintptr_t arenaBase;
// shadow holds for each 256 bytes how many from the start are valid (0 to 256) and, from bit 9, whose they are.
extern uint16_t* shadow;

bool memoryRegistered(const void* p, size_t bytes);

// memoryMay reports whether a kernel that may touch the memory of owners may touch these bytes; only of addresses inside the arena.
inline bool memoryMay(uintptr_t off, size_t bytes, uint64_t owners) {
  uint16_t v = __atomic_load_n(shadow + (off >> 8), __ATOMIC_RELAXED);
  if (!v || !((owners >> (v >> 9)) & 1)) return false;
  size_t valid = v & 511, end = (off & 255) + bytes;
  if (end <= valid) return true;
  return valid == 256 && memoryMay((off & ~(uintptr_t)255) + 256, end - 256, owners);
}

}  // namespace cuemu
