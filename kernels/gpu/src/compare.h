// Comparing values: -1, 0 or 1. Needs scalar.h.
FN i32 compare_words(u64 a, u64 b) { return a < b ? -1 : a > b; }
FN i32 compare_wide(u64 alo, u64 ahi, u64 blo, u64 bhi) {
  return ahi != bhi ? compare_words(ahi ^ SIGN64, bhi ^ SIGN64) : compare_words(alo, blo);
}
// By bytes, as unsigned numbers; a text comes before those that it begins.
FN i32 compare_text(GLOBAL const u8 *a, i64 na, GLOBAL const u8 *b, i64 nb) {
  i64 n = MIN(na, nb);
  for (i64 k = 0; k < n; k++) {
    if (a[k] != b[k]) return a[k] < b[k] ? -1 : 1;
  }
  return na < nb ? -1 : na > nb;
}

// The comparisons of kernels.CompareOp by their numbers.
FN u32 holds(i32 op, i32 order) {
  switch (op) {
  case 0: return order == 0;
  case 1: return order != 0;
  case 2: return order < 0;
  case 3: return order <= 0;
  case 4: return order > 0;
  default: return order >= 0;
  }
}
