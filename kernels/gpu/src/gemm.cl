// variants: f32 f64
// C = alpha op(A) op(B) + beta C. A group computes a tile of C, TILE_M x TILE_N, from slices of A and B in local memory that hold the elements of DEPTH
// steps, each item R_M x R_N elements of it in registers. An element read from local memory is used 8 times and one read from global
// memory 128 times. Bound by arithmetic: 2 m n k operations; it moves m n k / 64 elements of A and B, most of them from the cache, and C.
//
// Memory is read and written in vectors of 16 bytes, V elements. There are two slices of each matrix: while the products of one are taken the
// elements of the next are on their way, so that a step has one barrier.
#if T_BITS == 32
#define V 4
#define VECTOR f32x4
#define UNPACK(to, v) ((to)[0] = (v).x, (to)[1] = (v).y, (to)[2] = (v).z, (to)[3] = (v).w)
#define PACK(v, from) ((v).x = (from)[0], (v).y = (from)[1], (v).z = (from)[2], (v).w = (from)[3])
#define BLOCKS 2
#define DEPTH 16
#else
#define V 2
#define VECTOR f64x2
#define UNPACK(to, v) ((to)[0] = (v).x, (to)[1] = (v).y)
#define PACK(v, from) ((v).x = (from)[0], (v).y = (from)[1])
#define BLOCKS 1
#define DEPTH 8
#endif
// Whether p and what lies multiples of these steps from it may be read in vectors.
#define VECTORED(p, steps) (((i64)((size_t)(p) / sizeof(T)) | (steps)) % V == 0)
#define R_M 8
#define R_N 8
#define WARPS_M 4 // of 32 items, 4 above each other and 8 side by side, which neither have to be warps nor to be in step
#define WARPS_N 2
#define BAND 8 // rows of tiles that are done together, so that their slices stay in the cache
#define ITEMS (32 * WARPS_M * WARPS_N)
#define TILE_M (WARPS_M * 4 * R_M)
#define TILE_N (WARPS_N * 8 * R_N)

// op(X) has element (i, j) at x[x0 + i * x_row + j * x_col], one of the two steps being 1.
#define MATRIX(x) GLOBAL const T *x, i64 x##0, i64 x##_row, i64 x##_col

// A slice has its elements in the order of the depth, and those of a step in the order of the side, of the even and odd vectors of depth with
// FLIP's bit of the side turned over: so the items that take turns at the banks find other banks both in writing, where elements that lie side by
// side along the depth are torn apart, and in reading.
#define FLIP(k) ((k) / V & 1)
#define VECTORS(side) ((side) * DEPTH / V) // of a slice

// Vector v of a slice in a matrix whose elements lie side by side along the depth, or along the side. All numbers are powers of two, so that
// the spot of vector item + l * ITEMS is the sum of that of item and that of l * ITEMS, which is a constant, and so is its place but for an exclusive or.
#define SPOT(v, side, along) ((along) ? (v) / 2 % (side) : (v) % ((side) / V) * V)
#define SPOT_K(v, side, along) ((along) ? ((v) % 2 + (v) / (2 * (side)) * 2) * V : (v) / ((side) / V))
#define PLACE(v, side, along) (SPOT_K(v, side, along) * (side) + (SPOT(v, side, along) ^ FLIP(SPOT_K(v, side, along)) * (4 * V)))

// FETCH reads an item's vectors of the next slice, the first of them at p, with zeros for what is beyond the matrix; PUT writes them into a slice.
#define FETCH(next, side, p, along, whole, step, step_k, left, left_k)                                                               \
  if (whole && left_k >= DEPTH) {                                                                                                    \
    UNROLL for (int l = 0; l < VECTORS(side) / ITEMS; l++) {                                                                         \
      i64 at = (along) ? SPOT(l * ITEMS, side, 1) * step + SPOT_K(l * ITEMS, side, 1) : SPOT(l * ITEMS, side, 0) + SPOT_K(l * ITEMS, side, 0) * step_k; \
      VECTOR w = *(GLOBAL const VECTOR *)(p + at);                                                                                   \
      UNPACK(next + l * V, w);                                                                                                       \
    }                                                                                                                                \
  } else {                                                                                                                           \
    UNROLL for (int l = 0; l < VECTORS(side) / ITEMS; l++) {                                                                         \
      int by = SPOT(l * ITEMS, side, along), by_k = SPOT_K(l * ITEMS, side, along);                                                  \
      int i = (int)SPOT(item, side, along) + by, k = (int)SPOT_K(item, side, along) + by_k;                                          \
      UNROLL for (int q = 0; q < V; q++) {                                                                                           \
        next[l * V + q] = i + ((along) ? 0 : q) < left && k + ((along) ? q : 0) < left_k ? p[by * step + by_k * step_k + q] : (T)0;  \
      }                                                                                                                              \
    }                                                                                                                                \
  }
