// 128-bit decimals as two words, the low one first, exact: whatever may be longer on the way is computed with magnitudes of WORDS words, which
// hold 127 bits times 10^57. Results are cut to 128 bits; a flag in *bad says where that, or the precision, was too small.
#include "bad.h"

typedef struct {
  u64 lo, hi;
} i128;

#define WORDS 5 // of a magnitude, from the low one on

// 10^0 to 10^38.
CONSTANT u64 ten_powers[39][2] = {
    {0x1, 0x0}, {0xa, 0x0}, {0x64, 0x0},
    {0x3e8, 0x0}, {0x2710, 0x0}, {0x186a0, 0x0},
    {0xf4240, 0x0}, {0x989680, 0x0}, {0x5f5e100, 0x0},
    {0x3b9aca00, 0x0}, {0x2540be400, 0x0}, {0x174876e800, 0x0},
    {0xe8d4a51000, 0x0}, {0x9184e72a000, 0x0}, {0x5af3107a4000, 0x0},
    {0x38d7ea4c68000, 0x0}, {0x2386f26fc10000, 0x0}, {0x16345785d8a0000, 0x0},
    {0xde0b6b3a7640000, 0x0}, {0x8ac7230489e80000, 0x0}, {0x6bc75e2d63100000, 0x5},
    {0x35c9adc5dea00000, 0x36}, {0x19e0c9bab2400000, 0x21e}, {0x2c7e14af6800000, 0x152d},
    {0x1bcecceda1000000, 0xd3c2}, {0x161401484a000000, 0x84595}, {0xdcc80cd2e4000000, 0x52b7d2},
    {0x9fd0803ce8000000, 0x33b2e3c}, {0x3e25026110000000, 0x204fce5e}, {0x6d7217caa0000000, 0x1431e0fae},
    {0x4674edea40000000, 0xc9f2c9cd0}, {0xc0914b2680000000, 0x7e37be2022}, {0x85acef8100000000, 0x4ee2d6d415b},
    {0x38c15b0a00000000, 0x314dc6448d93}, {0x378d8e6400000000, 0x1ed09bead87c0}, {0x2b878fe800000000, 0x13426172c74d82},
    {0xb34b9f1000000000, 0xc097ce7bc90715}, {0xf436a000000000, 0x785ee10d5da46d9}, {0x98a224000000000, 0x4b3b4ca85a86c47a},
};

FN i128 i128_of(u64 lo, u64 hi) {
  i128 v = {lo, hi};
  return v;
}
FN u32 i128_negative(i128 v) { return (u32)(v.hi >> 63); }
FN i128 i128_negate(i128 v) { return i128_of(~v.lo + 1, ~v.hi + (v.lo == 0)); }
FN i128 i128_abs(i128 v) { return i128_negative(v) ? i128_negate(v) : v; }
FN i32 i128_sign(i128 v) { return i128_negative(v) ? -1 : (v.lo | v.hi) != 0; }
FN u32 u128_less(i128 a, i128 b) { return a.hi != b.hi ? a.hi < b.hi : a.lo < b.lo; }
FN i128 ten_power(i32 k) { return i128_of(ten_powers[k][0], ten_powers[k][1]); }
FN i128 i128_of_word(u64 w, u32 is_signed) { return i128_of(w, is_signed ? (u64)((i64)w >> 63) : 0); }
FN u32 i128_is_word(i128 v, u32 is_signed) { return v.hi == (is_signed ? (u64)((i64)v.lo >> 63) : 0); }

FN void mag_set(u64 *w, i128 v) {
  w[0] = v.lo;
  w[1] = v.hi;
  for (int k = 2; k < WORDS; k++) w[k] = 0;
}

FN void mag_times(u64 *w, u64 m) {
  u64 carry = 0;
  for (int k = 0; k < WORDS; k++) {
    u64 lo = w[k] * m, hi = MULHI_U64(w[k], m);
    lo += carry;
    carry = hi + (lo < carry);
    w[k] = lo;
  }
}

