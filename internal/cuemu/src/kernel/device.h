// What CUDA C gives a kernel, for g++: the emulator's compiler includes this file in front of the text of a module, so that the very text
// that NVRTC compiles runs on the host. It includes nothing, so that a module compiles in a fraction of a second.
// Loads and stores need no names of their own: g++ -fsanitize=thread calls the hooks of memory.cpp before each.
#pragma once
typedef unsigned long size_t;
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __CUDA_ARCH__ 700
#define __global__ __attribute__((cuemu_kernel))
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __constant__ static
#define __shared__ static __attribute__((section("cuemu_shared")))
#define CUEMU_RAW __attribute__((no_sanitize("thread")))
#define CUEMU_FN static inline CUEMU_RAW

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

extern "C" {
// Constant for the life of a CUDA thread, which is one call of a kernel.
uint3 cuemu_thread_index() __attribute__((const));
uint3 cuemu_block_index() __attribute__((const));
uint3 cuemu_block_size() __attribute__((const));
uint3 cuemu_grid_size() __attribute__((const));
unsigned cuemu_lane() __attribute__((const));
int cuemu_barrier(int line, int reduce, int value);
unsigned long long cuemu_warp(int line, int op, unsigned mask, unsigned long long value, unsigned arg, unsigned width);
void cuemu_atomic(const volatile void* p, unsigned size);
void cuemu_changed();
void cuemu_pause();
void cuemu_trap(int line);
int printf(const char*, ...);
void* memcpy(void*, const void*, size_t);
void* memset(void*, int, size_t);
}

#define threadIdx (cuemu_thread_index())
#define blockIdx (cuemu_block_index())
#define blockDim (cuemu_block_size())
#define gridDim (cuemu_grid_size())
static const int warpSize = 32;

#define __syncthreads() ((void)cuemu_barrier(__LINE__, 0, 0))
#define __syncthreads_count(p) cuemu_barrier(__LINE__, 1, !!(p))
#define __syncthreads_and(p) cuemu_barrier(__LINE__, 2, !!(p))
#define __syncthreads_or(p) cuemu_barrier(__LINE__, 3, !!(p))
#define __trap() cuemu_trap(__LINE__)
#define __threadfence() cuemu_pause()
#define __threadfence_block() cuemu_pause()
#define __threadfence_system() cuemu_pause()
#define __nanosleep(ns) cuemu_pause()

// Warp operations. The numbers of the operations are those of warp.cpp.
template <class T> CUEMU_FN T cuemu_shuffle(int line, int op, unsigned mask, T v, unsigned arg, unsigned width) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a shuffle moves 4 or 8 bytes");
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &v, sizeof v);
  bits = cuemu_warp(line, op, mask, bits, arg, width);
  __builtin_memcpy(&v, &bits, sizeof v);
  return v;
}
#define CUEMU_SHUFFLE(name, op)                                                                                   \
  template <class T> CUEMU_FN T cuemu_##name(int line, unsigned mask, T v, unsigned arg, int width = 32) { \
    return cuemu_shuffle(line, op, mask, v, arg, (unsigned)width);                                            \
  }
CUEMU_SHUFFLE(shfl, 0)
CUEMU_SHUFFLE(shfl_up, 1)
CUEMU_SHUFFLE(shfl_down, 2)
CUEMU_SHUFFLE(shfl_xor, 3)
#define __shfl_sync(...) cuemu_shfl(__LINE__, __VA_ARGS__)
#define __shfl_up_sync(...) cuemu_shfl_up(__LINE__, __VA_ARGS__)
#define __shfl_down_sync(...) cuemu_shfl_down(__LINE__, __VA_ARGS__)
#define __shfl_xor_sync(...) cuemu_shfl_xor(__LINE__, __VA_ARGS__)
CUEMU_FN void cuemu_syncwarp(int line, unsigned mask = 0xffffffffu) { cuemu_warp(line, 4, mask, 0, 0, 32); }
#define __syncwarp(...) cuemu_syncwarp(__LINE__, ##__VA_ARGS__)
#define __ballot_sync(mask, p) ((unsigned)cuemu_warp(__LINE__, 5, mask, !!(p), 0, 32))
#define __any_sync(mask, p) (cuemu_warp(__LINE__, 5, mask, !!(p), 0, 32) != 0)
#define __all_sync(mask, p) ((int)cuemu_warp(__LINE__, 6, mask, !!(p), 0, 32))
template <class T> CUEMU_FN unsigned cuemu_match(int line, unsigned mask, T v) {
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &v, sizeof v);
  return (unsigned)cuemu_warp(line, 7, mask, bits, 0, 32);
}
#define __match_any_sync(mask, v) cuemu_match(__LINE__, mask, v)
// The lanes of a warp run apart here, so each sees itself alone: CUDA promises no more.
CUEMU_FN unsigned __activemask() { return 1u << cuemu_lane(); }

