// Words of bitmaps.

// 32 bits of a bitmap from bit `at` on, those from `end` on zero. No byte is read that holds none of the bits wanted. A null bitmap is all ones.
FN u32 bits_word(GLOBAL const u8 *bits, i64 at, i64 end) {
  i64 left = end - at;
  u32 keep = left >= 32 ? 0xffffffffu : (1u << left) - 1u;
  if (!bits) return keep;
  i64 b = at >> 3, last = (MIN(end, at + 32) + 7) >> 3;
  u64 word = 0;
  for (int k = 0; k < 5 && b + k < last; k++) word |= (u64)bits[b + k] << (8 * k);
  return (u32)(word >> (at & 7)) & keep;
}
