// Casts to and from decimals. Moves the values and the results. look_for has the bits of bad.h that are errors.
#include "scalar.h"
#include "cast.h"
#include "decimal.h"

#define COLUMN i32 kind, GLOBAL const u8 *x, i64 x0, GLOBAL const u8 *valid, i64 valid0

// digits is by how many the scale grows.
KERNEL(GROUP) cast_to_decimal(COLUMN, i32 digits, i32 precision, GLOBAL u64 *out, i64 n, u32 look_for, GLOBAL u64 *first_bad) {
  for (i64 i = GID; i < n; i += GSIZE) {
    u32 bad = 0;
    i128 v;
    if (is_float(kind)) {
      v = decimal_of_float(F64_BITS(load_word(x, kind, x0 + i)), digits, precision, &bad);
    } else {
      if (kind == KIND_WIDE) {
        GLOBAL const u64 *w = (GLOBAL const u64 *)x + 2 * (x0 + i);
        v = i128_of(w[0], w[1]);
      } else {
        v = i128_of_word(load_word(x, kind, x0 + i), is_signed(kind));
      }
      v = decimal_rescale(v, digits, precision, &bad);
    }
    out[2 * i] = v.lo;
    out[2 * i + 1] = v.hi;
    if (bad & look_for && valid_at(valid, valid0 + i)) ATOMIC_MIN64(first_bad, (u64)i);
  }
}

KERNEL(GROUP) cast_from_decimal(COLUMN, i32 scale, i32 to, GLOBAL u8 *out, i64 n, u32 look_for, GLOBAL u64 *first_bad) {
  for (i64 i = GID; i < n; i += GSIZE) {
    u32 bad = 0;
    GLOBAL const u64 *w = (GLOBAL const u64 *)x + 2 * (x0 + i);
    i128 v = i128_of(w[0], w[1]);
    u64 r;
    if (is_float(to)) {
      f64 f = decimal_to_float(v, scale, to == KIND_F32 ? 24 : 53);
      if ((BITS_F64(f) << 1) == (u64)0x7ff << 53) bad = BAD_OVERFLOW;
      r = to == KIND_F32 ? BITS_F32((f32)f) : BITS_F64(f);
    } else {
      r = cast_integer(decimal_to_word(v, -scale, is_signed(to), &bad), is_signed(to), to, &bad);
    }
    store_word(out, to, i, r);
    if (bad & look_for && valid_at(valid, valid0 + i)) ATOMIC_MIN64(first_bad, (u64)i);
  }
}
