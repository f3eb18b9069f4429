// variants: f32 f64
// C = alpha op(A) op(B) + beta C. A group computes a tile of C from slices of A and B in local memory, an item R x R elements of it in
// registers, so that an element read from local memory is used R times and one read from global memory 16 R times. Bound by arithmetic:
// 2 m n k operations; it moves m n k / (8 R) elements of A and B, most of them from the cache, and C.
#if T_BITS == 32
#define R 8
#else
#define R 4
#endif
#define SIDE (16 * R) // of a tile
#define DEPTH 16      // of a slice
#define LOADS (SIDE * DEPTH / GROUP)
#define BAND 8 // rows of tiles that are done together, so that their slices stay in the cache

// op(X) has element (i, j) at x[x0 + i * x_row + j * x_col], one of the two steps being 1.
#define MATRIX(x) GLOBAL const T *x, i64 x##0, i64 x##_row, i64 x##_col

// With parts, split s of the depth (BID_Y) leaves its sums at parts[s * m * n] and on, for gemm_join.
KERNEL(GROUP) K(gemm)(MATRIX(a), MATRIX(b), GLOBAL T *c, i64 c0, i64 c_row, T alpha, T beta, i64 m, i64 n, i64 depth, i64 split, i32 parted, GLOBAL T *parts) {
  SHARED T slice_a[DEPTH * (SIDE + 1)];
  SHARED T slice_b[DEPTH * (SIDE + 1)];
  i64 tiles_m = (m + SIDE - 1) / SIDE, tiles_n = (n + SIDE - 1) / SIDE;
  i64 band = BID / (BAND * tiles_n), within = BID % (BAND * tiles_n), high = MIN(tiles_m - band * BAND, (i64)BAND);
  i64 row = (band * BAND + within % high) * SIDE, col = within / high * SIDE;
  i64 from = BID_Y * split, to = MIN(depth, from + split);
  int tx = TID & 15, ty = TID >> 4;

  // The elements of a slice that this item loads: side by side in memory for items that are side by side.
  int ai = a_col == 1 ? TID >> 4 : TID & (SIDE - 1), ak = a_col == 1 ? TID & 15 : TID / SIDE;
  int bj = b_row == 1 ? TID >> 4 : TID & (SIDE - 1), bk = b_row == 1 ? TID & 15 : TID / SIDE;
  int ai_step = a_col == 1 ? 16 : 0, ak_step = a_col == 1 ? 0 : GROUP / SIDE;
  int bj_step = b_row == 1 ? 16 : 0, bk_step = b_row == 1 ? 0 : GROUP / SIDE;

  T sum[R][R], next_a[LOADS], next_b[LOADS];
  for (int r = 0; r < R; r++) {
    for (int s = 0; s < R; s++) sum[r][s] = 0;
  }
  for (i64 at = from; at < to; at += DEPTH) {
    for (int l = 0; l < LOADS; l++) {
      i64 i = row + ai + l * ai_step, k = at + ak + l * ak_step;
      next_a[l] = i < m && k < to ? a[a0 + i * a_row + k * a_col] : (T)0;
      i64 j = col + bj + l * bj_step;
      k = at + bk + l * bk_step;
      next_b[l] = j < n && k < to ? b[b0 + k * b_row + j * b_col] : (T)0;
    }
    BARRIER(); // the slices before are used up
    for (int l = 0; l < LOADS; l++) {
      slice_a[(ak + l * ak_step) * (SIDE + 1) + ai + l * ai_step] = next_a[l];
      slice_b[(bk + l * bk_step) * (SIDE + 1) + bj + l * bj_step] = next_b[l];
    }
    BARRIER();
    for (int k = 0; k < DEPTH; k++) {
      T x[R], y[R];
      for (int r = 0; r < R; r++) {
        x[r] = slice_a[k * (SIDE + 1) + ty + 16 * r];
        y[r] = slice_b[k * (SIDE + 1) + tx + 16 * r];
      }
      for (int r = 0; r < R; r++) {
        for (int s = 0; s < R; s++) sum[r][s] = FMA(x[r], y[s], sum[r][s]);
      }
    }
  }
  for (int r = 0; r < R; r++) {
    for (int s = 0; s < R; s++) {
      i64 i = row + ty + 16 * r, j = col + tx + 16 * s;
      if (i >= m || j >= n) continue;
      if (parted) {
        parts[(BID_Y * m + i) * n + j] = sum[r][s];
      } else {
        i64 to = c0 + i * c_row + j;
        T v = beta != 0 ? beta * c[to] : (T)0;
        c[to] = depth > 0 ? v + alpha * sum[r][s] : v;
      }
    }
  }
}

// For a C of few elements and a great depth, of which the tiles above would be mostly empty: a group computes THIN x THIN elements of C over
// a split of the depth, each item those of every 256th step, which are then added in a tree. Bound by memory: A is read n / THIN times and B
// m / THIN times, all but the first time from the cache.
#define THIN 4
KERNEL(GROUP) K(gemm_thin)(MATRIX(a), MATRIX(b), i64 m, i64 n, i64 depth, i64 split, GLOBAL T *parts) {
  SHARED T sums[THIN * GROUP];
  i64 tiles_n = (n + THIN - 1) / THIN, row = BID / tiles_n * THIN, col = BID % tiles_n * THIN;
  i64 from = BID_Y * split, to = MIN(depth, from + split);
  i64 at_a[THIN], at_b[THIN];
  T sum[THIN][THIN];
  for (int r = 0; r < THIN; r++) {
    at_a[r] = a0 + MIN(row + r, m - 1) * a_row; // beyond C the last row and column again, whose sums are not kept
    at_b[r] = b0 + MIN(col + r, n - 1) * b_col;
    for (int s = 0; s < THIN; s++) sum[r][s] = 0;
  }
  for (i64 k = from + TID; k < to; k += GROUP) {
    T x[THIN], y[THIN];
    for (int r = 0; r < THIN; r++) {
      x[r] = a[at_a[r] + k * a_col];
      y[r] = b[at_b[r] + k * b_row];
    }
    for (int r = 0; r < THIN; r++) {
      for (int s = 0; s < THIN; s++) sum[r][s] = FMA(x[r], y[s], sum[r][s]);
    }
  }
  for (int r = 0; r < THIN; r++) {
    for (int s = 0; s < THIN; s++) sums[s * GROUP + TID] = sum[r][s];
    BARRIER();
    for (int d = GROUP / 2; d > 0; d >>= 1) {
      if (TID < d) {
        for (int s = 0; s < THIN; s++) sums[s * GROUP + TID] += sums[s * GROUP + TID + d];
      }
      BARRIER();
    }
    if (TID < THIN && row + r < m && col + TID < n) parts[(BID_Y * m + row + r) * n + col + TID] = sums[TID * GROUP];
    BARRIER(); // the sums are read
  }
}

// C from the sums of all splits, added in their order.
KERNEL(GROUP) K(gemm_join)(GLOBAL const T *parts, i64 splits, GLOBAL T *c, i64 c0, i64 c_row, i64 c_col, T alpha, T beta, i64 m, i64 n) {
  for (i64 e = GID; e < m * n; e += GSIZE) {
    T sum = 0;
    for (i64 s = 0; s < splits; s++) sum += parts[s * m * n + e];
    i64 to = c0 + e / n * c_row + e % n * c_col;
    c[to] = (beta != 0 ? beta * c[to] : (T)0) + alpha * sum;
  }
}
