// Arithmetic on two numbers of one type T, after kernels.ArithmeticOp: add_T(x, y), sub_T, mul_T wrap, and add_checked_T(x, y, &bad), ... say so
// too; div_T(x, y, &bad) and mod_T find a zero and the quotient that wraps. Floats follow IEEE 754 with one rounding.
#include "bad.h"

// C is the unsigned type that T's bits are computed in, WIDE one that holds every product exactly.
#define INTEGER_WRAPPING(T, C)                                   \
  FN T add_##T(T x, T y) { return (T)((C)x + (C)y); }            \
  FN T sub_##T(T x, T y) { return (T)((C)x - (C)y); }            \
  FN T mul_##T(T x, T y) { return (T)((C)x * (C)y); }

#define INTEGER_CHECKED(T, WIDE)                                 \
  FN T add_checked_##T(T x, T y, u32 *bad) {                     \
    i64 r = (i64)x + (i64)y;                                     \
    if ((i64)(T)r != r) *bad |= BAD_OVERFLOW;                    \
    return (T)r;                                                 \
  }                                                              \
  FN T sub_checked_##T(T x, T y, u32 *bad) {                     \
    i64 r = (i64)x - (i64)y;                                     \
    if ((i64)(T)r != r) *bad |= BAD_OVERFLOW;                    \
    return (T)r;                                                 \
  }                                                              \
  FN T mul_checked_##T(T x, T y, u32 *bad) {                     \
    WIDE r = (WIDE)x * (WIDE)y;                                  \
    if ((WIDE)(T)r != r) *bad |= BAD_OVERFLOW;                   \
    return (T)r;                                                 \
  }

#define SIGNED_DIVISION(T, C)                                    \
  FN T div_##T(T x, T y, u32 *bad) {                             \
    if (y == 0) {                                                \
      *bad |= BAD_ZERO;                                          \
      return 0;                                                  \
    }                                                            \
    if (y != -1) return (T)(x / y);                              \
    T r = (T)((C)0 - (C)x);                                      \
    if (x < 0 && r < 0) *bad |= BAD_OVERFLOW;                    \
    return r;                                                    \
  }                                                              \
  FN T mod_##T(T x, T y, u32 *bad) {                             \
    if (y == 0) *bad |= BAD_ZERO;                                \
    return y == 0 || y == -1 ? (T)0 : (T)(x % y);                \
  }

#define UNSIGNED_DIVISION(T)                                     \
  FN T div_##T(T x, T y, u32 *bad) {                             \
    if (y == 0) *bad |= BAD_ZERO;                                \
    return y == 0 ? (T)0 : (T)(x / y);                           \
  }                                                              \
  FN T mod_##T(T x, T y, u32 *bad) {                             \
    if (y == 0) *bad |= BAD_ZERO;                                \
    return y == 0 ? (T)0 : (T)(x % y);                           \
  }

INTEGER_WRAPPING(i8, u32)
INTEGER_WRAPPING(i16, u32)
INTEGER_WRAPPING(i32, u32)
INTEGER_WRAPPING(i64, u64)
INTEGER_WRAPPING(u8, u32)
INTEGER_WRAPPING(u16, u32)
INTEGER_WRAPPING(u32, u32)
INTEGER_WRAPPING(u64, u64)
INTEGER_CHECKED(i8, i64)
INTEGER_CHECKED(i16, i64)
INTEGER_CHECKED(i32, i64)
INTEGER_CHECKED(u8, u64)
INTEGER_CHECKED(u16, u64)
INTEGER_CHECKED(u32, u64)
SIGNED_DIVISION(i8, u32)
SIGNED_DIVISION(i16, u32)
SIGNED_DIVISION(i32, u32)
SIGNED_DIVISION(i64, u64)
UNSIGNED_DIVISION(u8)
UNSIGNED_DIVISION(u16)
UNSIGNED_DIVISION(u32)
UNSIGNED_DIVISION(u64)

FN i64 add_checked_i64(i64 x, i64 y, u32 *bad) {
  i64 r = add_i64(x, y);
  if (((x ^ r) & (y ^ r)) < 0) *bad |= BAD_OVERFLOW;
  return r;
}
FN i64 sub_checked_i64(i64 x, i64 y, u32 *bad) {
  i64 r = sub_i64(x, y);
  if (((x ^ y) & (x ^ r)) < 0) *bad |= BAD_OVERFLOW;
  return r;
}
FN i64 mul_checked_i64(i64 x, i64 y, u32 *bad) {
  i64 r = mul_i64(x, y);
  if (MULHI_I64(x, y) != r >> 63) *bad |= BAD_OVERFLOW;
  return r;
}
FN u64 add_checked_u64(u64 x, u64 y, u32 *bad) {
  if (x + y < x) *bad |= BAD_OVERFLOW;
  return x + y;
}
FN u64 sub_checked_u64(u64 x, u64 y, u32 *bad) {
  if (x < y) *bad |= BAD_OVERFLOW;
  return x - y;
}
FN u64 mul_checked_u64(u64 x, u64 y, u32 *bad) {
  if (MULHI_U64(x, y)) *bad |= BAD_OVERFLOW;
  return x * y;
}

// Floats: division as f64, of which the f32 is the one that is nearest to the quotient; the rest of a division is exact.
#define FLOAT_ARITHMETIC(T)                                                             \
  FN T add_##T(T x, T y) { return x + y; }                                              \
  FN T sub_##T(T x, T y) { return x - y; }                                              \
  FN T mul_##T(T x, T y) { return x * y; }                                              \
  FN T div_##T(T x, T y) { return (T)((f64)x / (f64)y); }                               \
  FN T mod_##T(T x, T y) { return (T)fmod((f64)x, (f64)y); }
FLOAT_ARITHMETIC(f32)
FLOAT_ARITHMETIC(f64)
