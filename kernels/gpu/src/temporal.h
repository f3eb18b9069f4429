// Dates and times: integers that count units from 1970-01-01 00:00:00 UTC.
#include "bad.h"

// a / b rounded down, b > 0, and in *rest what is left, in [0, b).
FN i64 floor_div(i64 a, i64 b, i64 *rest) {
  i64 q = a / b, r = a - q * b;
  if (r < 0) {
    q--;
    r += b;
  }
  *rest = r;
  return q;
}

// How many seconds a zone's clock is ahead of UTC at a Unix time. The zone is the table that zone.go makes: the first seconds of `stretches`
// stretches of time, the first of which is I64_MIN, then the offset in each; from the second `fold` on it repeats itself each 400 years. A
// null table is UTC.
#define SECONDS_400_YEARS ((i64)146097 * 86400)

FN i64 zone_offset(GLOBAL const i64 *zone, i32 stretches, i64 fold, i64 second) {
  if (!zone) return 0;
  if (second > fold) second = fold + (second - fold) % SECONDS_400_YEARS;
  i32 from = 0, to = stretches; // the last stretch that begins at the second or before
  while (to - from > 1) {
    i32 mid = (from + to) / 2;
    if (zone[mid] <= second) from = mid;
    else to = mid;
  }
  return zone[stretches + from];
}

// A field, after kernels.TemporalField, of a day counted from 1970-01-01 and a second in [0, 86400) of it. The calendar is computed as in
// Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
FN i64 civil_field(i32 field, i64 days, i64 second) {
  i32 s = (i32)second;
  i64 rest;
  switch (field) {
  case 3: return s / 3600;
  case 4: return s / 60 % 60;
  case 5: return s % 60;
  case 6:
    floor_div(days + 3, 7, &rest); // 1970-01-01 was a Thursday
    return rest;
  }
  i64 era = floor_div(days + 719468, 146097, &rest); // of 400 years from 0000-03-01 on
  i32 doe = (i32)rest;
  i32 yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  i32 doy = doe - (365 * yoe + yoe / 4 - yoe / 100); // from March 1
  i32 mp = (5 * doy + 2) / 153;
  i32 month = mp < 10 ? mp + 3 : mp - 9;
  i64 year = yoe + era * 400 + (month <= 2);
  switch (field) {
  case 0: return year;
  case 1: return month;
  case 2: return doy - (153 * mp + 2) / 5 + 1;
  }
  i32 leap = (yoe % 4 == 0 && yoe % 100 != 0) || yoe == 0;
  return month <= 2 ? doy - 305 : doy + 60 + leap;
}

// n units, of which `unit` make a day and `second_units` a second, on the clock of a zone: the day, and in *clock the units of that day.
FN i64 local_day(i64 n, i64 unit, i64 second_units, GLOBAL const i64 *zone, i32 stretches, i64 fold, i64 *clock) {
  i64 c, rest;
  i64 day = floor_div(n, unit, &c);
  i64 ahead = zone_offset(zone, stretches, fold, zone ? floor_div(n, second_units, &rest) : 0);
  return day + floor_div(c + ahead * second_units, unit, clock);
}

// n units as units of another size: n / divide rounded down, or n * times.
FN i64 scale_units(i64 n, i64 divide, i64 times, u32 *bad) {
  if (divide > 1) {
    i64 rest, q = floor_div(n, divide, &rest);
    if (rest) *bad |= BAD_INEXACT;
    return q;
  }
  i64 r = (i64)((u64)n * (u64)times);
  if (MULHI_I64(n, times) != r >> 63) *bad |= BAD_OVERFLOW;
  return r;
}
