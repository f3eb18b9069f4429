// Running sums of integers in one pass, by the decoupled look-back of lookback.h, but that a tile's sum is a whole 64-bit word that wraps: so
// that status and words are apart, and a tile publishes its words before its status. Moves the values once and the results once.
#include "scalar.h"
#include "group.h"
#include "lookback.h"

#define PER_ITEM 8
#define TILE (GROUP * PER_ITEM)

FN void sum_store(i32 kind, GLOBAL u8 *out, i64 i, u64 w) {
  switch (kind) {
  case KIND_I8:
  case KIND_U8: out[i] = (u8)w; break;
  case KIND_I16:
  case KIND_U16: ((GLOBAL u16 *)out)[i] = (u16)w; break;
  case KIND_I32:
  case KIND_U32: ((GLOBAL u32 *)out)[i] = (u32)w; break;
  default: ((GLOBAL u64 *)out)[i] = w;
  }
}

// status: 1 for a tile's own sum, 2 for the sum up to and with it. One word each a tile; status is 0 before the launch.
KERNEL(GROUP) scan_sum(i32 kind, GLOBAL const u8 *x, i64 x0, GLOBAL const u8 *valid, i64 valid0, i64 n, i32 exclusive, GLOBAL u8 *out,
                       GLOBAL u32 *status, GLOBAL u64 *sums, GLOBAL u64 *prefixes, GLOBAL u32 *ticket) {
  SHARED u64 scratch[GROUP];
  SHARED u64 tile_values[TILE];
  SHARED u32 slot;
  i64 tile = next_tile(&slot, ticket);
  i64 first = tile * TILE;
  for (int k = 0; k < PER_ITEM; k++) { // read by neighbours, so that the words of one access lie side by side
    i64 i = first + k * GROUP + TID;
    tile_values[k * GROUP + TID] = i < n && valid_at(valid, valid0 + i) ? load_word(x, kind, x0 + i) : 0;
  }
  BARRIER();
  u64 mine = 0;
  for (int k = 0; k < PER_ITEM; k++) mine += tile_values[TID * PER_ITEM + k];
  u64 all;
  u64 at = group_scan_u64(scratch, mine, &all);
  if (TID == 0) {
    u64 before = 0;
    if (tile > 0) {
      STORE64(&sums[tile], all);
      FENCE();
      STORE32(&status[tile], 1u);
      for (i64 t = tile - 1;;) {
        u32 known = LOAD32(&status[t]);
        if (known == 0) {
          RELAX();
          continue;
        }
        FENCE();
        if (known == 2) {
          before += LOAD64(&prefixes[t]);
          break;
        }
        before += LOAD64(&sums[t]);
        t--;
      }
    }
    STORE64(&prefixes[tile], before + all);
    FENCE();
    STORE32(&status[tile], 2u);
    scratch[0] = before;
  }
  BARRIER();
  at += scratch[0];
  for (int k = 0; k < PER_ITEM; k++) {
    u64 v = tile_values[TID * PER_ITEM + k];
    tile_values[TID * PER_ITEM + k] = exclusive ? at : at + v;
    at += v;
  }
  BARRIER();
  for (int k = 0; k < PER_ITEM; k++) {
    i64 i = first + k * GROUP + TID;
    if (i < n) sum_store(kind, out, i, tile_values[k * GROUP + TID]);
  }
}
