// variants: u32 u64
// Ranks of rows (T) that are sorted: the number of different values up to a row's, from 1 on.
#include "scalar.h"

// flags[i] is 1 where row rows[i] of a plain column of a fixed width differs from the row before it.
KERNEL(GROUP) K(rank_flags)(i32 kind, GLOBAL const u8 *x, i64 x0, GLOBAL const u8 *valid, i64 valid0, GLOBAL const T *rows, GLOBAL u32 *flags, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    u32 differs = 1;
    if (i > 0) {
      i64 a = rows[i], b = rows[i - 1];
      u32 known = valid_at(valid, valid0 + a);
      differs = known != valid_at(valid, valid0 + b);
      if (!differs && known) {
        if (kind == KIND_WIDE) {
          GLOBAL const u64 *v = (GLOBAL const u64 *)x + 2 * (x0 + a);
          GLOBAL const u64 *w = (GLOBAL const u64 *)x + 2 * (x0 + b);
          differs = v[0] != w[0] || v[1] != w[1];
        } else {
          differs = key_word(kind, load_word(x, kind, x0 + a)) != key_word(kind, load_word(x, kind, x0 + b));
        }
      }
    }
    flags[i] = differs;
  }
}

// before[i + 1] is the number of flags up to i; none is the rank of nulls.
KERNEL(GROUP) K(rank_rows)(GLOBAL const T *rows, GLOBAL const u64 *before, GLOBAL const u8 *valid, i64 valid0, u64 none, GLOBAL T *ranks, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    i64 row = rows[i];
    ranks[row] = (T)(valid_at(valid, valid0 + row) ? before[i + 1] : none);
  }
}
