// XXH64 (Yann Collet, the specification at github.com/Cyan4973/xxHash).
#define XXH_P1 ((u64)0x9E3779B185EBCA87)
#define XXH_P2 ((u64)0xC2B2AE3D27D4EB4F)
#define XXH_P3 ((u64)0x165667B19E3779F9)
#define XXH_P4 ((u64)0x85EBCA77C2B2AE63)
#define XXH_P5 ((u64)0x27D4EB2F165667C5)

FN u64 xxh_rotl(u64 x, int r) { return (x << r) | (x >> (64 - r)); }
FN u64 xxh_round(u64 acc, u64 lane) { return xxh_rotl(acc + lane * XXH_P2, 31) * XXH_P1; }
FN u64 xxh_finish(u64 h) {
  h = (h ^ (h >> 33)) * XXH_P2;
  h = (h ^ (h >> 29)) * XXH_P3;
  return h ^ (h >> 32);
}
FN u64 xxh_step(u64 h, u64 lane) { return xxh_rotl(h ^ xxh_round(0, lane), 27) * XXH_P1 + XXH_P4; }
FN u64 xxh_byte(u64 h, u64 b) { return xxh_rotl(h ^ (b * XXH_P5), 11) * XXH_P1; }

FN u64 xxh64_null(u64 seed) { return xxh_finish(xxh_byte(seed + XXH_P5 + 1, 0xff)); }
FN u64 xxh64_word(u64 w, u64 seed) { return xxh_finish(xxh_step(seed + XXH_P5 + 8, w)); }
FN u64 xxh64_wide(u64 lo, u64 hi, u64 seed) { return xxh_finish(xxh_step(xxh_step(seed + XXH_P5 + 16, lo), hi)); }

FN u64 xxh_bytes(GLOBAL const u8 *p, int n) {
  u64 w = 0;
  for (int k = 0; k < n; k++) w |= (u64)p[k] << (8 * k);
  return w;
}

FN u64 xxh64_text(GLOBAL const u8 *p, i64 n, u64 seed) {
  GLOBAL const u8 *end = p + n;
  u64 h = seed + XXH_P5;
  if (n >= 32) {
    u64 a = seed + XXH_P1 + XXH_P2, b = seed + XXH_P2, c = seed, d = seed - XXH_P1;
    for (; end - p >= 32; p += 32) {
      a = xxh_round(a, xxh_bytes(p, 8));
      b = xxh_round(b, xxh_bytes(p + 8, 8));
      c = xxh_round(c, xxh_bytes(p + 16, 8));
      d = xxh_round(d, xxh_bytes(p + 24, 8));
    }
    h = xxh_rotl(a, 1) + xxh_rotl(b, 7) + xxh_rotl(c, 12) + xxh_rotl(d, 18);
    h = (h ^ xxh_round(0, a)) * XXH_P1 + XXH_P4;
    h = (h ^ xxh_round(0, b)) * XXH_P1 + XXH_P4;
    h = (h ^ xxh_round(0, c)) * XXH_P1 + XXH_P4;
    h = (h ^ xxh_round(0, d)) * XXH_P1 + XXH_P4;
  }
  h += (u64)n;
  for (; end - p >= 8; p += 8) h = xxh_step(h, xxh_bytes(p, 8));
  if (end - p >= 4) {
    h = xxh_rotl(h ^ (xxh_bytes(p, 4) * XXH_P1), 23) * XXH_P2 + XXH_P3;
    p += 4;
  }
  for (; p < end; p++) h = xxh_byte(h, *p);
  return xxh_finish(h);
}