#define PUT(slice, put, next, side, along)                                                    \
  if (along) {                                                                                \
    UNROLL for (int l = 0; l < VECTORS(side) / ITEMS; l++) {                                  \
      LOCAL T *to = (LOCAL T *)slice + (put ^ PLACE(l * ITEMS, side, 1));                     \
      UNROLL for (int q = 0; q < V; q++) to[q * side] = next[l * V + q];                      \
    }                                                                                         \
  } else {                                                                                    \
    UNROLL for (int l = 0; l < VECTORS(side) / ITEMS; l++) {                                  \
      VECTOR w;                                                                               \
      PACK(w, next + l * V);                                                                  \
      slice[(put ^ PLACE(l * ITEMS, side, 0)) / V] = w;                                       \
    }                                                                                         \
  }
#define FETCH_BOTH()                                                                          \
  int left_k = (int)MIN(left, (i64)DEPTH);                                                    \
  FETCH(next_a, TILE_M, from_a, along_a, whole_a, a_row, a_col, left_i, left_k)               \
  FETCH(next_b, TILE_N, from_b, along_b, whole_b, b_col, b_row, left_j, left_k)
#define PUT_BOTH()                                                                            \
  PUT(slice_a, put_a, next_a, TILE_M, along_a)                                                \
  PUT(slice_b, put_b, next_b, TILE_N, along_b)

