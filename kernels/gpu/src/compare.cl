// Comparisons to a bitmap: each group makes the bits of 4096 rows, 256 at a time. Moves the bytes of the two operands and n/8 bytes.
// An operand with step 0 is one value for all rows.
#include "scalar.h"
#include "compare.h"
#include "group.h"

#define ROWS 4096
#define OPERANDS i32 kind, GLOBAL const u8 *a, i64 a0, i32 a_step, GLOBAL const u8 *b, i64 b0, i32 b_step

// What holds of an item's AHEAD rows from row k of the group's on, GROUP apart, as values of type V: bit j of `flags` for row j. Their loads are on
// their way at once. What may hold of a pair is a bit of `answers`: below, equal, above, and none of them where one is NaN.
#define AHEAD 4
#define COMPARE(V)                                                                          \
  {                                                                                         \
    GLOBAL const V *x = (GLOBAL const V *)a + a0 + base * a_step;                           \
    GLOBAL const V *y = (GLOBAL const V *)b + b0 + base * b_step;                           \
    V p[AHEAD], q[AHEAD];                                                                   \
    for (int j = 0; j < AHEAD; j++) {                                                       \
      i32 r = MIN(k + j * GROUP + TID, rows - 1);                                           \
      p[j] = x[r * a_step];                                                                 \
      q[j] = y[r * b_step];                                                                 \
    }                                                                                       \
    for (int j = 0; j < AHEAD; j++) {                                                       \
      u32 order = p[j] < q[j] ? 1u : p[j] == q[j] ? 2u : p[j] > q[j] ? 4u : 8u;             \
      flags |= (u32)((answers & order) != 0) << j;                                          \
    }                                                                                       \
    break;                                                                                  \
  }

KERNEL(GROUP) compare_fixed(i32 op, OPERANDS, GLOBAL u32 *out, i64 n) {
  SHARED u32 scratch[GROUP];
  i64 base = BID * ROWS;
  i32 rows = (i32)MIN(n - base, (i64)ROWS);
  u32 answers = op == 1 ? 8u : 0u;
  for (int order = -1; order <= 1; order++) answers |= holds(op, order) << (order + 1);
  for (i32 k = 0; k < rows; k += AHEAD * GROUP) {
    u32 flags = 0;
    switch (kind) { // without a barrier in it: not every OpenCL compiler takes them there
    case KIND_I8: COMPARE(i8)
    case KIND_I16: COMPARE(i16)
    case KIND_I32: COMPARE(i32)
    case KIND_I64: COMPARE(i64)
    case KIND_U8: COMPARE(u8)
    case KIND_U16: COMPARE(u16)
    case KIND_U32: COMPARE(u32)
    case KIND_U64: COMPARE(u64)
    case KIND_F32: COMPARE(f32)
    case KIND_F64: COMPARE(f64)
    default:
      for (int j = 0; j < AHEAD; j++) {
        i64 i = base + MIN(k + j * GROUP + TID, rows - 1), at = a0 + i * a_step, bt = b0 + i * b_step;
        i32 order;
        if (kind == KIND_WIDE) {
          GLOBAL const u64 *x = (GLOBAL const u64 *)a + 2 * at;
          GLOBAL const u64 *y = (GLOBAL const u64 *)b + 2 * bt;
          order = compare_wide(x[0], x[1], y[0], y[1]);
        } else {
          order = compare_words(bit_at(a, at), bit_at(b, bt));
        }
        flags |= holds(op, order) << j;
      }
    }
    for (int j = 0; j < AHEAD && k + j * GROUP < rows; j++) group_store_bits(scratch, out, base + k + j * GROUP, flags >> j & 1u, n);
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
