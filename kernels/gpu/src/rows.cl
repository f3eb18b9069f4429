// variants: u32 u64
// Row numbers of type T on the device. All ones, and whatever else is past the end of a column, stands for a null row.
#include "scalar.h"
#include "bits.h"
#include "group.h"
#include "select.h"

#define NO_ROW ((T)~(T)0)

// 0, 1, 2, ... Moves n * sizeof(T) bytes.
KERNEL(GROUP) K(rows_iota)(GLOBAL T *out, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) out[i] = (T)i;
}

#ifdef V_u32
// How many rows of each tile a mask keeps, eight tiles a group: no row number, so that one variant has it. Moves n/8 bytes of the mask, and of its
// validity.
KERNEL(GROUP) K(rows_count)(GLOBAL const u8 *mask, i64 mask0, GLOBAL const u8 *known, i64 known0, i32 emit, GLOBAL u32 *counts, i64 n) {
  SHARED u32 scratch[GROUP];
  i64 tile = BID * (GROUP * 64 / TILE) + TID;
  u32 mine = 0;
  for (int k = 0; k < 2; k++) {
    i64 at = GID * 64 + 32 * k;
    if (at < n) {
      u32 yes = bits_word(known, known0 + at, known0 + n), word = bits_word(mask, mask0 + at, mask0 + n) & yes;
      mine += POPCOUNT32(emit ? word | (bits_word(0, at, n) & ~yes) : word);
    }
  }
  scratch[TID] = mine;
  BARRIER();
  if (TID < GROUP * 64 / TILE && tile * TILE < n) {
    u32 count = 0;
    for (int k = 0; k < TILE / 64; k++) count += scratch[TID * (TILE / 64) + k];
    counts[tile] = count;
  }
}
#endif

// The numbers of the rows that a mask keeps, in order; starts holds what the tiles before keep. A null in the mask that is kept gives a null
// row. Moves n/8 bytes of the mask and sizeof(T) a number.
KERNEL(GROUP) K(rows_kept)(GLOBAL const u8 *mask, i64 mask0, GLOBAL const u8 *known, i64 known0, i32 emit, GLOBAL const u64 *starts, GLOBAL T *out,
                           i64 n) {
  SHARED u32 scratch[GROUP];
  SHARED u16 chosen[TILE];
  i64 first = BID * TILE, at = (i64)starts[BID];
  u32 count = select_tile(scratch, chosen, mask, mask0, known, known0, emit, first, n);
  for (u32 j = TID; j < count; j += GROUP) {
    i64 row = first + chosen[j];
    out[at + j] = !emit || valid_at(known, known0 + row) ? (T)row : NO_ROW;
  }
}

// Indices of any integer kind as row numbers below limit. A null is a null row; of those out of range the first position goes to *bad,
// which is all ones before the launch. Moves the indices and n * sizeof(T) bytes.
KERNEL(GROUP) K(rows_number)(i32 kind, GLOBAL const u8 *x, i64 x0, GLOBAL const u8 *valid, i64 valid0, GLOBAL T *out, i64 n, i64 limit,
                             GLOBAL u64 *bad) {
  for (i64 i = GID; i < n; i += GSIZE) {
    u64 row = load_word(x, kind, x0 + i);
    u32 ok = valid_at(valid, valid0 + i);
    if (ok && row >= (u64)limit) {
      ATOMIC_MIN64(bad, (u64)i);
      ok = 0;
    }
    out[i] = ok ? (T)row : NO_ROW;
  }
}

// Bits of rows: bit i is bit x0 + rows[i] of x where valid has that row, zero for a null row. A null x is all ones. Positions out of range are
// noted in bad as rows_number does, where it is given. Moves the row numbers and, of each bitmap, a sector a row at worst.
KERNEL(GROUP) K(rows_bits)(GLOBAL const u8 *x, i64 x0, GLOBAL const T *rows, i64 rows0, GLOBAL u32 *out, i64 n, i64 limit, GLOBAL u64 *bad) {
  SHARED u32 scratch[GROUP];
  i64 first = BID * TILE;
  u64 row[TILE / GROUP];
  u32 flags = 0;
  for (int k = 0; k < TILE / GROUP; k++) {
    i64 i = first + k * GROUP + TID;
    row[k] = i < n ? (u64)rows[rows0 + i] : U64_MAX;
  }
  for (int k = 0; k < TILE / GROUP; k++) {
    if (row[k] < (u64)limit) flags |= valid_at(x, x0 + (i64)row[k]) << k;
    else if (bad && first + k * GROUP + TID < n) ATOMIC_MIN64(bad, (u64)(first + k * GROUP + TID));
  }
  for (int k = 0; k < TILE / GROUP && first + k * GROUP < n; k++) group_store_bits(scratch, out, first + k * GROUP, flags >> k & 1u, n);
}