// With parts, split s of the depth (BID_Y) leaves its sums at parts[s * m * n] and on, for gemm_join.
KERNEL_BLOCKS(ITEMS, BLOCKS) K(gemm)(MATRIX(a), MATRIX(b), GLOBAL T *c, i64 c0, i64 c_row, T alpha, T beta, i64 m, i64 n, i64 depth, i64 split, i32 parted, GLOBAL T *parts) {
  SHARED VECTOR slice_a[2 * VECTORS(TILE_M)];
  SHARED VECTOR slice_b[2 * VECTORS(TILE_N)];
  u32 item = TID;
  u32 tiles_m = (u32)((m + TILE_M - 1) / TILE_M), tiles_n = (u32)((n + TILE_N - 1) / TILE_N);
  u32 band = (u32)BID / (BAND * tiles_n), within = (u32)BID % (BAND * tiles_n), high = MIN(tiles_m - band * BAND, (u32)BAND);
  i64 row = (i64)(band * BAND + within % high) * TILE_M, col = (i64)(within / high) * TILE_N;
  i64 begin = BID_Y * split, left = MIN(depth - begin, split);
  int left_i = (int)MIN(m - row, (i64)TILE_M), left_j = (int)MIN(n - col, (i64)TILE_N);
  int along_a = a_col == 1, along_b = b_row == 1;
  int whole_a = left_i == TILE_M && VECTORED(a + a0, along_a ? a_row | begin : a_col);
  int whole_b = left_j == TILE_N && VECTORED(b + b0, along_b ? b_col | begin : b_row);
  GLOBAL const T *from_a = a + (a0 + (row + SPOT(item, TILE_M, along_a)) * a_row + (begin + SPOT_K(item, TILE_M, along_a)) * a_col);
  GLOBAL const T *from_b = b + (b0 + (begin + SPOT_K(item, TILE_N, along_b)) * b_row + (col + SPOT(item, TILE_N, along_b)) * b_col);

  // Of 32 items two that differ in bit 0 or in bit 1 read the same vectors of one matrix, which then takes half the turns.
  u32 item_m = (item & 1) | (item >> 3 & 2), item_n = item >> 1 & 7, warp_m = item / 32 / WARPS_N, warp_n = item / 32 % WARPS_N;
  int inside = (int)(warp_m * (4 * R_M)) < left_i && (int)(warp_n * (8 * R_N)) < left_j;
  u32 get_a = warp_m * (4 * R_M / V) + item_m, get_b = warp_n * (8 * R_N / V) + item_n;
  u32 put_a = PLACE(item, TILE_M, along_a), put_b = PLACE(item, TILE_N, along_b);

  T sum[R_M][R_N], next_a[VECTORS(TILE_M) / ITEMS * V], next_b[VECTORS(TILE_N) / ITEMS * V];
  UNROLL for (int r = 0; r < R_M; r++) {
    UNROLL for (int s = 0; s < R_N; s++) sum[r][s] = 0;
  }
  if (left > 0) {
    FETCH_BOTH()
    PUT_BOTH()
  }
  BARRIER();
  while (left > 0) {
    left -= DEPTH;
    from_a += DEPTH * a_col;
    from_b += DEPTH * b_row;
    if (left > 0) {
      FETCH_BOTH()
    }
    if (inside) {
      LOCAL const VECTOR *at_a = slice_a + get_a, *at_b = slice_b + get_b, *flipped_b = slice_b + (get_b ^ 4);
      UNROLL for (int k = 0; k < DEPTH; k++) {
        T x[R_M], y[R_N];
        UNROLL for (int q = 0; q < R_M / V; q++) {
          VECTOR w = at_a[k * (TILE_M / V) + (q ^ FLIP(k)) * 4];
          UNPACK(x + q * V, w);
        }
        UNROLL for (int q = 0; q < R_N / V; q++) {
          VECTOR w = (FLIP(k) ? flipped_b : at_b)[k * (TILE_N / V) + q * 8];
          UNPACK(y + q * V, w);
        }
        UNROLL for (int s = 0; s < R_N; s++) {
          UNROLL for (int r = 0; r < R_M; r++) sum[r][s] = FMA(x[r], y[s], sum[r][s]);
        }
      }
    }
    get_a ^= VECTORS(TILE_M);
    get_b ^= VECTORS(TILE_N);
    put_a ^= VECTORS(TILE_M) * V;
    put_b ^= VECTORS(TILE_N) * V;
    if (left > 0) {
      PUT_BOTH()
    }
    BARRIER();
  }

  GLOBAL T *out = parted ? parts + BID_Y * m * n : c + c0;
  i64 out_row = parted ? n : c_row;
  int whole = left_i == TILE_M && left_j == TILE_N && VECTORED(out, out_row);
  UNROLL for (int r = 0; r < R_M; r++) {
    int i = (int)(warp_m * (4 * R_M) + item_m * V) + r / V * (4 * V) + r % V;
    UNROLL for (int q = 0; q < R_N / V; q++) {
      int j = (int)(warp_n * (8 * R_N) + item_n * V) + q * (8 * V);
      GLOBAL T *to = out + ((row + i) * out_row + col + j);
      if (whole) {
        VECTOR w;
        T v[V];
        UNROLL for (int s = 0; s < V; s++) v[s] = 0;
        if (!parted && beta != 0) {
          w = *(GLOBAL const VECTOR *)to;
          UNPACK(v, w);
          UNROLL for (int s = 0; s < V; s++) v[s] = beta * v[s];
        }
        UNROLL for (int s = 0; s < V; s++) {
          if (parted) v[s] = sum[r][q * V + s];
          else if (depth > 0) v[s] = v[s] + alpha * sum[r][q * V + s];
        }
        PACK(w, v);
        *(GLOBAL VECTOR *)to = w;
        continue;
      }
      UNROLL for (int s = 0; s < V; s++) {
        if (i >= left_i || j + s >= left_j) continue;
        if (parted) {
          to[s] = sum[r][q * V + s];
        } else {
          T v = beta != 0 ? beta * to[s] : (T)0;
          to[s] = depth > 0 ? v + alpha * sum[r][q * V + s] : v;
        }
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
    i64 i = m * n <= 0x7fffffff ? (u32)e / (u32)n : e / n; // a quotient of 64 bits takes several times as long
    i64 to = c0 + i * c_row + (e - i * n) * c_col;
    c[to] = (beta != 0 ? beta * c[to] : (T)0) + alpha * sum;
  }
}