FN void mag_times_ten(u64 *w, i32 digits) {
  for (; digits > 19; digits -= 19) mag_times(w, ten_powers[19][0]);
  if (digits > 0) mag_times(w, ten_powers[digits][0]);
}

FN void mag_negate(u64 *w) {
  u64 carry = 1;
  for (int k = 0; k < WORDS; k++) {
    w[k] = ~w[k] + carry;
    carry = carry && w[k] == 0;
  }
}

FN void mag_add(u64 *w, const u64 *v) {
  u64 carry = 0;
  for (int k = 0; k < WORDS; k++) {
    u64 s = w[k] + carry;
    carry = s < carry;
    s += v[k];
    carry += s < v[k];
    w[k] = s;
  }
}

FN i32 mag_bits(const u64 *w) {
  for (int k = WORDS - 1; k >= 0; k--)
    if (w[k]) return 64 * k + 64 - (i32)CLZ64(w[k]);
  return 0;
}

FN void mag_left(u64 *w, i32 s) {
  i32 words = s >> 6, bits = s & 63;
  for (int k = WORDS - 1; k >= 0; k--) {
    u64 v = k >= words ? w[k - words] << bits : 0;
    if (bits && k > words) v |= w[k - words - 1] >> (64 - bits);
    w[k] = v;
  }
}

// Shifts right by s < 64 * WORDS bits. The result is what was cut: 2 where that was at least half of the last place, 1 where it had any other bit.
FN u32 mag_right(u64 *w, i32 s) {
  u32 cut = 0;
  i32 words = s >> 6, bits = s & 63;
  if (s > 0) {
    i32 middle = s - 1;
    if (w[middle >> 6] >> (middle & 63) & 1) cut = 2;
    u64 below = w[middle >> 6] & (((u64)1 << (middle & 63)) - 1);
    for (int k = 0; k < (middle >> 6); k++) below |= w[k];
    if (below) cut |= 1;
  }
  for (int k = 0; k < WORDS; k++) {
    u64 v = k + words < WORDS ? w[k + words] >> bits : 0;
    if (bits && k + words + 1 < WORDS) v |= w[k + words + 1] << (64 - bits);
    w[k] = v;
  }
  return cut;
}

FN u32 mag_fits_128(const u64 *w) { return (w[2] | w[3] | w[4]) == 0; }

// Whether w < 10^precision.
FN u32 mag_fits(const u64 *w, i32 precision) { return mag_fits_128(w) && u128_less(i128_of(w[0], w[1]), ten_power(precision)); }

FN i128 mag_signed(const u64 *w, u32 negative) {
  i128 v = i128_of(w[0], w[1]);
  return negative ? i128_negate(v) : v;
}

