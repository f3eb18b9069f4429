// From what the rows of a group were folded into to the result: one work-item a group, 8 to 40 bytes in and 1 to 16 out.
#include "group.h"
#include "aggregate.h"

// The bit of each group that has a result: at least `need` of its rows have a value and, with `keep`, all of them have. kleene 1 (any) and 2
// (all) say that with `keep` a null only counts unless the truths among the values settle the answer.
KERNEL(GROUP) aggfinish_valid(GLOBAL const u64 *counts, GLOBAL const u64 *rows, GLOBAL const u64 *truths, i64 need, i32 keep, i32 kleene, GLOBAL u32 *out, i64 n) {
  SHARED u32 scratch[GROUP];
  for (i64 first = BID * GROUP; first < n; first += GDIM * GROUP) {
    i64 g = first + TID;
    u32 ok = 0;
    if (g < n) {
      i64 count = (i64)counts[g];
      ok = count >= need;
      if (ok && keep && count < (i64)rows[g]) ok = kleene == 1 ? truths[g] > 0 : kleene == 2 ? truths[g] < (u64)count : 0;
    }
    group_store_bits(scratch, out, first, ok, n);
  }
}

KERNEL(GROUP) aggfinish_ones(GLOBAL u64 *out, i64 n) {
  for (i64 g = GID; g < n; g += GSIZE) out[g] = 1;
}

// Any (some truth), all (no value that is none).
KERNEL(GROUP) aggfinish_truth(GLOBAL const u64 *counts, GLOBAL const u64 *truths, i32 all, GLOBAL u32 *out, i64 n) {
  SHARED u32 scratch[GROUP];
  for (i64 first = BID * GROUP; first < n; first += GDIM * GROUP) {
    i64 g = first + TID;
    group_store_bits(scratch, out, first, g < n && (all ? truths[g] == counts[g] : truths[g] > 0), n);
  }
}

// The values of the least or greatest words, in the width of their kind.
KERNEL(GROUP) aggfinish_extreme(GLOBAL const u64 *words, i32 kind, GLOBAL u8 *out, i64 n) {
  for (i64 g = GID; g < n; g += GSIZE) {
    u64 w = unordered(words[g], kind);
    switch (kind) {
    case KIND_I8:
    case KIND_U8: out[g] = (u8)w; break;
    case KIND_I16:
    case KIND_U16: ((GLOBAL u16 *)out)[g] = (u16)w; break;
    case KIND_I32:
    case KIND_U32: ((GLOBAL u32 *)out)[g] = (u32)w; break;
    case KIND_F32: ((GLOBAL f32 *)out)[g] = (f32)F64_BITS(w); break;
    default: ((GLOBAL u64 *)out)[g] = w;
    }
  }
}

// Rows of 4 or 8 bytes from 64-bit ones, which count from `from`; anything where a group has none.
KERNEL(GROUP) aggfinish_rows(GLOBAL const u64 *rows, u64 from, GLOBAL u8 *out, i32 wide, i64 n) {
  for (i64 g = GID; g < n; g += GSIZE) {
    u64 row = rows[g] - from;
    if (wide) ((GLOBAL u64 *)out)[g] = row;
    else ((GLOBAL u32 *)out)[g] = (u32)row;
  }
}

#define HOW_SUM 0
#define HOW_MEAN 1 // divided by the count
#define HOW_VAR 2  // divided by the count less ddof
#define HOW_STD 3

// Floats from sums of 128 bits: of integers in units of 1/unit, or, with scale, of units of each group (aggregate.h).
KERNEL(GROUP) aggfinish_float(GLOBAL const u64 *sums, GLOBAL const u64 *scale, GLOBAL const u64 *flags, i32 shift, f64 unit, GLOBAL const u64 *counts,
                              i32 how, i64 ddof, GLOBAL f64 *out, i64 n) {
  for (i64 g = GID; g < n; g += GSIZE) {
    f64 v = wide_f64(sums[2 * g], sums[2 * g + 1]) / unit;
    if (scale) {
      v = scale_f64(v, (i32)scale[g] - 1075 - shift);
      u64 f = flags[g];
      if (f == FLAG_INF) v = F64_BITS(F64_INF_BITS);
      else if (f == FLAG_NEGATIVE_INF) v = F64_BITS(F64_INF_BITS | SIGN64);
      else if (f) v = F64_BITS((u64)0x7ff8 << 48);
    }
    if (how == HOW_MEAN) v /= (f64)counts[g];
    if (how >= HOW_VAR) v /= (f64)((i64)counts[g] - ddof);
    if (how == HOW_STD) v = sqrt(v);
    out[g] = v;
  }
}
