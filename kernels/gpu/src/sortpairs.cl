// variants: u32_u32 u32_u64 u64_u32 u64_u64
// Stable radix sort of keys (T) with their rows (U), eight bits a pass from the lowest on: onesweep (Adinets and Merrill, "Onesweep: A Faster
// Least Significant Digit Radix Sort for GPUs", 2022). radix_count reads the keys once and counts the digits of all passes; then a pass
// reads and writes each key and row once, n * 2 * (sizeof(T) + sizeof(U)) bytes, and 4 KiB a tile for the chained counts of its bins.
#include "group.h"
#include "lookback.h"

#if T_BITS + U_BITS == 64
#define PER_ITEM 16
#else
#define PER_ITEM 12
#endif
#define TILE (GROUP * PER_ITEM)
#define BINS 256 // one for each item of the group
#define DIGIT(key) ((u32)((key) >> shift) & 255u)

// An item adds up equal digits that follow each other before it counts them: digits that hardly change would all be counted in one place.
KERNEL(GROUP) K(radix_count)(GLOBAL const T *keys, i64 n, i32 digits, GLOBAL u64 *counts) {
  SHARED u32 bins[T_BITS / 8 * BINS];
  for (int d = 0; d < T_BITS / 8; d++) bins[d * BINS + TID] = 0;
  BARRIER();
  u32 run[T_BITS / 8];
  T last = 0;
  for (int d = 0; d < T_BITS / 8; d++) run[d] = 0;
  for (i64 i = GID; i < n; i += 4 * GSIZE) {
    T key[4];
    for (int k = 0; k < 4; k++) key[k] = i + k * GSIZE < n ? keys[i + k * GSIZE] : 0;
    for (int k = 0; k < 4; k++) {
      if (i + k * GSIZE >= n) continue;
      for (int d = 0; d < T_BITS / 8; d++) {
        if (((key[k] ^ last) >> (8 * d)) & 255) {
          if (d < digits && run[d]) (void)ATOMIC_ADD32(&bins[d * BINS + (int)((last >> (8 * d)) & 255)], run[d]);
          run[d] = 0;
        }
        run[d]++;
      }
      last = key[k];
    }
  }
  for (int d = 0; d < T_BITS / 8; d++) {
    if (d < digits && run[d]) (void)ATOMIC_ADD32(&bins[d * BINS + (int)((last >> (8 * d)) & 255)], run[d]);
  }
  BARRIER();
  for (int d = 0; d < digits; d++) {
    u32 count = bins[d * BINS + TID];
    if (count) (void)ATOMIC_ADD64(&counts[d * BINS + TID], (u64)count);
  }
}

KERNEL(GROUP) K(radix_rows)(GLOBAL U *rows, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) rows[i] = (U)i;
}

// How many keys of this item's bin are in the tiles before this one, sum of them in this one. A tile's state is a word for each bin.
#if HAVE_WARP
#define WINDOW 4
#else
#define WINDOW 1
#endif
FN u64 bin_look_back(GLOBAL u64 *state, i64 tile, u64 sum) {
  u64 before = 0;
  for (i64 at = tile - 1; at >= 0;) {
    u64 word[WINDOW];
    for (int k = 0; k < WINDOW; k++) word[k] = at >= k ? LOAD64(&state[(at - k) * BINS + TID]) : TILE_PREFIX;
    for (int k = 0; k < WINDOW; k++) {
      if (word[k] == 0) {
        RELAX();
        break;
      }
      before += word[k] & TILE_VALUE;
      at--;
      if (word[k] >= TILE_PREFIX) {
        at = -1;
        break;
      }
    }
  }
  STORE64(&state[tile * BINS + TID], TILE_PREFIX | (before + sum));
  return before;
}