// w becomes w / d, the result is the rest: d is not 0. By Knuth's algorithm D (The Art of Computer Programming, 4.3.1) on 32-bit digits.
FN i128 mag_divide(u64 *w, i128 d) {
  if (d.hi == 0 && mag_bits(w) <= 64) {
    u64 q = w[0] / d.lo;
    i128 rest = i128_of(w[0] - q * d.lo, 0);
    w[0] = q;
    return rest;
  }
  u32 v[4], u[2 * WORDS + 1];
  i32 shift = d.hi ? (i32)CLZ64(d.hi) & 31 : (i32)CLZ64(d.lo) & 31;
  i32 m = d.hi ? (d.hi >> 32 ? 4 : 3) : (d.lo >> 32 ? 2 : 1);
  i128 s = i128_of(d.lo << shift, shift ? d.hi << shift | d.lo >> (64 - shift) : d.hi);
  v[0] = (u32)s.lo;
  v[1] = (u32)(s.lo >> 32);
  v[2] = (u32)s.hi;
  v[3] = (u32)(s.hi >> 32);
  u64 over = shift ? w[WORDS - 1] >> (64 - shift) : 0;
  mag_left(w, shift);
  for (int k = 0; k < WORDS; k++) {
    u[2 * k] = (u32)w[k];
    u[2 * k + 1] = (u32)(w[k] >> 32);
    w[k] = 0;
  }
  u[2 * WORDS] = (u32)over;
  u64 top = v[m - 1], next = m > 1 ? v[m - 2] : 0;
  for (i32 j = 2 * WORDS - m; j >= 0; j--) {
    u64 two = (u64)u[j + m] << 32 | u[j + m - 1];
    if (two == 0) continue; // the quotient's leading zeros
    u64 q = two / top, rest = two - q * top;
    u64 third = m > 1 ? u[j + m - 2] : 0;
    while (q >> 32 || q * next > (rest << 32 | third)) {
      q--;
      rest += top;
      if (rest >> 32) break;
    }
    u64 carry = 0, borrow = 0;
    for (i32 k = 0; k < m; k++) {
      u64 p = q * v[k] + carry;
      carry = p >> 32;
      u64 t = (u64)u[j + k] - (u32)p - borrow;
      u[j + k] = (u32)t;
      borrow = t >> 63;
    }
    u64 t = (u64)u[j + m] - carry - borrow;
    u[j + m] = (u32)t;
    if (t >> 63) { // one too much
      q--;
      carry = 0;
      for (i32 k = 0; k < m; k++) {
        u64 a = (u64)u[j + k] + v[k] + carry;
        u[j + k] = (u32)a;
        carry = a >> 32;
      }
      u[j + m] += (u32)carry;
    }
    w[j >> 1] |= q << (32 * (j & 1));
  }
  i128 r = i128_of((u64)u[1] << 32 | u[0], (u64)(m > 3 ? u[3] : 0) << 32 | (m > 2 ? u[2] : 0));
  if (m < 2) r.lo = u[0];
  return shift ? i128_of(r.lo >> shift | r.hi << (64 - shift), r.hi >> shift) : r;
}

// The operations of kernels.ArithmeticOp: the operands are multiplied by 10^up first, which is 0 for one of the two in sums and Modulo.
FN i128 decimal_sum(i128 a, i128 b, i32 up_a, i32 up_b, i32 precision, u32 *bad) {
  u64 x[WORDS], y[WORDS];
  mag_set(x, i128_abs(a));
  mag_times_ten(x, up_a);
  if (i128_negative(a)) mag_negate(x);
  mag_set(y, i128_abs(b));
  mag_times_ten(y, up_b);
  if (i128_negative(b)) mag_negate(y);
  mag_add(x, y);
  i128 r = i128_of(x[0], x[1]);
  if (x[WORDS - 1] >> 63) mag_negate(x);
  if (!mag_fits(x, precision)) *bad |= BAD_OVERFLOW;
  return r;
}

FN i128 decimal_add(i128 a, i128 b, i32 up_a, i32 up_b, i32 precision, u32 *bad) { return decimal_sum(a, b, up_a, up_b, precision, bad); }

FN i128 decimal_sub(i128 a, i128 b, i32 up_a, i32 up_b, i32 precision, u32 *bad) {
  if (b.lo == 0 && b.hi == (u64)1 << 63) { // 128 bits do not hold the negative of the least number
    u64 x[WORDS], y[WORDS];
    mag_set(x, i128_abs(a));
    mag_times_ten(x, up_a);
    if (i128_negative(a)) mag_negate(x);
    mag_set(y, b);
    mag_times_ten(y, up_b);
    mag_add(x, y);
    i128 r = i128_of(x[0], x[1]);
    if (x[WORDS - 1] >> 63) mag_negate(x);
    if (!mag_fits(x, precision)) *bad |= BAD_OVERFLOW;
    return r;
  }
  return decimal_sum(a, i128_negate(b), up_a, up_b, precision, bad);
}

FN i128 decimal_mul(i128 a, i128 b, i32 precision, u32 *bad) {
  i128 x = i128_abs(a), y = i128_abs(b);
  u64 w[WORDS], v[WORDS];
  mag_set(w, x);
  mag_times(w, y.lo);
  if (y.hi) {
    mag_set(v, x);
    mag_times(v, y.hi);
    mag_left(v, 64);
    mag_add(w, v);
  }
  if (!mag_fits(w, precision)) *bad |= BAD_OVERFLOW;
  return mag_signed(w, i128_negative(a) ^ i128_negative(b));
}

