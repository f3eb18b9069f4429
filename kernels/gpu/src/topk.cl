// variants: u32 u64
// Selection of the least keys (T) by their digits: topk_count narrows down eight bits at a time, reading the keys once for each, and topk_mask marks
// in n/8 bytes those that may be among the first k.
#include "group.h"

#define BINS 256
#define ROWS 4096

// Counts the digit at shift of the keys whose bits above it are prefix, all keys for the topmost digit.
KERNEL(GROUP) K(topk_count)(GLOBAL const T *keys, i64 n, i32 shift, u64 prefix, GLOBAL u64 *counts) {
  SHARED u32 bins[BINS];
  bins[TID] = 0;
  BARRIER();
  for (i64 i = GID; i < n; i += 4 * GSIZE) {
    T key[4];
    for (int k = 0; k < 4; k++) key[k] = i + k * GSIZE < n ? keys[i + k * GSIZE] : 0;
    for (int k = 0; k < 4 && i + k * GSIZE < n; k++) {
      u64 above = shift + 8 < T_BITS ? (u64)key[k] >> (shift + 8) : 0;
      if (above == prefix) (void)ATOMIC_ADD32(&bins[(int)((key[k] >> shift) & 255)], 1u);
    }
  }
  BARRIER();
  if (bins[TID]) (void)ATOMIC_ADD64(&counts[TID], (u64)bins[TID]);
}

// The bits of the keys whose bits from shift on are less than prefix, with equal also those that are prefix; without less only those.
KERNEL(GROUP) K(topk_mask)(GLOBAL const T *keys, i64 n, i32 shift, u64 prefix, i32 less, i32 equal, GLOBAL u32 *out) {
  SHARED u32 scratch[GROUP];
  for (i64 first = BID * ROWS; first < n && first < (BID + 1) * ROWS; first += GROUP) {
    i64 i = first + TID;
    u32 flag = 0;
    if (i < n) {
      u64 v = (u64)keys[i] >> shift;
      flag = v < prefix ? less : v == prefix ? equal : 0;
    }
    group_store_bits(scratch, out, first, flag, n);
  }
}
