// Ordered selection by a mask: which rows of a tile it keeps, and bitmaps of what was kept. Needs group.h.

#define TILE 2048 // rows of a tile: selectTile in rows.go

// 8 bits of a bitmap from bit `at` on, those from `end` on zero. A null bitmap is all ones.
FN u32 bits_byte(GLOBAL const u8 *bits, i64 at, i64 end) {
  i64 left = end - at;
  if (left <= 0) return 0;
  u32 keep = left >= 8 ? 0xffu : (1u << left) - 1u;
  if (!bits) return keep;
  u32 word = bits[at >> 3];
  if (((at & 7) + MIN(left, 8)) > 8) word |= (u32)bits[(at >> 3) + 1] << 8;
  return (word >> (at & 7)) & keep;
}

// The rows of the 8 from `at` on that a mask keeps: those where it is true, with emit also those where it is null.
FN u32 kept_byte(GLOBAL const u8 *mask, i64 mask0, GLOBAL const u8 *known, i64 known0, i32 emit, i64 at, i64 n) {
  u32 all = bits_byte(0, at, n), yes = bits_byte(known, known0 + at, known0 + n);
  return (bits_byte(mask, mask0 + at, mask0 + n) & yes) | (emit ? all & ~yes : 0u);
}

// Puts the numbers, within the tile from row `first` on, of the rows kept into chosen, in order, and gives their count to every item.
FN u32 select_tile(LOCAL u32 *scratch, LOCAL u16 *chosen, GLOBAL const u8 *mask, i64 mask0, GLOBAL const u8 *known, i64 known0, i32 emit, i64 first,
                   i64 n) {
  u32 mine = kept_byte(mask, mask0, known, known0, emit, first + TID * 8, n), count;
  u32 at = group_scan_u32(scratch, POPCOUNT32(mine), &count);
  for (int k = 0; k < 8; k++) {
    if (mine >> k & 1u) chosen[at++] = (u16)(TID * 8 + k);
  }
  BARRIER();
  return count;
}

// Writes one bit an item, bit first + TID, first a multiple of 32, of a bitmap that is zero and in which only bits [from, to) are this
// group's: words that it shares with others are joined to what they hold.
FN void merge_word(GLOBAL u32 *out, i64 bit, u32 word, i64 from, i64 to) {
  if (bit >= from && bit + 32 <= to) out[bit >> 5] = word;
  else if (word) ATOMIC_OR32(&out[bit >> 5], word);
}
#if HAVE_WARP
FN void group_merge_bits(LOCAL u32 *scratch, GLOBAL u32 *out, i64 first, u32 flag, i64 from, i64 to) {
  u32 word = BALLOT(flag && first + TID >= from && first + TID < to);
  if (LANE == 0) merge_word(out, first + TID, word, from, to);
}
#else
FN void group_merge_bits(LOCAL u32 *scratch, GLOBAL u32 *out, i64 first, u32 flag, i64 from, i64 to) {
  scratch[TID] = flag && first + TID >= from && first + TID < to ? 1u << (TID & 31) : 0u;
  BARRIER();
  if (TID < GROUP / 32) {
    u32 word = 0;
    for (int k = 0; k < 32; k++) word |= scratch[TID * 32 + k];
    merge_word(out, first + TID * 32, word, from, to);
  }
  BARRIER();
}
#endif
