// 128-bit integers in two's complement as two words.

// The f64 nearest to a 128-bit integer.
FN f64 wide_f64(u64 lo, u64 hi) {
  u32 negative = (u32)(hi >> 63);
  if (negative) {
    lo = ~lo + 1;
    hi = ~hi + (lo == 0);
  }
  f64 v;
  if (hi == 0) {
    v = (f64)lo;
  } else {
    i32 s = (i32)CLZ64(hi);
    u64 top = s ? hi << s | lo >> (64 - s) : hi;
    if ((lo << s) != 0) top |= 1; // what is cut off still decides how a half is rounded
    v = (f64)top * F64_BITS((u64)(1023 + 64 - s) << 52);
  }
  return negative ? -v : v;
}

// v * 2^p for p in -2000 .. 2000, rounded once.
FN f64 scale_f64(f64 v, i32 p) {
  i32 half_p = p / 2;
  return v * F64_BITS((u64)(1023 + half_p) << 52) * F64_BITS((u64)(1023 + p - half_p) << 52);
}
