// CUDA's integer intrinsics, conversions, vector types and mathematical functions, for g++; part of device.h.
#pragma once
static inline int __popc(unsigned v) { return __builtin_popcount(v); }
static inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
static inline int __clz(int v) { return v ? __builtin_clz((unsigned)v) : 32; }
static inline int __clzll(long long v) { return v ? __builtin_clzll((unsigned long long)v) : 64; }
static inline int __ffs(int v) { return __builtin_ffs(v); }
static inline int __ffsll(long long v) { return __builtin_ffsll(v); }
static inline unsigned long long __brevll(unsigned long long v) {
  v = ((v >> 1) & 0x5555555555555555ull) | ((v & 0x5555555555555555ull) << 1);
  v = ((v >> 2) & 0x3333333333333333ull) | ((v & 0x3333333333333333ull) << 2);
  v = ((v >> 4) & 0x0f0f0f0f0f0f0f0full) | ((v & 0x0f0f0f0f0f0f0f0full) << 4);
  return __builtin_bswap64(v);
}
static inline unsigned __brev(unsigned v) { return (unsigned)(__brevll(v) >> 32); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }
static inline int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
static inline long long __mul64hi(long long a, long long b) { return (long long)(((__int128)a * b) >> 64); }
static inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) {
  return (unsigned)(((((unsigned long long)hi << 32) | lo) << (n & 31)) >> 32);
}
static inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) {
  return (unsigned)((((unsigned long long)hi << 32) | lo) >> (n & 31));
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  unsigned long long all = ((unsigned long long)b << 32) | a;
  unsigned r = 0;
  for (int i = 0; i < 4; i++) {
    unsigned pick = (s >> (4 * i)) & 15, byte = (unsigned)(all >> (8 * (pick & 7))) & 255;
    if (pick & 8) byte = byte & 128 ? 255 : 0;
    r |= byte << (8 * i);
  }
  return r;
}

#define CUEMU_AS(name, from, to)           \
  static inline to name(from v) {          \
    to r;                                  \
    __builtin_memcpy(&r, &v, sizeof r); \
    return r;                              \
  }
CUEMU_AS(__float_as_int, float, int)
CUEMU_AS(__float_as_uint, float, unsigned)
CUEMU_AS(__int_as_float, int, float)
CUEMU_AS(__uint_as_float, unsigned, float)
CUEMU_AS(__double_as_longlong, double, long long)
CUEMU_AS(__longlong_as_double, long long, double)
static inline int __double2hiint(double v) { return (int)(__double_as_longlong(v) >> 32); }
static inline int __double2loint(double v) { return (int)__double_as_longlong(v); }
static inline double __hiloint2double(int hi, int lo) {
  return __longlong_as_double((long long)(((unsigned long long)(unsigned)hi << 32) | (unsigned)lo));
}

#define CUEMU_VECTOR(name, T, all, pair, quad)                                                             \
  struct name##1 { T x; };                                                                                 \
  struct __attribute__((aligned(pair))) name##2 { T x, y; };                                               \
  struct all##3 { T x, y, z; };                                                                            \
  struct __attribute__((aligned(quad))) name##4 { T x, y, z, w; };                                         \
  static inline name##2 make_##name##2(T x, T y) { return name##2{x, y}; }                                 \
  static inline name##4 make_##name##4(T x, T y, T z, T w) { return name##4{x, y, z, w}; }
CUEMU_VECTOR(char, signed char, char, 2, 4)
CUEMU_VECTOR(uchar, unsigned char, uchar, 2, 4)
CUEMU_VECTOR(short, short, short, 4, 8)
CUEMU_VECTOR(ushort, unsigned short, ushort, 4, 8)
CUEMU_VECTOR(int, int, int, 8, 16)
CUEMU_VECTOR(uint, unsigned, cuemu_uint, 8, 16)
CUEMU_VECTOR(long, long, long, 16, 16)
CUEMU_VECTOR(ulong, unsigned long, ulong, 16, 16)
CUEMU_VECTOR(longlong, long long, longlong, 16, 16)
CUEMU_VECTOR(ulonglong, unsigned long long, ulonglong, 16, 16)
CUEMU_VECTOR(float, float, float, 8, 16)
CUEMU_VECTOR(double, double, double, 16, 16)

