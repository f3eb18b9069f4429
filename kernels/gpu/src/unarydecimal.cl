// One operation on each decimal, after kernels.UnaryOp. Moves the values and the results.
#include "decimal.h"

// look_for has the bits of bad.h that are errors.
KERNEL(GROUP) unary_decimal(i32 op, GLOBAL const u64 *a, i64 a0, GLOBAL const u8 *valid, i64 valid0, i32 scale, i32 precision, GLOBAL u64 *out,
                            i64 n, u32 look_for, GLOBAL u64 *first_bad) {
  for (i64 i = GID; i < n; i += GSIZE) {
    i128 x = i128_of(a[2 * (a0 + i)], a[2 * (a0 + i) + 1]);
    u32 bad = 0;
    if (op == 0 || (op == 1 && i128_negative(x))) x = i128_negate(x);
    if (op >= 6 && scale > 0) x = decimal_round(op, x, scale, precision, &bad);
    else if (!u128_less(i128_abs(x), ten_power(precision))) bad = BAD_OVERFLOW;
    out[2 * i] = x.lo;
    out[2 * i + 1] = x.hi;
    if (bad & look_for && valid_at(valid, valid0 + i)) ATOMIC_MIN64(first_bad, (u64)i);
  }
}

KERNEL(GROUP) unary_decimal_sign(GLOBAL const u64 *a, i64 a0, GLOBAL i8 *out, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) out[i] = (i8)i128_sign(i128_of(a[2 * (a0 + i)], a[2 * (a0 + i) + 1]));
}
