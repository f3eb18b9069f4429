// Answers about single values as a bitmap: each group makes the bits of 4096 rows. Moves the validity, and where values are looked at
// (NaN, or the nulls of a dictionary) those, and n/8 bytes.
#include "scalar.h"
#include "group.h"

#define ROWS 4096

// question: 0 is null, 1 is not null, 2 is NaN.
KERNEL(GROUP) is_null(i32 question, i32 kind, GLOBAL const u8 *x, i64 x0, GLOBAL const u8 *valid, i64 valid0, i32 index_kind, GLOBAL const u8 *index,
                      i64 index0, GLOBAL const u8 *index_valid, i64 index_valid0, GLOBAL u32 *out, i64 n) {
  SHARED u32 scratch[GROUP];
  for (i64 first = BID * ROWS; first < n && first < (BID + 1) * ROWS; first += GROUP) {
    i64 i = first + TID;
    u32 flag = 0;
    if (i < n) {
      u32 ok = valid_at(index_valid, index_valid0 + i) && kind != KIND_NULL;
      i64 at = ok ? value_at(index, index0, index_kind, i) : 0;
      ok = ok && valid_at(valid, valid0 + at);
      if (question == 2) flag = ok && is_float(kind) && is_nan_word(load_word(x, kind, x0 + at));
      else flag = question == 1 ? ok : !ok;
    }
    group_store_bits(scratch, out, first, flag, n);
  }
}
