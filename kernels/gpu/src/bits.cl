// Bitmaps in Arrow's order. Each item makes 32 bits; moves n/8 bytes in and out.
#include "bits.h"
#include "group.h"

// out = a: n bits from bit a0 of a.
KERNEL(GROUP) bits_copy(GLOBAL const u8 *a, i64 a0, GLOBAL u32 *out, i64 n) {
  i64 i = GID * 32;
  if (i < n) out[GID] = bits_word(a, a0 + i, a0 + n);
}

// out = a & b.
KERNEL(GROUP) bits_and(GLOBAL const u8 *a, i64 a0, GLOBAL const u8 *b, i64 b0, GLOBAL u32 *out, i64 n) {
  i64 i = GID * 32;
  if (i < n) out[GID] = bits_word(a, a0 + i, a0 + n) & bits_word(b, b0 + i, b0 + n);
}

// out = ~a, zeros behind the end.
KERNEL(GROUP) bits_not(GLOBAL const u8 *a, i64 a0, GLOBAL u32 *out, i64 n) {
  i64 i = GID * 32;
  if (i >= n) return;
  u32 there = n - i < 32 ? (1u << (n - i)) - 1u : 0xffffffffu;
  out[GID] = ~bits_word(a, a0 + i, a0 + n) & there;
}

// Adds to *count the ones among n bits of a from bit a0 on.
KERNEL(GROUP) bits_count(GLOBAL const u8 *a, i64 a0, i64 n, GLOBAL u64 *count) {
  SHARED u32 scratch[GROUP];
  u32 mine = 0;
  for (i64 i = GID * 32; i < n; i += GSIZE * 32) mine += POPCOUNT32(bits_word(a, a0 + i, a0 + n));
  u32 all;
  group_scan_u32(scratch, mine, &all);
  if (TID == 0) ATOMIC_ADD64(count, (u64)all);
}
