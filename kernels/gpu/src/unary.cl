// variants: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64
// One operation on each value of T. Moves the values and the results: an item has AHEAD rows in flight.
#include "unary.h"

#define AHEAD 4
#define TILE (AHEAD * GROUP) // rows of a group
#define COLUMN GLOBAL const T *a, i64 a0
#if T_BITS == 32 && T_FLOAT
#define REAL f32
#else
#define REAL f64 // the type of roots and the like
#endif

#define LOAD_ROWS()                                                   \
  T x[AHEAD];                                                         \
  for (int k = 0; k < AHEAD; k++) {                                   \
    i64 r = first + k * GROUP;                                        \
    x[k] = a[a0 + (r < n ? r : 0)];                                   \
  }
#define EACH(f)                                                       \
  for (int k = 0; k < AHEAD; k++) z[k] = f(x[k]);                     \
  break;
#define STORE_ROWS()                                                  \
  for (int k = 0; k < AHEAD; k++) {                                   \
    i64 r = first + k * GROUP;                                        \
    if (r < n) out[r] = z[k];                                         \
  }

// Whatever has a result of type T and cannot fail.
KERNEL(GROUP) K(unary)(i32 op, COLUMN, GLOBAL T *out, i64 n) {
  i64 first = BID * TILE + TID;
  if (first >= n) return;
  T z[AHEAD];
  LOAD_ROWS()
  switch (op) {
  case 0: EACH(TYPED(neg, T))
#if T_FLOAT
  case 2: EACH(TYPED(sign, T))
  case 6: EACH(TYPED(floor, T))
  case 7: EACH(TYPED(ceil, T))
  case 8: EACH(TYPED(trunc, T))
  case 9: EACH(TYPED(round, T))
#endif
  default: EACH(TYPED(abs, T))
  }
  STORE_ROWS()
}

// Sqrt, Exp and Log.
KERNEL(GROUP) K(unary_real)(i32 op, COLUMN, GLOBAL REAL *out, i64 n) {
  i64 first = BID * TILE + TID;
  if (first >= n) return;
  REAL z[AHEAD];
  LOAD_ROWS()
  switch (op) {
  case 3:
    for (int k = 0; k < AHEAD; k++) z[k] = TYPED(sqrt, REAL)((REAL)x[k]);
    break;
  case 4:
    for (int k = 0; k < AHEAD; k++) z[k] = TYPED(exp, REAL)((REAL)x[k]);
    break;
  default:
    for (int k = 0; k < AHEAD; k++) z[k] = TYPED(log, REAL)((REAL)x[k]);
  }
  STORE_ROWS()
}

#if !T_FLOAT
KERNEL(GROUP) K(unary_sign)(COLUMN, GLOBAL i8 *out, i64 n) {
  i64 first = BID * TILE + TID;
  if (first >= n) return;
  i8 z[AHEAD];
  LOAD_ROWS()
  for (int k = 0; k < AHEAD; k++) z[k] = TYPED(sign, T)(x[k]);
  STORE_ROWS()
}

// Negate and Abs, and the first row, of those that are not null, that overflows.
KERNEL(GROUP) K(unary_checked)(i32 op, COLUMN, GLOBAL T *out, i64 n, GLOBAL const u8 *valid, i64 valid0, GLOBAL u64 *first_bad) {
  i64 first = BID * TILE + TID;
  if (first >= n) return;
  T z[AHEAD];
  u32 bad[AHEAD] = {0};
  LOAD_ROWS()
  for (int k = 0; k < AHEAD; k++) z[k] = op == 0 ? TYPED(neg_checked, T)(x[k], &bad[k]) : TYPED(abs_checked, T)(x[k], &bad[k]);
  STORE_ROWS()
  for (int k = 0; k < AHEAD; k++) {
    i64 r = first + k * GROUP;
    if (bad[k] && r < n && valid_at(valid, valid0 + r)) {
      ATOMIC_MIN64(first_bad, (u64)r);
      break;
    }
  }
}
#endif
