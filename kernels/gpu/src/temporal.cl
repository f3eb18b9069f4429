// Fields of dates, times and timestamps. Moves the values and the results of 8 bytes.
#include "scalar.h"
#include "temporal.h"

// A value counts units of which `unit` make a day: 1 for date32.
KERNEL(GROUP) temporal_field(i32 field, i32 kind, GLOBAL const u8 *x, i64 x0, i64 unit, GLOBAL const i64 *zone, i32 stretches, i64 fold,
                             GLOBAL i64 *out, i64 n) {
  i64 second_units = MAX(unit / 86400, (i64)1);
  for (i64 i = GID; i < n; i += GSIZE) {
    i64 clock, rest, day = local_day((i64)load_word(x, kind, x0 + i), unit, second_units, zone, stretches, fold, &clock);
    out[i] = civil_field(field, day, floor_div(clock, second_units, &rest));
  }
}

#define TO_UNITS 0
#define TO_DAY 1
#define TO_CLOCK 2

// Temporal values in other units, or the day or the time of day of timestamps. look_for has the bits of bad.h that are errors.
KERNEL(GROUP) temporal_cast(i32 way, i32 kind, GLOBAL const u8 *x, i64 x0, GLOBAL const u8 *valid, i64 valid0, i64 unit, GLOBAL const i64 *zone,
                            i32 stretches, i64 fold, i64 divide, i64 times, i32 to_kind, GLOBAL u8 *out, i64 n, u32 look_for,
                            GLOBAL u64 *first_bad) {
  i64 second_units = MAX(unit / 86400, (i64)1);
  for (i64 i = GID; i < n; i += GSIZE) {
    i64 v = (i64)load_word(x, kind, x0 + i);
    u32 bad = 0;
    if (way != TO_UNITS) {
      i64 clock, day = local_day(v, unit, second_units, zone, stretches, fold, &clock);
      v = way == TO_DAY ? day : clock;
    }
    v = scale_units(v, divide, times, &bad);
    if (to_kind == KIND_I32) {
      ((GLOBAL i32 *)out)[i] = (i32)v;
      if ((i32)v != v) bad |= BAD_OVERFLOW;
    } else {
      ((GLOBAL i64 *)out)[i] = v;
    }
    if (bad & look_for && valid_at(valid, valid0 + i)) ATOMIC_MIN64(first_bad, (u64)i);
  }
}