// One pass by the digit at shift. bases[base0 + d] is the number of keys with smaller digits; state is a word for each tile and bin, and one
// for the ticket, all 0. Without rows the rows are 0, 1, 2 and so on; without keys_out the keys are not kept.
KERNEL_BLOCKS(GROUP, 3) K(radix_scatter)(GLOBAL const T *keys, GLOBAL const U *rows, GLOBAL T *keys_out, GLOBAL U *rows_out, i64 n, i32 shift, i32 given,
                               i32 keep, GLOBAL const u64 *bases, i64 base0, GLOBAL u64 *state) {
  SHARED u32 scratch[GROUP];
  SHARED u64 to[BINS]; // where a bin's first key of this tile goes, less its slot
  SHARED u32 word;
  i64 tile = next_tile(&word, (GLOBAL u32 *)(state + GDIM * BINS));
  i64 first = tile * TILE;
  i32 rest = (i32)MIN(n - first, (i64)TILE); // the slots that are there; those beyond get the last digit and stay behind the others
#if HAVE_WARP
  SHARED u64 pool[TILE / (8 / (T_BITS > U_BITS ? T_BITS / 8 : U_BITS / 8))];
  SHARED u32 starts[BINS];
  LOCAL u32 *counts = (LOCAL u32 *)pool; // a warp's keys in each bin
  for (int k = 0; k < GROUP / 32; k++) counts[k * BINS + TID] = 0;
  T key[PER_ITEM];
  u32 place[PER_ITEM];
  int warp = TID >> 5;
  i32 mine = warp * 32 * PER_ITEM + LANE;
  for (int k = 0; k < PER_ITEM; k++) key[k] = mine + k * 32 < rest ? keys[first + mine + k * 32] : (T)~(T)0;
  BARRIER();
  for (int k = 0; k < PER_ITEM; k++) {
    u32 d = DIGIT(key[k]), same = 0xffffffffu;
    for (int b = 0; b < 8; b++) {
      u32 vote = BALLOT((d >> b) & 1u);
      same &= (d >> b) & 1u ? vote : ~vote;
    }
    int leader = 31 - (int)CLZ32(same);
    u32 had = 0;
    if (LANE == leader) had = ATOMIC_ADD32(&counts[warp * BINS + d], POPCOUNT32(same));
    place[k] = SHUFFLE(had, leader) + POPCOUNT32(same & ((1u << LANE) - 1u));
  }
  BARRIER();
  u32 sum = 0;
  for (int w = 0; w < GROUP / 32; w++) {
    u32 count = counts[w * BINS + TID];
    counts[w * BINS + TID] = sum;
    sum += count;
  }
#else
  SHARED u8 digit[TILE];
  SHARED u16 slots[TILE];
  SHARED u16 counts[16 * GROUP];
  SHARED u32 bins[BINS];
  bins[TID] = 0;
  BARRIER();
  for (int k = 0; k < PER_ITEM; k++) {
    i32 s = k * GROUP + TID;
    u32 d = s < rest ? DIGIT(keys[first + s]) : 255u;
    digit[s] = (u8)d;
    (void)ATOMIC_ADD32(&bins[d], 1u);
    slots[TID * PER_ITEM + k] = (u16)(TID * PER_ITEM + k);
  }
  BARRIER();
  u32 sum = bins[TID];
#endif
  if (tile > 0) STORE64(&state[tile * BINS + TID], TILE_SUM | sum);
  u32 all;
  u32 start = group_scan_u32(scratch, sum, &all);
#if HAVE_WARP
  starts[TID] = start;
  BARRIER();
  for (int k = 0; k < PER_ITEM; k++) place[k] += counts[warp * BINS + DIGIT(key[k])] + starts[DIGIT(key[k])];
  BARRIER();
  for (int k = 0; k < PER_ITEM; k++) ((LOCAL T *)pool)[place[k]] = key[k];
#else
  // Orders the slots by the lower and then the upper four bits of their digits: every item counts PER_ITEM slots in 16 bins of its own (Satish,
  // Harris and Garland, "Designing Efficient Sorting Algorithms for Manycore GPUs", 2009).
  for (int by = 0; by <= 4; by += 4) {
    u16 slot[PER_ITEM], place[PER_ITEM];
    for (int b = 0; b < 16; b++) counts[b * GROUP + TID] = 0;
    for (int k = 0; k < PER_ITEM; k++) {
      slot[k] = slots[TID * PER_ITEM + k];
      int at = ((digit[slot[k]] >> by) & 15) * GROUP + TID;
      place[k] = counts[at];
      counts[at] = (u16)(place[k] + 1);
    }
    BARRIER();
    u32 mine = 0;
    for (int b = 0; b < 16; b++) mine += counts[TID * 16 + b];
    scratch[TID] = mine; // group_scan_u32 by hand: LLVM 15 in PoCL dies of inlining it into a loop
    BARRIER();
    for (int d = 1; d < GROUP; d <<= 1) {
      u32 before = TID >= d ? scratch[TID - d] : 0;
      BARRIER();
      scratch[TID] += before;
      BARRIER();
    }
    u32 next = scratch[TID] - mine;
    for (int b = 0; b < 16; b++) {
      u32 count = counts[TID * 16 + b];
      counts[TID * 16 + b] = (u16)next;
      next += count;
    }
    BARRIER();
    for (int k = 0; k < PER_ITEM; k++) slots[counts[((digit[slot[k]] >> by) & 15) * GROUP + TID] + place[k]] = slot[k];
    BARRIER();
  }
#endif
  to[TID] = bases[base0 + TID] + bin_look_back(state, tile, sum) - start;
  BARRIER();
#if HAVE_WARP
  u8 d[PER_ITEM];
  for (int k = 0; k < PER_ITEM; k++) {
    i32 s = k * GROUP + TID;
    T v = ((LOCAL T *)pool)[s];
    d[k] = (u8)DIGIT(v);
    if (keep && s < rest) keys_out[to[d[k]] + s] = v;
  }
  BARRIER();
  for (int k = 0; k < PER_ITEM; k++) {
    i64 i = first + mine + k * 32;
    ((LOCAL U *)pool)[place[k]] = given && i < n ? rows[i] : (U)i;
  }
  BARRIER();
  for (int k = 0; k < PER_ITEM; k++) {
    i32 s = k * GROUP + TID;
    if (s < rest) rows_out[to[d[k]] + s] = ((LOCAL U *)pool)[s];
  }
#else
  for (i32 s = TID; s < rest; s += GROUP) {
    i64 i = first + slots[s];
    u64 at = to[digit[slots[s]]] + s;
    if (keep) keys_out[at] = keys[i];
    rows_out[at] = given ? rows[i] : (U)i;
  }
#endif
}
