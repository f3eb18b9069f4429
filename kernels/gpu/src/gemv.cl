// variants: f32 f64
// Sums of products of the rows of op(A) with x, for gemm_join: row i and split s (BID_Y) of the depth go to parts[s * m + i]. Bound by memory: A is
// read once, m k elements.
#define MATRIX GLOBAL const T *a, i64 a0, i64 a_row, i64 a_col, GLOBAL const T *x, i64 x0, i64 x_step, i64 m, i64 depth, i64 split, GLOBAL T *parts

// For rows that are contiguous: 32 items a row.
KERNEL(GROUP) K(gemv_rows)(MATRIX) {
  SHARED T sums[GROUP];
  i64 i = BID * (GROUP / 32) + (TID >> 5);
  i64 from = BID_Y * split, to = MIN(depth, from + split);
  T sum[4];
  for (int q = 0; q < 4; q++) sum[q] = 0;
  if (i < m) {
    for (i64 k = from + (TID & 31); k < to; k += 128) {
      for (int q = 0; q < 4; q++) {
        i64 at = k + 32 * q;
        if (at < to) sum[q] = FMA(a[a0 + i * a_row + at * a_col], x[x0 + at * x_step], sum[q]);
      }
    }
  }
  sums[TID] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  BARRIER();
  for (int d = 16; d > 0; d >>= 1) {
    if ((TID & 31) < d) sums[TID] += sums[TID + d];
    BARRIER();
  }
  if ((TID & 31) == 0 && i < m) parts[BID_Y * m + i] = sums[TID];
}

// For columns that are contiguous: 32 rows a group, each in eight strands.
KERNEL(GROUP) K(gemv_columns)(MATRIX) {
  SHARED T sums[GROUP];
  i64 i = BID * 32 + (TID & 31);
  i64 from = BID_Y * split, to = MIN(depth, from + split);
  T sum[4];
  for (int q = 0; q < 4; q++) sum[q] = 0;
  if (i < m) {
    for (i64 k = from + (TID >> 5); k < to; k += 32) {
      for (int q = 0; q < 4; q++) {
        i64 at = k + 8 * q;
        if (at < to) sum[q] = FMA(a[a0 + i * a_row + at * a_col], x[x0 + at * x_step], sum[q]);
      }
    }
  }
  sums[TID] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  BARRIER();
  for (int d = 128; d >= 32; d >>= 1) {
    if (TID < d) sums[TID] += sums[TID + d];
    BARRIER();
  }
  if (TID < 32 && i < m) parts[BID_Y * m + i] = sums[TID];
}
