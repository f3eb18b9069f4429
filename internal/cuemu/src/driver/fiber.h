// Switching between stacks. On x86-64 in assembly: it saves what the calling convention wants saved and takes a few nanoseconds.
#pragma once
#include <cstddef>
#include <cstdint>

namespace cuemu {

#if defined(__x86_64__)
struct Fiber {
  void* sp;
};
extern "C" __attribute__((visibility("hidden"))) void cuemu_switch(Fiber* from, Fiber* to);
inline void fiberMake(Fiber* f, char* stack, size_t bytes, void (*entry)()) {
  auto p = (uintptr_t*)(((uintptr_t)stack + bytes) & ~(uintptr_t)15);
  *--p = 0;
  *--p = (uintptr_t)entry;
  p -= 6;
  f->sp = p;
}
inline void fiberSwitch(Fiber* from, Fiber* to) { cuemu_switch(from, to); }
#else
#include <ucontext.h>
struct Fiber {
  ucontext_t context;
};
inline void fiberMake(Fiber* f, char* stack, size_t bytes, void (*entry)()) {
  getcontext(&f->context);
  f->context.uc_stack.ss_sp = stack;
  f->context.uc_stack.ss_size = bytes;
  f->context.uc_link = nullptr;
  makecontext(&f->context, entry, 0);
}
inline void fiberSwitch(Fiber* from, Fiber* to) { swapcontext(&from->context, &to->context); }
#endif

}  // namespace cuemu