FN i128 decimal_div(i128 a, i128 b, i32 up_a, i32 precision, u32 *bad) {
  if ((b.lo | b.hi) == 0) {
    *bad |= BAD_ZERO;
    return b;
  }
  u64 w[WORDS];
  mag_set(w, i128_abs(a));
  mag_times_ten(w, up_a);
  mag_divide(w, i128_abs(b));
  if (!mag_fits(w, precision)) *bad |= BAD_OVERFLOW;
  return mag_signed(w, i128_negative(a) ^ i128_negative(b));
}

FN i128 decimal_mod(i128 a, i128 b, i32 up_a, i32 up_b, i32 precision, u32 *bad) {
  if ((b.lo | b.hi) == 0) {
    *bad |= BAD_ZERO;
    return b;
  }
  u64 w[WORDS], d[WORDS];
  mag_set(d, i128_abs(b));
  mag_times_ten(d, up_b);
  mag_set(w, i128_abs(a));
  mag_times_ten(w, up_a);
  if (mag_fits_128(d)) mag_set(w, mag_divide(w, i128_of(d[0], d[1]))); // else the divisor is the greater one
  if (!mag_fits(w, precision)) *bad |= BAD_OVERFLOW;
  return mag_signed(w, i128_negative(a));
}

// v * 10^digits, cut off where that is negative.
FN i128 decimal_rescale(i128 v, i32 digits, i32 precision, u32 *bad) {
  u64 w[WORDS];
  mag_set(w, i128_abs(v));
  if (digits >= 0) {
    mag_times_ten(w, digits);
    if (digits > 38 ? (v.lo | v.hi) != 0 : !mag_fits(w, precision)) *bad |= BAD_OVERFLOW;
  } else {
    i128 rest = v;
    if (digits < -38) mag_set(w, i128_of(0, 0));
    else rest = mag_divide(w, ten_power(-digits));
    if (rest.lo | rest.hi) *bad |= BAD_INEXACT;
    if (!mag_fits(w, precision)) *bad |= BAD_OVERFLOW;
  }
  return mag_signed(w, i128_negative(v));
}

// v * 10^digits as the low 64 bits, of a signed or unsigned integer.
FN u64 decimal_to_word(i128 v, i32 digits, u32 is_signed, u32 *bad) {
  u64 w[WORDS];
  u32 negative = i128_negative(v);
  mag_set(w, i128_abs(v));
  if (digits >= 0) {
    mag_times_ten(w, digits);
  } else {
    i128 rest = mag_divide(w, ten_power(-digits));
    if (rest.lo | rest.hi) *bad |= BAD_INEXACT;
  }
  i128 r = mag_signed(w, negative);
  u32 zero = (r.lo | r.hi) == 0;
  if (!mag_fits_128(w) || (!zero && i128_negative(r) != negative) || !i128_is_word(r, is_signed)) *bad |= BAD_OVERFLOW;
  return r.lo;
}

// floor, ceil, trunc and round (6 to 9 of kernels.UnaryOp) to a multiple of 10^scale, 0 < scale.
FN i128 decimal_round(i32 op, i128 v, i32 scale, i32 precision, u32 *bad) {
  u64 w[WORDS], up[WORDS];
  u32 negative = i128_negative(v);
  i128 unit = ten_power(scale), m = i128_abs(v);
  mag_set(w, m);
  i128 rest = mag_divide(w, unit);
  i128 whole = i128_of(m.lo - rest.lo, m.hi - rest.hi - (m.lo < rest.lo));
  u32 away = 0;
  if (rest.lo | rest.hi) {
    i128 twice = i128_of(rest.lo << 1, rest.hi << 1 | rest.lo >> 63);
    away = op == 6 ? negative : op == 7 ? !negative : op == 9 ? !u128_less(twice, unit) : 0;
  }
  mag_set(w, whole);
  if (away) {
    mag_set(up, unit);
    mag_add(w, up);
  }
  if (!mag_fits(w, precision)) *bad |= BAD_OVERFLOW;
  return mag_signed(w, negative);
}

