// Products of floats by group. Unlike sums they cannot be made of integers, so that their value depends on the order: rows are sorted by group
// first, stably, and each group is multiplied in a shape that its length fixes: one row after another, or, of a long one, by GROUP items, each
// every GROUP-th row, whose products are joined pairwise. Moves 8 bytes a value at random places and 4 or 8 a row, beside what sorting moves.
#include "group.h"
#include "scalar.h"

#define LONG_GROUP 4096

#define MUL(a, b) ((a) * (b))
GROUP_REDUCE(group_product, f64, MUL)

// The key that a row is sorted by: its group, or `groups` where it has none or no value.
KERNEL(GROUP) aggproduct_keys(GLOBAL const u8 *ids, i64 ids_at, i32 ids_wide, GLOBAL const u8 *ids_valid, i64 ids_from, GLOBAL const u8 *valid,
                              i64 valid_from, i64 groups, GLOBAL u8 *keys, i32 wide, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    i64 g = ids_wide ? ((GLOBAL const i64 *)ids)[ids_at + i] : (i64)((GLOBAL const u32 *)ids)[ids_at + i];
    if (!valid_at(ids_valid, ids_from + i) || !valid_at(valid, valid_from + i)) g = groups;
    if (wide) ((GLOBAL i64 *)keys)[i] = g;
    else ((GLOBAL u32 *)keys)[i] = (u32)g;
  }
}

FN i64 product_row(GLOBAL const u8 *rows, i32 wide, i64 i) {
  return wide ? ((GLOBAL const i64 *)rows)[i] : (i64)((GLOBAL const u32 *)rows)[i];
}

// The groups that are not long, an item each. Group g's rows are rows[ends[g]] .. rows[ends[g + 1] - 1].
KERNEL(GROUP) aggproduct_short(GLOBAL const u8 *rows, i32 wide, GLOBAL const u64 *ends, i32 kind, GLOBAL const u8 *x, i64 at, GLOBAL f64 *out, i64 n) {
  for (i64 g = GID; g < n; g += GSIZE) {
    i64 from = (i64)ends[g], to = (i64)ends[g + 1];
    if (to - from > LONG_GROUP) continue;
    f64 product = 1;
    for (i64 i = from; i < to; i++) product *= F64_BITS(load_word(x, kind, at + product_row(rows, wide, i)));
    out[g] = product;
  }
}

// The long ones, a work-group each.
KERNEL(GROUP) aggproduct_long(GLOBAL const u8 *rows, i32 wide, GLOBAL const u64 *ends, i32 kind, GLOBAL const u8 *x, i64 at, GLOBAL f64 *out, i64 n) {
  SHARED f64 scratch[GROUP];
  for (i64 g = BID; g < n; g += GDIM) {
    i64 from = (i64)ends[g], to = (i64)ends[g + 1];
    if (to - from <= LONG_GROUP) continue;
    f64 mine = 1;
    for (i64 i = from + TID; i < to; i += GROUP) mine *= F64_BITS(load_word(x, kind, at + product_row(rows, wide, i)));
    f64 product = group_product(scratch, mine);
    if (TID == 0) out[g] = product;
  }
}
