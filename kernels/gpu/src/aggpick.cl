// The row of the least or greatest value of each group, for values that no atomic compares: texts, and decimals of 128 bits. A group's word is
// the best row so far + 1; a better row takes its place by compare and swap. Of equal values any row may win: their bytes are the same. Moves
// the group numbers and values once, of a dictionary through its indices, and again for each comparison the value that is best so far.
#include "group.h"
#include "scalar.h"

#define IDS GLOBAL const u8 *ids, i64 ids_at, i32 ids_wide, GLOBAL const u8 *ids_valid, i64 ids_from

// Whether value a is less than value b; texts go by their bytes.
FN u32 pick_less(GLOBAL const u8 *x, GLOBAL const u8 *bytes, i32 kind, i64 a, i64 b) {
  if (kind == KIND_WIDE) {
    GLOBAL const u64 *w = (GLOBAL const u64 *)x;
    i64 high_a = (i64)w[2 * a + 1], high_b = (i64)w[2 * b + 1];
    return high_a != high_b ? high_a < high_b : w[2 * a] < w[2 * b];
  }
  i64 p = offset_at(x, kind, a), n = offset_at(x, kind, a + 1) - p;
  i64 q = offset_at(x, kind, b), m = offset_at(x, kind, b + 1) - q;
  for (i64 k = 0; k < n && k < m; k++) {
    u8 v = bytes[p + k], w = bytes[q + k];
    if (v != w) return v < w;
  }
  return n < m;
}

KERNEL(GROUP) aggpick_rows(IDS, i32 kind, GLOBAL const u8 *x, i64 at, GLOBAL const u8 *bytes, i64 bytes_at, i32 index_kind,
                           GLOBAL const u8 *index, i64 index_at, GLOBAL const u8 *valid, i64 valid_from, i32 greatest, GLOBAL u64 *best, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    if (!valid_at(ids_valid, ids_from + i) || !valid_at(valid, valid_from + i)) continue;
    i64 g = ids_wide ? ((GLOBAL const i64 *)ids)[ids_at + i] : (i64)((GLOBAL const u32 *)ids)[ids_at + i];
    i64 mine = at + value_at(index, index_at, index_kind, i);
    u64 have = LOAD64(&best[g]);
    for (;;) {
      if (have) {
        i64 best_at = at + value_at(index, index_at, index_kind, (i64)have - 1);
        u32 better = greatest ? pick_less(x, bytes + bytes_at, kind, best_at, mine) : pick_less(x, bytes + bytes_at, kind, mine, best_at);
        if (!better) break;
      }
      u64 now = ATOMIC_CAS64(&best[g], have, (u64)i + 1);
      if (now == have) break;
      have = now;
    }
  }
}
