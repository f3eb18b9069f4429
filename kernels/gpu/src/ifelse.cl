// variants: u8 u16 u32 u64
// Choosing values by a condition: out = cond ? a : b for rows of `lanes` elements of T (two u64 make a decimal). Moves n/8 bytes of the
// condition, the chosen values and the result. An operand with step 0 is one value for all rows.
#include "scalar.h"

KERNEL(GROUP) K(if_else)(GLOBAL const u8 *cond, i64 cond0, GLOBAL const T *a, i64 a0, i32 a_step, GLOBAL const T *b, i64 b0, i32 b_step, GLOBAL T *out,
                         i64 n, i32 lanes) {
  for (i64 e = GID; e < n * lanes; e += GSIZE) {
    i64 i = lanes == 1 ? e : e >> 1;
    i64 lane = lanes == 1 ? 0 : e & 1;
    out[e] = bit_at(cond, cond0 + i) ? a[(a0 + i * a_step) * lanes + lane] : b[(b0 + i * b_step) * lanes + lane];
  }
}
