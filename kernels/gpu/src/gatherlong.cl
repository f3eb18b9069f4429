// variants: u32_i32 u32_i64 u64_i32 u64_i64
// Gathering texts and lists by row numbers of type T, with offsets of type U: first the offsets of the result, then what they bound. A row
// that is null, or not below limit, takes nothing.
#include "group.h"
#include "lookback.h"
#define OFFSET U
#include "runs.h"

#define PER_ITEM 8
#define TILE (GROUP * PER_ITEM)
#define BYTES 8192 // bytes of a chunk of text: gatherChunk in gatherlong.go
#define ITEMS 2048 // items of a chunk of a list

// The offsets of the result, in one pass, and in *total their last in full. Moves the row numbers, a sector of offsets a row at worst, and
// n * sizeof(U) bytes.
KERNEL(GROUP) K(gather_offsets)(GLOBAL const U *from, i64 from0, GLOBAL const u8 *valid, i64 valid0, GLOBAL const T *rows, i64 rows0,
                                GLOBAL U *out, GLOBAL u64 *total, i64 n, i64 limit, GLOBAL u64 *state, GLOBAL u32 *ticket) {
  SHARED u64 scratch[GROUP];
  SHARED u32 slot;
  i64 tile = next_tile(&slot, ticket);
  i64 first = tile * TILE + (i64)TID * PER_ITEM;
  u64 row[PER_ITEM], length[PER_ITEM], mine = 0, sum;
  for (int k = 0; k < PER_ITEM; k++) row[k] = first + k < n ? (u64)rows[rows0 + first + k] : U64_MAX;
  for (int k = 0; k < PER_ITEM; k++) {
    u32 ok = row[k] < (u64)limit && valid_at(valid, valid0 + (i64)row[k]);
    length[k] = ok ? (u64)(from[from0 + (i64)row[k] + 1] - from[from0 + (i64)row[k]]) : 0;
    mine += length[k];
  }
  u64 at = group_scan_u64(scratch, mine, &sum);
  at += look_back(scratch, state, tile, sum);
  for (int k = 0; k < PER_ITEM; k++) {
    i64 i = first + k;
    if (i < n) out[i] = (U)at;
    at += length[k];
    if (i == n - 1) {
      out[n] = (U)at;
      *total = at;
    }
  }
}

// For each chunk the row that its first byte or item belongs to. Moves little.
KERNEL(GROUP) K(gather_starts)(GLOBAL const U *ends, i64 n, i64 chunk, GLOBAL i64 *starts, i64 chunks) {
  if (GID < chunks) starts[GID] = run_of(ends, GID * chunk, 0, n);
}

// The bytes of texts. An item makes eight bytes at a time, which are one write. Moves the bytes twice, the row numbers, two offsets a row of
// the result and a sector of the offsets of the source.
KERNEL(GROUP) K(gather_bytes)(GLOBAL const U *from, i64 from0, GLOBAL const u8 *text, i64 text0, GLOBAL const T *rows, i64 rows0,
                              GLOBAL const U *ends, GLOBAL const i64 *starts, GLOBAL u64 *out, i64 n, i64 total) {
  SHARED u32 near[RUNS];
  i64 begin = BID * BYTES, end = MIN(begin + BYTES, total);
  i64 lo = starts[BID], hi = (end == total ? n : starts[BID + 1] + 1);
  u32 local_runs = hi - lo <= RUNS;
  if (local_runs) load_runs(near, ends, begin, lo, hi - lo);
  BARRIER();
  for (i64 p = begin + (i64)TID * 8; p < end; p += GROUP * 8) {
    i64 run = local_runs ? lo + run_of_local(near, (u32)(p - begin), (u32)(hi - lo)) : run_of(ends, p, lo, hi);
    i64 run_end = (i64)ends[run + 1];
    GLOBAL const u8 *x = text + text0 + (i64)from[from0 + (i64)rows[rows0 + run]] + (p - (i64)ends[run]);
    u64 word = 0;
    i64 count = MIN(end - p, (i64)8);
    if (p + 8 <= run_end) {
      for (int k = 0; k < 8; k++) word |= (u64)x[k] << (8 * k);
    } else {
      for (int k = 0; k < count; k++) {
        if (p + k == run_end) {
          i64 at = run_end;
          while (run_end == at) run_end = (i64)ends[++run + 1];
          x = text + text0 + (i64)from[from0 + (i64)rows[rows0 + run]] - k;
        }
        word |= (u64)x[k] << (8 * k);
      }
    }
    out[p >> 3] = word;
  }
}

// The rows, in the child, of the items of lists. Moves the row numbers in and out, two offsets a list of the result and a sector of the
// offsets of the source.
#define GATHER_ITEMS(name, R)                                                                                                                      \
  KERNEL(GROUP) K(name)(GLOBAL const U *from, i64 from0, GLOBAL const T *rows, i64 rows0, GLOBAL const U *ends, GLOBAL const i64 *starts,          \
                        GLOBAL R *out, i64 n, i64 total) {                                                                                         \
    SHARED u32 near[RUNS];                                                                                                                         \
    i64 begin = BID * ITEMS, end = MIN(begin + ITEMS, total);                                                                                      \
    i64 lo = starts[BID], hi = (end == total ? n : starts[BID + 1] + 1);                                                                           \
    u32 local_runs = hi - lo <= RUNS;                                                                                                              \
    if (local_runs) load_runs(near, ends, begin, lo, hi - lo);                                                                                     \
    BARRIER();                                                                                                                                     \
    for (i64 p = begin + TID; p < end; p += GROUP) {                                                                                               \
      i64 run = local_runs ? lo + run_of_local(near, (u32)(p - begin), (u32)(hi - lo)) : run_of(ends, p, lo, hi);                                  \
      out[p] = (R)((i64)from[from0 + (i64)rows[rows0 + run]] + (p - (i64)ends[run]));                                                              \
    }                                                                                                                                              \
  }
GATHER_ITEMS(gather_items32, u32)
GATHER_ITEMS(gather_items64, u64)
