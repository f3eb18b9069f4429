// Words of bitmaps.

// 32 bits of a bitmap from bit `at` on, those from `end` on zero. No byte is read that holds none of the bits wanted. A null bitmap is all ones.
FN u32 bits_word(GLOBAL const u8 *bits, i64 at, i64 end) {
  i64 left = end - at;
  u32 keep = left >= 32 ? 0xffffffffu : (1u << left) - 1u;
  if (!bits) return keep;
  if (((at >> 5) + 2) * 32 <= end) { // two whole words hold them
    GLOBAL const u32 *w = (GLOBAL const u32 *)bits + (at >> 5);
    int shift = (int)(at & 31);
    return shift ? w[0] >> shift | w[1] << (32 - shift) : w[0];
  }
  i64 b = at >> 3, last = (MIN(end, at + 32) + 7) >> 3;
  u64 word = 0;
  for (int k = 0; k < 5 && b + k < last; k++) word |= (u64)bits[b + k] << (8 * k);
  return (u32)(word >> (at & 7)) & keep;
}
