// variants: u8 u16 u32 u64 wide bits
// Ordered compaction by a mask, a tile of rows a group: the group lists the rows of its tile that are kept in local memory, and then goes
// through the list, so that reads are as close as the mask allows and every write is to consecutive values. Moves n/8 bytes of the mask twice
// (rows_count came before), the sectors with values that are kept, and the result.
#include "group.h"
#include "select.h"
#include "wide.h"

#define MASK GLOBAL const u8 *mask, i64 mask0, GLOBAL const u8 *known, i64 known0, i32 emit, GLOBAL const u64 *starts

#ifdef V_bits
// Values of one bit each, or a validity bitmap. out is zero before the launch. Rows where the mask is null get a zero.
KERNEL(GROUP) K(filter)(MASK, GLOBAL const u8 *x, i64 x0, GLOBAL u32 *out, i64 n) {
  SHARED u32 scratch[GROUP];
  SHARED u16 chosen[TILE];
  i64 first = BID * TILE, from = (i64)starts[BID];
  i64 to = from + select_tile(scratch, chosen, mask, mask0, known, known0, emit, first, n);
  for (i64 word = from & ~(i64)31; word < to; word += GROUP) {
    i64 i = word + TID;
    u32 flag = 0;
    if (i >= from && i < to) {
      i64 row = first + chosen[i - from];
      flag = valid_at(known, known0 + row) && valid_at(x, x0 + row);
    }
    group_merge_bits(scratch, out, word, flag, from, to);
  }
}
#else
#define EACH 4 // values that an item has in flight

KERNEL(GROUP) K(filter)(MASK, GLOBAL const T *x, i64 x0, GLOBAL T *out, i64 n) {
  SHARED u32 scratch[GROUP];
  SHARED u16 chosen[TILE];
  i64 first = BID * TILE, at = (i64)starts[BID];
  u32 count = select_tile(scratch, chosen, mask, mask0, known, known0, emit, first, n);
  T v[EACH];
  for (u32 j = TID; j < count; j += EACH * GROUP) {
    for (int k = 0; k < EACH; k++) {
      if (j + k * GROUP < count) v[k] = x[x0 + first + chosen[j + k * GROUP]];
    }
    for (int k = 0; k < EACH; k++) {
      if (j + k * GROUP < count) out[at + j + k * GROUP] = v[k];
    }
  }
}
#endif
