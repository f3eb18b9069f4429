// Aggregation by group: see aggregate.h for why the order of rows does not matter. Moves the group numbers (4 or 8 bytes a row), the values and
// both validities once a fold. With few groups a work-group folds into local memory, several copies of each group beside each other so that
// neighbouring rows of one group do not wait for each other, and adds that to the groups once.
#include "group.h"
#include "aggregate.h"

#define LOCAL_WORDS 2048

#define IDS GLOBAL const u8 *ids, i64 ids_at, i32 ids_wide, GLOBAL const u8 *ids_valid, i64 ids_from
#define VALUES i32 kind, GLOBAL const u8 *x, i64 at, GLOBAL const u8 *valid, i64 valid_from

FN i64 group_of(GLOBAL const u8 *ids, i64 at, i32 wide, i64 i) {
  return wide ? ((GLOBAL const i64 *)ids)[at + i] : (i64)((GLOBAL const u32 *)ids)[at + i];
}

#define FOLD_128(op) ((op) == OP_WIDE || (op) == OP_FIXED)
#define FOLD_MIN(op) ((op) == OP_MIN || (op) == OP_FIRST)
#define FOLD_MAX(op) ((op) == OP_MAX || (op) == OP_LAST || (op) == OP_SCALE)

// Folds one term into a group's word or words. What does not change a least or greatest is not written.
#define FOLD(op, acc, g, lo, hi)                                                        \
  if (FOLD_128(op)) {                                                                   \
    u64 had = ATOMIC_ADD64(&(acc)[2 * (g)], (lo));                                      \
    u64 carried = (hi) + (u64)(had + (lo) < had);                                       \
    if (carried) ATOMIC_ADD64(&(acc)[2 * (g) + 1], carried);                            \
  } else if (FOLD_MIN(op)) {                                                            \
    if ((lo) < LOAD64(&(acc)[g])) ATOMIC_MIN64(&(acc)[g], (lo));                        \
  } else if (FOLD_MAX(op)) {                                                            \
    if ((lo) > LOAD64(&(acc)[g])) ATOMIC_MAX64(&(acc)[g], (lo));                        \
  } else if ((op) == OP_PRODUCT) {                                                      \
    for (u64 had = LOAD64(&(acc)[g]);;) {                                               \
      u64 now = ATOMIC_CAS64(&(acc)[g], had, had * (lo));                               \
      if (now == had) break;                                                            \
      had = now;                                                                        \
    }                                                                                   \
  } else {                                                                              \
    ATOMIC_ADD64(&(acc)[g], (lo));                                                      \
  }

// The term of one value, in place; 0 where there is nothing to fold.
FN u32 term(i32 op, i32 kind, u64 *lo, u64 *hi, i64 row, i64 g, GLOBAL const u64 *scale, GLOBAL u64 *flags, GLOBAL const f64 *mean, f64 unit, i32 shift) {
  switch (op) {
  case OP_COUNT: *lo = 1; return 1;
  case OP_MIN: *lo = ordered(*lo, kind, U64_MAX); return 1;
  case OP_MAX: *lo = ordered(*lo, kind, 0); return 1;
  case OP_FIRST: *lo = (u64)row; return 1;
  case OP_LAST: *lo = (u64)row + 1; return 1;
  case OP_SCALE:
  case OP_FIXED: {
    u64 bits = *lo;
    if (mean) {
      f64 d = number(*lo, *hi, kind, unit) - mean[g];
      bits = BITS_F64(d * d);
    }
    u64 e = bits >> 52 & 0x7ff;
    if (op == OP_SCALE) {
      if (e == 0x7ff) {
        u64 flag = (bits & ~SIGN64) > F64_INF_BITS ? FLAG_NAN : bits & SIGN64 ? FLAG_NEGATIVE_INF : FLAG_INF;
        ATOMIC_OR64(&flags[g], flag);
        return 0;
      }
      *lo = MAX(e, (u64)1);
      return 1;
    }
    if (e == 0x7ff || (bits << 1) == 0) return 0;
    fixed_point(bits, scale[g], shift, lo, hi);
    return 1;
  }
  }
  return 1;
}

