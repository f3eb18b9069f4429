// variants: i32 i64
// The mask of the items of lists that follows from a mask of the lists, for offsets of type T: items of a list that is kept and not null.
#include "group.h"
#define OFFSET T
#include "runs.h"

#define CHUNK (GROUP * 32) // items of a chunk: filterItemsChunk in filteritems.go

// For each chunk the list that its first item belongs to; the items begin with number `begin`. Moves little.
KERNEL(GROUP) K(filter_item_starts)(GLOBAL const T *offsets, i64 offsets0, i64 n, i64 begin, GLOBAL i64 *starts, i64 chunks) {
  if (GID < chunks) starts[GID] = run_of(offsets + offsets0, begin + GID * CHUNK, 0, n);
}

// 32 items a work-item. Moves the offsets, the bitmaps of the lists and an eighth of a byte an item.
KERNEL(GROUP) K(filter_items)(GLOBAL const u8 *mask, i64 mask0, GLOBAL const u8 *known, i64 known0, GLOBAL const u8 *valid, i64 valid0,
                              GLOBAL const T *offsets, i64 offsets0, i64 n, i64 begin, i64 total, GLOBAL const i64 *starts, GLOBAL u32 *out) {
  SHARED u32 near[RUNS];
  GLOBAL const T *ends = offsets + offsets0;
  i64 first = BID * CHUNK, last = MIN(first + CHUNK, total);
  i64 lo = starts[BID], hi = (last == total ? n : starts[BID + 1] + 1);
  u32 local_runs = hi - lo <= RUNS;
  if (local_runs) load_runs(near, ends, begin + first, lo, hi - lo);
  BARRIER();
  i64 p = first + TID * 32;
  if (p < total) {
    i64 run = local_runs ? lo + run_of_local(near, (u32)(p - first), (u32)(hi - lo)) : run_of(ends, begin + p, lo, hi);
    i64 end = (i64)ends[run + 1] - begin;
    u32 word = 0, keep = bit_at(mask, mask0 + run) & valid_at(known, known0 + run) & valid_at(valid, valid0 + run);
    for (int k = 0; k < 32 && p + k < total; k++) {
      if (p + k == end) {
        while (end == p + k) end = (i64)ends[++run + 1] - begin;
        keep = bit_at(mask, mask0 + run) & valid_at(known, known0 + run) & valid_at(valid, valid0 + run);
      }
      word |= keep << k;
    }
    out[p >> 5] = word;
  }
}
