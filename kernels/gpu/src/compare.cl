// Comparisons to a bitmap: each group makes the bits of 4096 rows, 256 at a time. Moves the bytes of the two operands and n/8 bytes.
// An operand with step 0 is one value for all rows.
#include "scalar.h"
#include "compare.h"
#include "group.h"

#define ROWS 4096
#define OPERANDS i32 kind, GLOBAL const u8 *a, i64 a0, i32 a_step, GLOBAL const u8 *b, i64 b0, i32 b_step

KERNEL(GROUP) compare_fixed(i32 op, OPERANDS, GLOBAL u32 *out, i64 n) {
  SHARED u32 scratch[GROUP];
  for (i64 first = BID * ROWS; first < n && first < (BID + 1) * ROWS; first += GROUP) {
    i64 i = first + TID;
    u32 flag = 0;
    if (i < n) {
      i64 at = a0 + i * a_step, bt = b0 + i * b_step;
      if (kind == KIND_WIDE) {
        GLOBAL const u64 *x = (GLOBAL const u64 *)a + 2 * at;
        GLOBAL const u64 *y = (GLOBAL const u64 *)b + 2 * bt;
        flag = holds(op, compare_wide(x[0], x[1], y[0], y[1]));
      } else {
        u64 x = load_word(a, kind, at), y = load_word(b, kind, bt);
        if (is_float(kind) && (is_nan_word(x) || is_nan_word(y))) {
          flag = op == 1;
        } else {
          flag = holds(op, compare_words(order_word(kind, key_word(kind, x)), order_word(kind, key_word(kind, y))));
        }
      }
    }
    group_store_bits(scratch, out, first, flag, n);
  }
}

// Text: the operands are the offsets, which may differ in width, and their bytes.
KERNEL(GROUP) compare_texts(i32 op, i32 b_kind, OPERANDS, GLOBAL const u8 *at, i64 at0, GLOBAL const u8 *bt, i64 bt0, GLOBAL u32 *out, i64 n) {
  SHARED u32 scratch[GROUP];
  for (i64 first = BID * ROWS; first < n && first < (BID + 1) * ROWS; first += GROUP) {
    i64 i = first + TID;
    u32 flag = 0;
    if (i < n) {
      i64 x = a0 + i * a_step, y = b0 + i * b_step;
      i64 x0 = offset_at(a, kind, x), x1 = offset_at(a, kind, x + 1);
      i64 y0 = offset_at(b, b_kind, y), y1 = offset_at(b, b_kind, y + 1);
      if (op <= 1 && x1 - x0 != y1 - y0) flag = op == 1;
      else flag = holds(op, compare_text(at + at0 + x0, x1 - x0, bt + bt0 + y0, y1 - y0));
    }
    group_store_bits(scratch, out, first, flag, n);
  }
}
