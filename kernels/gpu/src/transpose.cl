// variants: u32 u64
// The transpose, a tile of 32 x 32 at a time through local memory, so that rows are read and written whole. Moves each element once in
// and once out.
#define SIDE 32

KERNEL(GROUP) K(transpose)(GLOBAL const T *a, i64 a0, i64 a_row, GLOBAL T *b, i64 b0, i64 b_row, i64 rows, i64 cols) {
  SHARED T tile[SIDE * (SIDE + 1)]; // a column's elements lie in different banks
  i64 tiles = (cols + SIDE - 1) / SIDE;
  i64 row = BID / tiles * SIDE, col = BID % tiles * SIDE;
  int x = TID & (SIDE - 1), y = TID / SIDE;
  for (int k = 0; k < SIDE; k += GROUP / SIDE) {
    if (row + y + k < rows && col + x < cols) tile[(y + k) * (SIDE + 1) + x] = a[a0 + (row + y + k) * a_row + col + x];
  }
  BARRIER();
  for (int k = 0; k < SIDE; k += GROUP / SIDE) {
    if (col + y + k < cols && row + x < rows) b[b0 + (col + y + k) * b_row + row + x] = tile[x * (SIDE + 1) + y + k];
  }
}
