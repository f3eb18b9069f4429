// Rows of columns of numbers as a matrix of one type, by row numbers, a block of columns at a time. Each item writes one element; items beside each
// other write elements beside each other. Moves the row numbers, of each value a sector at worst, and the elements and their mask once out.
#include "scalar.h"
#include "cast.h"

#define WIDTH 8 // columns of a launch
#define COLUMN(k) i32 kind##k, GLOBAL const u8 *x##k, i64 at##k, GLOBAL const u8 *valid##k, i64 bit##k
#define CHOOSE(k)  \
  case k:          \
    kind = kind##k; \
    x = x##k;      \
    at = at##k;    \
    valid = valid##k; \
    bit = bit##k;  \
    break;

// Element (i, j) is row rows[i] of column j as the kind to. Values of that kind keep their bits; a null and a row that is not there is 0.
KERNEL(GROUP) gather_rows(GLOBAL const i64 *rows, i64 row0, i64 n, i64 limit, i32 to, GLOBAL u8 *out, i64 out0, i64 row_step, i64 column_step,
                          GLOBAL u8 *mask, i64 mask0, i64 mask_row, i64 mask_column, i32 columns, COLUMN(0), COLUMN(1), COLUMN(2), COLUMN(3), COLUMN(4),
                          COLUMN(5), COLUMN(6), COLUMN(7)) {
  i32 j = row_step == 1 ? TID / (GROUP / WIDTH) : TID % WIDTH;
  i64 i = BID * (GROUP / WIDTH) + (row_step == 1 ? TID % (GROUP / WIDTH) : TID / WIDTH);
  if (i >= n || j >= columns) return;
  i32 kind;
  GLOBAL const u8 *x, *valid;
  i64 at, bit;
  switch (j) {
    CHOOSE(0)
    CHOOSE(1)
    CHOOSE(2)
    CHOOSE(3)
    CHOOSE(4)
    CHOOSE(5)
    CHOOSE(6)
  default:
    kind = kind7;
    x = x7;
    at = at7;
    valid = valid7;
    bit = bit7;
  }
  i64 row = rows[row0 + i];
  u32 known = (u64)row < (u64)limit && valid_at(valid, bit + row), bad = 0;
  u64 w = 0;
  if (known && kind == to && kind == KIND_F32) w = ((GLOBAL const u32 *)x)[at + row];
  else if (known) w = kind == to ? load_word(x, kind, at + row) : cast_word(kind, load_word(x, kind, at + row), to, &bad);
  store_word(out, to, out0 + i * row_step + j * column_step, w);
  if (mask) mask[mask0 + i * mask_row + j * mask_column] = (u8)known;
}