#define FOLD_ARGUMENTS \
  i32 op, IDS, i64 groups, VALUES, GLOBAL u64 *acc, GLOBAL const u64 *scale, GLOBAL u64 *flags, GLOBAL const f64 *mean, f64 unit, i32 shift, i64 n

// For PER_ITEM rows of this item, from `first` on, folds those that have a group and a value. SLOT is the place of group g in ACC.
#define FOLD_ROWS(ACC, SLOT)                                                                                     \
  i64 rows[PER_ITEM], of[PER_ITEM];                                                                              \
  u64 lo[PER_ITEM], hi[PER_ITEM];                                                                                \
  u32 take[PER_ITEM];                                                                                            \
  for (int j = 0; j < PER_ITEM; j++) rows[j] = MIN(first + j * GROUP, n - 1);                                    \
  for (int j = 0; j < PER_ITEM; j++) of[j] = group_of(ids, ids_at, ids_wide, rows[j]);                           \
  load_rows(lo, hi, x, at, kind, rows);                                                                          \
  for (int j = 0; j < PER_ITEM; j++) {                                                                           \
    take[j] = first + j * GROUP < n && valid_at(ids_valid, ids_from + rows[j]) && valid_at(valid, valid_from + rows[j]); \
  }                                                                                                              \
  for (int j = 0; j < PER_ITEM; j++) {                                                                           \
    i64 g = of[j];                                                                                               \
    if (!take[j] || !term(op, kind, &lo[j], &hi[j], rows[j], g, scale, flags, mean, unit, shift)) continue;      \
    i64 slot = SLOT;                                                                                             \
    FOLD(op, ACC, slot, lo[j], hi[j])                                                                            \
  }

// Folds n rows into their groups.
KERNEL(GROUP) aggregate_fold(FOLD_ARGUMENTS) {
  for (i64 first = BID * GROUP * PER_ITEM + TID; first < n; first += GDIM * GROUP * PER_ITEM) {
    FOLD_ROWS(acc, g)
  }
}

// aggregate_fold where copies * groups, or twice that for sums of 128 bits, are at most LOCAL_WORDS; copies is a power of two.
KERNEL(GROUP) aggregate_few(FOLD_ARGUMENTS, i64 copies) {
  SHARED u64 few[LOCAL_WORDS];
  i64 words = (FOLD_128(op) ? 2 : 1) * copies * groups;
  for (i64 w = TID; w < words; w += GROUP) few[w] = FOLD_MIN(op) ? U64_MAX : op == OP_PRODUCT ? 1 : 0;
  BARRIER();
  for (i64 first = BID * GROUP * PER_ITEM + TID; first < n; first += GDIM * GROUP * PER_ITEM) {
    FOLD_ROWS(few, g * copies + (TID & (copies - 1)))
  }
  BARRIER();
  for (i64 w = TID; w < copies * groups; w += GROUP) {
    i64 slot = w / copies;
    u64 lo = few[w], hi = 0;
    if (FOLD_128(op)) {
      lo = few[2 * w];
      hi = few[2 * w + 1];
      if ((lo | hi) == 0) continue;
    } else if (lo == (FOLD_MIN(op) ? U64_MAX : (u64)(op == OP_PRODUCT))) {
      continue;
    }
    FOLD(op, acc, slot, lo, hi)
  }
}

// The least row whose group is not below groups, in *bad.
KERNEL(GROUP) aggregate_check(IDS, i64 groups, i64 n, GLOBAL u64 *bad) {
  for (i64 i = GID; i < n; i += GSIZE) {
    i64 g = group_of(ids, ids_at, ids_wide, i);
    if ((u64)g >= (u64)groups && valid_at(ids_valid, ids_from + i)) ATOMIC_MIN64(bad, (u64)i);
  }
}

// Counts the distinct values of each group: one for each first row of a group's value that a table of (group, value) has.
KERNEL(GROUP) aggregate_distinct(IDS, GLOBAL const u64 *slots, i64 size, GLOBAL u64 *counts) {
  for (i64 s = GID; s < size; s += GSIZE) {
    u64 row = slots[2 * s + 1];
    if (row != U64_MAX) ATOMIC_ADD64(&counts[group_of(ids, ids_at, ids_wide, (i64)row)], (u64)1);
  }
}
