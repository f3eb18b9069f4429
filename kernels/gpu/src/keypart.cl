// variants: words text
// Rows of keys into parts by bits of their hashes: the hashes are made here, brought together by passes of the radix sort (sortpairs.cl), and the
// places where the parts begin are looked up in them.
#include "group.h"
#include "keyrows.h"

// The hash of each row, or of each of the rows listed. Reads the words (of a text, its hash) once and writes 8 bytes a row.
KERNEL(GROUP) K(keypart_hash)(GLOBAL const u64 *words, i64 words_at, i64 k, GLOBAL const u8 *rows, i32 rows_wide, GLOBAL u64 *out, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) out[i] = row_hash(words, words_at, k, rows ? (i64)slot_load(rows, i, rows_wide) : i);
}

// Where each of parts+1 parts begins among n hashes that are sorted by the bits of `mask`, the upper ones of which, from shift on, are the part.
// Moves little.
KERNEL(GROUP) K(keypart_starts)(GLOBAL const u64 *hashes, i64 n, u64 mask, i32 shift, GLOBAL u64 *starts, i64 parts) {
  for (i64 p = GID; p <= parts; p += GSIZE) {
    i64 lo = 0, hi = n;
    while (lo < hi) {
      i64 mid = lo + (hi - lo) / 2;
      if ((i64)((hashes[mid] & mask) >> shift) < p) lo = mid + 1;
      else hi = mid;
    }
    starts[p] = (u64)lo;
  }
}

// A bit for each row that is live and whose part has its bit set in `over`. Reads the words once and writes a bit a row.
KERNEL(GROUP) K(keypart_over)(GLOBAL const u64 *words, i64 words_at, i64 k, GLOBAL const u8 *live, i64 live_from, u64 mask, i32 shift,
                              GLOBAL const u8 *over, GLOBAL u32 *out, i64 n) {
  SHARED u32 scratch[GROUP];
  for (i64 first = BID * GROUP; first < n; first += GDIM * GROUP) {
    i64 i = first + TID;
    u32 bit = 0;
    if (i < n && valid_at(live, live_from + i)) bit = bit_at(over, (i64)((row_hash(words, words_at, k, i) & mask) >> shift));
    group_store_bits(scratch, out, first, bit, n);
  }
}
