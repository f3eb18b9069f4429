// Casts between bools, integers, floats and, as their integers, temporal values. Moves the values and the results: an item has AHEAD rows in
// flight.
#include "scalar.h"
#include "cast.h"
#include "group.h"

#define AHEAD 4
#define TILE (AHEAD * GROUP) // rows of a group

#define LOAD_ROWS(convert, type)                                                         \
  for (int k = 0; k < AHEAD; k++) {                                                      \
    i64 r = first + k * GROUP;                                                           \
    w[k] = convert(((GLOBAL const type *)x)[x0 + (r < n ? r : 0)]);                      \
  }                                                                                      \
  break;
#define EXTENDED(v) (u64)(i64)(v)
#define PLAIN(v) (u64)(v)
#define WIDENED(v) BITS_F64((f64)(v))

// Rows whose words have the bits of bad.h that look_for asks for are errors unless they are null.
KERNEL(GROUP) cast_numbers(i32 kind, GLOBAL const u8 *x, i64 x0, GLOBAL const u8 *valid, i64 valid0, i32 to, GLOBAL u8 *out, i64 n, u32 look_for,
                           GLOBAL u64 *first_bad) {
  i64 first = BID * TILE + TID;
  if (first >= n) return;
  u64 w[AHEAD];
  u32 bad[AHEAD] = {0};
  switch (kind) {
  case KIND_I8: LOAD_ROWS(EXTENDED, i8)
  case KIND_I16: LOAD_ROWS(EXTENDED, i16)
  case KIND_I32: LOAD_ROWS(EXTENDED, i32)
  case KIND_U8: LOAD_ROWS(PLAIN, u8)
  case KIND_U16: LOAD_ROWS(PLAIN, u16)
  case KIND_U32: LOAD_ROWS(PLAIN, u32)
  case KIND_F32: LOAD_ROWS(WIDENED, f32)
  case KIND_BOOL:
    for (int k = 0; k < AHEAD; k++) {
      i64 r = first + k * GROUP;
      w[k] = bit_at(x, x0 + (r < n ? r : 0));
    }
    break;
  default: LOAD_ROWS(PLAIN, u64)
  }
  for (int k = 0; k < AHEAD; k++) w[k] = cast_word(kind, w[k], to, &bad[k]);
  for (int k = 0; k < AHEAD; k++) {
    i64 r = first + k * GROUP;
    if (r < n) store_word(out, to, r, w[k]);
  }
  for (int k = 0; k < AHEAD; k++) {
    i64 r = first + k * GROUP;
    if (bad[k] & look_for && r < n && valid_at(valid, valid0 + r)) {
      ATOMIC_MIN64(first_bad, (u64)r);
      break;
    }
  }
}

// Numbers to bools: everything but 0 is true. Each group makes the bits of ROWS rows.
#define ROWS 4096
KERNEL(GROUP) cast_to_bool(i32 kind, GLOBAL const u8 *x, i64 x0, GLOBAL u32 *out, i64 n) {
  SHARED u32 scratch[GROUP];
  for (i64 first = BID * ROWS; first < n && first < (BID + 1) * ROWS; first += GROUP) {
    i64 i = first + TID;
    u32 flag = 0;
    if (i < n) {
      if (kind == KIND_WIDE) {
        GLOBAL const u64 *w = (GLOBAL const u64 *)x + 2 * (x0 + i);
        flag = (w[0] | w[1]) != 0;
      } else {
        u64 w = load_word(x, kind, x0 + i);
        flag = (is_float(kind) ? w << 1 : w) != 0;
      }
    }
    group_store_bits(scratch, out, first, flag, n);
  }
}