// Atomics: a compare-and-swap each, so that an operation that changes nothing is seen as no progress (run.cpp finds deadlocks by that).
template <class T> struct cuemu_bits;
template <> struct cuemu_bits<int> { typedef unsigned type; };
template <> struct cuemu_bits<unsigned> { typedef unsigned type; };
template <> struct cuemu_bits<float> { typedef unsigned type; };
template <> struct cuemu_bits<long long> { typedef unsigned long long type; };
template <> struct cuemu_bits<unsigned long long> { typedef unsigned long long type; };
template <> struct cuemu_bits<double> { typedef unsigned long long type; };
template <> struct cuemu_bits<unsigned short> { typedef unsigned short type; };
template <class T, class F> CUEMU_FN T cuemu_update(T* p, F f) {
  typedef typename cuemu_bits<T>::type B;
  cuemu_atomic(p, sizeof(T));
  B* at = (B*)p;
  B was = __atomic_load_n(at, __ATOMIC_SEQ_CST), now;
  T old;
  do {
    __builtin_memcpy(&old, &was, sizeof old);
    T next = f(old);
    __builtin_memcpy(&now, &next, sizeof now);
  } while (!__atomic_compare_exchange_n(at, &was, now, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  if (was != now) cuemu_changed();
  return old;
}
#define CUEMU_ATOMIC(name, T, next) \
  CUEMU_FN T name(T* p, T v) { return cuemu_update(p, [=](T o) CUEMU_RAW { return (T)(next); }); }
#define CUEMU_EACH_INT(name, next) CUEMU_ATOMIC(name, int, next) CUEMU_ATOMIC(name, unsigned, next) CUEMU_ATOMIC(name, unsigned long long, next)
CUEMU_ATOMIC(atomicAdd, int, (unsigned)o + (unsigned)v)
CUEMU_ATOMIC(atomicAdd, unsigned, o + v)
CUEMU_ATOMIC(atomicAdd, unsigned long long, o + v)
CUEMU_ATOMIC(atomicAdd, float, o + v)
CUEMU_ATOMIC(atomicAdd, double, o + v)
CUEMU_ATOMIC(atomicSub, int, (unsigned)o - (unsigned)v)
CUEMU_ATOMIC(atomicSub, unsigned, o - v)
CUEMU_EACH_INT(atomicMin, o < v ? o : v)
CUEMU_ATOMIC(atomicMin, long long, o < v ? o : v)
CUEMU_EACH_INT(atomicMax, o > v ? o : v)
CUEMU_ATOMIC(atomicMax, long long, o > v ? o : v)
CUEMU_EACH_INT(atomicExch, v)
CUEMU_ATOMIC(atomicExch, float, v)
CUEMU_EACH_INT(atomicAnd, o& v)
CUEMU_ATOMIC(atomicAnd, long long, o& v)
CUEMU_EACH_INT(atomicOr, o | v)
CUEMU_ATOMIC(atomicOr, long long, o | v)
CUEMU_EACH_INT(atomicXor, o ^ v)
CUEMU_ATOMIC(atomicXor, long long, o ^ v)
CUEMU_ATOMIC(atomicInc, unsigned, o >= v ? 0 : o + 1)
CUEMU_ATOMIC(atomicDec, unsigned, o == 0 || o > v ? v : o - 1)
#define CUEMU_CAS(T) \
  CUEMU_FN T atomicCAS(T* p, T compare, T v) { return cuemu_update(p, [=](T o) CUEMU_RAW { return o == compare ? v : o; }); }
CUEMU_CAS(int)
CUEMU_CAS(unsigned)
CUEMU_CAS(unsigned long long)
CUEMU_CAS(unsigned short)

// Loads and stores with a cache hint.
template <class T> static inline T __ldg(const T* p) { return *p; }
template <class T> static inline T __ldca(const T* p) { return *p; }
template <class T> static inline T __ldcg(const T* p) { return *p; }
template <class T> static inline T __ldcs(const T* p) { return *p; }
template <class T> static inline T __ldlu(const T* p) { return *p; }
template <class T> static inline T __ldcv(const T* p) { return *(const volatile T*)p; }
template <class T> static inline void __stcg(T* p, T v) { *p = v; }
template <class T> static inline void __stcs(T* p, T v) { *p = v; }
template <class T> static inline void __stwb(T* p, T v) { *p = v; }
template <class T> static inline void __stwt(T* p, T v) { *p = v; }

#include "device_math.h"