FN f64 power_of_two(i32 e) { return F64_BITS((u64)(1023 + e) << 52); }

// v / 10^scale as the nearest float of so many bits of mantissa, 53 or 24, halves to even; an infinity past the greatest.
FN f64 decimal_to_float(i128 v, i32 scale, i32 mantissa) {
  u64 w[WORDS];
  u32 cut = 0;
  i32 exponent = 0;
  if ((v.lo | v.hi) == 0) return 0.0;
  mag_set(w, i128_abs(v));
  if (scale > 0) {
    u64 d[WORDS];
    i128 unit = ten_power(scale);
    mag_set(d, unit);
    i32 up = MAX(0, mag_bits(d) + 66 - mag_bits(w)); // a quotient of 66 bits or more
    mag_left(w, up);
    exponent = -up;
    i128 rest = mag_divide(w, unit);
    if (rest.lo | rest.hi) cut = 1;
  } else {
    mag_times_ten(w, -scale);
  }
  i32 lowest = MAX(mag_bits(w) + exponent - mantissa, mantissa == 24 ? -149 : -1074);
  i32 drop = lowest - exponent;
  if (drop > 0) {
    u32 c = mag_right(w, drop);
    exponent = lowest;
    cut = (c & 2) | ((c | cut) & 1);
    if (cut & 2 && (cut & 1 || w[0] & 1)) w[0]++;
  }
  f64 r = (f64)w[0] * power_of_two(exponent);
  if (mantissa == 24 && r >= power_of_two(128)) r = F64_BITS((u64)0x7ff << 52);
  return i128_negative(v) ? -r : r;
}

// f * 10^scale as the nearest decimal, halves to even. What is past the precision, or no number, becomes the greatest, and NaN 0.
FN i128 decimal_of_float(f64 f, i32 scale, i32 precision, u32 *bad) {
  u64 bits = BITS_F64(f), w[WORDS];
  u32 negative = (u32)(bits >> 63), over = 0, cut = 0; // cut as mag_right's
  i32 e = (i32)(bits >> 52) & 0x7ff;
  u64 m = bits & (((u64)1 << 52) - 1);
  if (e == 0x7ff) {
    *bad |= BAD_OVERFLOW;
    if (m) return i128_of(0, 0);
    over = 1;
  }
  if (e) m |= (u64)1 << 52;
  e = MAX(e, 1) - 1075;
  mag_set(w, i128_of(m, 0));
  if (over) {
  } else if (scale >= 0) {
    mag_times_ten(w, scale);
    if (e >= 0) {
      if (mag_bits(w) + e > 128 && m) over = 1;
      else mag_left(w, MIN(e, 128));
    } else if (-e > 190) { // less than half of the last digit
      mag_set(w, i128_of(0, 0));
    } else {
      cut = mag_right(w, -e);
    }
  } else {
    i128 d = ten_power(-scale);
    if (e >= 0 && m && mag_bits(w) + e > 256) {
      over = 1;
    } else {
      u64 den[WORDS];
      mag_set(den, d);
      if (e >= 0) mag_left(w, MIN(e, 256));
      else if (mag_bits(den) - e > 60) mag_set(w, i128_of(0, 0));
      else mag_left(den, -e);
      d = i128_of(den[0], den[1]);
      i128 rest = mag_divide(w, d);
      i128 twice = i128_of(rest.lo << 1, rest.hi << 1 | rest.lo >> 63);
      cut = u128_less(twice, d) ? 0 : u128_less(d, twice) ? 3 : 2;
    }
  }
  if (cut & 2 && (cut & 1 || w[0] & 1)) {
    u64 one[WORDS];
    mag_set(one, i128_of(1, 0));
    mag_add(w, one);
  }
  if (over || !mag_fits(w, precision)) {
    *bad |= BAD_OVERFLOW;
    i128 p = ten_power(precision);
    mag_set(w, i128_of(p.lo - 1, p.hi - (p.lo == 0)));
  }
  return mag_signed(w, negative);
}