// The C names come from libm; CUDA has the same names for float.
#define CUEMU_MATH1(name)             \
  extern "C" double name(double);     \
  extern "C" float name##f(float);    \
  static inline float name(float x) { return __builtin_##name##f(x); }
#define CUEMU_MATH2(name)                      \
  extern "C" double name(double, double);      \
  extern "C" float name##f(float, float);      \
  static inline float name(float x, float y) { return __builtin_##name##f(x, y); }
CUEMU_MATH1(exp) CUEMU_MATH1(exp2) CUEMU_MATH1(exp10) CUEMU_MATH1(expm1) CUEMU_MATH1(log) CUEMU_MATH1(log2) CUEMU_MATH1(log10)
CUEMU_MATH1(log1p) CUEMU_MATH1(sqrt) CUEMU_MATH1(cbrt) CUEMU_MATH1(fabs) CUEMU_MATH1(floor) CUEMU_MATH1(ceil) CUEMU_MATH1(trunc)
CUEMU_MATH1(round) CUEMU_MATH1(rint) CUEMU_MATH1(nearbyint) CUEMU_MATH1(sin) CUEMU_MATH1(cos) CUEMU_MATH1(tan) CUEMU_MATH1(asin)
CUEMU_MATH1(acos) CUEMU_MATH1(atan) CUEMU_MATH1(sinh) CUEMU_MATH1(cosh) CUEMU_MATH1(tanh) CUEMU_MATH1(asinh) CUEMU_MATH1(acosh)
CUEMU_MATH1(atanh) CUEMU_MATH1(erf) CUEMU_MATH1(erfc) CUEMU_MATH1(tgamma) CUEMU_MATH1(lgamma) CUEMU_MATH1(logb)
CUEMU_MATH2(pow) CUEMU_MATH2(fmod) CUEMU_MATH2(remainder) CUEMU_MATH2(atan2) CUEMU_MATH2(hypot) CUEMU_MATH2(fmin) CUEMU_MATH2(fmax)
CUEMU_MATH2(fdim) CUEMU_MATH2(copysign) CUEMU_MATH2(nextafter)
extern "C" double fma(double, double, double);
extern "C" float fmaf(float, float, float);
static inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
extern "C" double ldexp(double, int);
extern "C" float ldexpf(float, int);
static inline float ldexp(float a, int n) { return __builtin_ldexpf(a, n); }
extern "C" double scalbn(double, int);
extern "C" float scalbnf(float, int);
extern "C" long long llrint(double);
extern "C" long long llrintf(float);
extern "C" long long llround(double);
extern "C" long long llroundf(float);
static inline double rsqrt(double x) { return 1 / __builtin_sqrt(x); }
static inline float rsqrtf(float x) { return 1 / __builtin_sqrtf(x); }
static inline bool isnan(double x) { return __builtin_isnan(x); }
static inline bool isnan(float x) { return __builtin_isnan(x); }
static inline bool isinf(double x) { return __builtin_isinf(x); }
static inline bool isinf(float x) { return __builtin_isinf(x); }
static inline bool isfinite(double x) { return __builtin_isfinite(x); }
static inline bool isfinite(float x) { return __builtin_isfinite(x); }
static inline bool signbit(double x) { return __builtin_signbit(x); }
static inline bool signbit(float x) { return __builtin_signbit(x); }
extern "C" int abs(int);
extern "C" long labs(long);
extern "C" long long llabs(long long);
static inline long long abs(long long x) { return x < 0 ? -x : x; }
static inline long abs(long x) { return x < 0 ? -x : x; }
static inline float abs(float x) { return __builtin_fabsf(x); }
static inline double abs(double x) { return __builtin_fabs(x); }
#define CUEMU_MINMAX(T)                                        \
  static inline T min(T a, T b) { return b < a ? b : a; }      \
  static inline T max(T a, T b) { return a < b ? b : a; }
CUEMU_MINMAX(int) CUEMU_MINMAX(unsigned) CUEMU_MINMAX(long) CUEMU_MINMAX(unsigned long) CUEMU_MINMAX(long long)
CUEMU_MINMAX(unsigned long long)
static inline float min(float a, float b) { return __builtin_fminf(a, b); }
static inline float max(float a, float b) { return __builtin_fmaxf(a, b); }
static inline double min(double a, double b) { return __builtin_fmin(a, b); }
static inline double max(double a, double b) { return __builtin_fmax(a, b); }

// Arithmetic that is rounded as named and never contracted; g++ is told not to contract at all.
#define CUEMU_ROUNDED(p, T, s)                                                         \
  static inline T __##p##add_rn(T a, T b) { return a + b; }                            \
  static inline T __##p##sub_rn(T a, T b) { return a - b; }                            \
  static inline T __##p##mul_rn(T a, T b) { return a * b; }                            \
  static inline T __##p##div_rn(T a, T b) { return a / b; }                            \
  static inline T __##p##sqrt_rn(T a) { return __builtin_sqrt##s(a); }
CUEMU_ROUNDED(f, float, f)
CUEMU_ROUNDED(d, double, )
static inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
static inline int __float2int_rz(float x) { return x != x ? 0 : x >= 2147483648.f ? 2147483647 : x <= -2147483648.f ? (-2147483647 - 1) : (int)x; }
static inline int __float2int_rn(float x) { return __float2int_rz(__builtin_rintf(x)); }
static inline float __int2float_rn(int x) { return (float)x; }
static inline float __double2float_rn(double x) { return (float)x; }
static inline double __ll2double_rn(long long x) { return (double)x; }
static inline double __ull2double_rn(unsigned long long x) { return (double)x; }
static inline float __ll2float_rn(long long x) { return (float)x; }
static inline float __ull2float_rn(unsigned long long x) { return (float)x; }
