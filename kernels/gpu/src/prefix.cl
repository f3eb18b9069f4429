// variants: u32 u64
// Exclusive prefix sums of counts, in one pass: reads n counts of type T and writes n+1 sums of 64 bits, the last one the sum of all.
// Moves n * (sizeof(T) + 8) bytes.
#include "group.h"
#include "lookback.h"

#define PER_ITEM 8
#define TILE (GROUP * PER_ITEM)

KERNEL(GROUP) K(prefix)(GLOBAL const T *in, GLOBAL u64 *out, i64 n, GLOBAL u64 *state, GLOBAL u32 *ticket) {
  SHARED u64 scratch[GROUP];
  SHARED u32 slot;
  i64 tile = next_tile(&slot, ticket);
  i64 first = tile * TILE;
  u64 v[PER_ITEM];
  u64 mine = 0;
  for (int k = 0; k < PER_ITEM; k++) {
    i64 i = first + (i64)TID * PER_ITEM + k;
    v[k] = i < n ? (u64)in[i] : 0;
    mine += v[k];
  }
  u64 sum;
  u64 at = group_scan_u64(scratch, mine, &sum);
  at += look_back(scratch, state, tile, sum);
  for (int k = 0; k < PER_ITEM; k++) {
    i64 i = first + (i64)TID * PER_ITEM + k;
    if (i < n) out[i] = at;
    at += v[k];
    if (i == n - 1) out[n] = at;
  }
}
