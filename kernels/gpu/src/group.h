// What the work-items of one group of GROUP do together. Every item of the group calls; every call holds barriers. `scratch` is local
// memory of GROUP elements, which may be used again at once after the call.

// GROUP_SCAN(name, T): T name(LOCAL T *scratch, T v, PRIVATE T *total) is the exclusive prefix sum of v over the items, and in *total the sum of all.
#if HAVE_WARP
#define GROUP_SCAN(name, T)                                                     \
  FN T name(LOCAL T *scratch, T v, T *total) {                                  \
    T x = v;                                                                    \
    for (int d = 1; d < 32; d <<= 1) {                                          \
      T y = SHUFFLE_UP(x, d);                                                   \
      if (LANE >= d) x += y;                                                    \
    }                                                                           \
    int warp = TID >> 5;                                                        \
    if (LANE == 31) scratch[warp] = x;                                          \
    BARRIER();                                                                  \
    T before = 0, all = 0;                                                      \
    for (int w = 0; w < GROUP / 32; w++) {                                      \
      T s = scratch[w];                                                         \
      if (w < warp) before += s;                                                \
      all += s;                                                                 \
    }                                                                           \
    BARRIER();                                                                  \
    *total = all;                                                               \
    return before + x - v;                                                      \
  }
#else
#define GROUP_SCAN(name, T)                                                     \
  FN T name(LOCAL T *scratch, T v, T *total) {                                  \
    scratch[TID] = v;                                                           \
    BARRIER();                                                                  \
    for (int d = 1; d < GROUP; d <<= 1) {                                       \
      T y = TID >= d ? scratch[TID - d] : 0;                                    \
      BARRIER();                                                                \
      scratch[TID] += y;                                                        \
      BARRIER();                                                                \
    }                                                                           \
    T x = scratch[TID];                                                         \
    *total = scratch[GROUP - 1];                                                \
    BARRIER();                                                                  \
    return x - v;                                                               \
  }
#endif
GROUP_SCAN(group_scan_u32, u32)
GROUP_SCAN(group_scan_u64, u64)

// GROUP_REDUCE(name, T, JOIN): T name(LOCAL T *scratch, T v) joins the items' values pairwise, in an order that is always the same; every
// item gets the result. JOIN(a, b) is an expression or a function.
#define GROUP_REDUCE(name, T, JOIN)                                             \
  FN T name(LOCAL T *scratch, T v) {                                            \
    scratch[TID] = v;                                                           \
    BARRIER();                                                                  \
    for (int d = GROUP / 2; d > 0; d >>= 1) {                                   \
      if (TID < d) scratch[TID] = JOIN(scratch[TID], scratch[TID + d]);         \
      BARRIER();                                                                \
    }                                                                           \
    T r = scratch[0];                                                           \
    BARRIER();                                                                  \
    return r;                                                                   \
  }

// Writes one bit an item to a bitmap of 32-bit words: item TID's bit is bit first + TID, first a multiple of GROUP. Bits from n on are
// zero; no word is touched that holds none of the first n bits.
#if HAVE_WARP
FN void group_store_bits(LOCAL u32 *scratch, GLOBAL u32 *out, i64 first, u32 flag, i64 n) {
  u32 word = BALLOT(flag && first + TID < n);
  if (LANE == 0 && first + TID < n) out[(first + TID) >> 5] = word;
}
#else
FN void group_store_bits(LOCAL u32 *scratch, GLOBAL u32 *out, i64 first, u32 flag, i64 n) {
  scratch[TID] = flag && first + TID < n ? 1u << (TID & 31) : 0u;
  BARRIER();
  if (TID < GROUP / 32 && first + TID * 32 < n) {
    u32 word = 0;
    for (int k = 0; k < 32; k++) word |= scratch[TID * 32 + k];
    out[(first >> 5) + TID] = word;
  }
  BARRIER();
}
#endif
