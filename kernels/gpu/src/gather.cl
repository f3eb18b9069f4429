// variants: u8 u16 u32 u64 wide
// Gathering values of a fixed width by row numbers. Each item has four rows in flight. Moves the row numbers, n * sizeof(T) bytes out, and
// of the values a sector a row at worst, n * sizeof(T) bytes for rows that rise without gaps.
#include "group.h"
#include "wide.h"

#define ROWS 1024

// out[i] is x[x0 + rows[i]]; a row not below limit gives a zero and is null. With out_valid the validity is made too. Where bad is given it
// gets the first position out of range; it is all ones before the launch.
#define GATHER(name, R)                                                                                                                            \
  KERNEL(GROUP) K(name)(GLOBAL const T *x, i64 x0, GLOBAL const R *rows, i64 rows0, GLOBAL const u8 *valid, i64 valid0, GLOBAL T *out,             \
                        GLOBAL u32 *out_valid, i64 n, i64 limit, GLOBAL u64 *bad) {                                                                \
    SHARED u32 scratch[GROUP];                                                                                                                     \
    T zero = {0};                                                                                                                                  \
    T v[ROWS / GROUP];                                                                                                                             \
    u64 row[ROWS / GROUP];                                                                                                                         \
    i64 first = BID * ROWS;                                                                                                                        \
    for (int k = 0; k < ROWS / GROUP; k++) {                                                                                                       \
      i64 i = first + k * GROUP + TID;                                                                                                             \
      row[k] = i < n ? (u64)rows[rows0 + i] : U64_MAX;                                                                                             \
    }                                                                                                                                              \
    for (int k = 0; k < ROWS / GROUP; k++) v[k] = row[k] < (u64)limit ? x[x0 + (i64)row[k]] : zero;                                                \
    for (int k = 0; k < ROWS / GROUP; k++) {                                                                                                       \
      i64 i = first + k * GROUP + TID;                                                                                                             \
      if (i >= n) continue;                                                                                                                        \
      out[i] = v[k];                                                                                                                               \
      if (bad && row[k] >= (u64)limit) ATOMIC_MIN64(bad, (u64)i);                                                                                  \
    }                                                                                                                                              \
    for (int k = 0; k < ROWS / GROUP && out_valid && first + k * GROUP < n; k++) {                                                                 \
      u32 flag = row[k] < (u64)limit && valid_at(valid, valid0 + (i64)row[k]);                                                                     \
      group_store_bits(scratch, out_valid, first + k * GROUP, flag, n);                                                                            \
    }                                                                                                                                              \
  }
GATHER(gather32, u32)
GATHER(gather64, u64)
