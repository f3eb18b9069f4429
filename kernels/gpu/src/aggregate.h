// What the aggregations by group fold. Every one is a sum, a least or a greatest of integers of 64 or 128 bits, so that the order in which
// atomics arrive changes nothing: results are the same to the bit in every run, on every device, and however many groups work.
//
// Sums of floats are no exception. A first pass finds the greatest exponent of each group (OP_SCALE); the second (OP_FIXED) adds the values as
// 128-bit integers of a unit so small that what the rows of a group lose by it is, all together, less than one rounding of the greatest of
// them: the unit is 2^shift below the last place of the greatest value, shift = 73 - log2(rows) ("reproducible summation" by pre-rounding:
// Demmel and Nguyen, "Fast Reproducible Floating-Point Summation", 2013, with one bin of 128 bits). That costs a second reading of the column,
// which is less than sorting rows by group, what a fixed shape of additions would need.
#include "scalar.h"
#include "int128.h"

#define OP_COUNT 0   // 1 for each value
#define OP_SUM 1     // the value's 64 bits
#define OP_WIDE 2    // the value's 128 bits
#define OP_MIN 3     // in the order of ordered(); NaN is past all others
#define OP_MAX 4
#define OP_FIRST 5   // the row
#define OP_LAST 6    // the row + 1
#define OP_SCALE 7   // the exponent, as in the bits of an f64, at least 1
#define OP_FIXED 8   // the value in units of its group
#define OP_PRODUCT 9 // modulo 2^64

#define FLAG_NAN 1 // of a group with values that are not finite
#define FLAG_INF 2
#define FLAG_NEGATIVE_INF 4

#define PER_ITEM 4

// The values of PER_ITEM rows: low and high word of each, sign-extended; floats as the bits of an f64. The switch is outside of the loads so
// that all of them are under way at once.
#define LOAD_AS(T, CONVERT, SIGN)                                                     \
  for (int j = 0; j < PER_ITEM; j++) {                                                \
    T v = ((GLOBAL const T *)x)[at + rows[j]];                                        \
    lo[j] = CONVERT;                                                                  \
    hi[j] = SIGN;                                                                     \
  }                                                                                   \
  break
FN void load_rows(u64 *lo, u64 *hi, GLOBAL const u8 *x, i64 at, i32 kind, const i64 *rows) {
  switch (kind) {
  case KIND_I8: LOAD_AS(i8, (u64)(i64)v, (u64)0 - (u64)(v < 0));
  case KIND_I16: LOAD_AS(i16, (u64)(i64)v, (u64)0 - (u64)(v < 0));
  case KIND_I32: LOAD_AS(i32, (u64)(i64)v, (u64)0 - (u64)(v < 0));
  case KIND_I64: LOAD_AS(i64, (u64)v, (u64)0 - (u64)(v < 0));
  case KIND_U8: LOAD_AS(u8, v, 0);
  case KIND_U16: LOAD_AS(u16, v, 0);
  case KIND_U32: LOAD_AS(u32, v, 0);
  case KIND_U64: LOAD_AS(u64, v, 0);
  case KIND_F32: LOAD_AS(f32, BITS_F64((f64)v), 0);
  case KIND_F64: LOAD_AS(f64, BITS_F64(v), 0);
  case KIND_BOOL:
    for (int j = 0; j < PER_ITEM; j++) {
      lo[j] = bit_at(x, at + rows[j]);
      hi[j] = 0;
    }
    break;
  case KIND_WIDE:
    for (int j = 0; j < PER_ITEM; j++) {
      lo[j] = ((GLOBAL const u64 *)x)[2 * (at + rows[j])];
      hi[j] = ((GLOBAL const u64 *)x)[2 * (at + rows[j]) + 1];
    }
    break;
  default: // no value is needed, or there is none
    for (int j = 0; j < PER_ITEM; j++) lo[j] = hi[j] = 0;
  }
}

FN u32 is_signed(i32 kind) { return kind >= KIND_I8 && kind <= KIND_I64; }

// A word whose unsigned order is that of the values. `worst` is what a NaN becomes.
FN u64 ordered(u64 w, i32 kind, u64 worst) { return is_float(kind) && is_nan_word(w) ? worst : order_word(kind, w); }

// The value of ordered(); both words that a NaN becomes give one back.
FN u64 unordered(u64 w, i32 kind) {
  if (is_signed(kind)) return w ^ SIGN64;
  if (!is_float(kind)) return w;
  return w & SIGN64 ? w ^ SIGN64 : ~w;
}

// The value as a number; unit is what a decimal's integer is divided by.
FN f64 number(u64 lo, u64 hi, i32 kind, f64 unit) {
  if (is_float(kind)) return F64_BITS(lo);
  if (kind == KIND_WIDE) return wide_f64(lo, hi) / unit;
  return is_signed(kind) ? (f64)(i64)lo : (f64)lo;
}

// The bits of a finite f64 in units of 2^-shift of the last place of a value of exponent `greatest`, as 128 bits.
FN void fixed_point(u64 bits, u64 greatest, i32 shift, u64 *lo, u64 *hi) {
  i32 e = (i32)(bits >> 52 & 0x7ff);
  u64 m = (bits & (((u64)1 << 52) - 1)) | (u64)(e > 0) << 52;
  i32 by = MAX(e, 1) - (i32)greatest + shift;
  u64 l = 0, h = 0;
  if (by >= 64) {
    h = m << (by - 64);
  } else if (by > 0) {
    l = m << by;
    h = m >> (64 - by);
  } else if (by > -54) {
    l = by == 0 ? m : (m + ((u64)1 << (-by - 1))) >> -by;
  }
  if (bits & SIGN64) {
    l = ~l + 1;
    h = ~h + (l == 0);
  }
  *lo = l;
  *hi = h;
}
