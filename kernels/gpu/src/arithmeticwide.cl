// Arithmetic on decimals, and on temporal values that are brought to one unit first. Moves the two operands and the result.
#include "scalar.h"
#include "decimal.h"
#include "arithmetic.h"

#define SIDE(a) GLOBAL const u8 *a, i64 a##0, u64 a##_lo, u64 a##_hi, GLOBAL const u8 *a##_valid, i64 a##_valid0
#define NO_NULL(i) (valid_at(a_valid, a_valid0 + i) && valid_at(b_valid, b_valid0 + i))

FN i128 load_wide(GLOBAL const u8 *x, i64 i) {
  GLOBAL const u64 *w = (GLOBAL const u64 *)x + 2 * i;
  return i128_of(w[0], w[1]);
}

// look_for has the bits of bad.h that are errors.
KERNEL(GROUP) arithmetic_decimal(i32 op, SIDE(a), i32 up_a, SIDE(b), i32 up_b, i32 precision, GLOBAL u64 *out, i64 n, u32 look_for,
                                 GLOBAL u64 *first_bad) {
  for (i64 i = GID; i < n; i += GSIZE) {
    i128 x = a ? load_wide(a, a0 + i) : i128_of(a_lo, a_hi);
    i128 y = b ? load_wide(b, b0 + i) : i128_of(b_lo, b_hi);
    i128 z;
    u32 bad = 0;
    switch (op) {
    case 0: z = decimal_add(x, y, up_a, up_b, precision, &bad); break;
    case 1: z = decimal_sub(x, y, up_a, up_b, precision, &bad); break;
    case 2: z = decimal_mul(x, y, precision, &bad); break;
    case 3: z = decimal_div(x, y, up_a, precision, &bad); break;
    default: z = decimal_mod(x, y, up_a, up_b, precision, &bad);
    }
    out[2 * i] = z.lo;
    out[2 * i + 1] = z.hi;
    if (bad & look_for && NO_NULL(i)) ATOMIC_MIN64(first_bad, (u64)i);
  }
}

// Sums and differences of i32 or i64 values that are multiplied by a factor first, as dates are.
KERNEL(GROUP) arithmetic_temporal(i32 op, i32 a_kind, SIDE(a), i64 a_factor, i32 b_kind, SIDE(b), i64 b_factor, GLOBAL i64 *out, i64 n,
                                  u32 look_for, GLOBAL u64 *first_bad) {
  for (i64 i = GID; i < n; i += GSIZE) {
    u32 bad = 0;
    i64 x = a ? (i64)load_word(a, a_kind, a0 + i) : (i64)a_lo;
    i64 y = b ? (i64)load_word(b, b_kind, b0 + i) : (i64)b_lo;
    x = mul_checked_i64(x, a_factor, &bad);
    y = mul_checked_i64(y, b_factor, &bad);
    out[i] = op == 0 ? add_checked_i64(x, y, &bad) : sub_checked_i64(x, y, &bad);
    if (bad & look_for && NO_NULL(i)) ATOMIC_MIN64(first_bad, (u64)i);
  }
}
