// Operations on one number, after kernels.UnaryOp: neg_T(x), abs_T, sign_T, and where the type can be exceeded neg_checked_T(x, &bad),
// abs_checked_T; of floats also floor_T, ceil_T, trunc_T, round_T, sqrt_T, exp_T and log_T.
#include "bad.h"

#define SIGNED_UNARY(T, C)                                                  \
  FN T neg_##T(T x) { return (T)((C)0 - (C)x); }                            \
  FN T abs_##T(T x) { return x < 0 ? neg_##T(x) : x; }                      \
  FN T neg_checked_##T(T x, u32 *bad) {                                     \
    T r = neg_##T(x);                                                       \
    if (x < 0 && r < 0) *bad |= BAD_OVERFLOW;                               \
    return r;                                                               \
  }                                                                         \
  FN T abs_checked_##T(T x, u32 *bad) {                                     \
    T r = abs_##T(x);                                                       \
    if (r < 0) *bad |= BAD_OVERFLOW;                                        \
    return r;                                                               \
  }                                                                         \
  FN i8 sign_##T(T x) { return (i8)((x > 0) - (x < 0)); }

#define UNSIGNED_UNARY(T, C)                                                \
  FN T neg_##T(T x) { return (T)((C)0 - (C)x); }                            \
  FN T abs_##T(T x) { return x; }                                           \
  FN T neg_checked_##T(T x, u32 *bad) {                                     \
    if (x != 0) *bad |= BAD_OVERFLOW;                                       \
    return neg_##T(x);                                                      \
  }                                                                         \
  FN T abs_checked_##T(T x, u32 *bad) {                                     \
    (void)bad;                                                              \
    return x;                                                               \
  }                                                                         \
  FN i8 sign_##T(T x) { return (i8)(x != 0); }

SIGNED_UNARY(i8, u32)
SIGNED_UNARY(i16, u32)
SIGNED_UNARY(i32, u32)
SIGNED_UNARY(i64, u64)
UNSIGNED_UNARY(u8, u32)
UNSIGNED_UNARY(u16, u32)
UNSIGNED_UNARY(u32, u32)
UNSIGNED_UNARY(u64, u64)

// e^x within one unit in the last place: x = k ln 2 + r, and the Taylor series of r, which is at most 0.35. ln 2 is taken in two parts, the
// first of which has zeros enough at its end that k times it is exact.
FN f64 exp_f64(f64 x) {
  if (!(x <= 709.782712893384)) return x * F64_BITS((u64)0x7ff << 52);
  if (x < -745.1332191019412) return 0.0;
  f64 k = floor(x * 1.4426950408889634 + 0.5);
  f64 hi = x - k * F64_BITS(((u64)0x3fe62e42 << 32) | 0xfee00000u), lo = k * F64_BITS(((u64)0x3dea39ef << 32) | 0x35793c76u);
  f64 r = hi - lo, c = (hi - r) - lo, p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  f64 e = 1.0 + (r + (c + (r * c + r * r * (0.5 + r * p))));
  i32 n = (i32)k, h = n / 2; // in two steps: 2^n may be out of range where the product is not
  return e * F64_BITS((u64)(1023 + h) << 52) * F64_BITS((u64)(1023 + n - h) << 52);
}

// ln x within one unit in the last place: x = 2^k (1 + f) with 1 + f in [sqrt 1/2, sqrt 2), and with s = f / (2 + f), |s| < 0.172,
// ln(1 + f) = 2 (s + s^3/3 + s^5/5 + ...) = f - s (f - R), where R is the series without its first term over s.
FN f64 log_f64(f64 x) {
  u64 bits = BITS_F64(x), inf = (u64)0x7ff << 52;
  i32 k = 0;
  if (bits << 1 == 0) return -F64_BITS(inf);
  if (bits >= inf) return bits == inf || x != x ? x : F64_BITS(inf | (u64)1 << 51);
  if (bits < (u64)1 << 52) { // subnormal
    x *= 18014398509481984.0;
    bits = BITS_F64(x);
    k = -54;
  }
  k += (i32)(bits >> 52) - 1023;
  bits = (bits & (((u64)1 << 52) - 1)) | (u64)1023 << 52;
  if (bits > (((u64)0x3ff6a09e << 32) | 0x667f3bcdu)) { // sqrt 2
    bits -= (u64)1 << 52;
    k++;
  }
  f64 f = F64_BITS(bits) - 1.0, s = f / (2.0 + f), z = s * s, p = 2.0 / 25.0;
  p = p * z + 2.0 / 23.0;
  p = p * z + 2.0 / 21.0;
  p = p * z + 2.0 / 19.0;
  p = p * z + 2.0 / 17.0;
  p = p * z + 2.0 / 15.0;
  p = p * z + 2.0 / 13.0;
  p = p * z + 2.0 / 11.0;
  p = p * z + 2.0 / 9.0;
  p = p * z + 2.0 / 7.0;
  p = p * z + 2.0 / 5.0;
  p = p * z + 2.0 / 3.0;
  f64 h = 0.5 * f * f, n = (f64)k;
  return n * F64_BITS(((u64)0x3fe62e42 << 32) | 0xfee00000u) -
         ((h - (s * (h + p * z) + n * F64_BITS(((u64)0x3dea39ef << 32) | 0x35793c76u))) - f);
}

// Roots and the like as f64, of which the f32 is the nearest.
#define FLOAT_UNARY(T)                                                      \
  FN T neg_##T(T x) { return -x; }                                          \
  FN T abs_##T(T x) { return (T)fabs(x); }                                  \
  FN T sign_##T(T x) { return x > 0 ? (T)1 : x < 0 ? (T)-1 : x; }           \
  FN T floor_##T(T x) { return (T)floor(x); }                               \
  FN T ceil_##T(T x) { return (T)ceil(x); }                                 \
  FN T trunc_##T(T x) { return (T)trunc(x); }                               \
  FN T round_##T(T x) { return (T)round(x); }                               \
  FN T sqrt_##T(T x) { return (T)sqrt((f64)x); }
FLOAT_UNARY(f32)
FLOAT_UNARY(f64)
FN f32 exp_f32(f32 x) { return (f32)exp_f64((f64)x); }
FN f32 log_f32(f32 x) { return (f32)log_f64((f64)x); }
