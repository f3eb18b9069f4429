// variants: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64
// a op b for columns of T, or a column and one value. Moves the two operands and the result: an item has AHEAD rows in flight.
#include "arithmetic.h"

#define AHEAD 4
#define TILE (AHEAD * GROUP) // rows of a group
#define SIDE(a) GLOBAL const T *a, i64 a##0, u64 a##_word, GLOBAL const u8 *a##_valid, i64 a##_valid0

#if T_BITS == 32 && T_FLOAT
#define OF_WORD(w) F32_BITS(w)
#elif T_FLOAT
#define OF_WORD(w) F64_BITS(w)
#else
#define OF_WORD(w) (T)(w)
#endif

// Reads an item's rows of both operands, those past the end as that of the first row of all.
#define LOAD_SIDE(a)                                                                                                \
  T a##_at[AHEAD];                                                                                                  \
  for (int k = 0; k < AHEAD; k++) {                                                                                 \
    i64 r = first + k * GROUP;                                                                                      \
    a##_at[k] = a ? a[a##0 + (r < n ? r : 0)] : OF_WORD(a##_word);                                                  \
  }
#define EACH(expression)                                                                                            \
  for (int k = 0; k < AHEAD; k++) {                                                                                 \
    T x = a_at[k], y = b_at[k];                                                                                     \
    z[k] = expression;                                                                                              \
  }                                                                                                                 \
  break;
#define STORE()                                                                                                     \
  for (int k = 0; k < AHEAD; k++) {                                                                                 \
    i64 r = first + k * GROUP;                                                                                      \
    if (r < n) out[r] = z[k];                                                                                       \
  }

// The first row, of those that no null is in, where the bits of `look_for` are in bad.
#define REPORT(look_for)                                                                                            \
  for (int k = 0; k < AHEAD; k++) {                                                                                 \
    i64 r = first + k * GROUP;                                                                                      \
    if (bad[k] & look_for && r < n && valid_at(a_valid, a_valid0 + r) && valid_at(b_valid, b_valid0 + r)) {         \
      ATOMIC_MIN64(first_bad, (u64)r);                                                                              \
      break;                                                                                                        \
    }                                                                                                               \
  }

// Add, Subtract and Multiply that wrap.
KERNEL(GROUP) K(arithmetic)(i32 op, SIDE(a), SIDE(b), GLOBAL T *out, i64 n) {
  i64 first = BID * TILE + TID;
  if (first >= n) return;
  T z[AHEAD];
  LOAD_SIDE(a)
  LOAD_SIDE(b)
  switch (op) {
  case 0: EACH(TYPED(add, T)(x, y))
  case 1: EACH(TYPED(sub, T)(x, y))
  default: EACH(TYPED(mul, T)(x, y))
  }
  STORE()
}

#if T_FLOAT
// Divide and Modulo.
KERNEL(GROUP) K(division)(i32 op, SIDE(a), SIDE(b), GLOBAL T *out, i64 n) {
  i64 first = BID * TILE + TID;
  if (first >= n) return;
  T z[AHEAD];
  LOAD_SIDE(a)
  LOAD_SIDE(b)
  if (op == 3) {
    for (int k = 0; k < AHEAD; k++) z[k] = TYPED(div, T)(a_at[k], b_at[k]);
  } else {
    for (int k = 0; k < AHEAD; k++) z[k] = TYPED(mod, T)(a_at[k], b_at[k]);
  }
  STORE()
}
#else
// The same, and the first row that overflows.
KERNEL(GROUP) K(arithmetic_checked)(i32 op, SIDE(a), SIDE(b), GLOBAL T *out, i64 n, GLOBAL u64 *first_bad) {
  i64 first = BID * TILE + TID;
  if (first >= n) return;
  T z[AHEAD];
  u32 bad[AHEAD] = {0};
  LOAD_SIDE(a)
  LOAD_SIDE(b)
  switch (op) {
  case 0: EACH(TYPED(add_checked, T)(x, y, &bad[k]))
  case 1: EACH(TYPED(sub_checked, T)(x, y, &bad[k]))
  default: EACH(TYPED(mul_checked, T)(x, y, &bad[k]))
  }
  STORE()
  REPORT(BAD_OVERFLOW)
}

// Divide and Modulo, and the first row that divides by zero or, as look_for says, overflows.
KERNEL(GROUP) K(division)(i32 op, SIDE(a), SIDE(b), GLOBAL T *out, i64 n, u32 look_for, GLOBAL u64 *first_bad) {
  i64 first = BID * TILE + TID;
  if (first >= n) return;
  T z[AHEAD];
  u32 bad[AHEAD] = {0};
  LOAD_SIDE(a)
  LOAD_SIDE(b)
  if (op == 3) {
    for (int k = 0; k < AHEAD; k++) z[k] = TYPED(div, T)(a_at[k], b_at[k], &bad[k]);
  } else {
    for (int k = 0; k < AHEAD; k++) z[k] = TYPED(mod, T)(a_at[k], b_at[k], &bad[k]);
  }
  STORE()
  REPORT(look_for)
}
#endif
